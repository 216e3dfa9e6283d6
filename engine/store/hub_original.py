"""Gets the original of a model back from the hub for a repair: only the shards that damaged blocks were cut from.

They come into a folder of their own, which is deleted when the repair ends. No torch.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from engine.cancel import CancelToken
from engine.errors import SourceError
from engine.hub_access import HubAccess
from engine.store.disk_plan import DEFAULT_FLOOR_BYTES
from engine.store.download_folder import DownloadFolder, download_path
from engine.store.file_fetcher import FileFetcher
from engine.store.hub import HubClient
from engine.store.hub_model import RemoteModel, learn_model
from engine.store.manifest import SourceRecord
from engine.store.model_store import ModelStore
from engine.store.patience import PATIENT
from engine.store.source import Source, is_from_hub
from engine.store.supply import FileSupply
from engine.store.transfer import Transfer

_EVERYTHING = 1 << 30


@dataclass(frozen=True, slots=True)
class Refetch:
    """``source`` has its small files; ``bring`` makes the supply of the weight files it is given."""

    source: Source
    bring: Callable[[Iterable[str]], FileSupply]


class HubOriginal:
    """Where to ask. Nothing is asked until ``open``."""

    def __init__(
        self,
        access: HubAccess,
        store: ModelStore,
        cancel: CancelToken,
        *,
        floor_bytes: int = DEFAULT_FLOOR_BYTES,
        wait: Callable[[float], bool] | None = None,
    ) -> None:
        self._access = access
        self._store = store
        self._cancel = cancel
        self._floor = floor_bytes
        self._wait = wait

    @contextmanager
    def open(self, recorded: SourceRecord) -> Generator[Refetch]:
        """Raises ``SourceError`` for a model that is not from a hub, ``HubError``, ``ModelBusy``."""
        if not is_from_hub(recorded):
            raise SourceError("It was not cut from safetensors files of a hub.", "Cut it again from its original.")
        hub = HubClient(self._access)
        repo = hub.repository(f"{recorded.owner}/{recorded.name}", recorded.revision)
        usual = download_path(self._store, repo.owner, repo.name, repo.commit)
        folder = DownloadFolder(usual.with_name(f".repair-{usual.name}"))
        with self._store.lock(folder.path):
            try:
                with tempfile.TemporaryDirectory(prefix="strata-") as scratch:
                    model = learn_model(hub, repo, Path(scratch), store=self._store)
                folder.path.mkdir(parents=True, exist_ok=True)
                for file in model.small_files:
                    (folder.path / file.name).parent.mkdir(exist_ok=True)
                    head = model.heads.get(file.name)
                    (folder.path / file.name).write_bytes(head if head is not None else hub.read_small(repo, file))
                yield Refetch(model.source_at(folder.path), lambda names: self._bring(hub, model, folder, names))
            finally:
                folder.remove()

    def _bring(self, hub: HubClient, model: RemoteModel, folder: DownloadFolder, names: Iterable[str]) -> FileSupply:
        files = {name: model.files[name] for name in sorted(names)}
        transfer = Transfer(len(files), sum(file.size for file in files.values()))
        stop = CancelToken()
        fetcher = FileFetcher(
            hub, model.repo, folder, transfer, stop=stop, floor_bytes=self._floor, patience=PATIENT, wait=self._wait
        )
        return FileSupply(
            fetcher, files, transfer, heads=model.heads, ahead=_EVERYTHING, stop=stop, cancel=self._cancel
        )
