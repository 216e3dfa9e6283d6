"""Cuts a source into a split: plans, checks the room, cuts block after block, and says where it is.

Every step leaves the folder in a state the next run goes on from: a block's file is written under a
temporary name, flushed, renamed and only then recorded; the manifest comes last. An original shard is
deleted only when asked, and only after every block that needs it was read back and its digest matched.
"""

from __future__ import annotations

import errno
import os
import shutil
import time
from collections.abc import Generator, Iterator
from pathlib import Path

import transformers

from engine import __version__
from engine.cancel import Cancelled, CancelToken
from engine.errors import DamagedFile, DiskFull, EngineError
from engine.events import Event, Finished, JobProgress, Notice, Outcome, SplitResult
from engine.quantities import format_size
from engine.store.block_cutter import cut_block
from engine.store.disk_plan import DEFAULT_FLOOR_BYTES, BlockDemand, DiskPlan, plan_disk
from engine.store.file_digest import digest_file
from engine.store.job_meter import JobMeter
from engine.store.manifest import MANIFEST_NAME, BlockEntry, Manifest
from engine.store.model_store import ModelStore, not_writable
from engine.store.original_files import delete_weight_file, drive_of, remaining_files
from engine.store.progress_journal import ProgressJournal, write_durably
from engine.store.side_files import write_side_files
from engine.store.source import Source, is_same_source
from engine.store.source_plan import plan_source
from engine.store.split_plan import BLOCKS_FOLDER, BlockPlan, SplitPlan
from engine.weights.direct_io import sync_folder

_FULL = (errno.ENOSPC, errno.EDQUOT)
ENGINE_ID = f"strata {__version__} transformers {transformers.__version__}"
"""What a half-made split must have been made by to be gone on with: another version may convert differently."""


def split_source(
    source: Source,
    store: ModelStore,
    *,
    delete_original: bool = False,
    cancel: CancelToken | None = None,
    floor_bytes: int = DEFAULT_FLOOR_BYTES,
) -> Iterator[Event]:
    """Cuts ``source`` into ``store``, goes on where an earlier run stopped, or finds it already there.

    Yields ``JobProgress`` and ``Notice``, ends with ``Finished``. Raises ``EngineError``: what cannot be cut is
    refused before anything is written, and what fails later leaves a split that can be resumed.
    """
    cancel = cancel or CancelToken()
    folder = store.folder_for(source.record)
    started = time.monotonic()
    split = _Split(source, store, folder, delete_original, cancel, floor_bytes)
    outcome = Outcome.DONE
    with store.lock(folder):
        try:
            yield from split.run()
        except Cancelled:
            outcome = Outcome.CANCELLED
        except OSError as error:
            raise split.explain(error) from error
        finally:
            split.close()
    yield Finished(outcome, split.result(time.monotonic() - started))


