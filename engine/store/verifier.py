"""Is a split still what was written? Checks sizes in milliseconds, or every byte; repairs single files.

A repair cuts exactly the damaged blocks again, from the source the manifest records, and accepts them only if
they have the recorded digest.
"""

from __future__ import annotations

import shlex
import shutil
import struct
from collections.abc import Generator, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from engine.cancel import Cancelled, CancelToken
from engine.errors import DamagedFile, EngineError, SourceError
from engine.events import Event, Finished, Outcome, VerifyResult
from engine.store.file_digest import digest_file, digest_small_file
from engine.store.gguf_file import is_starter, open_starter
from engine.store.job_meter import JobMeter
from engine.store.manifest import BlockEntry, Manifest, read_manifest
from engine.store.model_store import ModelStore, not_writable
from engine.store.open_source import open_source
from engine.store.progress_journal import ProgressJournal
from engine.store.source import Source, is_from_hub, is_same_source
from engine.weights.direct_io import sync_folder

if TYPE_CHECKING:
    from engine.store.hub_original import HubOriginal, Refetch
    from engine.store.split_plan import SplitPlan


def check_sizes(folder: Path, manifest: Manifest) -> None:
    """Raises ``DamagedFile`` naming every file that is missing, has another size or another header. Fast."""
    if bad := find_misshapen(folder, manifest):
        raise _damaged(folder, bad)


def find_misshapen(folder: Path, manifest: Manifest) -> tuple[str, ...]:
    """The files of a split that are missing, or have another size or another header. Fast."""
    bad = [block.file for block in manifest.files if not _looks_whole(folder, block)]
    return (*bad, *(name for name in manifest.side_files if not (folder / name).is_file()))


def verify(
    folder: Path,
    *,
    repair: bool = False,
    cancel: CancelToken | None = None,
    store: ModelStore | None = None,
    original: HubOriginal | None = None,
) -> Iterator[Event]:
    """Reads every file of a split past the page cache and compares digests; with ``repair`` cuts damaged ones again.

    Ends with ``Finished`` and a ``VerifyResult``. Raises ``DamagedFile`` naming the files that are (still) damaged,
    ``ModelBusy`` where another process works on the model. Where the source is no longer here, ``original`` gets back
    what a repair needs of it.
    """
    cancel = cancel or CancelToken()
    manifest = read_manifest(folder)
    checked = _Check(folder, manifest, cancel, name=_name_for(folder, store))
    outcome = Outcome.DONE
    try:
        yield from checked.run()
        if checked.damaged and repair:
            store = store or ModelStore(models_folder=folder.parent)
            with store.lock(folder):
                yield from _repair(checked, original)
    except Cancelled:
        outcome = Outcome.CANCELLED
    left = tuple(name for name in checked.damaged if name not in checked.repaired)
    if left and outcome is Outcome.DONE:
        raise _damaged(folder, left, name=checked.name)
    result = VerifyResult(
        manifest.model, checked.files, checked.bytes_read, tuple(checked.damaged), tuple(checked.repaired)
    )
    yield Finished(outcome, result)


def mend(
    folder: Path, manifest: Manifest, damaged: tuple[str, ...], source: Source, cancel: CancelToken
) -> Generator[Event, None, tuple[str, ...]]:
    """Cuts the ``damaged`` files of a split again from ``source``; returns those that came out as recorded.

    The caller holds the model's lock. Raises ``EngineError``, ``Cancelled``.
    """
    checked = _Check(folder, manifest, cancel)
    checked.damaged = list(damaged)
    yield from _repair_from(checked, source, None)
    return tuple(checked.repaired)


class _Check:
    """One reading of a whole split."""

    def __init__(self, folder: Path, manifest: Manifest, cancel: CancelToken, *, name: str = "") -> None:
        self.folder = folder
        self.name = name or _name_for(folder, None)
        self.manifest = manifest
        self.cancel = cancel
        self.files = 0
        self.bytes_read = 0
        self.damaged: list[str] = []
        self.repaired: list[str] = []
        self.meter = JobMeter(len(manifest.files), sum(entry.size for entry in manifest.files))

    def run(self) -> Iterator[Event]:
        for number, block in enumerate(self.manifest.files, start=1):
            self.meter.start("verifying", number, block.name)
            yield from self._check_block(block)
        for name, sha256 in self.manifest.side_files.items():
            self.files += 1
            path = self.folder / name
            try:
                self.bytes_read += path.stat().st_size
                is_same = digest_small_file(path) == sha256
            except OSError:
                is_same = False
            if not is_same:
                self.damaged.append(name)

    def _check_block(self, block: BlockEntry) -> Iterator[Event]:
        self.files += 1
        try:
            reading = digest_file(self.folder / block.file, self.cancel)
            while True:
                try:
                    count = next(reading)
                except StopIteration as stop:
                    if stop.value != block.sha256:
                        self.damaged.append(block.file)
                    return
                self.bytes_read += count
                self.meter.advance(count)
                yield from self.meter.due()
        except OSError:
            self.damaged.append(block.file)


def _repair(checked: _Check, original: HubOriginal | None) -> Iterator[Event]:
    with ExitStack() as stack:
        source, refetch = _find_or_refetch(checked, original, stack)
        yield from _repair_from(checked, source, refetch)


