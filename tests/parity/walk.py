"""Every family of transformers' causal-LM mapping: streamed from its split, compared with plain transformers.

A family is *equal* when its prompt logits and 16 greedy tokens are the same bits with everything resident, with
one block at a time, and on a simulated device fed from the disk.   python -m tests.parity.walk [FAMILY…]
"""

from __future__ import annotations

import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import torch
import transformers

from tests.helpers.families import SKIPPED, family_names, make_checkpoint, plain_outputs
from tests.helpers.splits import PROMPT, cut, load, residency, streamed_outputs

RESIDENCIES = ("all resident", "one slot", "device, one slot")
NEW_TOKENS = 16


@dataclass(frozen=True, slots=True)
class Verdict:
    """``reason`` is empty where all is equal."""

    family: str
    blocks: int
    seconds: float
    reason: str

    @property
    def is_equal(self) -> bool:
        return not self.reason


def compare(family: str, folder: Path) -> Verdict:
    """Builds, cuts, streams and compares one family below ``folder``."""
    started = time.perf_counter()
    checkpoint = make_checkpoint(family, folder / "checkpoint")
    plain = plain_outputs(checkpoint, PROMPT, NEW_TOKENS)
    blocks = 0
    try:
        split = cut(checkpoint, folder)
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
    return Verdict(family, blocks, time.perf_counter() - started, reason)


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
    walk(sys.argv[1:] or family_names())
