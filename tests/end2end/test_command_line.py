"""The fixed headless commands as scripts use them: output, JSON events, exit codes, one-line errors."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import pytest

from engine.cancel import CancelToken
from engine.command_line import commands
from engine.command_line.main import main
from engine.command_line.parser import build_parser
from engine.events import Event, JobProgress, Loaded, LoadProgress
from engine.generation.context_size import cache_bytes
from engine.request_checks import outline_source
from engine.store.model_store import ModelStore
from engine.store.open_source import open_source
from tests.helpers.families import make_checkpoint, plain_outputs, write_tiny_tokenizer
from tests.helpers.splits import PROMPT
from tests.helpers.vision_models import make_vision_checkpoint, picture, plain_answer

IDS = ",".join(map(str, PROMPT))


@pytest.fixture(autouse=True)
def signals() -> Iterator[None]:
    """``main`` sets handlers of its own; the test runner gets its back."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = make_checkpoint("llama", tmp_path_factory.mktemp("made") / "tiny-llama")
    write_tiny_tokenizer(folder, 288)
    return folder


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory, checkpoint: Path) -> Path:
    folder = tmp_path_factory.mktemp("data")
    assert main(["split", str(checkpoint), "--data-dir", str(folder)]) == 0
    bare = make_checkpoint("llama", tmp_path_factory.mktemp("made") / "bare-llama")
    assert main(["split", str(bare), "--data-dir", str(folder)]) == 0
    return folder


