"""Code that comes with a model runs only where the user allowed this code, of this model, on this computer."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM

from engine.cancel import CancelToken
from engine.command_line.main import main
from engine.errors import CodeNotAllowed, UnsupportedModel
from engine.events import Finished, SplitResult
from engine.generation.messages import Prompt
from engine.hub_access import HubAccess
from engine.load_options import LoadOptions
from engine.local import LocalEngine
from engine.store.manifest import read_manifest
from engine.store.model_store import ModelStore
from engine.store.remote_code import CONSENTS_NAME
from tests.helpers.code_checkpoints import make_code_checkpoint
from tests.helpers.hub_downloads import block_files, download, result_of
from tests.helpers.hub_server import COMMIT, FakeRepo, HubServer
from tests.helpers.splits import PROMPT

CPU = LoadOptions(device="cpu", context=64)


@pytest.fixture
def marker(tmp_path: Path) -> Path:
    return tmp_path / "the code ran"


@pytest.fixture
def checkpoint(tmp_path: Path, marker: Path) -> Path:
    return make_code_checkpoint(tmp_path / "own", marker)


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalEngine]:
    monkeypatch.setattr("transformers.dynamic_module_utils.HF_MODULES_CACHE", str(tmp_path / "modules"))
    monkeypatch.syspath_prepend(str(tmp_path / "modules"))
    for name in [name for name in sys.modules if name.startswith("transformers_modules")]:
        monkeypatch.delitem(sys.modules, name)
    with LocalEngine(ModelStore(tmp_path / "data")) as local:
        yield local


def data_of(engine: LocalEngine) -> list[str]:
    return ["--data-dir", str(engine.store.data_dir)]


def split(engine: LocalEngine, source: Path) -> Path:
    *_, last = engine.split(str(source), delete_original=False, cancel=CancelToken())
    assert isinstance(last, Finished)
    assert isinstance(last.result, SplitResult)
    return Path(last.result.path)


def load(engine: LocalEngine, folder: Path) -> None:
    for _ in engine.load(folder, CPU, CancelToken()):
        pass


def test_code_does_not_run_unless_it_is_allowed(checkpoint: Path, marker: Path, engine: LocalEngine) -> None:
    for call in (lambda: engine.plan(str(checkpoint), CPU), lambda: split(engine, checkpoint)):
        with pytest.raises(CodeNotAllowed, match="have not allowed this code") as caught:
            call()
        assert caught.value.files == ("configuration_own.py", "modeling_own.py")
        assert caught.value.sizes == tuple((checkpoint / name).stat().st_size for name in caught.value.files)
        assert caught.value.model == "local/own"
    assert not marker.exists()
    assert main(["plan", str(checkpoint), *data_of(engine)]) == 1
    assert not marker.exists()


def test_allowed_code_streams_bit_for_bit_and_travels_with_the_split(
    checkpoint: Path, marker: Path, engine: LocalEngine, tmp_path: Path
) -> None:
    engine.allow_code(str(checkpoint))
    assert not marker.exists()
    assert engine.plan(str(checkpoint), CPU).architecture == "OwnForCausalLM"
    folder = split(engine, checkpoint)
    assert marker.exists()
    manifest = read_manifest(folder)
    assert manifest.code
    assert {"configuration_own.py", "modeling_own.py"} <= set(manifest.side_files)
    plain = AutoModelForCausalLM.from_pretrained(checkpoint, dtype="auto", trust_remote_code=True)
    with torch.inference_mode():
        wanted = plain(input_ids=torch.tensor([PROMPT])).logits[0].float()
    shutil.rmtree(checkpoint)
    load(engine, folder)
    assert torch.equal(engine.prompt_logits(Prompt("", tuple(PROMPT)), CancelToken()), wanted)


def test_changed_code_and_another_computer_are_asked_about_again(
    checkpoint: Path, engine: LocalEngine, tmp_path: Path
) -> None:
    engine.allow_code(str(checkpoint))
    folder = split(engine, checkpoint)
    with LocalEngine(ModelStore(tmp_path / "elsewhere")) as other, pytest.raises(CodeNotAllowed):
        load(other, folder)
    (folder / "modeling_own.py").write_text("raise SystemExit('never run')")
    with pytest.raises(CodeNotAllowed):
        load(engine, folder)
    (checkpoint / "modeling_own.py").write_text("raise SystemExit('never run')")
    with pytest.raises(CodeNotAllowed):
        split(engine, checkpoint)
    (engine.store.data_dir / CONSENTS_NAME).write_text("not JSON")
    with pytest.raises(CodeNotAllowed):
        load(engine, folder)


def test_a_yes_is_to_the_code_that_was_shown(checkpoint: Path, marker: Path, engine: LocalEngine) -> None:
    shown = refusal(engine, checkpoint)
    modeling = checkpoint / "modeling_own.py"
    text = modeling.read_text()
    modeling.write_text(text + "# changed while the question was open")
    engine.allow_shown_code(shown.model, shown.revision, shown.digest)
    assert refusal(engine, checkpoint).digest != shown.digest
    assert not marker.exists()
    modeling.write_text(text)
    assert engine.plan(str(checkpoint), CPU).architecture == "OwnForCausalLM"


def refusal(engine: LocalEngine, checkpoint: Path) -> CodeNotAllowed:
    with pytest.raises(CodeNotAllowed) as caught:
        engine.plan(str(checkpoint), CPU)
    return caught.value


def test_a_download_asks_before_a_weight_is_fetched_and_cuts_what_was_allowed(
    checkpoint: Path, marker: Path, engine: LocalEngine
) -> None:
    with HubServer({"acme/own": FakeRepo.of_folder(checkpoint)}) as server:
        access = HubAccess(token=None, endpoint=server.endpoint)
        with pytest.raises(CodeNotAllowed) as caught:
            engine.plan_download("acme/own", access, CPU)
        shown = caught.value
        with pytest.raises(CodeNotAllowed):
            download(server, engine.store, "acme/own")
        assert (shown.model, shown.revision) == ("acme/own", COMMIT)
        assert shown.files == ("configuration_own.py", "modeling_own.py")
        assert not weights_asked_for(server)
        assert not marker.exists()
        engine.allow_shown_code(shown.model, shown.revision, shown.digest)
        assert engine.plan_download("acme/own", access, CPU).architecture == "OwnForCausalLM"
        assert weights_asked_for(server)
        folder = Path(result_of(download(server, engine.store, "acme/own")).path)
    assert block_files(folder) == block_files(split_of(engine, checkpoint))
    load(engine, folder)


def weights_asked_for(server: HubServer) -> list[str]:
    return [path for path in server.paths() if path.partition("?")[0].endswith(".safetensors")]


def split_of(engine: LocalEngine, checkpoint: Path) -> Path:
    engine.allow_code(str(checkpoint))
    return split(engine, checkpoint)


def test_the_command_line_downloads_allowed_code(checkpoint: Path, engine: LocalEngine) -> None:
    with HubServer({"acme/own": FakeRepo.of_folder(checkpoint)}) as server:
        wanted = ["download", "acme/own", "--endpoint", server.endpoint, "--floor", "0", *data_of(engine)]
        assert main(wanted) == 1
        assert not engine.list_models()
        assert main([*wanted, "--allow-remote-code"]) == 0
        assert [model.title for model in engine.list_models()] == ["acme/own"]


def test_the_command_line_allows_code_by_an_option(checkpoint: Path, marker: Path, engine: LocalEngine) -> None:
    assert main(["plan", str(checkpoint), "--device", "cpu", "--allow-remote-code", *data_of(engine)]) == 0
    assert marker.exists()


@pytest.mark.parametrize("where", ["acme/other--modeling_own.OwnForCausalLM", "gone.OwnForCausalLM"])
def test_code_that_is_elsewhere_is_refused(where: str, checkpoint: Path, engine: LocalEngine) -> None:
    config = json.loads((checkpoint / "config.json").read_text())
    config["auto_map"]["AutoModelForCausalLM"] = where
    (checkpoint / "config.json").write_text(json.dumps(config))
    with pytest.raises(UnsupportedModel, match="is not in its folder"):
        engine.allow_code(str(checkpoint))
