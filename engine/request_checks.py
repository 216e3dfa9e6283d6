"""What can be refused before a model is loaded, from its manifest and small files alone. No torch.

Loading takes seconds, and a model's first pass may take minutes: whatever is wrong with a request is said
before either.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path

from engine.errors import UnsupportedModel
from engine.generation.context_size import cache_bytes, planned_context
from engine.generation.token_ids import require_known_ids
from engine.load_options import LoadOptions
from engine.store.manifest import Manifest, read_manifest
from engine.store.model_config import read_config
from engine.streaming.block_roles import block_sizes, expert_sizes
from engine.streaming.residency import Budgets, require_room


def check_budget(folder: Path, options: LoadOptions) -> None:
    """Raises ``BudgetTooSmall`` where an explicit limit cannot hold one block and one token's experts."""
    limits = [value for value in (options.vram, options.ram) if value is not None]
    if not limits:
        return
    manifest = read_manifest(folder)
    config = read_config(folder)
    reserve = cache_bytes(config, planned_context(config, options.context), _itemsize(manifest))
    budgets = Budgets(max(limits) - reserve, 0, reserve)
    require_room(block_sizes(manifest), budgets, expert_sizes(manifest.experts))


def check_token_ids(folder: Path, token_ids: Sequence[int]) -> None:
    """Raises ``InvalidRequest`` for ids the model has no embedding for."""
    manifest = read_manifest(folder)
    name = f"{manifest.embedding_path}.weight"
    rows = next((t.shape[0] for block in manifest.blocks for t in block.tensors if t.name == name), None)
    if rows is not None:
        require_known_ids(token_ids, rows)


def check_can_chat(folder: Path) -> None:
    """Raises ``UnsupportedModel`` where the model has no chat template."""
    if not read_chat_template(folder):
        raise UnsupportedModel(
            "This model has no chat template, so it can continue a text but not hold a conversation.",
            "Give it a text to continue with --prompt, or choose a model made for chat.",
        )


def read_chat_template(folder: Path) -> str:
    """The template's text, of all variants where it has several; "" where there is none."""
    try:
        if (folder / "chat_template.jinja").is_file():
            return (folder / "chat_template.jinja").read_text(encoding="utf-8")
        for name in ("chat_template.json", "tokenizer_config.json"):
            if (folder / name).is_file():
                settings = json.loads((folder / name).read_text(encoding="utf-8"))
                if template := settings.get("chat_template"):
                    return template if isinstance(template, str) else json.dumps(template)
    except (OSError, ValueError, AttributeError):
        return ""
    return ""


def _itemsize(manifest: Manifest) -> int:
    """Bytes of one number in the model's main dtype, as its largest tensor has it."""
    tensor = max((t for block in manifest.blocks for t in block.tensors), key=lambda t: t.nbytes)
    return tensor.nbytes // max(math.prod(tensor.shape), 1)
