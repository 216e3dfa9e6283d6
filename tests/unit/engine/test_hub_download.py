"""Downloading and cutting at once, against a hub on this machine that fails in every way networks do."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from engine.cancel import CancelToken
from engine.errors import (
    AccessRefused,
    DamagedFile,
    DiskFull,
    HubBusy,
    HubError,
    HubUnreachable,
    InvalidRequest,
    ModelNotFound,
    SourceError,
)
from engine.events import Event, Finished, JobProgress, Notice, Outcome, VerifyResult
from engine.hub_access import HubAccess
from engine.load_options import LoadOptions
from engine.local import LocalEngine
from engine.store.download import DownloadOptions, download_model
from engine.store.hub import TIMEOUT_S
from engine.store.hub_original import HubOriginal
from engine.store.model_store import ModelStore
from engine.store.open_source import open_source
from engine.store.patience import Patience
from engine.store.verifier import verify
from tests.helpers.checkpoints import cut, make_checkpoint
from tests.helpers.hub_downloads import Waits, block_files, download, notices, phases, result_of
from tests.helpers.hub_server import COMMIT, FakeRepo, Fault, HubServer, with_files

SHARD = "model-00003-of-00005.safetensors"


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_checkpoint("llama", tmp_path_factory.mktemp("hub") / "tiny")


@pytest.fixture(scope="module")
def reference(checkpoint: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The blocks as they are cut from a folder that is whole."""
    store = ModelStore(tmp_path_factory.mktemp("reference"))
    return block_files(Path(cut(checkpoint, store).path))


@pytest.fixture
def server(checkpoint: Path) -> Iterator[HubServer]:
    with HubServer({"acme/tiny": FakeRepo.of_folder(checkpoint)}) as server:
        yield server


@pytest.fixture
def store(tmp_path: Path) -> ModelStore:
    return ModelStore(tmp_path / "data")


def weights_of(server: HubServer) -> dict[str, int]:
    files = server.repos["acme/tiny"].files
    return {name: len(data) for name, data in files.items() if name.endswith(".safetensors")}


def storage_bytes(server: HubServer, name: str) -> int:
    return sum(seen.sent for seen in server.seen if seen.server == "storage" and name in seen.path)


def weights_fault(times: int = 1, **fault: Any) -> Fault:
    """One that concerns the body of ``SHARD``, not the short reads of its head."""
    return Fault(SHARD, times=times, server="storage", least=5000, **fault)


def test_a_download_is_cut_to_the_same_blocks_as_a_folder(
    server: HubServer, store: ModelStore, reference: dict[str, bytes]
) -> None:
    events = download(server, store)
    result = result_of(events)
    assert result.model == f"acme--tiny@{COMMIT[:8]}"
    assert block_files(Path(result.path)) == reference
    assert store.resolve("acme/tiny") == Path(result.path)
    assert [path.name for path in (store.data_dir / "downloads").iterdir()] == [".locks"]
    assert {"checking", "downloading", "cutting", "verifying", "deleting"} <= set(phases(events))


def test_only_what_is_needed_is_fetched_and_nothing_twice(server: HubServer, store: ModelStore) -> None:
    repo = server.repos["acme/tiny"]
    needed = sum(len(data) for data in repo.files.values())
    waste = {
        "pytorch_model.bin": bytes(needed), "tiny.Q4_K_M.gguf": bytes(needed), "onnx/model.onnx": bytes(needed),
        "original/consolidated.00.pth": bytes(needed), "tf_model.h5": bytes(needed), "README.md": b"# Tiny\n" * 500,
        "modeling_tiny.py": b"import os\n" * 500, "consolidated.safetensors": bytes(needed),
    }  # fmt: skip
    server.repos["acme/tiny"] = with_files(repo, waste)
    download(server, store)
    assert server.sent() <= 1.02 * needed + api_bytes(server)
    assert not [path for path in server.paths() if any(name in path for name in waste)]


def api_bytes(server: HubServer) -> int:
    return sum(seen.sent for seen in server.seen if seen.server == "hub" and "resolve" not in seen.path)


