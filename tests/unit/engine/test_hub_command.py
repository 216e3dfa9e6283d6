"""``python -m engine download``: options, events, exit codes, and what others say of a model that is not here."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from engine.command_line.main import main
from tests.helpers.checkpoints import make_checkpoint
from tests.helpers.hub_server import COMMIT, FakeRepo, HubServer

NAME = f"acme--tiny@{COMMIT[:8]}"


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_checkpoint("llama", tmp_path_factory.mktemp("hub") / "tiny")


@pytest.fixture
def server(checkpoint: Path) -> Iterator[HubServer]:
    with HubServer({"acme/tiny": FakeRepo.of_folder(checkpoint)}) as server:
        yield server


@pytest.fixture(autouse=True)
def surroundings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """No tokens, caches and signal handlers of whoever runs the tests."""
    monkeypatch.delenv("HF_TOKEN", raising=False)
    monkeypatch.setattr("huggingface_hub.constants.HF_TOKEN_PATH", str(tmp_path / "login" / "token"))
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "cache"))
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in handlers.items():
        signal.signal(number, handler)


def run(tmp_path: Path, *arguments: str) -> int:
    return main([*arguments, "--data-dir", str(tmp_path / "data")])


def events(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_a_model_is_downloaded_cut_and_listed(
    server: HubServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path, "download", "acme/tiny", "--endpoint", server.endpoint, "--floor", "0", "--json") == 0
    found = events(capsys.readouterr().out)
    assert [event["event"] for event in found].count("Finished") == 1
    assert found[-1]["outcome"] == "done"
    assert found[-1]["result"]["model"] == NAME
    assert any(event.get("phase") == "downloading" for event in found)
    assert run(tmp_path, "list") == 0
    assert NAME in capsys.readouterr().out


def test_a_target_and_a_kept_download(server: HubServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "models elsewhere"
    code = run(
        tmp_path, "download", "acme/tiny", "--endpoint", server.endpoint, "--floor", "0", "--to", str(target),
        "--keep-download",
    )  # fmt: skip
    assert code == 0
    assert str(target / NAME) in capsys.readouterr().out
    assert list((target / ".downloads" / NAME).glob("*.safetensors"))


def test_the_token_comes_from_the_environment_or_the_hubs_login(
    server: HubServer, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    server.repos["acme/tiny"].gated = True
    server.tokens = server.accepted = {"hf_FromLogin", "hf_FromEnvironment"}
    command = ("download", "acme/tiny", "--endpoint", server.endpoint, "--floor", "0")
    assert run(tmp_path, *command) == 1
    assert f"Accept it on {server.endpoint}/acme/tiny" in capsys.readouterr().err
    (tmp_path / "login").mkdir()
    (tmp_path / "login" / "token").write_text("hf_FromLogin\n")
    assert run(tmp_path, *command) == 0
    assert {seen.token for seen in server.seen} == {None, "hf_FromLogin"}
    monkeypatch.setenv("HF_TOKEN", "hf_FromEnvironment")
    assert run(tmp_path, *command) == 0
    assert server.seen[-1].token == "hf_FromEnvironment"


def test_a_failure_is_one_sentence_and_one_event(
    server: HubServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path, "download", "acme/none", "--endpoint", server.endpoint, "--json") == 1
    out, err = capsys.readouterr()
    failed = events(out)[-1]
    assert (failed["event"], failed["error"]) == ("Failed", "NotOnHub")
    assert err.strip().splitlines() == [f"strata-engine: {failed['message']} {failed['next_step']}"]


@pytest.mark.parametrize("command", [["split", "acme/tiny"], ["generate", "acme/tiny", "--prompt", "x"]])
def test_a_model_that_is_not_here_is_to_be_downloaded_first(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path, *command) == 1
    assert "Download it first with: download acme/tiny" in capsys.readouterr().err
