"""A search on the hub: what is asked for, and what a hit says about whether the model can run here. No torch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from huggingface_hub import ModelInfo

from engine.errors import EngineError
from engine.hub_access import SearchFilters
from engine.reports import HubModel
from engine.store.checkpoint_config import require_supported
from engine.store.layout import DTYPE_BITS

_EXPAND = [
    "downloads", "likes", "gated", "safetensors", "library_name", "pipeline_tag", "tags", "lastModified", "config",
]  # fmt: skip


def search_arguments(query: str, filters: SearchFilters, limit: int) -> dict[str, Any]:
    """Keyword arguments of ``HfApi.list_models``."""
    ranges = {"min": filters.min_parameters, "max": filters.max_parameters}
    return {
        "search": query.strip() or None,
        "author": filters.author,
        "pipeline_tag": filters.task,
        "filter": list(filters.tags) or None,
        "gated": filters.is_gated,
        "num_parameters": ",".join(f"{end}:{count}" for end, count in ranges.items() if count is not None) or None,
        "sort": filters.order.value,
        "limit": limit,
        "expand": _EXPAND,
    }


def describe_hit(hit: ModelInfo, endpoint: str) -> HubModel:
    counts: dict[str, int] = dict(hit.safetensors.parameters) if hit.safetensors else {}
    known = all(dtype in DTYPE_BITS for dtype in counts)
    return HubModel(
        repo=hit.id,
        downloads=hit.downloads or 0,
        likes=hit.likes or 0,
        is_gated=bool(hit.gated),
        nbytes=sum(count * DTYPE_BITS[dtype] // 8 for dtype, count in counts.items()) if counts and known else None,
        parameters=hit.safetensors.total if hit.safetensors else None,
        library=hit.library_name,
        task=hit.pipeline_tag,
        tags=tuple(hit.tags or ()),
        last_modified=hit.last_modified.isoformat() if hit.last_modified else None,
        page=f"{endpoint}/{hit.id}",
        reason=_reason_against(hit),
    )


def _reason_against(hit: ModelInfo) -> str:
    """Why the model cannot run here, as far as the hub's own summary of its config tells; "" where it does not."""
    if not isinstance(hit.config, dict) or "model_type" not in hit.config:
        return ""
    try:
        require_supported(hit.config, Path(hit.id))
    except EngineError as error:
        return error.message
    return ""