def test_shards_are_cut_and_removed_on_arrival(server: HubServer, store: ModelStore) -> None:
    sizes = weights_of(server)
    most = 0

    def watch(event: Event) -> None:
        nonlocal most
        folder = store.data_dir / "downloads"
        most = max(most, sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()))

    download(server, store, on_event=watch)
    assert 0 < most < 0.8 * sum(sizes.values())


def test_a_kept_download_stays_and_is_a_source_of_its_own(server: HubServer, store: ModelStore) -> None:
    result = result_of(download(server, store, keeps_download=True))
    folder = store.data_dir / "downloads" / result.model
    source = open_source(folder)
    assert (source.record.owner, source.record.name, source.record.revision) == ("acme", "tiny", COMMIT)
    assert {path.name for path in folder.glob("*.safetensors")} == set(weights_of(server))
    assert store.find_finished(source.record) is not None
    block = next((Path(result.path) / "blocks").iterdir())
    block.write_bytes(block.read_bytes()[:-1] + b"!")
    events = list(verify(Path(result.path), repair=True, store=store))
    assert isinstance(events[-1], Finished)


def test_a_damaged_block_is_repaired_from_the_shards_it_was_cut_from(
    server: HubServer, store: ModelStore, reference: dict[str, bytes]
) -> None:
    result = result_of(download(server, store))
    block = Path(result.path) / "blocks" / "head.safetensors"
    block.write_bytes(block.read_bytes()[:-1] + b"!")
    with pytest.raises(DamagedFile, match="--from-hub"):
        list(verify(Path(result.path), repair=True, store=store))
    server.seen.clear()
    cancel = CancelToken()
    original = HubOriginal(HubAccess(endpoint=server.endpoint), store, cancel, floor_bytes=0, wait=Waits())
    events = list(verify(Path(result.path), repair=True, store=store, cancel=cancel, original=original))
    last = events[-1]
    assert isinstance(last, Finished)
    assert isinstance(last.result, VerifyResult)
    assert last.result.repaired == ("blocks/head.safetensors",)
    assert block_files(Path(result.path)) == reference
    whole = [name for name, size in weights_of(server).items() if storage_bytes(server, name) >= size]
    assert whole == ["model-00005-of-00005.safetensors"]
    assert [path.name for path in (store.data_dir / "downloads").iterdir()] == [".locks"]


def test_what_is_there_already_is_said_at_once(server: HubServer, store: ModelStore) -> None:
    download(server, store)
    server.seen.clear()
    events = download(server, store)
    assert result_of(events).blocks > 0
    assert len(server.seen) == 1


@pytest.mark.parametrize("revision", ["", "@main", f"@{COMMIT}", f"@{COMMIT[:10]}"])
def test_a_revision_may_be_named(revision: str, server: HubServer, store: ModelStore) -> None:
    assert result_of(download(server, store, f"acme/tiny{revision}")).model.endswith(COMMIT[:8])


def test_pickled_weights_come_whole_and_then_are_cut(
    tmp_path: Path, store: ModelStore, reference: dict[str, bytes]
) -> None:
    folder = make_checkpoint("llama", tmp_path / "bin", form="bin")
    with HubServer({"acme/tiny": FakeRepo.of_folder(folder)}) as server:
        result = result_of(download(server, store))
    assert block_files(Path(result.path)) == reference


@pytest.mark.parametrize("is_equal", [True, False])
def test_a_tied_pair_that_is_there_twice_is_compared_before_it_is_cut(
    is_equal: bool, tmp_path: Path, store: ModelStore
) -> None:
    from safetensors.torch import load_file, save_file

    folder = make_checkpoint("qwen3", tmp_path / "tied")
    shard = next(
        path for path in sorted(folder.glob("*.safetensors")) if "model.embed_tokens.weight" in load_file(path)
    )
    embedding = load_file(shard)["model.embed_tokens.weight"]
    save_file({"lm_head.weight": embedding if is_equal else embedding + 1}, folder / "model-head.safetensors")
    index = json.loads((folder / "model.safetensors.index.json").read_bytes())
    index["weight_map"]["lm_head.weight"] = "model-head.safetensors"
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    expected = block_files(Path(cut(folder, ModelStore(tmp_path / "reference")).path))
    with HubServer({"acme/tiny": FakeRepo.of_folder(folder)}) as server:
        assert block_files(Path(result_of(download(server, store)).path)) == expected
    assert ("head.safetensors" in expected) is not is_equal


