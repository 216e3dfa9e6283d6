"""How a hub is reached and what is looked for on it: plain data a caller hands in. No network, no torch."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

DEFAULT_ENDPOINT = "https://huggingface.co"


@dataclass(frozen=True, slots=True)
class HubAccess:
    """``endpoint`` is a mirror's address, ``proxy`` one like ``http://user:password@host:port``.

    Neither the token nor the proxy (which may hold a password) shows in ``repr``, so that no log holds them. Without
    a token none is sent, whatever this machine knows; without a proxy the system's own settings count.
    """

    token: str | None = field(default=None, repr=False)
    endpoint: str = DEFAULT_ENDPOINT
    proxy: str | None = field(default=None, repr=False)


class SearchOrder(StrEnum):
    """What comes first; the values are the hub client's own."""

    DOWNLOADS = "downloads"
    LIKES = "likes"
    TRENDING = "trending_score"
    NEWEST = "created_at"


@dataclass(frozen=True, slots=True)
class SearchFilters:
    """``task`` and ``tags`` are the hub's ("text-generation", "safetensors"); parameters are counts."""

    author: str | None = None
    task: str | None = "text-generation"
    tags: tuple[str, ...] = ("safetensors",)
    is_gated: bool | None = None
    min_parameters: int | None = None
    max_parameters: int | None = None
    order: SearchOrder = SearchOrder.DOWNLOADS
