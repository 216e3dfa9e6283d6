"""Recognising what a user gives as a model, by content; refusing what is none in one sentence, without torch."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from transformers import AutoConfig

from engine.errors import EngineError, SourceError, UnsupportedModel
from engine.models.architecture import find_model_class
from engine.store.checkpoint_config import is_known_type
from engine.store.checkpoint_folder import find_side_files
from engine.store.manifest import SourceKind
from engine.store.open_source import open_source
from engine.store.source import is_same_source, safe_name, source_from_json, split_folder_name
from tests.helpers.checkpoints import COMMIT, make_checkpoint, make_hub_cache

LLAMA = {"model_type": "llama", "architectures": ["LlamaForCausalLM"]}
LFS_POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 4976698672\n"
HTML = b"\n<!DOCTYPE html><html><head><title>Sign in</title></head></html>"


def write_shard(path: Path, names: list[str], *, header: dict[str, Any] | None = None, cut: int = 0) -> None:
    """A safetensors file of small float16 tensors; ``header`` replaces the table, ``cut`` drops bytes of the end."""
    table = header or {
        name: {"dtype": "F16", "shape": [2, 8], "data_offsets": [32 * n, 32 * (n + 1)]} for n, name in enumerate(names)
    }
    text = json.dumps(table).encode()
    data = struct.pack("<Q", len(text)) + text + bytes(32 * len(names))
    path.write_bytes(data[: len(data) - cut])


def make_folder(folder: Path, config: dict[str, Any] | None = None, shards: int = 2) -> Path:
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(LLAMA if config is None else config))
    names = [f"model-{n:05d}-of-{shards:05d}.safetensors" for n in range(1, shards + 1)]
    weight_map = {f"tensor.{n}": name for n, name in enumerate(names)}
    for n, name in enumerate(names):
        write_shard(folder / name, [f"tensor.{n}"])
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": weight_map}))
    return folder


def test_a_sharded_folder_is_read_through_its_index(tmp_path: Path) -> None:
    source = open_source(make_folder(tmp_path / "My Model (v2)"))
    assert source.kind is SourceKind.SAFETENSORS
    assert [file.name for file in source.record.files] == [
        "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"
    ]  # fmt: skip
    assert source.tensors["tensor.1"].file == "model-00002-of-00002.safetensors"
    assert source.tensors["tensor.1"].shape == (2, 8)
    assert split_folder_name(source.record) == f"local--My-Model-v2@{source.record.revision[:8]}"


def test_copies_of_the_weights_are_left_alone(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "model")
    (folder / "original").mkdir()
    for name in (
        "consolidated.safetensors",
        "original/consolidated.00.pth",
        "pytorch_model.bin",
        "model.onnx",
        "a.gguf",
    ):
        (folder / name).write_bytes(b"something else")
    assert len(open_source(folder).record.files) == 2


def test_a_series_without_an_index_is_recognised_by_its_numbers(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "model")
    (folder / "model.safetensors.index.json").unlink()
    assert len(open_source(folder).record.files) == 2
    (folder / "model-00001-of-00002.safetensors").unlink()
    with pytest.raises(SourceError, match="model-00001-of-00002"):
        open_source(folder)


def test_a_source_survives_json(tmp_path: Path) -> None:
    source = open_source(make_folder(tmp_path / "model"))
    assert source_from_json(source.to_json()) == source


@pytest.mark.parametrize("change", ["config.json", "model-00002-of-00002.safetensors"])
def test_any_change_of_config_or_weights_is_another_revision(change: str, tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "model")
    before = open_source(folder).record
    assert is_same_source(before, open_source(folder).record)
    if change == "config.json":
        (folder / change).write_text(json.dumps({**LLAMA, "rope_theta": 1}))
    else:
        write_shard(folder / change, ["tensor.1", "tensor.2"])
    assert not is_same_source(before, open_source(folder).record)
    assert before.revision != open_source(folder).record.revision


def test_a_hub_cache_snapshot_keeps_its_real_name_and_commit(tmp_path: Path) -> None:
    snapshot = make_hub_cache(make_folder(tmp_path / "model"), tmp_path / "hub")
    for given in (snapshot, snapshot.parent.parent):
        record = open_source(given).record
        assert (record.owner, record.name, record.revision) == ("acme", "tiny", COMMIT)
        assert split_folder_name(record) == f"acme--tiny@{COMMIT[:8]}"


def test_a_repo_id_is_found_in_the_hub_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    make_hub_cache(make_folder(tmp_path / "model"), tmp_path / "hub")
    assert open_source("acme/tiny").record.revision == COMMIT
    assert open_source(f"acme/tiny@{COMMIT[:6]}").record.revision == COMMIT
    with pytest.raises(SourceError, match="no complete download"):
        open_source("acme/tiny@feedbeef")
    with pytest.raises(SourceError, match="does not hold that model"):
        open_source("acme/other")


def test_an_incomplete_hub_cache_names_what_is_missing(tmp_path: Path) -> None:
    snapshot = make_hub_cache(make_folder(tmp_path / "model"), tmp_path / "hub")
    (snapshot / "model-00002-of-00002.safetensors").resolve().unlink()
    with pytest.raises(SourceError, match=r"model-00002-of-00002\.safetensors"):
        open_source(snapshot)


def only_config(folder: Path) -> Path:
    make_folder(folder)
    for path in folder.glob("model*"):
        path.unlink()
    return folder


def with_shard(content: bytes) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        make_folder(folder)
        (folder / "model-00001-of-00002.safetensors").write_bytes(content)
        return folder

    return make


def with_config(**entries: Any) -> Callable[[Path], Path]:
    return lambda folder: make_folder(folder, {**LLAMA, **entries})


def with_config_text(text: str) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        make_folder(folder)
        (folder / "config.json").write_text(text)
        return folder

    return make


def with_header(**entries: Any) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        make_folder(folder)
        table = {name: {"dtype": "F16", "shape": [2, 8], "data_offsets": place} for name, place in entries.items()}
        write_shard(folder / "model-00001-of-00002.safetensors", list(entries), header=table)
        return folder

    return make


def truncated(folder: Path) -> Path:
    make_folder(folder)
    write_shard(folder / "model-00002-of-00002.safetensors", ["tensor.1"], cut=5)
    return folder


def missing_shard(folder: Path) -> Path:
    make_folder(folder)
    (folder / "model-00002-of-00002.safetensors").unlink()
    return folder


def adapter(folder: Path) -> Path:
    folder.mkdir()
    (folder / "adapter_config.json").write_text(json.dumps({"base_model_name_or_path": "meta/base-8b"}))
    write_shard(folder / "adapter_model.safetensors", ["lora"])
    return folder


def empty(folder: Path) -> Path:
    folder.mkdir()
    return folder


def escaping_index(folder: Path) -> Path:
    make_folder(folder)
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"a": "../../secret.safetensors"}}))
    return folder


def two_models(folder: Path) -> Path:
    only_config(folder)
    for name in ("a.safetensors", "b.safetensors"):
        write_shard(folder / name, ["tensor"])
    return folder


def foreign(folder: Path) -> Path:
    (only_config(folder) / "tf_model.h5").write_bytes(b"weights")
    return folder


def gguf_folder(folder: Path) -> Path:
    (only_config(folder) / "model.Q4_0.gguf").write_bytes(b"GGUF")
    return folder


GPTQ = {"quant_method": "gptq", "bits": 4}
BAD: list[tuple[str, Callable[[Path], Path], type[EngineError], str]] = [
    ("missing", lambda folder: folder, SourceError, "There is no folder or file"),
    ("empty", empty, SourceError, "is empty"),
    ("adapter", adapter, SourceError, "only an adapter (LoRA) of meta/base-8b"),
    ("no weights", only_config, SourceError, "holds no weight files"),
    ("foreign weights", foreign, UnsupportedModel, "tf_model.h5"),
    ("gguf in a folder", gguf_folder, SourceError, "model.Q4_0.gguf"),
    ("two models", two_models, SourceError, "several weight files (a.safetensors, b.safetensors)"),
    ("missing shard", missing_shard, SourceError, "model-00002-of-00002.safetensors"),
    ("html shard", with_shard(HTML), SourceError, "model-00001-of-00002.safetensors is a web page (HTML)"),
    ("lfs shard", with_shard(LFS_POINTER), SourceError, f"is a git-lfs pointer ({len(LFS_POINTER)} bytes)"),
    ("empty shard", with_shard(b""), SourceError, "model-00001-of-00002.safetensors is empty"),
    ("garbage shard", with_shard(b"\xff" * 4096), SourceError, "is not a safetensors file"),
    ("huge header", with_shard(struct.pack("<Q", 1 << 38) + b"{"), SourceError, "claims a header of 275 GB"),
    ("cut header", with_shard(struct.pack("<Q", 5000) + b"{"), SourceError, "it should have 5,008 bytes and has 9"),
    ("header no json", with_shard(struct.pack("<Q", 4) + b"{abc"), SourceError, "is damaged"),
    ("truncated", truncated, SourceError, "is truncated: it should have"),
    ("overlap", with_header(a=[0, 32], b=[16, 48]), SourceError, "b overlaps a"),
    ("wrong extent", with_header(a=[0, 30]), SourceError, "is damaged"),
    ("escaping index", escaping_index, SourceError, "points outside of its folder"),
    ("config no json", with_config_text("{"), SourceError, "is not JSON"),
    ("config html", with_config_text(HTML.decode()), SourceError, "is a web page (HTML)"),
    ("config a list", with_config_text("[]"), SourceError, "describes no model"),
    ("no architectures", with_config(architectures=None), SourceError, "names no architecture"),
    ("nothing named", with_config(architectures=None, model_type=None), SourceError, "neither a model type"),
    ("unknown type", with_config(model_type="quxx"), UnsupportedModel, "“quxx” are not known"),
    ("remote code", with_config(model_type="quxx", auto_map={"AutoConfig": "a.B"}), UnsupportedModel, "Python code"),
    ("encoder-decoder", with_config(model_type="t5", is_encoder_decoder=True), UnsupportedModel, "encoder-decoder"),
    ("gptq", with_config(quantization_config=GPTQ), UnsupportedModel, "is quantised (gptq)"),
    ("hidden gptq", with_config(text_config={"quantization_config": GPTQ}), UnsupportedModel, "is quantised (gptq)"),
]


@pytest.mark.parametrize(("make", "kind", "part"), [case[1:] for case in BAD], ids=[case[0] for case in BAD])
def test_bad_input_is_one_sentence_and_a_next_step(
    make: Callable[[Path], Path], kind: type[EngineError], part: str, tmp_path: Path
) -> None:
    folder = make(tmp_path / "given")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(EngineError) as caught:
        open_source(folder)
    assert type(caught.value) is kind
    assert part in caught.value.message
    assert caught.value.next_step.strip()
    assert "\n" not in str(caught.value)
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    ("name", "content", "part"),
    [
        ("model.gguf", HTML, "is a web page"),
        ("model.gguf", LFS_POINTER, "is a git-lfs pointer"),
        ("model.gguf", b"", "is empty"),
        ("model.gguf", b"GGUF" + struct.pack("<IQQ", 3, 1 << 60, 1), "is damaged or cut off"),
        ("model.gguf", b"GGUF" + struct.pack("<IQQ", 3, 1, 1), "is damaged or cut off"),
        ("model.gguf", bytes(range(1, 200)), "(199 bytes) is not a GGUF file."),
        ("notes.txt", b"hello", "is not a model"),
        ("model.safetensors", struct.pack("<Q", 2) + b"{}", "is one file of a model"),
    ],
)
def test_a_file_that_is_no_gguf_is_refused(name: str, content: bytes, part: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(SourceError) as caught:
        open_source(tmp_path / name)
    assert part in caught.value.message


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_refusing_needs_neither_torch_nor_much_memory(tmp_path: Path) -> None:
    folder = with_config(quantization_config=GPTQ)(tmp_path / "model")
    script = (
        "import sys\n"
        "from engine.errors import EngineError\n"
        "from engine.store.open_source import open_source\n"
        "try:\n    open_source(sys.argv[1])\nexcept EngineError as error:\n    print(type(error).__name__)\n"
        # Not getrusage: its peak is inherited from the process that started this one.
        "status = open('/proc/self/status').read()\n"
        "print('torch' in sys.modules, status.split('VmHWM:')[1].split()[0])\n"
    )
    output = subprocess.run(
        [sys.executable, "-c", script, str(folder)], capture_output=True, text=True, check=True, timeout=60
    ).stdout.split()
    assert output[:2] == ["UnsupportedModel", "False"]
    assert int(output[2]) < 100 * 1024


@pytest.mark.parametrize(
    "module", ["model_store", "open_source", "splitter", "verifier", "layout", "disk_plan", "manifest"]
)
def test_what_is_needed_before_cutting_loads_no_torch(module: str) -> None:
    script = f"import engine.store.{module}, sys; sys.exit('torch' in sys.modules or 'transformers' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False, timeout=60).returncode == 0


def test_every_model_type_that_transformers_can_run_is_known() -> None:
    from transformers.models.auto.modeling_auto import (
        MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
        MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES,
    )

    names = {*MODEL_FOR_CAUSAL_LM_MAPPING_NAMES, *MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES}
    assert {name for name in names if not is_known_type(name)} <= {"gpt-sw3"}


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("Qwen3 8B/äöü", "Qwen3-8B"), ("a--b", "a-b"), ("...", "model"), ("x:y*z?", "x-y-z"), ("v1.", "v1"),
        ("n" * 300, "n" * 96), ("CON", "CON"),
    ],
)  # fmt: skip
def test_folder_names_suit_every_file_system(text: str, safe: str) -> None:
    assert safe_name(text) == safe


def test_side_files_are_what_belongs_to_the_model(tmp_path: Path) -> None:
    wanted = ["config.json", "tokenizer.model", "tokenizer.json", "vocab.txt", "LICENSE.md", "preprocessor_config.json"]
    for name in [*wanted, "modeling.py", "tokenizer.py", "training_args.bin", "README.md", "model.safetensors"]:
        (tmp_path / name).write_text("")
    (tmp_path / "additional_chat_templates").mkdir()
    (tmp_path / "additional_chat_templates" / "tools.jinja").write_text("")
    assert find_side_files(tmp_path) == tuple(sorted([*wanted, "additional_chat_templates/tools.jinja"]))


@pytest.mark.parametrize("names", [["FooForCausalLM"], ["FooForCausalLM", "BarModel"]])
def test_an_architecture_nobody_knows_is_not_run_as_another(names: list[str], tmp_path: Path) -> None:
    checkpoint = make_checkpoint("llama", tmp_path / "checkpoint")
    config = json.loads((checkpoint / "config.json").read_text())
    (checkpoint / "config.json").write_text(json.dumps({**config, "architectures": names}))
    with pytest.raises(UnsupportedModel, match="FooForCausalLM"):
        open_source(checkpoint)
    with pytest.raises(UnsupportedModel, match="FooForCausalLM"):
        find_model_class(AutoConfig.from_pretrained(checkpoint))


@pytest.mark.parametrize("names", [["LLaMAForCausalLM"], ["FooForCausalLM", "LlamaForCausalLM"], ["LlamaModel"]])
def test_an_old_spelling_and_a_bare_model_are_known(names: list[str], tmp_path: Path) -> None:
    checkpoint = make_checkpoint("llama", tmp_path / "checkpoint")
    config = json.loads((checkpoint / "config.json").read_text())
    (checkpoint / "config.json").write_text(json.dumps({**config, "architectures": names}))
    open_source(checkpoint)
    assert find_model_class(AutoConfig.from_pretrained(checkpoint)).__name__ == "LlamaForCausalLM"