# Faults of the network


def test_a_connection_that_breaks_is_resumed_by_range(
    server: HubServer, store: ModelStore, reference: dict[str, bytes]
) -> None:
    server.faults = [weights_fault(times=2, cut_after=16_384)]
    waits = Waits()
    events = download(server, store, wait=waits)
    assert block_files(Path(result_of(events).path)) == reference
    assert storage_bytes(server, SHARD) == weights_of(server)[SHARD]
    assert any("broke off" in text and "Trying again" in text for text in notices(events))
    assert waits.seconds
    assert max(waits.seconds) == 1.0


def test_wrong_bytes_cost_one_more_fetch_of_that_file_only(
    server: HubServer, store: ModelStore, reference: dict[str, bytes]
) -> None:
    server.faults = [weights_fault(flip_at=30_000)]
    events = download(server, store)
    assert block_files(Path(result_of(events).path)) == reference
    assert any(SHARD in text and "damaged" in text for text in notices(events))
    sizes = weights_of(server)
    assert storage_bytes(server, SHARD) <= 2 * sizes[SHARD] + 2000
    for name, size in sizes.items():
        assert name == SHARD or storage_bytes(server, name) == size


def test_a_file_that_always_comes_wrong_is_named(server: HubServer, store: ModelStore) -> None:
    server.faults = [weights_fault(flip_at=30_000, times=99)]
    with pytest.raises(DamagedFile, match=SHARD) as caught:
        download(server, store)
    assert caught.value.files == (SHARD,)


def test_a_small_file_is_verified_too(server: HubServer, store: ModelStore) -> None:
    server.faults = [Fault("generation_config.json", flip_at=3)]
    events = download(server, store)
    assert any("generation_config.json" in text for text in notices(events))
    split = Path(result_of(events).path)
    assert (split / "generation_config.json").read_bytes() == server.repos["acme/tiny"].files["generation_config.json"]


def test_the_wait_that_the_hub_asks_for_is_kept(server: HubServer, store: ModelStore) -> None:
    server.faults = [
        Fault("api/models", status=429, headers={"Retry-After": "7"}),
        Fault(f"resolve/{COMMIT}/{SHARD}", status=429, headers={"RateLimit": '"resolvers";r=0;t=11'}),
        Fault("generation_config.json", status=503),
    ]
    waits = Waits()
    events = download(server, store, wait=waits)
    assert result_of(events).blocks
    assert waits.seconds == [7.5, 11.5, 1.0]
    assert any("too many requests" in text for text in notices(events))


def test_patience_ends_in_one_sentence(server: HubServer, store: ModelStore) -> None:
    server.faults = [Fault("", status=429, times=99)]
    waits = Waits()
    with pytest.raises(HubBusy, match="too many requests"):
        download(server, store, wait=waits, patience=Patience(attempts=4))
    assert waits.seconds == [1.0, 2.0, 4.0]


def test_a_server_without_ranges_starts_the_file_again(
    server: HubServer, store: ModelStore, reference: dict[str, bytes]
) -> None:
    server.faults = [weights_fault(times=99, ignores_range=True)]
    assert block_files(Path(result_of(download(server, store)).path)) == reference


def test_a_login_page_instead_of_weights_is_recognised(server: HubServer, store: ModelStore) -> None:
    server.faults = [weights_fault(times=99, page=True)]
    with pytest.raises(HubError, match="not a model hub"):
        download(server, store)


def test_a_signed_address_that_has_run_out_is_asked_for_again(server: HubServer, store: ModelStore) -> None:
    server.faults = [weights_fault(times=2, status=403)]
    assert result_of(download(server, store)).blocks


