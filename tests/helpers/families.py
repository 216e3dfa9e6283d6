"""Tiny random checkpoints of every causal language model family that transformers knows.

Owns the list of families, their tiny configs, the checkpoints made from them, and what plain
transformers answers for such a checkpoint: the reference that Strata is held to. Knows nothing of
Strata. `python -m tests.helpers.families [FAMILY...]` tries families out and prints a table.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import io
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import (
    CONFIG_MAPPING,
    MODEL_FOR_CAUSAL_LM_MAPPING,
    AutoConfig,
    AutoModelForCausalLM,
    GenerationConfig,
    PreTrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerFast,
)
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

from tests.helpers.family_table import NOT_PER_LAYER, SIZE_LIMITS, SPECIAL, VALUES, Special
from tests.helpers.family_variants import NOTES, SKIPPED, VARIANTS

__all__ = [
    "NOTES",
    "SKIPPED",
    "PlainOutputs",
    "build_model",
    "family_names",
    "load_plain",
    "make_checkpoint",
    "plain_outputs",
    "tiny_config",
    "write_tiny_tokenizer",
]

MIN_LAYERS = 3
NOISE_STD = 0.2
"""Enough for every weight to show in the logits, and three layers stay far from infinity."""
EMBEDDING_NOISE_STD = 0.04
"""Small beside what the layers add, or a model with tied weights repeats its last token for ever."""

TOKENIZER_SPECIALS = ("<|pad|>", "<|bos|>", "<|eos|>", "<|system|>", "<|user|>", "<|assistant|>")
CHAT_TEMPLATE = (
    "{{ bos_token }}"
    "{% for message in messages %}<|{{ message.role }}|>{{ message.content }}{{ eos_token }}{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


@dataclasses.dataclass(frozen=True, slots=True)
class PlainOutputs:
    """What plain transformers computes. `logits` is float32 [prompt tokens, vocabulary]."""

    logits: torch.Tensor
    token_ids: tuple[int, ...]


def family_names() -> list[str]:
    """Every model type of the causal-LM mapping and every variant, `type` or `type+variant`, sorted."""
    return sorted([*MODEL_FOR_CAUSAL_LM_MAPPING_NAMES, *VARIANTS])


def tiny_config(family: str) -> PreTrainedConfig:
    """The config of `family`, small. Raises KeyError for a name that `family_names` does not list."""
    model_type, _, variant = family.partition("+")
    fields = VARIANTS[family].fields if variant else {}
    with _quiet():
        return _shrink(CONFIG_MAPPING[model_type], fields)


def build_model(family: str, *, dtype: torch.dtype = torch.bfloat16, seed: int = 0) -> PreTrainedModel:
    """A random model of `family` in evaluation mode, on the CPU.

    Weights depend on the arguments alone. `dtype` gives way to the one dtype that a family runs in.
    """
    special = _special(family)
    auto_class = getattr(transformers, special.auto_class)
    config = tiny_config(family)
    with _quiet(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = auto_class.from_config(config, dtype=getattr(torch, special.dtype or "", dtype)).eval()
    _perturb(model, seed)
    return model


def make_checkpoint(
    family: str,
    folder: Path,
    *,
    dtype: torch.dtype = torch.bfloat16,
    seed: int = 0,
    max_shard_size: str = "50KB",
) -> Path:
    """Save `build_model(family)` into `folder` as a hub ships it, in many shards, without a tokenizer."""
    model = build_model(family, dtype=dtype, seed=seed)
    _save(model, folder, max_shard_size)
    if family in NOTES:
        _save(load_plain(folder), folder, max_shard_size)
    return folder


def load_plain(folder: Path, **options: object) -> PreTrainedModel:
    """The checkpoint as plain transformers loads it, experts run by the `eager` implementation.

    `options` are more arguments of `from_pretrained`. Raises RuntimeError if a weight was missing, left over or of
    another shape.
    """
    with _quiet():
        config = AutoConfig.from_pretrained(folder)
        architecture = (config.architectures or [""])[0]
        is_causal_lm = architecture in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.values()
        is_mapped = is_causal_lm and type(config) in MODEL_FOR_CAUSAL_LM_MAPPING
        model_class: Any = AutoModelForCausalLM if is_mapped else getattr(transformers, architecture)
        model, loading = model_class.from_pretrained(
            folder, dtype="auto", experts_implementation="eager", output_loading_info=True, **options
        )
    if lost := {kind: sorted(map(str, keys)) for kind, keys in loading.items() if keys}:
        raise RuntimeError(f"weights lost between saving and loading: {lost}")
    model.generation_config = GenerationConfig(do_sample=False, use_cache=True)
    return model.eval()


def plain_outputs(
    folder: Path,
    prompt_ids: Sequence[int],
    new_tokens: int = 16,
    *,
    load: Callable[[Path], PreTrainedModel] = load_plain,
) -> PlainOutputs:
    """Logits of one full forward over the prompt, then exactly `new_tokens` greedy tokens.

    No token ends the answer: the checkpoint's generation settings are dropped, so greedy is the largest
    logit and nothing else.
    """
    model: Any = load(folder)
    ids = torch.tensor([list(prompt_ids)])
    with _quiet(), torch.inference_mode():
        logits = model(input_ids=ids).logits[0].float()
        answer = model.generate(input_ids=ids, attention_mask=torch.ones_like(ids), max_new_tokens=new_tokens)
    return PlainOutputs(logits=logits, token_ids=tuple(answer[0, ids.shape[1] :].tolist()))


def write_tiny_tokenizer(folder: Path, vocab_size: int) -> None:
    """Write a byte-level BPE tokenizer of `vocab_size` ids with a chat template into `folder`.

    Ids 0, 1 and 2 are pad, begin and end, as in `tiny_config`. Any text survives encoding and decoding.
    Raises ValueError below 262 ids, which bytes and special tokens take, and above what can be learnt
    from this module's text (over 1500).
    """
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=list(TOKENIZER_SPECIALS),
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(Path(__file__).read_text(encoding="utf-8").splitlines(), trainer)
    if tokenizer.get_vocab_size() != vocab_size:
        raise ValueError(f"a tiny tokenizer of {vocab_size} ids came out with {tokenizer.get_vocab_size()}")
    pad, bos, eos = TOKENIZER_SPECIALS[:3]
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token=pad,
        bos_token=bos,
        eos_token=eos,
        chat_template=CHAT_TEMPLATE,
        clean_up_tokenization_spaces=False,
    ).save_pretrained(folder)


def _save(model: PreTrainedModel, folder: Path, max_shard_size: str) -> None:
    with _quiet():
        model.save_pretrained(folder, max_shard_size=max_shard_size)


def _special(family: str) -> Special:
    model_type, _, variant = family.partition("+")
    return VARIANTS[family] if variant else SPECIAL.get(model_type, Special(""))


def _shrink(config_class: type[Any], extra: Mapping[str, Any]) -> PreTrainedConfig:
    """A small config. `extra` overrides the general rules and the class's own entry in `SPECIAL`."""
    usual = _usual_values(config_class)
    extra = {**SPECIAL.get(config_class.model_type, Special("")).fields, **extra}
    fields = {name: _lowered(name, value) for name, value in usual.items() if name in SIZE_LIMITS}
    fields |= {name: value for name, value in VALUES.items() if name in usual}
    fields |= _latent_attention(usual, fields)
    fields |= _per_layer_lists(usual, extra)
    fields |= extra
    for name in config_class.sub_configs:
        part, given = usual.get(name), extra.get(name, {})
        if isinstance(part, PreTrainedConfig) and isinstance(given, Mapping):
            fields[name] = _shrink(type(part), given)
    return config_class(**fields)


