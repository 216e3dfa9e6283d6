"""The engine's public face: what any program may ask of it, in this process or another. No torch.

A long call is an iterator of events (``engine.events``) that ends with exactly one ``Finished``, or raises
one ``EngineError`` (``engine.errors``). Cancelling is an outcome: it takes effect within one block and
leaves a usable engine. ``engine.local.LocalEngine`` does the work; ``engine.worker`` offers the same over a
pipe.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol

from engine.cancel import CancelToken as CancelToken
from engine.events import Event
from engine.generation.messages import ImageSource as ImageSource
from engine.generation.messages import Message as Message
from engine.generation.sampling import SamplingOptions as SamplingOptions
from engine.hub_access import HubAccess as HubAccess
from engine.hub_access import SearchFilters as SearchFilters
from engine.hub_access import SearchOrder as SearchOrder
from engine.load_options import LoadOptions as LoadOptions
from engine.reports import DeviceCheck as DeviceCheck
from engine.reports import DeviceReport as DeviceReport
from engine.reports import DriveReport as DriveReport
from engine.reports import FamilyCheck as FamilyCheck
from engine.reports import FolderReport as FolderReport
from engine.reports import HubModel as HubModel
from engine.reports import MachineReport as MachineReport
from engine.reports import ModelInfo as ModelInfo
from engine.reports import ModelPlan as ModelPlan
from engine.reports import TorchReport as TorchReport
from engine.reports import WeightShape as WeightShape
from engine.store.disk_plan import DEFAULT_FLOOR_BYTES as DEFAULT_FLOOR_BYTES
from engine.streaming.hit_rate import expected_hit_rate as expected_hit_rate
from engine.streaming.prediction import EXPANSION_COST as EXPANSION_COST
from engine.streaming.prediction import EXPERT_PRODUCTS as EXPERT_PRODUCTS
from engine.streaming.prediction import LAYER_PRODUCTS as LAYER_PRODUCTS


class Engine(Protocol):
    """At most one model is loaded. Calls come from one thread, except ``CancelToken.cancel``.

    ``model`` is a name ``list_models`` gives; ``source`` is a hub name, a folder, a ``.gguf`` file or "starter".
    """

    def list_models(self) -> list[ModelInfo]: ...

    def probe(self) -> MachineReport: ...

    def plan(
        self, source: str, options: LoadOptions, *, delete_original: bool = False, target: Path | None = None
    ) -> ModelPlan:
        """``target`` is the folder of models it would go to, unless it was begun elsewhere."""
        ...

    def model_folders(self) -> list[FolderReport]: ...

    def add_models_folder(self, folder: Path) -> None: ...

    def forget_models_folder(self, folder: Path) -> None:
        """Nothing in it is touched."""
        ...

    def list_drives(self) -> list[DriveReport]: ...

    def measure_drive(self, folder: Path) -> float:
        """Bytes per second; writes and removes one small file."""
        ...

    def split(
        self, source: str, *, delete_original: bool, cancel: CancelToken, target: Path | None = None
    ) -> Iterator[Event]:
        """``JobProgress`` and ``Notice``, then ``Finished`` with a ``SplitResult``."""
        ...

    def download(
        self,
        repo: str,
        access: HubAccess,
        *,
        cancel: CancelToken,
        target: Path | None = None,
        keep_download: bool = False,
        floor_bytes: int = DEFAULT_FLOOR_BYTES,
    ) -> Iterator[Event]:
        """``JobProgress`` of the download and of the split that goes with it, then ``Finished`` as from ``split``.

        ``repo`` is ``owner/name`` or ``owner/name@revision``. Asked again, it goes on where it stopped. Raises
        ``HubError``, ``AccessRefused`` with the page of the licence, ``DiskFull`` before a weight is fetched; below
        ``floor_bytes`` of free space it pauses.
        """
        ...

    def discard_download(self, repo: str, *, target: Path | None = None) -> int:
        """Deletes what an unfinished download, given up for good, has left here; the bytes that frees."""
        ...

    def move(
        self, model: str, target: Path, *, cancel: CancelToken, floor_bytes: int = DEFAULT_FLOOR_BYTES
    ) -> Iterator[Event]:
        """``JobProgress``, then ``Finished`` with a ``MoveResult``. Asked again, it goes on where it stopped."""
        ...

    def discard_move(self, model: str) -> int:
        """Deletes what a move, given up for good, has copied; the bytes that frees."""
        ...

    def plan_download(
        self,
        repo: str,
        access: HubAccess,
        options: LoadOptions,
        *,
        keep_download: bool = False,
        target: Path | None = None,
    ) -> ModelPlan:
        """As ``plan``, for a model on the hub: from its small files and the heads of its weights."""
        ...

    def search_models(
        self, query: str, access: HubAccess, *, filters: SearchFilters | None = None, limit: int = 20
    ) -> list[HubModel]: ...

    def model_card(self, repo: str, access: HubAccess) -> str:
        """Markdown, "" where there is none."""
        ...

    def verify(
        self, model: str, *, repair: bool, cancel: CancelToken, access: HubAccess | None = None
    ) -> Iterator[Event]:
        """``JobProgress``, then ``Finished`` with a ``VerifyResult``; ``DamagedFile`` where damage is left.

        With ``access`` a repair fetches just the shards it needs where the original is no longer here.
        """
        ...

    def remove(self, model: str) -> str: ...

    def allow_code(self, source: str) -> None:
        """The user's yes after ``CodeNotAllowed``: the Python code of this model, as it is now, may run from here on.

        ``source`` as for ``plan``, or a ``ModelInfo.path``. Code that changes later is asked about again.
        """
        ...

    def allow_shown_code(self, model: str, revision: str, digest: str) -> None:
        """The user's yes to exactly what a ``CodeNotAllowed`` has named, after its files were shown."""
        ...

    def load(self, folder: Path, options: LoadOptions, cancel: CancelToken) -> Iterator[Event]:
        """``LoadProgress``, ``Loaded``, ``Finished``. ``folder`` is a ``ModelInfo.path``."""
        ...

    def answer(
        self,
        messages: Sequence[Message],
        options: SamplingOptions,
        cancel: CancelToken,
        *,
        so_far: Sequence[int] = (),
        thinking: bool | None = None,
    ) -> Iterator[Event]:
        """``LayerProgress`` and ``TokenArrived``, then ``Finished`` with a ``GenerationResult``.

        ``messages`` are the whole conversation, ending with the user's; what the cache holds of it is reused. A
        user's message may have images where ``ModelInfo.accepts_images``; an image that cannot be read, or a model
        that reads text only, is refused with ``InvalidRequest`` or ``UnsupportedModel`` before the pass.
        ``so_far`` are the token ids of an interrupted answer: it goes on after them, and the result's text and
        ids include them. ``thinking`` sets the template's switch where it has one, None leaves it as it is.
        """
        ...

    def count_tokens(self, messages: Sequence[Message], *, folder: Path | None = None) -> int:
        """Tokens of a conversation that ends with a question, for the model in ``folder``, else the loaded one.

        Needs no loaded model where ``folder`` is given, and may be called while another thread answers.
        """
        ...

    def check_family(self, family: str) -> FamilyCheck:
        """Whether this installation computes what plain transformers does, on a tiny model made for it."""
        ...

    def check_device(self, device: str) -> DeviceCheck:
        """How far a tiny model streamed through ``device`` is from the plain one on the processor."""
        ...

    def torch_report(self) -> TorchReport:
        """Which torch this is, and which devices it finds."""
        ...

    def unload(self) -> None: ...

    def close(self) -> None: ...