def test_a_hub_that_is_gone_is_said_in_one_sentence(store: ModelStore, checkpoint: Path) -> None:
    with HubServer({}) as server:
        pass
    with pytest.raises(HubUnreachable, match="refuses the connection"):
        download(server, store, patience=Patience(attempts=2))


# Stopping and going on


def test_cancelling_a_stalled_transfer_waits_for_no_timeout(server: HubServer, store: ModelStore) -> None:
    server.faults = [weights_fault(times=99, stall_after=8192)]
    cancel = CancelToken()
    cancelled_at = 0.0

    def watch(event: Event) -> None:
        nonlocal cancelled_at
        if isinstance(event, JobProgress) and event.block_name == SHARD and not cancel.is_cancelled:
            cancelled_at = time.monotonic()
            cancel.cancel()

    events = download(server, store, cancel=cancel, on_event=watch)
    assert time.monotonic() - cancelled_at < TIMEOUT_S / 2
    last = events[-1]
    assert isinstance(last, Finished)
    assert last.outcome is Outcome.CANCELLED


def test_cancelling_before_the_hub_has_answered_waits_for_no_timeout(server: HubServer, store: ModelStore) -> None:
    cancel = CancelToken()
    server.faults = [Fault("config.json", stall_after=0)]
    timer = threading.Timer(0.2, cancel.cancel)
    timer.start()
    started = time.monotonic()
    events = download(server, store, cancel=cancel)
    assert 0.2 <= time.monotonic() - started < TIMEOUT_S / 2
    assert isinstance(events[-1], Finished)


def cancel_when_cutting(token: CancelToken, block: int) -> Callable[[Event], None]:
    def watch(event: Event) -> None:
        if isinstance(event, JobProgress) and event.phase == "cutting" and event.block == block:
            token.cancel()

    return watch


@pytest.mark.parametrize("block", [1, 3, 5])
def test_a_cancelled_download_goes_on_where_it_stopped(
    block: int, server: HubServer, store: ModelStore, reference: dict[str, bytes]
) -> None:
    cancel = CancelToken()
    first = download(server, store, cancel=cancel, on_event=cancel_when_cutting(cancel, block))
    assert isinstance(first[-1], Finished)
    assert first[-1].outcome is Outcome.CANCELLED
    with pytest.raises(ModelNotFound, match="download acme/tiny"):
        store.resolve("acme/tiny")
    result = result_of(download(server, store))
    assert block_files(Path(result.path)) == reference
    sizes = weights_of(server)
    # What was on its way when it was cancelled may be sent again: a file at most, beside the heads.
    again = sum(storage_bytes(server, name) - size for name, size in sizes.items())
    assert again <= max(sizes.values()) + 5 * 1000
    assert [path.name for path in (store.data_dir / "downloads").iterdir()] == [".locks"]


def test_going_on_keeps_the_commit_although_the_branch_has_moved(
    server: HubServer, store: ModelStore, reference: dict[str, bytes]
) -> None:
    cancel = CancelToken()
    download(server, store, cancel=cancel, on_event=cancel_when_cutting(cancel, 2))
    repo = server.repos["acme/tiny"]
    asked: list[str] = []
    server.on_request = lambda seen: asked.append(seen.path)
    result = result_of(download(server, store))
    assert f"/revision/{repo.commit}" in asked[0]
    assert block_files(Path(result.path)) == reference


def test_a_half_downloaded_folder_says_how_to_go_on(server: HubServer, store: ModelStore) -> None:
    cancel = CancelToken()
    download(server, store, cancel=cancel, on_event=cancel_when_cutting(cancel, 1))
    folder = next(path for path in (store.data_dir / "downloads").iterdir() if "@" in path.name)
    with pytest.raises(SourceError, match="download acme/tiny"):
        open_source(folder)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="kills forked children")
@pytest.mark.parametrize("number", range(4))
def test_a_killed_download_is_finished_by_the_next_run(
    number: int, server: HubServer, store: ModelStore, reference: dict[str, bytes]
) -> None:
    server.faults = [Fault("", times=999, chunk_s=0.005, server="storage")]
    child = os.fork()
    if child == 0:
        access = HubAccess(endpoint=server.endpoint)
        events = download_model(
            "acme/tiny", store, access, cancel=CancelToken(), options=DownloadOptions(floor_bytes=0)
        )
        for count, _ in enumerate(events):
            if count == 6 + 5 * number:
                os.kill(os.getpid(), signal.SIGKILL)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status)
    server.faults = []
    assert block_files(Path(result_of(download(server, store)).path)) == reference


