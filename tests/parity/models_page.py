"""``docs/models.md``: what was checked of each model family, made of what the walk recorded.

The record is ``results.json`` beside this file; the page holds nothing that is not in it or in the tables of families.
    python -m tests.parity.models_page [--published]    makes the page; with --published, measures the real models first
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import transformers

from engine.generation.context_size import DEFAULT_CONTEXT_TOKENS, cache_bytes
from engine.planning import planned_block_sizes, planned_expert_sizes
from engine.quantities import format_size
from engine.store.source_plan import plan_source
from engine.streaming.residency import floor_bytes
from tests.helpers.families import SKIPPED
from tests.helpers.family_variants import VARIANTS
from tests.helpers.published_models import published_config, published_names, published_source
from tests.helpers.vision_models import FAMILIES as WITH_IMAGES

if TYPE_CHECKING:
    from tests.parity.walk import Verdict

RESULTS = Path(__file__).with_name("results.json")
_ROOT = Path(__file__).resolve().parents[2]
PAGE = _ROOT / "docs" / "models.md"
CATALOGUE = _ROOT / "resources" / "catalogue.json"
IN_CATALOGUE = ("cache_bytes", "least_device_bytes", "least_memory_bytes")

REFUSED = {"rwkv": "divides its own weights in place as it runs, so that blocks read again would lose it"}
"""Families that are refused, with the reason, where they would have to stream."""


def record(verdicts: Iterable[Verdict]) -> None:
    """Takes over what a walk found, and makes the page."""
    results = read_results()
    for verdict in verdicts:
        results["families"][verdict.family] = {
            "equal": verdict.is_equal,
            "reason": verdict.reason,
            "experts": verdict.experts,
            "packed": verdict.packed,
            "transformers": transformers.__version__,
        }
    write_results(results)


def measure_published() -> None:
    """What the mission's models take at their real dimensions, from the engine's own plan at full depth."""
    results = read_results()
    for name in published_names():
        with tempfile.TemporaryDirectory() as folder:
            split = plan_source(published_source(published_config(name), Path(folder) / name), untied=frozenset())
        blocks, experts = planned_block_sizes(split), planned_expert_sizes(split)
        results["published"][name] = {
            "class": split.architecture,
            "nbytes": split.nbytes,
            "least_device_bytes": floor_bytes(blocks, experts, is_unified=False),
            "least_memory_bytes": floor_bytes(blocks, experts, is_unified=True),
            "cache_bytes": cache_bytes(published_config(name), DEFAULT_CONTEXT_TOKENS, split.dtype.itemsize),
            "experts": experts.count if experts else 0,
            "expert_bytes": experts.slot_nbytes if experts else 0,
        }
        print(f"{name}: {results['published'][name]}", flush=True)
    write_results(results)
    _write_catalogue(results["published"])


def _write_catalogue(published: Mapping[str, Any]) -> None:
    """The window plans with these figures before anything of a model is fetched."""
    catalogue: dict[str, Any] = json.loads(CATALOGUE.read_text(encoding="utf-8"))
    for row in catalogue["models"]:
        found = published.get(row["repo"].partition("/")[2])
        row |= {name: found[name] for name in IN_CATALOGUE} if found else {}
    CATALOGUE.write_text(json.dumps(catalogue, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def read_results() -> dict[str, Any]:
    return json.loads(RESULTS.read_text()) if RESULTS.is_file() else {"families": {}, "published": {}}


def write_results(results: Mapping[str, Any]) -> None:
    RESULTS.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n")
    PAGE.write_text(models_page(results), encoding="utf-8")


def models_page(results: Mapping[str, Any]) -> str:
    """The whole page, in Markdown."""
    families: Mapping[str, Any] = results["families"]
    equal = sum(found["equal"] for found in families.values())
    versions = sorted({found["transformers"] for found in families.values()})
    return "\n".join(
        [
            "# Models",
            "",
            "Made by `python -m tests.parity.walk --record`; do not edit.",
            "",
            "A family is *equal* when a random checkpoint of it, cut and streamed, gives the same bits as plain",
            "transformers on the processor: all prompt logits and 16 greedy tokens, with everything in memory, with",
            "one block at a time, and on a simulated graphics card fed from the disk.",
            "",
            f"{equal} of {len(families)} families and variants are equal, with transformers {', '.join(versions)}. A",
            "family nobody listed works if transformers can build it, or is refused with the reason before it is",
            "downloaded.",
            "",
            "## The largest models",
            "",
            "From the engine's plan of the published config, at the real dimensions. *Least* is the graphics memory",
            f"below which nothing runs, *{DEFAULT_CONTEXT_TOKENS:,} tokens* what a conversation of that length takes",
            "beside it; all else stays in main memory or on the disk. `pytest -m real_size` streams real layers in it.",
            "",
            "| model | class | on the disk | experts | least | 4,096 tokens | together |",
            "|---|---|---|---|---|---|---|",
            *(_published_row(name, found) for name, found in sorted(results["published"].items())),
            "",
            "## Families",
            "",
            "*Experts* are read one by one; *packed* ones stay so on the disk and in memory until they compute.",
            "*Images*: a picture in a message gives the same bits as transformers' own processor and model.",
            "",
            "| family | equal | experts | images | remark |",
            "|---|---|---|---|---|",
            *(_family_row(name, found) for name, found in sorted(families.items())),
            "| kimi_k3 | yes | packed |  | our own model file; compared with mlx-lm on random weights |",
            "",
            "## Not walked",
            "",
            *(f"- `{name}`: {reason}" for name, reason in sorted(SKIPPED.items())),
            "",
        ]
    )


def _published_row(name: str, found: Mapping[str, Any]) -> str:
    experts = f"{found['experts']:,} of {format_size(found['expert_bytes'])}" if found["experts"] else ""
    together = found["least_device_bytes"] + found["cache_bytes"]
    sizes = [found["nbytes"], found["least_device_bytes"], found["cache_bytes"], together]
    disk, least, cache, both = (format_size(size) for size in sizes)
    return f"| {name} | {found['class']} | {disk} | {experts} | {least} | {cache} | {both} |"


def _family_row(name: str, found: Mapping[str, Any]) -> str:
    remark = VARIANTS[name].reason if name in VARIANTS else ""
    state = "yes" if found["equal"] else "refused" if name in REFUSED else "no"
    remark = REFUSED.get(name, remark) if found["equal"] or name in REFUSED else found["reason"]
    experts = "packed" if found["packed"] else "one by one" if found["experts"] else ""
    images = "yes" if name.partition("+")[0] in WITH_IMAGES else ""
    return f"| {name} | {state} | {experts} | {images} | {remark.replace('|', '/')} |"


if __name__ == "__main__":
    if "--published" in sys.argv[1:]:
        measure_published()
    else:
        write_results(read_results())
