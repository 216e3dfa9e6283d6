"""Where packed experts are expanded, on the device, one after the other as they are used. Knows no slots, no files."""

from __future__ import annotations

from collections.abc import Mapping

import torch

from engine.backends.base import Backend
from engine.store.manifest import PackedTensor
from engine.streaming.bindings import tensor_view
from engine.weights.direct_io import round_up
from engine.weights.packed import Expander

Holder = tuple[int, int]
"""Number of the experts module, number of the expert in it."""


class ExpertScratch:
    """Memory for one expanded expert of at most ``expanded_nbytes``, allocated once. Used from the compute thread.

    What was expanded stays until another expert's parameter takes its place. On a device that computes in order
    that is safe: it runs what used the old one before it writes the new one.
    """

    def __init__(self, backend: Backend, nbytes: int, expanded_nbytes: int) -> None:
        self._memory = backend.allocate_device(nbytes).tensor
        self._expander = Expander(self._memory[round_up(expanded_nbytes) :])
        self._views: dict[PackedTensor, torch.Tensor] = {}
        self._held: dict[PackedTensor, Holder] = {}

    def expanded(self, packed: PackedTensor, parts: Mapping[str, torch.Tensor], holder: Holder) -> torch.Tensor:
        """The parameter in the dtype and shape of ``packed``, from the ``parts`` of the record of ``holder``."""
        view = self._views.get(packed)
        if view is None:
            view = self._views[packed] = tensor_view(self._memory, packed)
        if self._held.get(packed) != holder:
            # Whatever was there is gone as soon as this begins: parameters of different modules share the memory.
            self._held = {other: by for other, by in self._held.items() if not _overlap(other, packed)}
            self._expander.expand(packed.encoding, parts, view)
            self._held[packed] = holder
        return view

    def close(self) -> None:
        self._expander.close()
        self._views.clear()
        self._held.clear()


def _overlap(one: PackedTensor, other: PackedTensor) -> bool:
    return one.offset < other.offset + other.nbytes and other.offset < one.offset + one.nbytes