# Room


def test_a_full_drive_is_said_before_the_first_weight(server: HubServer, store: ModelStore) -> None:
    with pytest.raises(DiskFull, match="acme/tiny needs") as caught:
        download(server, store, free_bytes=lambda path: 100_000)
    total = sum(weights_of(server).values())
    assert total < caught.value.need < 1.6 * total
    assert caught.value.have == 100_000
    assert sum(seen.sent for seen in server.seen if seen.server == "storage") < 5000


def test_below_the_floor_it_pauses_and_goes_on_when_there_is_room(
    server: HubServer, store: ModelStore, reference: dict[str, bytes]
) -> None:
    is_full = False
    plenty = 1 << 40

    def free(path: Path) -> int:
        return 0 if is_full else plenty

    def make_room() -> None:
        nonlocal is_full
        is_full = False

    def fill(event: Event) -> None:
        nonlocal is_full
        if isinstance(event, JobProgress) and event.phase == "downloading" and event.block == 0:
            is_full = True

    waits = Waits(make_room)
    events = download(server, store, free_bytes=free, on_event=fill, wait=waits)
    assert waits.seconds == [2.0]
    assert "paused" in phases(events) or any(text.startswith("Paused") for text in notices(events))
    assert block_files(Path(result_of(events).path)) == reference


def test_cutting_pauses_too_when_another_program_fills_the_drive(
    server: HubServer, store: ModelStore, reference: dict[str, bytes]
) -> None:
    is_full = False

    def free(path: Path) -> int:
        return 0 if is_full else 1 << 40

    def watch(event: Event) -> None:
        nonlocal is_full
        if isinstance(event, JobProgress) and event.phase == "cutting" and event.block == 3:
            is_full = True
        if isinstance(event, Notice):
            is_full = False

    events = download(server, store, free_bytes=free, on_event=watch)
    assert [text.split(":")[0] for text in notices(events)] == ["Paused"]
    assert block_files(Path(result_of(events).path)) == reference


def test_a_download_that_is_given_up_leaves_nothing(server: HubServer, store: ModelStore) -> None:
    cancel = CancelToken()
    download(server, store, cancel=cancel, on_event=cancel_when_cutting(cancel, 3))
    with LocalEngine(store) as engine:
        assert engine.discard_download("acme/tiny") > 100_000
        assert engine.discard_download("acme/tiny") == 0
    left = [path for path in store.data_dir.rglob("*") if path.is_file() and path.suffix != ".lock"]
    assert left == []


def test_another_folder_of_models_keeps_the_weights_on_its_own_drive(
    server: HubServer, tmp_path: Path, reference: dict[str, bytes]
) -> None:
    store = ModelStore(tmp_path / "data", models_folder=tmp_path / "big drive")
    seen: set[Path] = set()

    def watch(event: Event) -> None:
        seen.update(path for path in tmp_path.rglob("*.safetensors") if "blocks" not in path.parts)

    result = result_of(download(server, store, on_event=watch))
    assert block_files(Path(result.path)) == reference
    assert seen
    assert all(path.is_relative_to(tmp_path / "big drive" / ".downloads") for path in seen)
    assert [model.name for model in store.list()] == [result.model]


def test_a_plan_from_the_hub_fetches_no_weights(server: HubServer, store: ModelStore) -> None:
    with LocalEngine(store) as engine:
        plan = engine.plan_download("acme/tiny", HubAccess(endpoint=server.endpoint), LoadOptions())
        assert plan.download_bytes == sum(len(data) for data in server.repos["acme/tiny"].files.values())
        assert plan.architecture == "LlamaForCausalLM"
        assert plan.predicted_s_per_token is not None
        assert plan.predicted_s_per_token > 0
        assert plan.disk_after_bytes < plan.disk_peak_bytes < 2 * plan.download_bytes
        assert sum(seen.sent for seen in server.seen if seen.server == "storage") < 5000
        download(server, store)
        again = engine.plan_download("acme/tiny", HubAccess(endpoint=server.endpoint), LoadOptions())
        assert again.is_cut
        assert again.download_bytes == 0


