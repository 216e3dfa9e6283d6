"""How the next token is chosen: the user's options, merged with the model's own defaults.

Pure: numbers in, numbers out. Knows the option names of transformers' ``GenerationConfig``, but neither
transformers nor torch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from engine.errors import InvalidRequest

MAX_TEMPERATURE = 5.0
MAX_SEED = 2**63 - 1

# What transformers does when neither the caller nor the model says anything. These values also keep it
# quiet: it warns about sampling options that differ from them while do_sample is off.
_NEUTRAL_TEMPERATURE = 1.0
_NEUTRAL_TOP_P = 1.0
_NEUTRAL_TOP_K = 50
_NEUTRAL_PENALTY = 1.0


@dataclass(frozen=True, slots=True)
class SamplingOptions:
    """What the user asked for. ``None`` means the model's own default.

    ``greedy`` (or a temperature of 0) always takes the likeliest token. ``top_k`` 0 and ``min_p`` 0 switch
    that filter off. ``seed`` None draws anew each time. ``max_new_tokens`` counts the answer only.
    Raises ``InvalidRequest`` for a number outside its range.
    """

    greedy: bool = False
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    min_p: float | None = None
    repetition_penalty: float | None = None
    seed: int | None = None
    max_new_tokens: int = 2048

    def __post_init__(self) -> None:
        _require(self.temperature, "temperature", _is_temperature, f"between 0 (greedy) and {MAX_TEMPERATURE:g}")
        _require(self.top_p, "top_p", _is_top_p, "above 0 and at most 1")
        _require(self.top_k, "top_k", _is_top_k, "a whole number from 1, or 0 for off")
        _require(self.min_p, "min_p", _is_min_p, "at least 0 and below 1")
        _require(self.repetition_penalty, "repetition_penalty", _is_penalty, "above 0")
        _require(self.seed, "seed", _is_seed, f"a whole number from 0 to {MAX_SEED}")
        _require(self.max_new_tokens, "max_new_tokens", _is_count, "a whole number from 1")

    @property
    def is_greedy(self) -> bool:
        """Asked for outright. Without it the model's own defaults may still be greedy."""
        return self.greedy or self.temperature == 0


def generation_kwargs(options: SamplingOptions, defaults: Mapping[str, object]) -> dict[str, object]:
    """Keyword arguments for transformers' ``GenerationConfig``, complete and free of contradictions.

    ``defaults`` is the model's generation_config.json as loaded (empty if it has none). Explicit options win
    over it; greedy wins over both, but keeps the repetition penalty. Naming any sampling option switches
    sampling on, also for a model that is greedy by default. A default outside its range is ignored: it is
    nothing the user could mend. The seed and the length limit are the runner's business.
    """
    penalty = _chosen(options.repetition_penalty, defaults, "repetition_penalty", _is_penalty)
    kwargs: dict[str, object] = {
        "do_sample": False,
        "temperature": _NEUTRAL_TEMPERATURE,
        "top_p": _NEUTRAL_TOP_P,
        "top_k": _NEUTRAL_TOP_K,
        "min_p": None,
        "repetition_penalty": float(_or(penalty, _NEUTRAL_PENALTY)),
    }
    if not _samples(options, defaults):
        return kwargs
    temperature = _chosen(options.temperature, defaults, "temperature", _is_temperature)
    top_p = _chosen(options.top_p, defaults, "top_p", _is_top_p)
    top_k = _chosen(options.top_k, defaults, "top_k", _is_top_k)
    min_p = _chosen(options.min_p, defaults, "min_p", _is_min_p)
    return kwargs | {
        "do_sample": True,
        "temperature": float(temperature or _NEUTRAL_TEMPERATURE),
        "top_p": float(_or(top_p, _NEUTRAL_TOP_P)),
        "top_k": int(_or(top_k, _NEUTRAL_TOP_K)),
        "min_p": float(min_p) if min_p else None,
    }


def _samples(options: SamplingOptions, defaults: Mapping[str, object]) -> bool:
    """Whether to draw at all: greedy, then what the user named, then what the model's authors wrote.

    Some authors give a temperature and forget ``do_sample``; transformers would then ignore the temperature.
    """
    if options.is_greedy:
        return False
    if any(value is not None for value in (options.temperature, options.top_p, options.top_k, options.min_p)):
        return True
    if _default(defaults, "temperature", _is_temperature) == 0:
        return False
    do_sample = defaults.get("do_sample")
    if isinstance(do_sample, bool):
        return do_sample
    return any(defaults.get(name) is not None for name in ("temperature", "top_p", "top_k", "min_p"))


def _chosen(
    explicit: float | None, defaults: Mapping[str, object], name: str, is_allowed: Callable[[float], bool]
) -> float | None:
    return explicit if explicit is not None else _default(defaults, name, is_allowed)


def _default(defaults: Mapping[str, object], name: str, is_allowed: Callable[[float], bool]) -> float | None:
    value = defaults.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if is_allowed(value) else None


def _or(value: float | None, otherwise: float) -> float:
    return otherwise if value is None else value


def _require(value: float | None, name: str, is_allowed: Callable[[float], bool], allowed: str) -> None:
    if value is not None and not is_allowed(value):
        raise InvalidRequest(f"{name} is {value}, but it must be {allowed}.")


def _is_temperature(value: float) -> bool:
    return 0 <= value <= MAX_TEMPERATURE


def _is_top_p(value: float) -> bool:
    return 0 < value <= 1


def _is_top_k(value: float) -> bool:
    return _is_whole(value) and value >= 0


def _is_min_p(value: float) -> bool:
    return 0 <= value < 1


def _is_penalty(value: float) -> bool:
    return 0 < value < math.inf


def _is_seed(value: float) -> bool:
    return _is_whole(value) and 0 <= value <= MAX_SEED


def _is_count(value: float) -> bool:
    return _is_whole(value) and value >= 1


def _is_whole(value: float) -> bool:
    return math.isfinite(value) and value == int(value)
