"""From which size on a part of a model is a block of its own. Numbers only: no torch."""

from __future__ import annotations

STREAMED_PART_BYTES = 32 << 20
"""A part outside the layers (a vision tower, say) from this size on is a block of its own, or several."""

TABLE_BYTES = 32 << 20
"""An embedding beside the input one from this size on is a table."""

LARGE_LAYER_BYTES = 2 << 30
"""A layer beyond this (Llama 3.1 405B has 6.4 GB) is divided into its modules: a slot need not hold all of it."""

SMALL_MODULE_BYTES = 1 << 20
"""A module of a divided layer up to this size (a norm) stays in memory."""
