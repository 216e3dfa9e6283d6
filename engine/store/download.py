"""Downloads a model from the hub and cuts it while it arrives: checks, plans the room, fetches, cuts, clears away.

Every step leaves the folder in a state the next run goes on from. The downloaded weights are ours, so each shard is
deleted once the blocks cut from it were read back, unless they are to be kept.

torch is imported only once the model is known to be one that could run.
"""

from __future__ import annotations

import queue
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

from engine.cancel import Cancelled, CancelToken
from engine.errors import DamagedFile, DiskFull, EngineError, InvalidRequest
from engine.events import Event, Finished, JobProgress, Notice, Outcome, SplitResult
from engine.hub_access import HubAccess
from engine.quantities import format_duration, format_size
from engine.store.disk_plan import DEFAULT_FLOOR_BYTES
from engine.store.download_folder import (
    DownloadFolder,
    DownloadMark,
    download_path,
    downloads_folder,
    find_begun,
    find_home,
)
from engine.store.file_fetcher import FileFetcher
from engine.store.head_cache import HeadCache
from engine.store.hub import HubClient, HubRepo
from engine.store.hub_cache import REPO_ID
from engine.store.hub_model import RemoteModel, learn_model
from engine.store.manifest import MANIFEST_NAME, Manifest, SourceKind, SourceRecord, read_manifest
from engine.store.model_store import ModelStore, not_writable
from engine.store.open_source import open_source
from engine.store.original_files import nearest_existing
from engine.store.patience import PATIENT, Patience
from engine.store.progress_journal import ProgressJournal
from engine.store.source import Source, split_folder_name
from engine.store.supply import POLL_S, FileSupply
from engine.store.transfer import Transfer
from engine.store.verifier import check_sizes

if TYPE_CHECKING:
    from engine.store.download_work import Work

_FIRST_ATTEMPTS = 5
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class DownloadOptions:
    """``keeps_download``: the weights stay beside the model. ``heads`` is what planning has read already.

    ``wait`` sleeps, and is there for tests to replace.
    """

    keeps_download: bool = False
    floor_bytes: int = DEFAULT_FLOOR_BYTES
    heads: HeadCache = field(default_factory=HeadCache)
    patience: Patience = PATIENT
    wait: Callable[[float], bool] | None = None
    free_bytes: Callable[[Path], int] = lambda path: shutil.disk_usage(nearest_existing(path)).free


def download_model(
    repo: str, store: ModelStore, access: HubAccess, *, cancel: CancelToken, options: DownloadOptions | None = None
) -> Iterator[Event]:
    """``repo`` is ``owner/name`` or ``owner/name@revision``. Goes on where an earlier run stopped.

    Yields ``JobProgress`` and ``Notice``, ends with ``Finished`` and the ``SplitResult``. Raises ``EngineError``;
    what cannot be run, or has no room, is refused before a weight is fetched.
    """
    name, revision = parse_repo(repo)
    home = find_home(store, name, revision)
    download = _Download(name, revision, home, access, cancel, options or DownloadOptions())
    started = time.monotonic()
    try:
        finished = yield from download.run()
    except Cancelled:
        finished = Finished(Outcome.CANCELLED, download.result)
    except OSError as error:
        raise not_writable(download.folder.path, error) from error
    if finished.result is not None:
        finished = replace(finished, result=replace(finished.result, elapsed_s=time.monotonic() - started))
    yield finished


def discard_download(repo: str, store: ModelStore) -> int:
    """Deletes what unfinished downloads of ``owner/name[@revision]`` have left here; the bytes that frees.

    Weights that were to be kept and are whole stay, and so does a finished model. Raises ``ModelBusy``.
    """
    name, revision = parse_repo(repo)
    freed = 0
    while (mark := find_begun(store := find_home(store, name, revision), name, revision)) is not None:
        folder = DownloadFolder(download_path(store, mark.owner, mark.name, mark.commit))
        with store.lock(folder.path):
            for split in store.find_unfinished(folder.path):
                with store.lock(split.folder):
                    freed += split.nbytes
                    store.discard(split.folder)
            freed += sum(path.stat().st_size for path in folder.path.rglob("*") if path.is_file())
            folder.remove()
    return freed


@contextmanager
def learnt_model(
    repo: str, access: HubAccess, store: ModelStore, heads: HeadCache | None = None
) -> Generator[RemoteModel]:
    """What a model on the hub is, without its weights; its small files are in a folder that is there meanwhile.

    Raises ``EngineError``.
    """
    name, revision = parse_repo(repo)
    hub = HubClient(access)
    found = find_on_hub(hub, name, revision, find_home(store, name, revision))
    known = (heads or HeadCache()).of(access, found)
    with tempfile.TemporaryDirectory(prefix="strata-") as scratch:
        yield learn_model(hub, found, Path(scratch), store=store, known=known)