def test_planning_again_and_downloading_read_no_head_twice(server: HubServer, store: ModelStore) -> None:
    access = HubAccess(endpoint=server.endpoint)

    def asked() -> int:
        return server.sent("/resolve/")

    with LocalEngine(store) as engine:
        first = engine.plan_download("acme/tiny", access, LoadOptions())
        once = asked()
        assert once > len(weights_of(server))
        kept = engine.plan_download("acme/tiny", access, LoadOptions(), keep_download=True)
        elsewhere = engine.plan_download("acme/tiny", access, LoadOptions(), target=store.data_dir / "elsewhere")
        assert asked() == once
        assert kept.disk_after_bytes > first.disk_after_bytes == elsewhere.disk_after_bytes
        assert elsewhere.folder == str(store.data_dir / "elsewhere")
        cancel = CancelToken()
        for event in engine.download("acme/tiny", access, cancel=cancel, floor_bytes=0):
            if isinstance(event, JobProgress) and event.phase == "planning":
                assert asked() == once
                cancel.cancel()
        assert LocalEngine(store).plan_download("acme/tiny", access, LoadOptions()) is not None
        assert asked() == 2 * once


def test_a_download_that_was_begun_in_one_folder_goes_on_there(
    server: HubServer, store: ModelStore, tmp_path: Path, reference: dict[str, bytes]
) -> None:
    cancel, there = CancelToken(), tmp_path / "big drive"
    download(server, store.at(there), cancel=cancel, on_event=cancel_when_cutting(cancel, 3))
    split = Path(result_of(download(server, store)).path)
    assert split.parent == there
    assert block_files(split) == reference
    assert not store.models_folder.exists()
    assert not any(there.glob(".downloads/*@*"))


# Who may


def test_a_gated_model_names_its_licence_page_before_any_weight(server: HubServer, store: ModelStore) -> None:
    server.repos["acme/tiny"].gated = True
    with pytest.raises(AccessRefused) as caught:
        download(server, store)
    assert caught.value.needs_token
    assert caught.value.page == f"{server.endpoint}/acme/tiny"
    assert caught.value.page in str(caught.value)
    assert not [seen for seen in server.seen if seen.server == "storage"]


def test_a_token_whose_licence_is_not_accepted_is_told_so(server: HubServer, store: ModelStore) -> None:
    server.repos["acme/tiny"].gated = True
    server.tokens = {"hf_known"}
    with pytest.raises(AccessRefused, match="not accepted yet") as caught:
        download(server, store, token="hf_known")
    assert not caught.value.needs_token


def test_an_accepted_token_downloads_and_shows_up_nowhere(
    server: HubServer, store: ModelStore, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    server.repos["acme/tiny"].gated = True
    token = "hf_SecretSecretSecret"
    server.tokens = server.accepted = {token}
    server.faults = [weights_fault(status=503), weights_fault(cut_after=10_000)]
    with caplog.at_level("DEBUG"):
        events = download(server, store, token=token)
    assert {seen.token for seen in server.seen if seen.server == "hub"} == {token}
    assert {seen.token for seen in server.seen if seen.server == "storage"} == {None}
    kept = [path.read_bytes() for path in store.data_dir.rglob("*") if path.is_file()]
    said = caplog.text + "".join(capfd.readouterr()) + repr(events) + repr(HubAccess(token=token))
    assert token not in said
    assert "signature=secret" not in repr(events)
    assert not [data for data in kept if token.encode() in data]


@pytest.mark.parametrize("repo", ["tiny", "a/b/c", "../x", "acme/", ""])
def test_what_is_no_name_is_refused_without_the_network(repo: str, server: HubServer, store: ModelStore) -> None:
    with pytest.raises(InvalidRequest):
        download(server, store, repo)
    assert not server.seen
