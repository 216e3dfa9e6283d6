"""Cuts a source into a split: plans, checks the room, cuts block after block, and says where it is.

Every step leaves the folder in a state the next run goes on from: a block's file is written under a
temporary name, flushed, renamed and only then recorded; the manifest comes last. An original shard is
deleted only when asked, and only after every block that needs it was read back and its digest matched.

torch and transformers are imported when planning begins, so that what can be refused before is refused at once.
"""

from __future__ import annotations

import errno
import functools
import importlib.metadata
import shutil
import time
from collections.abc import Generator, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from engine.cancel import Cancelled, CancelToken
from engine.errors import DamagedFile, DiskFull, EngineError, SourceError
from engine.events import Event, Finished, JobProgress, Notice, Outcome, SplitResult
from engine.quantities import format_size
from engine.store.disk_plan import DEFAULT_FLOOR_BYTES, DiskPlan, plan_disk
from engine.store.file_digest import digest_file
from engine.store.job_meter import JobMeter
from engine.store.manifest import MANIFEST_NAME, WEIGHT_FOLDERS, BlockEntry, ExpertsEntry, Manifest, SourceKind
from engine.store.model_store import ModelStore, not_writable
from engine.store.original_files import delete_weight_file, drive_of, nearest_existing, remaining_files
from engine.store.progress_journal import BegunPart, ProgressJournal, write_durably
from engine.store.side_files import refresh_side_files, write_side_files
from engine.store.source import Source, is_from_hub
from engine.store.split_progress import can_resume, demand_of, engine_id, find_begun_parts, find_done_blocks
from engine.store.verifier import find_misshapen, mend
from engine.weights.direct_io import sync_folder

if TYPE_CHECKING:
    from engine.store.split_plan import BlockPlan, SplitPlan
    from engine.store.supply import FileSupply

_FULL = (errno.ENOSPC, errno.EDQUOT)


def split_source(
    source: Source,
    store: ModelStore,
    *,
    delete_original: bool = False,
    cancel: CancelToken | None = None,
    floor_bytes: int = DEFAULT_FLOOR_BYTES,
    supply: FileSupply | None = None,
) -> Iterator[Event]:
    """Cuts ``source`` into ``store``, goes on where an earlier run stopped, or finds it already there.

    Yields ``JobProgress`` and ``Notice``, ends with ``Finished``. Raises ``EngineError``: what cannot be cut is
    refused before anything is written, and what fails later leaves a split that can be resumed. At least
    ``floor_bytes`` stay free on the drive. With a ``supply``, weight files need not be here before they are cut.
    """
    started = time.monotonic()
    split = _Split(source, store, delete_original, cancel or CancelToken(), floor_bytes, supply)
    outcome = Outcome.DONE
    try:
        yield from split.run()
    except Cancelled:
        outcome = Outcome.CANCELLED
    except OSError as error:
        raise split.explain(error) from error
    finally:
        split.close()
    yield Finished(outcome, split.result(time.monotonic() - started))


def plan_space(
    plan: SplitPlan, folder: Path, *, delete_original: bool, done: Mapping[str, BlockEntry] | None = None
) -> DiskPlan:
    """The room a split takes on the drive of ``folder``: now, at its peak, afterwards. Touches no file.

    ``done`` are the blocks of an earlier run that need not be cut again.
    """
    begun = find_begun_parts(plan, folder)
    source = plan.source
    small = sum((source.root / name).stat().st_size for name in source.side_files) or 8 << 20
    demands = [demand_of(block, begun) for block in plan.blocks if block.spec.name not in (done or {})]
    return plan_disk(
        demands,
        remaining_files(source),
        delete_original=delete_original and source.is_deletable,
        is_same_drive=drive_of(folder) == drive_of((source.root / source.record.files[0].name).resolve()),
        # The manifest takes some 200 bytes a tensor, and is written beside its predecessor.
        other_bytes=small + 512 * sum(len(block.layout.tensors) for block in plan.blocks),
    )