def _usual_values(config_class: type[Any]) -> dict[str, Any]:
    """The fields of the family's default config, with what the class derives for them."""
    derived = vars(config_class())
    return {field.name: derived.get(field.name, field.default) for field in dataclasses.fields(config_class)}


def _lowered(name: str, value: Any) -> Any:
    is_size = isinstance(value, int) and not isinstance(value, bool)
    return min(value, SIZE_LIMITS[name]) if is_size else value


def _latent_attention(usual: Mapping[str, Any], fields: Mapping[str, Any]) -> dict[str, Any]:
    """DeepSeek's latent attention has as many key heads as query heads, and names one size twice."""
    if usual.get("kv_lora_rank") is None:
        return {}
    twins = [name for name in ("qk_rope_head_dim", "qk_head_dim") if usual.get(name) == usual.get("head_dim")]
    return {
        **({"num_key_value_heads": fields["num_attention_heads"]} if "num_key_value_heads" in usual else {}),
        **({"head_dim": fields[twins[0]]} if twins and "head_dim" in usual else {}),
    }


def _per_layer_lists(usual: Mapping[str, Any], extra: Mapping[str, Any]) -> dict[str, Any]:
    """The lists with one entry a layer, cut to a few layers that still show every combination."""
    depth = usual.get("num_hidden_layers")
    lists = {
        name: value
        for name, value in usual.items()
        if isinstance(value, list | tuple) and len(value) == depth and name not in {*extra, *NOT_PER_LAYER}
    }
    if not lists or not isinstance(depth, int) or depth < MIN_LAYERS:
        return {}
    rows = [repr(row) for row in zip(*lists.values(), strict=True)]
    distinct = {rows.index(row) for row in rows}
    more = [index for index in range(depth) if index not in distinct]
    wanted = extra.get("num_hidden_layers", MIN_LAYERS)
    picked = sorted([*distinct, *more[: max(0, wanted - len(distinct))]])
    return {"num_hidden_layers": len(picked)} | {n: [v[i] for i in picked] for n, v in lists.items()}


