"""Every family of transformers' causal-LM mapping: streamed from its split, compared with plain transformers.

A family is *equal* when its prompt logits and 16 greedy tokens are the same bits with everything resident, with
one block at a time, and on a simulated device fed from the disk.

    python -m tests.parity.walk [--divided] [--record] [FAMILY…]

``--divided`` cuts the tiny models as the largest ones are cut: each layer into its modules, each part outside the
layers by itself. ``--record`` writes what was found into ``tests/parity/results.json``, beside what is known of the
families that were not walked, and makes ``docs/models.md`` of it.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from unittest.mock import patch

import torch
import transformers

from engine.models import layer_parts, structure
from engine.store.manifest import read_manifest
from tests.helpers.families import (
    SKIPPED,
    PlainOutputs,
    family_names,
    make_checkpoint,
    plain_outputs,
)
from tests.helpers.quantised_checkpoints import load_expanded, make_compressed, make_fp8, make_mxfp4
from tests.helpers.splits import PROMPT, cut, load, residency, streamed_outputs

RESIDENCIES = ("all resident", "one slot", "device, one slot")
NEW_TOKENS = 16

PACKED: Mapping[str, Callable[[Path], Path]] = {
    "deepseek_v3+fp8": make_fp8,
    "gpt_oss+mxfp4": make_mxfp4,
    "deepseek_v3+compressed_int4": partial(make_compressed, kind="int4"),
    "qwen3_moe+compressed_mxfp4": partial(make_compressed, kind="mxfp4", family="qwen3_moe"),
    "mixtral+compressed_fp8": partial(make_compressed, kind="fp8", family="mixtral"),
}
"""Checkpoints with packed experts, compared with what transformers expands them to."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """``reason`` is empty where all is equal. ``experts`` and ``packed``: how many layers stream them one by one, and
    how many of these have them packed.
    """

    family: str
    blocks: int
    seconds: float
    reason: str
    experts: int = 0
    packed: int = 0

    @property
    def is_equal(self) -> bool:
        return not self.reason


def compare(family: str, folder: Path) -> Verdict:
    """Builds, cuts, streams and compares one family below ``folder``."""
    started = time.perf_counter()
    checkpoint, plain = _make(family, folder / "checkpoint")
    blocks = experts = packed = 0
    try:
        split = cut(checkpoint, folder)
        entries = read_manifest(split).experts
        experts, packed = len(entries), sum(bool(entry.packed) for entry in entries)
        problems: list[str] = []
        for name in RESIDENCIES:
            loaded = load(split, *residency(split, name))
            try:
                blocks = loaded.streamer.block_count
                logits, tokens = streamed_outputs(loaded, PROMPT, NEW_TOKENS)
            finally:
                loaded.close()
            if not torch.equal(logits, torch.as_tensor(plain.logits)):
                problems.append(f"{name}: logits differ by {(logits - torch.as_tensor(plain.logits)).abs().max():.3g}")
            elif tuple(tokens) != tuple(plain.token_ids):
                problems.append(f"{name}: token {_first_difference(tokens, plain.token_ids)} differs")
        reason = "; ".join(problems)
    except Exception as error:  # a walk reports a family that breaks and goes on
        reason = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"[:160]
    return Verdict(family, blocks, time.perf_counter() - started, reason, experts, packed)


@contextmanager
def cut_as_the_largest() -> Generator[None]:
    """Within it every layer is a large one, and so is every part of a model outside its layers."""
    limits = [(layer_parts, "LARGE_LAYER_BYTES", 1024), (layer_parts, "SMALL_MODULE_BYTES", 300)]
    limits.append((structure, "STREAMED_PART_BYTES", 1024))
    with ExitStack() as patches:
        for module, name, nbytes in limits:
            patches.enter_context(patch.object(module, name, nbytes))
        yield


def _make(family: str, folder: Path) -> tuple[Path, PlainOutputs]:
    """A checkpoint, and what plain transformers answers for it."""
    if family in PACKED:
        checkpoint = PACKED[family](folder)
        return checkpoint, plain_outputs(checkpoint, PROMPT, NEW_TOKENS, load=load_expanded)
    checkpoint = make_checkpoint(family, folder)
    return checkpoint, plain_outputs(checkpoint, PROMPT, NEW_TOKENS)


def _first_difference(one: list[int], other: tuple[int, ...]) -> int:
    return next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def walk(families: list[str]) -> list[Verdict]:
    """Prints the table as it goes."""
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    verdicts: list[Verdict] = []
    for family in families:
        if family in SKIPPED:
            print(f"{family:<34} not built: {SKIPPED[family]}")
            continue
        with tempfile.TemporaryDirectory() as folder:
            verdict = compare(family, Path(folder))
        verdicts.append(verdict)
        state = "equal" if verdict.is_equal else f"NOT EQUAL  {verdict.reason}"
        print(f"{verdict.family:<34}{verdict.blocks:>4} blocks {verdict.seconds:>6.1f} s  {state}", flush=True)
    equal = sum(verdict.is_equal for verdict in verdicts)
    print(f"{equal} of {len(verdicts)} families equal, transformers {transformers.__version__}")
    return verdicts


if __name__ == "__main__":
    wanted = [name for name in sys.argv[1:] if not name.startswith("--")]
    with cut_as_the_largest() if "--divided" in sys.argv[1:] else nullcontext():
        found = walk(wanted or [*family_names(), *PACKED])
    if "--record" in sys.argv[1:]:
        from tests.parity.models_page import record

        record(found)
