"""What the user allows a model when it is loaded. No torch."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LoadOptions:
    """``vram`` and ``ram`` are bytes, None for what is free; ``context`` tokens, None for a default share.

    ``nothing_resident`` streams every block that can stream, as on a computer far smaller than the model.
    ``runs_code``: Python code that comes with the model runs; only ``engine.store.remote_code`` sets it.
    """

    device: str = "auto"
    vram: int | None = None
    ram: int | None = None
    context: int | None = None
    nothing_resident: bool = False
    runs_code: bool = False
