"""Where somebody is in the wizard, and what each decision leads to. Frozen states, pure transitions, no Qt.

A state says all there is to continue after the window was closed. Doing the work (planning, cutting) and showing
it belong to the pages; the job itself is kept by the job board.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Any, cast

STARTER_SOURCE = "starter"
"""The engine's name of the model that comes with the program."""


class Step(StrEnum):
    WELCOME = "welcome"
    MACHINE = "machine"
    CHOICE = "choice"
    COST = "cost"
    PROGRESS = "progress"


ORDER = (Step.WELCOME, Step.MACHINE, Step.CHOICE, Step.COST, Step.PROGRESS)


class JobFate(StrEnum):
    """What became of the job a saved state waits for, as far as the wizard cares."""

    GOING = "going"
    """Queued, running, paused or failed: there is something to show and to press."""
    DONE = "done"
    GONE = "gone"
    """Cancelled, removed, or never heard of."""


@dataclass(frozen=True, slots=True)
class FlowState:
    """``source`` is what ``Engine.plan`` takes, or with ``is_download`` a name on the hub.

    ``job_id`` names the job on the job board once it was begun. ``keep_download``: the fetched files stay as well.
    ``target`` is the folder of models it goes to, empty for the usual one.
    """

    step: Step = Step.WELCOME
    source: str = ""
    title: str = ""
    is_download: bool = False
    delete_original: bool = False
    keep_download: bool = False
    job_id: str = ""
    target: str = ""


def welcome() -> FlowState:
    """The first run."""
    return FlowState()


def add_model() -> FlowState:
    """Somebody who knows the program and wants another model: no welcome."""
    return FlowState(step=Step.CHOICE)


def advance(state: FlowState) -> FlowState:
    """From the welcome to this computer, and from there to the choice. Other steps need a decision."""
    following = {Step.WELCOME: Step.MACHINE, Step.MACHINE: Step.CHOICE}
    return replace(state, step=following.get(state.step, state.step))


def choose(source: str, title: str, *, is_download: bool = False) -> FlowState:
    """A model is chosen. A choice made before, and what was decided about its files, is forgotten."""
    return FlowState(step=Step.COST, source=source, title=title, is_download=is_download)


def decide_files(state: FlowState, is_ticked: bool) -> FlowState:
    """The one box about files: what is fetched may be kept, what was there before may go, the starter stays."""
    if state.is_download:
        return replace(state, keep_download=is_ticked)
    return replace(state, delete_original=is_ticked and state.source != STARTER_SOURCE)


def choose_target(state: FlowState, folder: str) -> FlowState:
    """The folder of models it goes to; empty for the usual one."""
    return replace(state, target=folder)


def is_box_ticked(state: FlowState) -> bool:
    return state.keep_download if state.is_download else state.delete_original


def begin(state: FlowState, job_id: str) -> FlowState:
    """The one button was pressed: the job is on the board."""
    return replace(state, step=Step.PROGRESS, job_id=job_id)


def can_go_back(state: FlowState) -> bool:
    """From a running job one does not go back: it is paused or cancelled."""
    return state.step in (Step.MACHINE, Step.CHOICE, Step.COST)


def go_back(state: FlowState) -> FlowState:
    if not can_go_back(state):
        return state
    return replace(state, step=ORDER[ORDER.index(state.step) - 1])


def give_up(state: FlowState) -> FlowState:
    """The job was cancelled: back to its cost, with the model still chosen."""
    return replace(state, step=Step.COST, job_id="")


def resume(saved: FlowState, fate: JobFate) -> FlowState | None:
    """Where to continue. None when nothing is left to do: the model is ready."""
    if saved.step is Step.PROGRESS:
        if fate is JobFate.DONE:
            return None
        return saved if fate is JobFate.GOING else give_up(saved)
    if saved.step is Step.COST and not saved.source:
        return add_model()
    return saved


def to_json(state: FlowState) -> str:
    return json.dumps(asdict(state), ensure_ascii=False)


def from_json(text: str) -> FlowState | None:
    """None for what is no saved state: then the wizard begins anew."""
    try:
        found: object = json.loads(text)
        if not isinstance(found, dict):
            return None
        row = cast(dict[str, Any], found)
        return FlowState(
            step=Step(row["step"]),
            source=str(row["source"]),
            title=str(row["title"]),
            is_download=bool(row["is_download"]),
            delete_original=bool(row["delete_original"]),
            keep_download=bool(row["keep_download"]),
            job_id=str(row["job_id"]),
            target=str(row.get("target", "")),
        )
    except (ValueError, KeyError):
        return None