def events(capsys: pytest.CaptureFixture[str]) -> list[dict[str, object]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_a_split_model_is_listed_verified_and_removed(
    checkpoint: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where = ["--data-dir", str(tmp_path)]
    assert main(["split", str(checkpoint), *where]) == 0
    assert "tiny-llama" in capsys.readouterr().out
    assert main(["list", *where, "--json"]) == 0
    (model,) = events(capsys)
    assert model["state"] == "ready"
    assert main(["verify", "tiny-llama", *where]) == 0
    assert "all sound" in capsys.readouterr().out
    assert main(["remove", "tiny-llama", *where]) == 0
    capsys.readouterr()
    assert main(["list", *where]) == 0
    assert capsys.readouterr().out == ""
    assert (checkpoint / "config.json").exists()


def test_generate_streams_tokens_as_json_and_ends_with_finished(
    data_dir: Path, checkpoint: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    want = plain_outputs(checkpoint, PROMPT, 16)
    capsys.readouterr()
    command = ["generate", "tiny-llama", "--prompt-ids", IDS, "--greedy", "--max-new-tokens", "16"]
    assert main([*command, "--device", "cpu", "--data-dir", str(data_dir), "--json"]) == 0
    seen = events(capsys)
    tokens = [event["token_id"] for event in seen if event["event"] == "TokenArrived"]
    assert tokens == list(want.token_ids)
    assert [event["event"] for event in seen].count("Finished") == 1
    assert seen[-1]["event"] == "Finished"
    assert any(event["event"] == "LayerProgress" for event in seen)


def test_logits_of_the_prompt_are_written_as_float32(data_dir: Path, checkpoint: Path, tmp_path: Path) -> None:
    file = tmp_path / "logits.npy"
    command = ["generate", "tiny-llama", "--prompt-ids", IDS, "--max-new-tokens", "1", "--logits", str(file)]
    assert main([*command, "--device", "cpu", "--data-dir", str(data_dir)]) == 0
    logits = np.load(file)
    assert logits.dtype == np.float32
    assert np.array_equal(logits, plain_outputs(checkpoint, PROMPT, 1).logits.numpy())


def test_a_chat_answer_is_text_alone_on_standard_output(data_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["generate", "tiny-llama", "--chat", "Hello", "--greedy", "--max-new-tokens", "5"]
    assert main([*command, "--data-dir", str(data_dir), "--ram", "1GB"]) == 0
    out = capsys.readouterr().out
    assert out.endswith("\n")
    assert "Hello" not in out
    assert "{" not in out.splitlines()[-1][:1]


def test_a_source_is_cut_first_and_found_again(checkpoint: Path, tmp_path: Path) -> None:
    command = ["generate", str(checkpoint), "--prompt-ids", "3", "--max-new-tokens", "1", "--data-dir", str(tmp_path)]
    assert main(command) == 0
    (split,) = (tmp_path / "models").glob("local--*")
    manifest = split / "split.json"
    before = manifest.stat().st_mtime_ns
    assert main(command) == 0
    assert manifest.stat().st_mtime_ns == before


def test_plan_says_bytes_tiers_and_time(checkpoint: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", str(checkpoint), "--data-dir", str(tmp_path), "--device", "cpu", "--json"]) == 0
    (plan,) = events(capsys)
    assert plan["disk_peak_bytes"] == plan["disk_after_bytes"]
    assert plan["blocks"] == 6
    assert float(str(plan["predicted_s_per_token"])) > 0
    assert not (tmp_path / "models").exists()


def test_bench_reports_its_share_of_the_limit(data_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["bench", "tiny-llama", "--cold", "--passes", "2", "--data-dir", str(data_dir), "--device", "cpu"]
    assert main([*command, "--json"]) == 0
    *_, report, finished = events(capsys)
    assert (report["event"], finished["event"], finished["outcome"]) == ("BenchReport", "Finished", "done")
    assert float(str(report["share_of_limit"])) > 0
    assert report["mispredictions"] == 0


def type_lines(monkeypatch: pytest.MonkeyPatch, lines: Iterable[str]) -> None:
    left = iter(lines)

    def read(prompt: str = "") -> str:
        try:
            return next(left)
        except StopIteration:
            raise EOFError from None

    monkeypatch.setattr("builtins.input", read)


def test_a_conversation_from_standard_input_answers_each_line(
    data_dir: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    type_lines(monkeypatch, ["Hello", "And now?"])
    command = ["chat", "tiny-llama", "--greedy", "--max-new-tokens", "4", "--data-dir", str(data_dir), "--json"]
    assert main(command) == 0
    results = [event["result"] for event in events(capsys) if event["event"] == "Finished"]
    assert len(results) == 2
    assert isinstance(results[1], dict)
    assert results[1]["cached_tokens"] > 0


def test_a_damaged_file_is_named_and_repaired_alone(
    checkpoint: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where = ["--data-dir", str(tmp_path)]
    assert main(["split", str(checkpoint), *where]) == 0
    (block,) = tmp_path.rglob("layer-001.safetensors")
    data = bytearray(block.read_bytes())
    data[-5] ^= 1
    block.write_bytes(data)
    others = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.safetensors") if path != block}
    assert main(["verify", "tiny-llama", *where]) == 1
    assert "layer-001.safetensors" in capsys.readouterr().err
    assert main(["verify", "tiny-llama", "--repair", *where]) == 0
    assert main(["verify", "tiny-llama", *where]) == 0
    assert all(path.stat().st_mtime_ns == time for path, time in others.items())


BAD = {
    "missing folder": ["split", "{tmp}/nowhere"],
    "empty folder": ["split", "{tmp}/empty"],
    "no such model": ["generate", "no-such-model", "--prompt", "x"],
    "ids outside the vocabulary": ["generate", "tiny-llama", "--prompt-ids", "3,999"],
    "empty prompt": ["generate", "tiny-llama", "--prompt", " "],
    "empty chat": ["generate", "tiny-llama", "--chat", ""],
    "budget below one block": ["generate", "tiny-llama", "--prompt-ids", "3", "--ram", "5kB"],
    "bits": ["split", "starter", "--bits", "4"],
    "drafts": ["generate", "tiny-llama", "--prompt", "x", "--draft", "lookup"],
    "temperature": ["generate", "tiny-llama", "--prompt", "x", "--temperature", "9"],
    "a text file": ["split", "{tmp}/notes.txt"],
    "system without chat": ["generate", "tiny-llama", "--prompt", "x", "--system", "be nice"],
    "image without chat": ["generate", "tiny-llama", "--prompt", "x", "--image", "{tmp}/notes.txt"],
    "image that is none": ["generate", "tiny-llama", "--chat", "x", "--image", "{tmp}/notes.txt"],
    "image that is not there": ["generate", "tiny-llama", "--chat", "x", "--image", "{tmp}/photo.png"],
    "image for a model that reads text": ["generate", "tiny-llama", "--chat", "x", "--image", "{tmp}/dot.png"],
    "logits to nowhere": ["generate", "tiny-llama", "--prompt-ids", "3", "--logits", "{tmp}/nowhere/x.npy"],
    "text for a model without tokenizer": ["generate", "bare-llama", "--prompt", "x"],
    "verify what is not there": ["verify", "nothing"],
    "remove what is not there": ["remove", "nothing"],
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_gives_one_sentence_and_exit_code_one_without_torch(
    case: str, data_dir: Path, tmp_path: Path
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "notes.txt").write_text("just some notes", encoding="utf-8")
    (tmp_path / "dot.png").write_bytes(picture())
    arguments = [part.replace("{tmp}", str(tmp_path)) for part in BAD[case]] + ["--data-dir", str(data_dir)]
    program = (
        "import sys; from engine.command_line.main import main; code = main(sys.argv[1:]); "
        "heavy = {'torch', 'transformers'} & set(sys.modules); sys.exit(f'imported {heavy}' if heavy else code)"
    )
    before = sorted(data_dir.rglob("*"))
    done = subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("strata-engine: ")
    assert done.stdout == ""
    assert [path for path in sorted(data_dir.rglob("*")) if ".locks" not in str(path)] == [
        path for path in before if ".locks" not in str(path)
    ]


@pytest.mark.parametrize(
    "arguments",
    [[], ["dance"], ["generate", "x"], ["plan", "starter", "--ram", "much"], ["bench", "x", "--passes", "0"]],
)
def test_wrong_usage_exits_with_two(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2


@pytest.mark.slow
def test_an_image_goes_through_every_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoint = make_vision_checkpoint("llava", tmp_path / "tiny-llava")
    file, logits = tmp_path / "a photo.png", tmp_path / "logits.npy"
    file.write_bytes(picture())
    where = ["--data-dir", str(tmp_path / "data"), "--json"]
    assert main(["plan", str(checkpoint), *where]) == 0
    assert main(["split", str(checkpoint), *where]) == 0
    assert main(["list", *where]) == 0
    seen = events(capsys)
    assert [seen[0]["accepts_images"], seen[-1]["accepts_images"]] == [True, True]
    command = ["generate", "tiny-llava", "--chat", "What is it?", "--image", str(file), "--logits", str(logits)]
    assert main([*command, "--greedy", "--max-new-tokens", "4", *where]) == 0
    parts = [{"type": "image", "image": picture()}, {"type": "text", "text": "What is it?"}]
    plain = plain_answer(checkpoint, "llava", [{"role": "user", "content": parts}], 4)
    seen = events(capsys)
    assert np.array_equal(np.load(logits), plain.logits.numpy())
    assert [event["token_id"] for event in seen if event["event"] == "TokenArrived"] == list(plain.token_ids)
    assert next(event for event in seen if event["event"] == "Loaded")["accepts_images"] is True

    escaped = str(file).replace(" ", "\\ ")
    lines = [f"/image {tmp_path}", f"/image {file}", "/image", f'/image "{file}"', "/new", f"/image {escaped}"]
    type_lines(monkeypatch, [*lines, "What is it?"])
    assert main(["chat", "tiny-llava", "--greedy", "--max-new-tokens", "4", *where]) == 0
    seen = events(capsys)
    (failed,) = (event for event in seen if event["event"] == "Failed")
    assert failed["message"] == f"The image {tmp_path.name} cannot be read: Is a directory."
    assert [event["token_id"] for event in seen if event["event"] == "TokenArrived"] == list(plain.token_ids)


def test_a_model_without_a_chat_template_says_what_to_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    checkpoint = make_checkpoint("llama", tmp_path / "plain")
    where = ["--data-dir", str(tmp_path / "data")]
    assert main(["split", str(checkpoint), *where]) == 0
    assert main(["generate", "plain", "--chat", "Hello", *where]) == 1
    assert "--prompt" in capsys.readouterr().err


def test_a_read_only_target_is_said_before_anything_is_read(
    checkpoint: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("in the way", encoding="utf-8")
    assert main(["split", str(checkpoint), "--to", str(blocked / "models")]) == 1
    assert "cannot be written" in capsys.readouterr().err


@pytest.mark.slow
def test_interrupting_an_answer_exits_with_130_and_keeps_the_events_whole(data_dir: Path) -> None:
    command = [sys.executable, "-m", "engine", "generate", "tiny-llama", "--prompt-ids", "3", "--json"]
    command += ["--max-new-tokens", "200", "--data-dir", str(data_dir)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ}) as process:
        assert process.stdout is not None
        seen: list[dict[str, object]] = []
        for line in process.stdout:
            seen.append(json.loads(line))
            if seen[-1]["event"] == "TokenArrived" and len(seen) > 3:
                process.send_signal(signal.SIGINT)
                break
        seen += [json.loads(line) for line in process.stdout]
        assert process.wait(30) == 130
    assert seen[-1]["event"] == "Finished"
    assert seen[-1]["outcome"] == "cancelled"


UNCUT = {
    "ids outside the vocabulary": ["generate", "{source}", "--prompt-ids", "3,999"],
    "no tokenizer": ["generate", "{source}", "--prompt", "x"],
    "no chat template": ["generate", "{source}", "--chat", "x"],
    "a chat without a template": ["chat", "{source}"],
    "a budget far below one block": ["generate", "{source}", "--prompt-ids", "3", "--ram", "5kB"],
    "a bench below one block": ["bench", "{source}", "--ram", "5kB"],
}


@pytest.mark.parametrize("case", UNCUT)
def test_an_uncut_source_is_refused_before_it_is_cut_and_without_torch(case: str, tmp_path: Path) -> None:
    source = make_checkpoint("llama", tmp_path / "bare")
    arguments = [part.replace("{source}", str(source)) for part in UNCUT[case]]
    program = (
        "import sys; from engine.command_line.main import main; code = main(sys.argv[1:]); "
        "sys.exit('imported torch' if 'torch' in sys.modules else code)"
    )
    arguments += ["--data-dir", str(tmp_path / "data")]
    done = subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize("what", ["a budget just below one block", "a device"])
def test_what_takes_torch_to_know_is_refused_before_cutting_too(
    what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = make_checkpoint("llama", tmp_path / "bare")
    outline = outline_source(open_source(source))
    estimate = outline.blocks[0].nbytes + cache_bytes(outline.config, 16, outline.itemsize)
    options = ["--device", "warp"] if what == "a device" else ["--ram", str(estimate), "--context", "16"]
    command = ["generate", str(source), "--prompt-ids", "3", *options, "--data-dir", str(tmp_path / "data")]
    assert main(command) == 1
    assert capsys.readouterr().err.startswith("strata-engine: ")
    assert not (tmp_path / "data").exists()


def test_a_deleted_original_still_means_its_model(checkpoint: Path, tmp_path: Path) -> None:
    source = shutil.copytree(checkpoint, tmp_path / "original")
    where = ["--data-dir", str(tmp_path / "data"), "--device", "cpu"]
    assert main(["split", str(source), "--delete-original", *where[:2]]) == 0
    assert not list(source.glob("*.safetensors"))
    assert main(["generate", str(source), "--prompt-ids", "3", "--max-new-tokens", "1", *where]) == 0
    assert main(["plan", str(source), *where]) == 0
    assert len(list((tmp_path / "data" / "models").glob("local--*"))) == 1


def test_a_full_drive_fails_a_plan_like_a_split(
    checkpoint: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage._replace(free=0))
    for command in ("plan", "split"):
        assert main([command, str(checkpoint), "--data-dir", str(tmp_path / "data")]) == 1
        assert "0 B are free" in capsys.readouterr().err


@pytest.mark.parametrize("command", [["generate", "--prompt-ids", "3"], ["bench"], ["chat"]])
@pytest.mark.parametrize("when", [JobProgress, LoadProgress, Loaded])
def test_a_command_cancelled_while_it_cuts_or_loads_ends_with_one_finished(
    command: list[str],
    when: type,
    checkpoint: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cancel = CancelToken()
    shown = commands.event_to_dict

    def show(event: Event) -> dict[str, object]:
        if isinstance(event, when):
            cancel.cancel()
        return shown(event)

    monkeypatch.setattr(commands, "event_to_dict", show)
    monkeypatch.setattr("engine.benchmark.load_model", lambda *_: cancel.cancel() or cancel.raise_if_cancelled())
    name, *rest = command
    options = build_parser().parse_args(
        [name, str(checkpoint), *rest, "--json", "--device", "cpu", "--data-dir", str(tmp_path)]
    )
    monkeypatch.setattr("builtins.input", fail_to_read)
    code = commands.run(options, ModelStore(tmp_path), cancel)
    seen = events(capsys)
    assert code == 130
    assert [event["event"] for event in seen].count("Finished") == 1
    assert (seen[-1]["event"], seen[-1]["outcome"]) == ("Finished", "cancelled")


def fail_to_read(prompt: str = "") -> str:
    raise EOFError