class _Split:
    """One run of a split."""

    def __init__(
        self,
        source: Source,
        store: ModelStore,
        folder: Path,
        delete_original: bool,
        cancel: CancelToken,
        floor_bytes: int,
    ) -> None:
        self._source = source
        self._store = store
        self._folder = folder
        self._deletes = delete_original and source.is_deletable
        self._cancel = cancel
        self._floor = floor_bytes
        self._journal = ProgressJournal(folder)
        self._plan: SplitPlan | None = None
        self._verified: set[str] = set()
        self._blocks = 0
        self._bytes_written = 0
        self._bytes_deleted = 0

    def run(self) -> Iterator[Event]:
        finished = self._store.find_finished(self._source.record)
        if finished is not None:
            yield from self._finish_earlier(finished)
            return
        yield JobProgress("planning", 0, 0, "", 0, 0, 0.0, None)
        yield from self._forget_stale()
        is_resumed = self._can_resume()
        plan = plan_source(self._source, untied=self._journal.untied() if is_resumed else None)
        self._plan = plan
        self._blocks = len(plan.blocks)
        done = self._usable(plan) if is_resumed else {}
        todo = [block for block in plan.blocks if block.spec.name not in done]
        disk = self._plan_disk(todo)
        self._require_room(disk.peak_bytes)
        self._cancel.raise_if_cancelled()
        self._begin(plan, is_resumed=is_resumed)
        side_files = write_side_files(plan, self._folder)
        meter = self._meter(plan, done)
        if todo:
            yield from self._delete_unneeded(plan, done, meter)
        by_name = {block.spec.name: block for block in todo}
        for name in disk.order:
            block = by_name[name]
            self._require_room(block.layout.size)
            done[name] = yield from self._cut(block, plan, meter)
            if len(done) < self._blocks:
                yield from self._delete_unneeded(plan, done, meter)
        manifest = self._manifest(plan, done, side_files)
        write_durably(self._folder / MANIFEST_NAME, manifest.to_json().encode())
        yield from self._delete_all(manifest, meter)
        self._journal.end()

    def close(self) -> None:
        if self._plan is not None:
            self._plan.tensors.close()

    def result(self, elapsed_s: float) -> SplitResult:
        return SplitResult(
            model=self._folder.name,
            path=str(self._folder),
            blocks=self._blocks,
            bytes_written=self._bytes_written,
            bytes_deleted=self._bytes_deleted,
            elapsed_s=elapsed_s,
        )

    def explain(self, error: OSError) -> EngineError:
        """An ``OSError`` of the target (the source's are explained where they are met)."""
        if error.errno not in _FULL:
            return not_writable(self._folder, error)
        need = self._floor
        if self._plan is not None:
            need += self._plan.nbytes - self._bytes_written
        return self._disk_full(need)

    # -- planning

    def _can_resume(self) -> bool:
        """Whether what is in the folder was cut from these very files by this very conversion."""
        begun = self._journal.source()
        return (
            begun is not None
            and is_same_source(begun.record, self._source.record)
            and self._journal.engine() == ENGINE_ID
        )

    def _forget_stale(self) -> Iterator[Event]:
        """Removes unfinished splits of what used to be at this path; the source at hand is complete."""
        for model in self._store.find_unfinished(Path(self._source.record.path)):
            if model.folder == self._folder:
                continue
            with self._store.lock(model.folder):
                self._store.discard(model.folder)
            yield Notice(
                f"{self._source.record.name} has changed since it was half cut; it is cut anew.",
                detail=f"discarded {model.folder}",
            )
        if self._journal.source() is not None and not self._can_resume():
            yield Notice(
                f"{self._source.record.name} or the engine has changed since it was half cut; it is cut anew.",
                detail=f"begun by {self._journal.engine()}",
            )

    def _usable(self, plan: SplitPlan) -> dict[str, BlockEntry]:
        """Blocks of an earlier run that are exactly what would be cut now."""
        layouts = {block.spec.name: block.layout for block in plan.blocks}
        return {
            name: entry
            for name, entry in self._journal.done().items()
            if name in layouts
            and entry.size == layouts[name].size
            and entry.tensors == layouts[name].tensors
        }

    def _plan_disk(self, todo: list[BlockPlan]) -> DiskPlan:
        files = remaining_files(self._source)
        demands = [
            BlockDemand(block.spec.name, block.layout.size, block.source_files) for block in todo
        ]
        return plan_disk(
            demands,
            files,
            delete_original=self._deletes,
            is_same_drive=drive_of(self._folder) == drive_of(self._source.root),
            other_bytes=1 << 20,
        )

    def _require_room(self, nbytes: int) -> None:
        if shutil.disk_usage(_existing(self._folder)).free < nbytes + self._floor:
            raise self._disk_full(nbytes + self._floor)

    def _disk_full(self, need: int) -> DiskFull:
        have = shutil.disk_usage(_existing(self._folder)).free
        return DiskFull(
            f"Cutting {self._source.record.name} needs {format_size(need)} free "
            f"(of which {format_size(self._floor)} stay free); {format_size(have)} are free on {_existing(self._folder)}.",
            "Free some space, choose another drive with --to, or let the original be deleted while it is cut; "
            "what is done is kept.",
            need=need,
            have=have,
        )

    # -- cutting

    def _begin(self, plan: SplitPlan, *, is_resumed: bool) -> None:
        (self._folder / BLOCKS_FOLDER).mkdir(parents=True, exist_ok=True)
        if not is_resumed:
            (self._folder / MANIFEST_NAME).unlink(missing_ok=True)
            self._journal.begin(plan.source, ENGINE_ID, plan.untied)
        self._journal.remove_parts()

    def _meter(self, plan: SplitPlan, done: dict[str, BlockEntry]) -> JobMeter:
        passes = 2 if self._deletes else 1
        return JobMeter(
            len(plan.blocks), passes * plan.nbytes, bytes_done=sum(entry.size for entry in done.values())
        )

    def _cut(self, block: BlockPlan, plan: SplitPlan, meter: JobMeter) -> Generator[Event, None, BlockEntry]:
        name = block.spec.name
        number = 1 + [other.spec.name for other in plan.blocks].index(name)
        meter.start("cutting", number, name)
        part = self._journal.part_path(name)
        try:
            size, sha256 = yield from cut_block(
                block,
                part,
                conversion=plan.conversion,
                tensors=plan.tensors,
                meter=meter,
                cancel=self._cancel,
            )
            os.replace(part, self._folder / block.file)
        finally:
            part.unlink(missing_ok=True)
        sync_folder(self._folder / BLOCKS_FOLDER)
        entry = BlockEntry(
            name=name,
            kind=block.spec.kind.value,
            module=block.spec.module,
            file=block.file,
            size=size,
            data_offset=block.layout.data_offset,
            sha256=sha256,
            tensors=block.layout.tensors,
        )
        self._journal.append(entry)
        self._bytes_written += size
        yield from meter.due()
        return entry

    def _manifest(
        self, plan: SplitPlan, done: dict[str, BlockEntry], side_files: dict[str, str]
    ) -> Manifest:
        return Manifest(
            model=self._folder.name,
            source=plan.source.record,
            config_digest=side_files["config.json"],
            dtype=str(plan.dtype).removeprefix("torch."),
            quantisation=None,
            architecture=plan.architecture,
            transformers_version=transformers.__version__,
            layers_path=plan.structure.layers_path,
            embedding_path=plan.structure.embedding_path,
            head_path=plan.structure.head_path,
            aliases=dict(plan.structure.aliases),
            untied=tuple(sorted(plan.untied)),
            blocks=tuple(done[block.spec.name] for block in plan.blocks),
            side_files=side_files,
        )

    # -- deleting the original

    def _delete_unneeded(
        self, plan: SplitPlan, done: dict[str, BlockEntry], meter: JobMeter
    ) -> Iterator[Event]:
        """Deletes the shards whose blocks are all done, after reading those blocks back."""
        if not self._deletes:
            return
        needed_by: dict[str, list[str]] = {}
        for block in plan.blocks:
            for file in block.source_files:
                needed_by.setdefault(file, []).append(block.spec.name)
        for file in remaining_files(self._source):
            blocks = needed_by.get(file, [])
            if blocks and all(name in done for name in blocks):
                yield from self._delete_file(file, [done[name] for name in blocks], plan.tensors.close, meter)

    def _delete_all(self, manifest: Manifest, meter: JobMeter) -> Iterator[Event]:
        """Deletes what is left of the original once the split is whole."""
        if not self._deletes:
            return
        close = self._plan.tensors.close if self._plan is not None else lambda: None
        for file in remaining_files(self._source):
            yield from self._delete_file(file, list(manifest.blocks), close, meter)

    def _delete_file(
        self, file: str, blocks: list[BlockEntry], close: object, meter: JobMeter
    ) -> Iterator[Event]:
        for number, entry in enumerate(blocks, start=1):
            if entry.name not in self._verified:
                meter.start("verifying", number, entry.name)
                yield from self._read_back(entry, meter)
        meter.start("deleting", len(blocks), file)
        yield from meter.due()
        if callable(close):
            close()
        self._bytes_deleted += delete_weight_file(self._source, file)

    def _read_back(self, entry: BlockEntry, meter: JobMeter) -> Iterator[Event]:
        path = self._folder / entry.file
        reading = digest_file(path, self._cancel)
        sha256 = ""
        while True:
            try:
                meter.advance(next(reading))
            except StopIteration as stop:
                sha256 = stop.value
                break
            yield from meter.due()
        if sha256 != entry.sha256:
            path.unlink(missing_ok=True)
            raise DamagedFile(
                f"{entry.file} could not be read back as it was written; the original was kept.",
                "Check the drive, then split again.",
                files=(entry.file,),
                detail=f"wrote {entry.sha256}, read {sha256}",
            )
        self._verified.add(entry.name)

    def _finish_earlier(self, manifest: Manifest) -> Iterator[Event]:
        """The split is there: refreshes its small files, and finishes deleting if that is still wanted."""
        self._blocks = len(manifest.blocks)
        meter = JobMeter(self._blocks, sum(block.size for block in manifest.blocks))
        yield from self._delete_all(manifest, meter)
        self._journal.end()


def _existing(path: Path) -> Path:
    """The nearest folder that is there, to ask for its drive."""
    return next(parent for parent in [path, *path.parents] if parent.exists())
