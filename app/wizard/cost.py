"""What a model costs, with and without the one box about its files. Plain numbers, no Qt."""

from __future__ import annotations

from dataclasses import dataclass

from engine.api import ModelPlan


@dataclass(frozen=True, slots=True)
class Cost:
    """``ticked`` is the plan with the box ticked; None while it is not known, or where there is nothing to tick.

    The box keeps what is fetched (``is_download``), or deletes the original as it is cut. Bytes. ``folder`` is the
    folder of models it goes to; ``is_begun_there``: another was chosen, but it was begun in this one.
    """

    plan: ModelPlan
    ticked: ModelPlan | None
    is_download: bool
    drive_total_bytes: int
    floor_bytes: int
    folder: str
    is_begun_there: bool = False

    def chosen(self, is_ticked: bool) -> ModelPlan:
        return self.ticked if is_ticked and self.ticked is not None else self.plan

    @property
    def makes_difference(self) -> bool:
        """Whether there is anything to tick."""
        if self.ticked is None or self.plan.is_cut:
            return False
        more = self.ticked.disk_after_bytes > self.plan.disk_after_bytes
        less = self.ticked.disk_after_bytes < self.plan.disk_after_bytes
        return more if self.is_download else less

    def has_room(self, is_ticked: bool) -> bool:
        plan = self.chosen(is_ticked)
        return plan.disk_peak_bytes + self.floor_bytes <= plan.disk_free_bytes

    @property
    def deletion_helps(self) -> bool:
        """There is too little room, and enough where the original is deleted as it is cut."""
        return self.makes_difference and not self.is_download and not self.has_room(False) and self.has_room(True)