def make_manifest(plan: SplitPlan, model: str, done: Mapping[str, BlockEntry], side_files: dict[str, str]) -> Manifest:
    """What a split's manifest says once every block is ``done``; ``side_files`` map to their sha256."""
    entries = [done[block.spec.name] for block in plan.blocks]
    experts = tuple(entry for entry in entries if isinstance(entry, ExpertsEntry))
    tables, drafts = (tuple(entry for entry in entries if entry.kind == kind) for kind in ("table", "draft"))
    apart = {entry.name for entry in (*experts, *tables, *drafts)}
    return Manifest(
        model=model,
        source=plan.source.record,
        config_digest=side_files["config.json"],
        dtype=str(plan.dtype).removeprefix("torch."),
        quantisation=None,
        architecture=plan.architecture,
        transformers_version=importlib.metadata.version("transformers"),
        layers_path=plan.structure.layers_path,
        embedding_path=plan.structure.embedding_path,
        head_path=plan.structure.head_path,
        aliases=dict(plan.structure.aliases),
        untied=tuple(sorted(plan.untied)),
        blocks=tuple(entry for entry in entries if entry.name not in apart),
        side_files=side_files,
        experts=experts,
        tables=tables,
        drafts=drafts,
        code=plan.source.code,
    )


class _Split:
    """One run of a split."""

    def __init__(
        self,
        source: Source,
        store: ModelStore,
        delete_original: bool,
        cancel: CancelToken,
        floor_bytes: int,
        supply: FileSupply | None,
    ) -> None:
        self._source = source
        self._store = store
        self._folder = store.folder_for(source.record)
        self._deletes = delete_original and source.is_deletable
        self._is_kept_anyway = delete_original and not source.is_deletable
        self._cancel = cancel
        self._floor = floor_bytes
        self._supply = supply
        self._journal = ProgressJournal(self._folder)
        self._plan: SplitPlan | None = None
        self._verified: set[str] = set()
        self._blocks = 0
        self._bytes_written = 0
        self._bytes_deleted = 0

    def run(self) -> Iterator[Event]:
        finished = self._store.find_finished(self._source.record)
        if finished is not None and (yield from self._finish_earlier(finished)):
            return
        # What would fail later is refused before torch is imported and the model planned.
        self._store.require_writable(self._folder.parent)
        self._store.require_free(self._folder)
        yield from self._tell_of_older()
        if self._is_kept_anyway:
            yield Notice("The starter model's file belongs to its package, so it is not deleted.")
        yield JobProgress("planning", 0, 0, "", 0, 0, 0.0, None)
        plan = self._make_plan()
        disk = plan_space(plan, self._folder, delete_original=self._deletes, done=self._done_blocks(plan))
        self._require_room(disk.peak_bytes)
        self._cancel.raise_if_cancelled()
        self._store.adopt(self._folder.parent)
        with self._store.lock(self._folder):
            self._store.empty_trash()
            # Another process may have gone on meanwhile.
            done = self._done_blocks(plan)
            self._require_source_of(block for block in plan.blocks if block.spec.name not in done)
            disk = plan_space(plan, self._folder, delete_original=self._deletes, done=done)
            yield from self._forget_stale()
            side_files = self._begin(plan, is_resumed=self._can_resume())
            try:
                yield from self._cut_all(plan, done, disk, side_files)
            finally:
                self._store.look_again(self._folder.parent)

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
        """What an ``OSError`` of the target means (the source's are explained where they are met)."""
        if error.errno not in _FULL:
            return not_writable(self._folder, error)
        return self._disk_full((self._plan.nbytes if self._plan else 0) - self._bytes_written)

    # Planning

    def _make_plan(self) -> SplitPlan:
        from engine.store.source_plan import plan_source

        plan = plan_source(self._source, untied=self._journal.untied() if self._can_resume() else None)
        self._plan = plan
        self._blocks = len(plan.blocks)
        return plan

    def _done_blocks(self, plan: SplitPlan) -> dict[str, BlockEntry]:
        return find_done_blocks(plan, self._folder)

    def _can_resume(self) -> bool:
        return can_resume(self._journal, self._source)

    def _require_source_of(self, blocks: Iterable[BlockPlan]) -> None:
        """Raises ``SourceError`` where a block has to be cut whose weight files are gone and nothing brings them."""
        if self._supply is not None:
            return
        there = remaining_files(self._source)
        lost = sorted({file for block in blocks for file in block.source_files if file not in there})
        if lost:
            raise SourceError(
                f"{lost[0]} was already deleted, and a block that was cut from it is missing or damaged.",
                "Download the model again and split it anew; what is left was kept.",
                detail=", ".join(lost),
            )

    def _require_room(self, nbytes: int) -> None:
        if shutil.disk_usage(nearest_existing(self._folder)).free < nbytes + self._floor:
            raise self._disk_full(nbytes)

    def _disk_full(self, nbytes: int) -> DiskFull:
        place = nearest_existing(self._folder)
        advice = "Free some space, or choose another drive with --to."
        if self._source.is_deletable and not self._deletes:
            advice = "Free some space, choose another drive with --to, or let the original be deleted while it is cut."
        need, have = nbytes + self._floor, shutil.disk_usage(place).free
        return DiskFull(
            f"Cutting {self._source.record.name} needs {format_size(need)} ({format_size(nbytes)} and "
            f"{format_size(self._floor)} that stay free); {format_size(have)} are free on the drive of {place}.",
            f"{advice} What is already cut is kept.",
            need=need,
            have=have,
        )

    # Cutting

    def _tell_of_older(self) -> Iterator[Event]:
        """A touched or copied original is another revision: what was cut from it before is named, with its bytes."""
        for model in self._store.find_older(self._source.record):
            yield Notice(
                f"{self._source.record.name} was cut before, as {model.name} ({format_size(model.nbytes)}), and its "
                f"files have changed since or are a copy. It is cut again; to free the space: remove {model.name}",
                detail=str(model.folder),
            )

    def _forget_stale(self) -> Iterator[Event]:
        """Removes unfinished splits of what used to be at this path; the source at hand is complete."""
        for model in self._store.find_unfinished(Path(self._source.record.path)):
            if model.folder != self._folder:
                with self._store.lock(model.folder):
                    self._store.discard(model.folder)
                yield Notice(
                    f"{self._source.record.name} has changed since it was partly cut, so it is cut anew.",
                    detail=f"discarded {model.folder}",
                )
        if self._journal.source() is not None and not self._can_resume():
            yield Notice(
                f"{self._source.record.name} or the engine has changed since it was partly cut, so it is cut anew.",
                detail=f"begun by {self._journal.engine()}",
            )

    def _begin(self, plan: SplitPlan, *, is_resumed: bool) -> dict[str, str]:
        """Makes the folder ready to cut into; the sha256 of the small files by name."""
        try:
            if not is_resumed:
                (self._folder / MANIFEST_NAME).unlink(missing_ok=True)
                for folder in WEIGHT_FOLDERS:
                    shutil.rmtree(self._folder / folder, ignore_errors=True)
            for file in {block.file for block in plan.blocks}:
                (self._folder / file).parent.mkdir(parents=True, exist_ok=True)
            if not is_resumed:
                self._journal.begin(plan.source, engine_id(), plan.untied)
            self._journal.remove_parts()
            return write_side_files(plan, self._folder)
        except (EngineError, OSError):
            if not is_resumed and self._folder.exists():
                self._store.discard(self._folder)
            raise

    def _cut_all(
        self, plan: SplitPlan, done: dict[str, BlockEntry], disk: DiskPlan, side_files: dict[str, str]
    ) -> Iterator[Event]:
        passes = 2 if self._deletes else 1
        cut_bytes = sum(entry.size for entry in done.values())
        meter = JobMeter(self._blocks, passes * plan.nbytes, bytes_done=cut_bytes)
        blocks = {block.spec.name: block for block in plan.blocks}
        if disk.order:
            yield from self._delete_unneeded(plan, done, meter)
        if self._supply is not None:
            self._supply.want(file for name in disk.order for file in sorted(blocks[name].source_files))
        begun = find_begun_parts(plan, self._folder)
        for name in disk.order:
            room_bytes = demand_of(blocks[name], begun).nbytes
            if self._supply is not None:
                yield from self._supply.wait_for(blocks[name].source_files, room_bytes=room_bytes)
            self._require_room(room_bytes)
            meter.start("cutting", len(done) + 1, name)
            done[name] = yield from self._cut(blocks[name], plan, meter, begun.get(name))
            if len(done) < self._blocks:
                yield from self._delete_unneeded(plan, done, meter)
        manifest = make_manifest(plan, self._folder.name, done, side_files)
        write_durably(self._folder / MANIFEST_NAME, manifest.to_json().encode())
        yield from self._delete_all(manifest, meter)
        self._journal.end()

    def _cut(
        self, block: BlockPlan, plan: SplitPlan, meter: JobMeter, begun: BegunPart | None
    ) -> Generator[Event, None, BlockEntry]:
        from engine.store.block_cutter import cut_block

        name = block.spec.name
        part = self._journal.part_path(name)
        try:
            size, sha256 = yield from cut_block(
                block,
                part,
                begun=begun,
                note_begun=functools.partial(self._journal.record_part, name),
                conversion=plan.conversion,
                tensors=plan.tensors,
                meter=meter,
                cancel=self._cancel,
            )
            part.replace(self._folder / block.file)
        finally:
            if name not in self._journal.begun():
                part.unlink(missing_ok=True)
        sync_folder((self._folder / block.file).parent)
        entry = block.entry(size, sha256)
        self._journal.append(entry)
        self._bytes_written += size
        return entry

    def _finish_earlier(self, manifest: Manifest) -> Generator[Event, None, bool]:
        """The split is there: mends it, brings its small files up to date, deletes the original if still wanted.

        False where it is damaged and cannot be mended as it was: then it has to be cut anew.
        """
        if (damaged := find_misshapen(self._folder, manifest)) and not (yield from self._mend(manifest, damaged)):
            return False
        yield from self._bring_up_to_date(manifest)
        return True

    def _mend(self, manifest: Manifest, damaged: tuple[str, ...]) -> Generator[Event, None, bool]:
        """Cuts the damaged files again; False where the engine of today makes other files of the same source."""
        files = "1 file is" if len(damaged) == 1 else f"{len(damaged)} files are"
        yield Notice(
            f"{self._folder.name} is cut already, but {files} damaged or missing; only that is cut again.",
            detail=", ".join(damaged),
        )
        entries = [block for block in manifest.files if block.file in damaged]
        self._require_room(sum(block.size for block in entries))
        if len(remaining_files(self._source)) < len(self._source.record.files):
            from_hub = " --from-hub" if is_from_hub(self._source.record) else ""
            raise DamagedFile(
                f"{files} damaged or missing in {self._folder.name}, and part of the original was deleted.",
                f"{'R' if from_hub else 'Get the original back, then r'}epair it: "
                f"verify {self._folder.name} --repair{from_hub}",
                files=damaged,
            )
        with self._store.lock(self._folder):
            mended = yield from mend(self._folder, manifest, damaged, self._source, self._cancel)
        self._bytes_written += sum(block.size for block in entries if block.file in mended)
        # A small file that is another by now is copied with the rest of what is new.
        is_copied = self._source.kind is not SourceKind.GGUF
        return not {name for name in damaged if name not in mended and not (is_copied and name in manifest.side_files)}

    def _bring_up_to_date(self, manifest: Manifest) -> Iterator[Event]:
        self._blocks = len(manifest.files)
        changed = refresh_side_files(self._source, self._folder, manifest)
        is_left = self._journal.folder.exists() or (self._deletes and remaining_files(self._source))
        if changed is None and not is_left:
            return
        with self._store.lock(self._folder):
            if changed is not None:
                write_durably(self._folder / MANIFEST_NAME, changed.to_json().encode())
            meter = JobMeter(self._blocks, sum(entry.size for entry in manifest.files))
            yield from self._delete_all(manifest, meter)
            self._journal.end()

    # Deleting the original

    def _delete_unneeded(self, plan: SplitPlan, done: Mapping[str, BlockEntry], meter: JobMeter) -> Iterator[Event]:
        """Deletes the shards whose blocks are all done, after reading those blocks back."""
        if not self._deletes:
            return
        for file in remaining_files(self._source):
            blocks = [block.spec.name for block in plan.blocks if file in block.source_files]
            if blocks and all(name in done for name in blocks):
                plan.tensors.close()
                yield from self._delete_file(file, [done[name] for name in blocks], meter)

    def _delete_all(self, manifest: Manifest, meter: JobMeter) -> Iterator[Event]:
        """Deletes what is left of the original once the split is whole, after reading all of it back."""
        if not self._deletes:
            return
        self.close()
        for file in remaining_files(self._source):
            yield from self._delete_file(file, list(manifest.files), meter)

    def _delete_file(self, file: str, blocks: list[BlockEntry], meter: JobMeter) -> Iterator[Event]:
        for entry in blocks:
            if entry.name not in self._verified:
                meter.start("verifying", len(self._verified) + 1, entry.name)
                yield from self._read_back(entry, meter)
        meter.start("deleting", len(self._verified), file)
        yield from meter.due()
        self._cancel.raise_if_cancelled()
        self._journal.record_deletion(file)
        self._bytes_deleted += delete_weight_file(self._source, file)

    def _read_back(self, entry: BlockEntry, meter: JobMeter) -> Iterator[Event]:
        path = self._folder / entry.file
        reading = digest_file(path, self._cancel)
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
                f"{entry.file} could not be read back as it was written; what is left of the original was kept.",
                "Check the drive, then split again.",
                files=(entry.file,),
                detail=f"wrote {entry.sha256}, read {sha256}",
            )
        self._verified.add(entry.name)