def parse_repo(text: str) -> tuple[str, str]:
    """``owner/name`` and the revision, "" where none is given. Raises ``InvalidRequest``."""
    match = REPO_ID.fullmatch(text.strip())
    if match is None:
        raise InvalidRequest(f"“{text}” is not a name on a hub.", "Write it as owner/name, or owner/name@revision.")
    return f"{match[1]}/{match[2]}", match[3] or ""


def find_on_hub(hub: HubClient, repo: str, revision: str, store: ModelStore) -> HubRepo:
    """The repository at the revision asked for, or at the commit an unfinished download of it has begun with."""
    begun = find_begun(store, repo, revision)
    return hub.repository(repo, begun.commit if begun else revision or None)


class _Download:
    """One run of one download."""

    def __init__(
        self,
        repo: str,
        revision: str,
        store: ModelStore,
        access: HubAccess,
        cancel: CancelToken,
        options: DownloadOptions,
    ) -> None:
        self._repo = repo
        self._revision = revision
        self._store = store
        self._cancel = cancel
        self._options = options
        # What the threads of this run look at: whatever ends the run stops them.
        self._stop = CancelToken()
        self._told: queue.SimpleQueue[Event] = queue.SimpleQueue()
        # Before anything is here, a wrong address or a missing network is better said soon than waited for.
        first = replace(options.patience, attempts=min(options.patience.attempts, _FIRST_ATTEMPTS))
        self._hub = HubClient(access, patience=first, wait=self._hold)
        self.folder = DownloadFolder(downloads_folder(store))
        self.result: SplitResult | None = None

    def run(self) -> Generator[Event, None, Finished]:
        self._store.require_writable()
        try:
            yield JobProgress("checking", 0, 0, "", 0, 0, 0.0, None)
            repo = yield from self._in_background(
                lambda: find_on_hub(self._hub, self._repo, self._revision, self._store)
            )
            split = self._place(repo)
            self.folder = DownloadFolder(download_path(self._store, repo.owner, repo.name, repo.commit))
            if (manifest := _finished_split(split, repo.commit)) is not None and not self._is_to_be_filled():
                return self._already_here(split, manifest)
            self._store.require_free(split)
            self._store.adopt(self._store.models_folder)
            with self._store.lock(self.folder.path):
                return (yield from self._fetch_and_cut(repo, split))
        finally:
            self._stop.cancel()

    def _place(self, repo: HubRepo) -> Path:
        """The folder of the split to be."""
        record = SourceRecord(SourceKind.SAFETENSORS, "", repo.owner, repo.name, repo.commit, ())
        split = self._store.folder_for(record)
        self.result = SplitResult(split_folder_name(record), str(split), 0, 0, 0, 0.0)
        return split

    def _is_to_be_filled(self) -> bool:
        """Whether weights that are to be kept are still on their way, although they are cut already."""
        mark = self.folder.mark()
        return self._options.keeps_download and mark is not None and not mark.is_whole

    def _already_here(self, split: Path, manifest: Manifest) -> Finished:
        """Raises ``DamagedFile`` where what is here lacks something: its shards come back one by one."""
        try:
            check_sizes(split, manifest)
        except DamagedFile as error:
            error.next_step = f"Fetch just what is needed: verify {split.name} --repair --from-hub"
            raise
        with self._store.lock(split):
            ProgressJournal(split).end()
        if not self._options.keeps_download:
            self.folder.remove()
        assert self.result is not None
        return Finished(Outcome.DONE, replace(self.result, blocks=len(manifest.files)))

    def _fetch_and_cut(self, repo: HubRepo, split: Path) -> Generator[Event, None, Finished]:
        with tempfile.TemporaryDirectory(prefix="strata-") as scratch:
            known = self._options.heads.of(self._hub.access, repo)
            model = yield from self._in_background(
                lambda: learn_model(self._hub, repo, Path(scratch), self._tell, store=self._store, known=known)
            )
            yield JobProgress("planning", 0, 0, "", 0, 0, 0.0, None)
            work = yield from self._in_background(lambda: self._plan(model, split))
        self._cancel.raise_if_cancelled()
        ahead = self._choose_ahead(model, work)
        mark = DownloadMark(repo.owner, repo.name, repo.commit, self._revision)
        self.folder.begin(mark)
        with self._open_supply(model, work, ahead) as supply:
            supply.want([*work.small, *work.order])
            yield from supply.wait_for([*work.small, *work.first])
            finished = yield from self._cut(self._source(model), supply)
            if finished.outcome is Outcome.DONE and self._options.keeps_download:
                yield from supply.wait_for(work.order)
                self.folder.begin(replace(mark, is_whole=True))
        if finished.outcome is Outcome.DONE and not self._options.keeps_download:
            self.folder.remove()
        return finished

    def _source(self, model: RemoteModel) -> Source:
        """A pickle's table is in the file itself, which is here by now."""
        if model.kind is SourceKind.SAFETENSORS:
            return model.source_at(self.folder.path)
        return open_source(self.folder.path, self._store if model.source.code else None)

    def _plan(self, model: RemoteModel, split: Path) -> Work:
        from engine.store.download_work import plan_whole_work, plan_work

        if model.kind is SourceKind.SAFETENSORS:
            return plan_work(model, split, deletes=not self._options.keeps_download)
        return plan_whole_work(model)

    def _choose_ahead(self, model: RemoteModel, work: Work) -> int:
        """How many files may arrive beyond the one that is cut. Raises ``DiskFull``."""
        there = sum(self.folder.bytes_there(name) for name in work.order)
        have = self._options.free_bytes(self.folder.path)
        needs = {ahead: plan.peak_bytes - there for ahead, plan in work.plans.items()}
        for ahead, need in needs.items():
            if have >= need + self._options.floor_bytes:
                return ahead
        need = min(needs.values())
        raise DiskFull(
            f"Downloading and cutting {model.repo.title} needs {format_size(need + self._options.floor_bytes)} "
            f"({format_size(need)} and {format_size(self._options.floor_bytes)} that stay free); "
            f"{format_size(have)} are free on the drive of {nearest_existing(self.folder.path)}.",
            "Free some space, or choose another drive with --to. What is already there is kept.",
            need=need + self._options.floor_bytes,
            have=have,
        )

    def _open_supply(self, model: RemoteModel, work: Work, ahead: int) -> FileSupply:
        files = {name: model.files[name] for name in (*work.small, *work.past, *work.order)}
        done = sum(files[name].size for name in work.past)
        done += sum(self.folder.bytes_there(name) for name in (*work.small, *work.order))
        transfer = Transfer(len(files), sum(file.size for file in files.values()), bytes_done=done)
        fetcher = FileFetcher(
            self._hub,
            model.repo,
            self.folder,
            transfer,
            stop=self._stop,
            floor_bytes=self._options.floor_bytes,
            patience=self._options.patience,
            wait=self._options.wait,
            free_bytes=self._options.free_bytes,
        )
        return FileSupply(
            fetcher, files, transfer, heads=model.heads, ahead=ahead, stop=self._stop, cancel=self._cancel
        )

    def _cut(self, source: Source, supply: FileSupply) -> Generator[Event, None, Finished]:
        from engine.store.splitter import split_source

        finished = Finished(Outcome.CANCELLED)
        for event in split_source(
            source,
            self._store,
            delete_original=not self._options.keeps_download,
            cancel=self._cancel,
            floor_bytes=self._options.floor_bytes,
            supply=supply,
        ):
            yield from supply.due()
            if isinstance(event, Finished):
                finished = event
            else:
                yield event
        return finished

    def _in_background(self, job: Callable[[], T]) -> Generator[Event, None, T]:
        """Runs what may block in a thread of its own, so that cancelling never waits for a server."""
        ended: queue.SimpleQueue[_Ended[T]] = queue.SimpleQueue()

        def run() -> None:
            try:
                ended.put(_Ended(job(), None))
            except BaseException as error:  # raised again in the thread that waits
                ended.put(_Ended(None, error))

        threading.Thread(target=run, name="strata-hub", daemon=True).start()
        while True:
            try:
                end = ended.get(timeout=POLL_S)
            except queue.Empty:
                self._cancel.raise_if_cancelled()
                end = None
            while not self._told.empty():
                yield self._told.get()
            if end is not None:
                if end.error is not None:
                    raise end.error
                return end.value  # pyright: ignore[reportReturnType]

    def _tell(self, number: int, count: int, name: str) -> None:
        self._stop.raise_if_cancelled()
        self._told.put(JobProgress("checking", number, count, name, 0, 0, 0.0, None))

    def _hold(self, error: EngineError, delay_s: float) -> None:
        self._told.put(Notice(f"{error.message} Trying again in {format_duration(delay_s)}.", error.detail))
        (self._options.wait or self._stop.wait)(delay_s)
        self._stop.raise_if_cancelled()


@dataclass(frozen=True, slots=True)
class _Ended(Generic[T]):
    """How a thread ended."""

    value: T | None
    error: BaseException | None


def _finished_split(split: Path, commit: str) -> Manifest | None:
    if not (split / MANIFEST_NAME).is_file():
        return None
    try:
        manifest = read_manifest(split)
    except DamagedFile:
        return None
    return manifest if manifest.source.revision == commit else None