def _find_or_refetch(checked: _Check, original: HubOriginal | None, stack: ExitStack) -> tuple[Source, Refetch | None]:
    """The source, and where its weights can be had if they are not here. Raises ``DamagedFile``, ``HubError``."""
    try:
        return _find_source(checked), None
    except DamagedFile as error:
        if original is None:
            if is_from_hub(checked.manifest.source):
                error.next_step = f"Fetch just what is needed: verify {checked.name} --repair --from-hub"
            raise
    try:
        refetch = stack.enter_context(original.open(checked.manifest.source))
    except SourceError as error:
        raise _damaged(checked.folder, tuple(checked.damaged), f"It cannot be repaired: {error.message}") from error
    if not is_same_source(checked.manifest.source, refetch.source.record):
        raise _damaged(checked.folder, tuple(checked.damaged), "It cannot be repaired: the hub has other weights now.")
    return refetch.source, refetch


def _repair_from(checked: _Check, source: Source, refetch: Refetch | None) -> Iterator[Event]:
    # transformers takes seconds to import, and checking alone does not need it.
    from engine.store.source_plan import plan_source

    plan = plan_source(source, untied=frozenset(checked.manifest.untied))
    if refetch is not None:
        needed = {name for block in plan.blocks if block.file in checked.damaged for name in block.source_files}
        with refetch.bring(needed) as supply:
            yield from supply.wait_for(needed)
    journal = ProgressJournal(checked.folder)
    try:
        journal.folder.mkdir(exist_ok=True)
        journal.remove_parts()
        yield from _repair_blocks(checked, plan, journal)
        _repair_side_files(checked, plan, journal)
    except OSError as error:
        raise not_writable(checked.folder, error) from error
    finally:
        plan.tensors.close()
        shutil.rmtree(journal.folder, ignore_errors=True)


def _repair_blocks(checked: _Check, plan: SplitPlan, journal: ProgressJournal) -> Iterator[Event]:
    from engine.store.block_cutter import cut_block

    plans = {block.file: block for block in plan.blocks}
    entries = [block for block in checked.manifest.files if block.file in checked.damaged]
    meter = JobMeter(len(entries), sum(entry.size for entry in entries))
    for number, entry in enumerate(entries, start=1):
        meter.start("repairing", number, entry.name)
        part = journal.part_path(entry.name)
        if entry.file not in plans or plans[entry.file].stored_tensors != entry.tensors:
            continue
        try:
            _, sha256 = yield from cut_block(
                plans[entry.file],
                part,
                conversion=plan.conversion,
                tensors=plan.tensors,
                meter=meter,
                cancel=checked.cancel,
            )
            if sha256 == entry.sha256:
                target = checked.folder / entry.file
                target.parent.mkdir(exist_ok=True)
                part.replace(target)
                sync_folder(target.parent)
                checked.repaired.append(entry.file)
        finally:
            part.unlink(missing_ok=True)


def _repair_side_files(checked: _Check, plan: SplitPlan, journal: ProgressJournal) -> None:
    from engine.store.side_files import write_side_files

    names = [name for name in checked.damaged if name in checked.manifest.side_files]
    if not names:
        return
    fresh = journal.folder / "side"
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir()
    digests = write_side_files(plan, fresh)
    for name in names:
        if digests.get(name) == checked.manifest.side_files[name]:
            (checked.folder / name).parent.mkdir(exist_ok=True)
            (fresh / name).replace(checked.folder / name)
            checked.repaired.append(name)
    sync_folder(checked.folder)


def _find_source(checked: _Check) -> Source:
    """The source a split was cut from, if it is still there and still the same. Raises ``DamagedFile``."""
    recorded = checked.manifest.source
    try:
        # As an ordinary file it would have another owner, name and revision.
        source = open_starter() if is_starter(recorded) else open_source(recorded.path)
    except EngineError as error:
        raise _damaged(checked.folder, tuple(checked.damaged), f"It cannot be repaired: {error.message}") from error
    if not is_same_source(recorded, source.record):
        raise _damaged(
            checked.folder,
            tuple(checked.damaged),
            f"It cannot be repaired: the original in {recorded.path} has changed since it was cut.",
        )
    return source


def _looks_whole(folder: Path, block: BlockEntry) -> bool:
    """Size and the length of the header: what a cut-off, emptied or swapped file gets wrong."""
    path = folder / block.file
    try:
        if path.stat().st_size != block.size:
            return False
        with path.open("rb") as file:
            (length,) = struct.unpack("<Q", file.read(8))
        return 8 + length == block.data_offset
    except (OSError, struct.error):
        return False


def _name_for(folder: Path, store: ModelStore | None) -> str:
    """What a command finds this split by: its folder's name only where the store is known to hold it."""
    is_stored = store is not None and any((model.name, model.folder) == (folder.name, folder) for model in store.list())
    return folder.name if is_stored else shlex.quote(str(folder))


def _damaged(folder: Path, files: tuple[str, ...], reason: str = "", *, name: str = "") -> DamagedFile:
    listed = ", ".join(files[:4]) + (f" and {len(files) - 4} more" if len(files) > 4 else "")
    count = "1 file is" if len(files) == 1 else f"{len(files)} files are"
    return DamagedFile(
        f"{count} damaged or missing in {folder.name}: {listed}." + (f" {reason}" if reason else ""),
        "Cut the model again from its original."
        if reason
        else f"Repair just {'it' if len(files) == 1 else 'them'}: verify {name or _name_for(folder, None)} --repair",
        files=files,
    )
