"""What mlx-lm's own Kimi K3 answers on the processor: the reference that Strata's model file is held to.

Written down in ``tests/parity/kimi_k3_oracle.safetensors``, so that no test needs mlx. To write it again, in an
environment of its own (mlx-lm 0.32.2; it brings its own transformers):

    python -m venv oracle && oracle/bin/pip install mlx-lm "mlx[cpu]"
    oracle/bin/python -m tests.helpers.kimi_k3_oracle tests/parity/kimi_k3_oracle.safetensors
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save_file

from tests.helpers.kimi_k3 import CASES, Array, published_tensors, tiny_config

SEED = 20261129
"""Of the first case; each further one has the next seed."""
FAINT = "faint projections"
"""Another case: everything, where the norms' epsilons show."""
PROMPT_TOKENS = 37
"""More than two chunks of delta attention."""
STEPS = 4
KEPT = 8
"""Logits of the last so many tokens are compared: those behind the prompt's end were computed one by one."""


def token_ids(vocabulary: int) -> list[int]:
    """The prompt, and the tokens that are fed after it whatever the logits say."""
    return np.random.RandomState(SEED).randint(0, vocabulary, PROMPT_TOKENS + STEPS).tolist()


def oracle_logits(config: Mapping[str, Any], tensors: Mapping[str, Array]) -> Array:
    """float32 [PROMPT_TOKENS + STEPS, vocabulary]: one pass over the prompt, then one for each token. Needs mlx-lm."""
    import mlx.core as mx  # pyright: ignore[reportMissingImports]
    from mlx_lm.models.kimi_k3 import Model, ModelArgs  # pyright: ignore[reportMissingImports]

    mx.set_default_device(mx.cpu)
    model = Model(ModelArgs.from_dict(dict(config)))
    weights = model.sanitize({name: mx.array(values) for name, values in tensors.items()})
    model.load_weights(list(weights.items()), strict=True)
    model.eval()
    ids = token_ids(config["text_config"]["vocab_size"])
    cache = model.make_cache()
    rows = [model(mx.array([ids[:PROMPT_TOKENS]]), cache)[0]]
    rows += [model(mx.array([[token]]), cache)[0] for token in ids[PROMPT_TOKENS:]]
    return np.array(mx.concatenate(rows), dtype=np.float32)


def oracle_mxfp4() -> dict[str, Any]:
    """Random packed numbers, their exponents, and the numbers (float32 [4, 96]) mlx reads out of them. Needs mlx."""
    import mlx.core as mx  # pyright: ignore[reportMissingImports]

    random = np.random.RandomState(SEED)
    codes = random.randint(0, 256, (4, 48)).astype(np.uint8)
    exponents = random.randint(117, 135, (4, 3)).astype(np.uint8)
    numbers = mx.dequantize(
        mx.array(codes).view(mx.uint32), mx.array(exponents), group_size=32, bits=4, mode="mxfp4", dtype=mx.float32
    )
    return {"MXFP4 codes": codes, "MXFP4 exponents": exponents, "MXFP4 numbers": np.array(numbers)}


def main(path: Path) -> None:
    kept = oracle_mxfp4()
    for number, (name, changes) in enumerate(CASES.items()):
        config = tiny_config(**changes)
        kept[name] = oracle_logits(config, published_tensors(config, SEED + number))[-KEPT:].copy()
        print(f"{name:<45} largest logit {np.abs(kept[name]).max():.3f}")
    kept[FAINT] = oracle_logits(tiny_config(), published_tensors(tiny_config(), SEED, is_faint=True))[-KEPT:].copy()
    import mlx_lm  # pyright: ignore[reportMissingImports]

    save_file(kept, path, metadata={"mlx-lm": mlx_lm.__version__, "first seed": str(SEED)})


if __name__ == "__main__":
    main(Path(sys.argv[1]))