@torch.no_grad()
def _perturb(model: PreTrainedModel, seed: int) -> None:
    """Add noise to every float weight and saved buffer, as many start at zero or one and would do nothing."""
    generator = torch.Generator().manual_seed(seed)
    saved = model.state_dict().keys()
    buffers = [buffer for name, buffer in model.named_buffers() if name in saved]
    embedding = getattr(model.get_input_embeddings(), "weight", None)
    for tensor in [*model.parameters(), *buffers]:
        if tensor.is_floating_point():
            std = EMBEDDING_NOISE_STD if tensor is embedding else NOISE_STD
            tensor += (torch.randn(tensor.shape, generator=generator) * std).to(tensor.dtype)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Hide what transformers says of odd configs; Reformer prints."""
    verbosity = transformers.logging.get_verbosity()
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            yield
    finally:
        transformers.logging.set_verbosity(verbosity)
        transformers.logging.enable_progress_bar()


COLUMNS = "{:26} {:36} {:>9} {:>6} {:34} {:5} {:>8} {:>6}  {}"


def _report(family: str) -> str:
    start_s = time.perf_counter()
    prompt_ids = torch.randint(5, 128, (24,), generator=torch.Generator().manual_seed(1)).tolist()
    with tempfile.TemporaryDirectory() as name:
        try:
            folder = make_checkpoint(family, Path(name))
            outputs = plain_outputs(folder, prompt_ids)
        except Exception as error:  # the table lists whatever a family fails with
            reason = next(iter(str(error).strip().splitlines()), "")
            return COLUMNS.format(family, "", "", "", "", "", "", "", f"{type(error).__name__}: {reason}")
        took_s = time.perf_counter() - start_s
        model = load_plain(folder)
    config = model.config.get_text_config()
    types = getattr(config, "layer_types", None) or []
    head, embedding = model.get_output_embeddings(), model.get_input_embeddings()
    is_tied = head is not None and embedding is not None and head.weight is embedding.weight
    is_sound = bool(outputs.logits.isfinite().all()) and 0.01 < outputs.logits.std().item() < 30
    return COLUMNS.format(
        family,
        type(model).__name__,
        f"{sum(parameter.numel() for parameter in model.parameters()):,}",
        getattr(config, "num_hidden_layers", "?"),
        " ".join(layer_type.replace("_attention", "") for layer_type in types)[:34],
        "tied" if is_tied else "",
        f"{len(set(outputs.token_ids))}/{len(outputs.token_ids)}",
        f"{took_s:.2f}",
        "ok" if is_sound and len(outputs.token_ids) == 16 else "unsound logits",
    )


def main(families: Sequence[str]) -> int:
    torch.set_num_threads(1)
    titles = ("family", "class", "weights", "layers", "layer types", "head", "distinct", "s", "result")
    print(COLUMNS.format(*titles))
    results = []
    for family in families or family_names():
        if family in SKIPPED and not families:
            line = COLUMNS.format(family, "", "", "", "", "", "", "", f"skipped: {SKIPPED[family]}")
        else:
            line = _report(family)
            results.append(line.endswith("ok"))
        print(line, flush=True)
    print(f"{sum(results)} of {len(results)} ok")
    return 0 if all(results) else 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="build tiny families and run them in plain transformers")
    parser.add_argument("families", nargs="*", metavar="FAMILY")
    sys.exit(main(parser.parse_args().families))
