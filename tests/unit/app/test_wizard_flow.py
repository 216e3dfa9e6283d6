"""The wizard's logic without Qt: the way through, closing at any point, going back."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from app.wizard import flow
from app.wizard.flow import FlowState, JobFate, Step
from app.wizard.flow_file import FlowFile

PROGRESS = flow.begin(flow.choose("/models/a", "A"), "job-1")


def test_from_launch_to_the_job_is_four_decisions() -> None:
    state = flow.advance(flow.welcome())
    state = flow.advance(state)
    state = flow.choose(flow.STARTER_SOURCE, "The starter")
    state = flow.begin(state, "job-1")
    assert state == FlowState(Step.PROGRESS, "starter", "The starter", job_id="job-1")


def test_somebody_who_adds_a_model_begins_with_the_choice() -> None:
    assert flow.add_model().step is Step.CHOICE


def test_a_new_choice_forgets_what_was_decided_about_the_last_one() -> None:
    state = flow.decide_files(flow.choose("/models/a", "A"), True)
    assert state.delete_original
    assert not flow.choose("/models/b", "B").delete_original


def test_the_starters_original_is_never_deleted() -> None:
    state = flow.choose(flow.STARTER_SOURCE, "The starter")
    assert not flow.decide_files(state, True).delete_original


def test_the_box_about_files_keeps_a_download_and_deletes_an_original() -> None:
    fetched = flow.decide_files(flow.choose("Qwen/Qwen3-4B", "Qwen3 4B", is_download=True), True)
    assert (fetched.keep_download, fetched.delete_original) == (True, False)
    own = flow.decide_files(flow.choose("/models/a", "A"), True)
    assert (own.keep_download, own.delete_original) == (False, True)
    assert flow.is_box_ticked(fetched)
    assert flow.is_box_ticked(own)


def test_one_goes_back_step_by_step_but_not_out_of_a_job() -> None:
    state = flow.choose("/models/a", "A")
    steps = [state.step]
    while flow.can_go_back(state):
        state = flow.go_back(state)
        steps.append(state.step)
    assert steps == [Step.COST, Step.CHOICE, Step.MACHINE, Step.WELCOME]
    assert flow.go_back(PROGRESS) == PROGRESS


@pytest.mark.parametrize("step", list(Step))
def test_a_state_survives_being_saved(step: Step, tmp_path: Path) -> None:
    state = FlowState(step, "/模型/a", "标题", True, True, True, "job-1")
    file = FlowFile(tmp_path / "not there yet" / "wizard.json")
    file.write(state)
    assert file.read() == state
    file.clear()
    assert file.read() is None


@pytest.mark.parametrize("text", ["", "null", "[]", "{}", '{"step": "nowhere"}', "\x00"])
def test_what_is_no_state_begins_anew(text: str) -> None:
    assert flow.from_json(text) is None


def test_a_running_job_is_continued_and_a_lost_one_goes_back_to_its_cost() -> None:
    assert flow.resume(PROGRESS, JobFate.GOING) == PROGRESS
    lost = flow.resume(PROGRESS, JobFate.GONE)
    assert lost is not None
    assert (lost.step, lost.source, lost.job_id) == (Step.COST, "/models/a", "")


def test_a_finished_job_leaves_nothing_to_do() -> None:
    assert flow.resume(PROGRESS, JobFate.DONE) is None


def test_a_cost_without_a_model_goes_back_to_the_choice() -> None:
    assert flow.resume(FlowState(Step.COST), JobFate.GONE) == flow.add_model()


def test_the_logic_loads_no_qt() -> None:
    code = (
        "import sys, app.wizard.flow, app.wizard.flow_file, app.wizard.offers, app.wizard.found_models, app.estimates;"
        "sys.exit(any(name.startswith('PySide6') for name in sys.modules))"
    )
    root = Path(__file__).parents[3]
    assert subprocess.run([sys.executable, "-c", code], check=False, cwd=root).returncode == 0
