"""The engine in this process: owns the model store and at most one loaded model.

Every long call is an iterator of events that ends with one ``Finished`` or raises one ``EngineError``.
Everything that touches the loaded model runs on one compute thread, the lane.
"""

from __future__ import annotations

import gc
import logging
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from engine.cancel import Cancelled, CancelToken
from engine.drives import list_drives, measure_drive, report_folders
from engine.errors import EngineError, NotLoaded, UnsupportedModel
from engine.events import Event, Finished, JobProgress, Outcome, SplitResult
from engine.generation.context_size import context_limit
from engine.hub_access import HubAccess, SearchFilters
from engine.lane import Emit, Lane
from engine.load_options import LoadOptions
from engine.models.own_models import read_own_tokenizer
from engine.reports import (
    DeviceCheck,
    DriveReport,
    FamilyCheck,
    FolderReport,
    HubModel,
    MachineReport,
    ModelInfo,
    ModelPlan,
    TorchReport,
)
from engine.request_checks import read_chat_template
from engine.store.disk_plan import DEFAULT_FLOOR_BYTES
from engine.store.find_split import find_split
from engine.store.head_cache import HeadCache
from engine.store.image_support import accepts_images
from engine.store.manifest import MANIFEST_NAME, read_manifest
from engine.store.model_config import read_config
from engine.store.model_store import ModelState, ModelStore, StoredModel
from engine.store.mover import discard_move, move_model
from engine.store.open_source import open_source
from engine.store.remote_code import allow_code, allow_shown_code, read_code, with_allowed_code
from engine.store.source import STARTER
from engine.store.verifier import verify
from engine.streaming.block_roles import weight_shape
from engine.streaming.budgets import FreeMemory

log = logging.getLogger(__name__)

_PROCESSOR_TEMPLATE = "chat_template.json"
"""Where older models keep the template of their processor; a tokenizer does not look there."""

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedTokenizerBase

    from engine.generation.chat_format import ChatFormat
    from engine.generation.image_prompt import ImageProcessor
    from engine.generation.messages import Message, Prompt
    from engine.generation.sampling import SamplingOptions
    from engine.generation.session import Session
    from engine.streaming.loaded_model import LoadedModel


class LocalEngine:
    """Use as a context manager, or call ``close``: it frees the model and ends the compute thread."""

    def __init__(self, store: ModelStore) -> None:
        self.store = store
        self._lane = Lane("compute")
        self._loaded: LoadedModel | None = None
        self._session: Session | None = None
        self._options = LoadOptions()
        self._loading: Path | None = None
        self._counter: tuple[Path, ChatFormat] | None = None
        self._heads = HeadCache()

    def __enter__(self) -> LocalEngine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def list_models(self) -> list[ModelInfo]:
        """Everything in the store, finished or not; reads small files only."""
        return [_describe(model, is_shipped=self.store.is_shipped(model.folder)) for model in self.store.list()]

    def probe(self) -> MachineReport:
        """What this machine is and how fast its disk and processor are: about a second."""
        from engine.probe import probe_machine

        self.store.models_folder.mkdir(parents=True, exist_ok=True)
        return probe_machine(self.store.models_folder)

    def plan(
        self, source: str, options: LoadOptions, *, delete_original: bool = False, target: Path | None = None
    ) -> ModelPlan:
        """What a source would cost here. Raises ``EngineError`` with the reason where it cannot run."""
        from engine.planning import plan_model

        return plan_model(
            source,
            self.store.at(target),
            options,
            delete_original=delete_original,
            returned=self._returned_by_unloading(),
        )

    def plan_download(
        self,
        repo: str,
        access: HubAccess,
        options: LoadOptions,
        *,
        keep_download: bool = False,
        target: Path | None = None,
    ) -> ModelPlan:
        """What a model on the hub would cost here, from less than a thousandth of its bytes."""
        from engine.planning import plan_hub_model

        return plan_hub_model(
            repo,
            access,
            self.store.at(target),
            options,
            keep_download=keep_download,
            heads=self._heads,
            returned=self._returned_by_unloading(),
        )

    def model_folders(self) -> list[FolderReport]:
        """Every folder models are looked for in, that for new ones first."""
        return report_folders(self.store)

    def add_models_folder(self, folder: Path) -> None:
        """From now on its models are found. Raises ``InvalidRequest``, ``TargetNotWritable``."""
        self.store.add_folder(folder)

    def forget_models_folder(self, folder: Path) -> None:
        """From now on its models are not found; nothing in it is touched. Raises ``InvalidRequest``."""
        self.store.forget_folder(folder)

    def list_drives(self) -> list[DriveReport]:
        """The drives a model could be kept on, that for new models first. Measures nothing."""
        return list_drives(self.store)

    def measure_drive(self, folder: Path) -> float:
        """Bytes per second of reading on the drive of ``folder``. Raises ``TargetNotWritable``, ``DiskFull``."""
        return measure_drive(folder)

    def search_models(
        self, query: str, access: HubAccess, *, filters: SearchFilters | None = None, limit: int = 20
    ) -> list[HubModel]:
        """Raises ``HubError``."""
        from engine.store.hub import HubClient

        return HubClient(access).search(query, filters or SearchFilters(), limit)

    def model_card(self, repo: str, access: HubAccess) -> str:
        """Raises ``HubError``."""
        from engine.store.hub import HubClient

        return HubClient(access).model_card(repo)

    def verify(
        self, model: str, *, repair: bool, cancel: CancelToken, access: HubAccess | None = None
    ) -> Iterator[Event]:
        """Reads every file of a model back; ``repair`` cuts damaged ones again. Raises ``DamagedFile``.

        With ``access``, the shards a repair needs come from the hub where the original is no longer here.
        """
        original = None
        if repair and access is not None:
            from engine.store.hub_original import HubOriginal

            original = HubOriginal(access, self.store, cancel)
        return verify(self.store.resolve(model), repair=repair, store=self.store, cancel=cancel, original=original)

    def remove(self, model: str) -> str:
        """Deletes a model's blocks, never its original; returns its name."""
        return self.store.remove(model).name

    def allow_code(self, source: str) -> None:
        """The user's yes to the Python code that this model brings, as it is now: it may run from here on.

        Nothing to do for a model that needs none. Raises ``EngineError`` for what is no model.
        """
        path = Path(source).expanduser()
        if path.is_dir() and not (path / MANIFEST_NAME).is_file():
            open_source(source, self.store, allows_code=True)
        elif (folder := find_split(source, self.store)) is not None and (manifest := read_manifest(folder)).code:
            allow_code(manifest.source, read_code(folder), self.store)

    def allow_shown_code(self, model: str, revision: str, digest: str) -> None:
        """The user's yes to exactly the code that a ``CodeNotAllowed`` has named, and to no other."""
        allow_shown_code(model, revision, digest, self.store)

    def check_family(self, family: str) -> FamilyCheck:
        """Streams a tiny model of ``family`` and compares it with plain transformers. Raises ``EngineError``."""
        from engine.family_check import check_family

        return check_family(family)

    def check_device(self, device: str) -> DeviceCheck:
        """Streams a tiny model through ``device``. Raises ``EngineError`` where it is not there or does not compute."""
        from engine.family_check import check_device

        return check_device(device)

    def torch_report(self) -> TorchReport:
        """Which torch this is, and which devices it finds."""
        from engine.probe import report_torch

        return report_torch()

    @property
    def loaded(self) -> LoadedModel | None:
        return self._loaded

    def split(
        self, source: str, *, delete_original: bool, cancel: CancelToken, target: Path | None = None
    ) -> Iterator[Event]:
        """Cuts a source into the store, or says at once that it is there. Resumes what was begun."""
        if source == STARTER and (shipped := self.store.find_shipped(STARTER)) is not None:
            return _already_cut(shipped)
        store = self.store.at(target)
        from engine.store.splitter import split_source

        opened = open_source(source, store)

        return split_source(opened, store, delete_original=delete_original, cancel=cancel)

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
        """Fetches a model from the hub and cuts it while it arrives. Resumes what was begun."""
        from engine.store.download import DownloadOptions, download_model

        options = DownloadOptions(keeps_download=keep_download, floor_bytes=floor_bytes, heads=self._heads)
        return download_model(repo, self.store.at(target), access, cancel=cancel, options=options)

    def discard_download(self, repo: str, *, target: Path | None = None) -> int:
        """Deletes what an unfinished download has left; the bytes that frees."""
        from engine.store.download import discard_download

        return discard_download(repo, self.store.at(target))

    def move(
        self, model: str, target: Path, *, cancel: CancelToken, floor_bytes: int = DEFAULT_FLOOR_BYTES
    ) -> Iterator[Event]:
        """Moves a model to another folder of models. Goes on with a move that was cut short.

        Where it is loaded it is freed before its old place goes, after the answer that is under way.
        """
        return move_model(
            model, target, self.store, cancel=cancel, floor_bytes=floor_bytes, run_alone=self._run_without
        )

    def discard_move(self, model: str) -> int:
        """Deletes what a move that was given up has copied; the bytes that frees."""
        return discard_move(model, self.store)

    def _run_without(self, folder: Path, step: Callable[[], None]) -> Iterator[Event]:
        """Runs ``step`` while the model in ``folder`` is not loaded: on the compute thread, if it is now."""

        def job(_emit: Emit) -> Finished:
            if self._uses(folder):
                self.unload()
            step()
            return Finished(Outcome.DONE)

        if not self._uses(folder):
            step()
            return
        yield JobProgress("in use", 0, 0, "", 0, 0, 0.0, None)
        for event in self._lane.events(job, CancelToken()):
            if not isinstance(event, Finished):
                yield event

    def _uses(self, folder: Path) -> bool:
        return folder == self._loading or (self._loaded is not None and self._loaded.folder == folder)

    def _place_of(self, folder: Path) -> Path:
        """A split that was moved since is found by its name. Raises ``ModelNotFound``."""
        return folder if folder.is_dir() else self.store.resolve(folder.name)

    def find(self, model: str) -> Path | None:
        """The split that ``model`` means; None for a source that is not cut yet. Raises ``EngineError``."""
        return find_split(model, self.store)

    def prepare(self, model: str, cancel: CancelToken) -> Iterator[Event]:
        """Makes sure ``model`` is cut: a name of the store as it is, any other source is split first.

        Ends with ``Finished``, whose result names the split's folder.
        """
        folder = self.find(model)
        if folder is None:
            yield from self.split(model, delete_original=False, cancel=cancel)
        else:
            yield from _already_cut(folder)

    def load(self, folder: Path, options: LoadOptions, cancel: CancelToken) -> Iterator[Event]:
        """Loads a split, in place of the model loaded before. Yields ``LoadProgress``, ``Loaded``, ``Finished``."""
        return self._lane.events(lambda emit: self._load(folder, options, emit, cancel), cancel)

    def answer(
        self,
        messages: Sequence[Message],
        options: SamplingOptions,
        cancel: CancelToken,
        *,
        so_far: Sequence[int] = (),
        thinking: bool | None = None,
    ) -> Iterator[Event]:
        """The next message of a conversation with the loaded model; the cache of the last turn is reused.

        ``so_far`` are the token ids of an interrupted answer, which goes on after them. ``thinking`` sets the
        template's switch, where it has one.
        """
        self._require_session()
        return self._lane.events(
            # Asked for again on the lane: what is loaded may have been freed while this waited.
            lambda emit: self._require_session().answer(
                messages, options, so_far=so_far, thinking=thinking, emit=emit, cancel=cancel
            ),
            cancel,
        )

    def complete(self, prompt: str | Sequence[int], options: SamplingOptions, cancel: CancelToken) -> Iterator[Event]:
        """Continues a text or token ids with the loaded model."""
        session = self._require_session()
        return self._lane.events(lambda emit: session.complete(prompt, options, emit=emit, cancel=cancel), cancel)

    def prompt_logits(self, prompt: Prompt, cancel: CancelToken) -> torch.Tensor:
        """float32 [tokens, vocabulary] of one pass. Raises ``Cancelled``."""
        session = self._require_session()
        found: list[torch.Tensor] = []

        def job(emit: Emit) -> Finished:
            found.append(session.prompt_logits(prompt, emit=emit, cancel=cancel))
            return Finished(Outcome.DONE)

        for _ in self._lane.events(job, cancel):
            pass
        return found[0]

    def count_tokens(self, messages: Sequence[Message], *, folder: Path | None = None) -> int:
        """Tokens the template of the model in ``folder``, else of the loaded one, makes of a conversation.

        Has a tokenizer of its own, so that it may be asked from another thread while an answer is computed.
        """
        if folder is None:
            self._require_session()
            folder = self._loaded.folder if self._loaded else Path()
        folder = self._place_of(folder)
        if self._counter is None or self._counter[0] != folder:
            self._counter = folder, _open_counter(folder)
        return self._counter[1].count_tokens(messages)

    def new_conversation(self) -> None:
        """Forgets the cache of the last one; the model stays loaded."""
        if self._loaded is not None:
            self._session = _open_session(self._loaded, self._options)

    @property
    def session(self) -> Session:
        return self._require_session()

    def unload(self) -> None:
        """Frees the model's memory."""
        self._session = None
        if self._loaded is not None:
            self._loaded.close()
            self._loaded = None
            gc.unfreeze()
            gc.collect()

    def close(self) -> None:
        self.unload()
        self._lane.close()

    def _load(self, folder: Path, options: LoadOptions, emit: Emit, cancel: CancelToken) -> Finished:
        from engine.loading import load_model

        self.unload()
        self._loading = folder = self._place_of(folder)
        try:
            options = with_allowed_code(folder, read_manifest(folder), options, self.store)
            self._loaded = load_model(folder, options, emit, cancel)
        except Cancelled:
            return Finished(Outcome.CANCELLED)
        finally:
            self._loading = None
        self._options = options
        self._session = _open_session(self._loaded, options)
        # What is loaded lives as long as the model: nothing of it needs looking at by the collector again.
        gc.collect()
        gc.freeze()
        return Finished(Outcome.DONE)

    def _returned_by_unloading(self) -> FreeMemory:
        """A plan is for a load, which frees the model before it: its weights, its slots, its conversation."""
        loaded, session = self._loaded, self._session
        if loaded is None:
            return FreeMemory(0, None)
        on_device = loaded.plan.device_bytes + loaded.plan.slot_bytes + (session.cache_bytes if session else 0)
        if loaded.backend.is_unified:
            return FreeMemory(loaded.plan.host_bytes + on_device, None)
        return FreeMemory(loaded.plan.host_bytes, on_device)

    def _require_session(self) -> Session:
        if self._session is None:
            raise NotLoaded("No model is loaded.", "Load one first.")
        return self._session


def _already_cut(folder: Path) -> Iterator[Event]:
    manifest = read_manifest(folder)
    yield Finished(Outcome.DONE, SplitResult(manifest.model, str(folder), len(manifest.files), 0, 0, 0.0))


def _open_session(loaded: LoadedModel, options: LoadOptions) -> Session:
    from engine.generation.session import Session

    tokenizer = _read_tokenizer(loaded.folder)
    processor = _image_processor(loaded.folder, tokenizer)
    return Session(loaded, tokenizer, context=options.context, processor=processor)


def _open_counter(folder: Path) -> ChatFormat:
    from engine.generation.chat_format import ChatFormat

    tokenizer = _read_tokenizer(folder)
    if tokenizer is None:
        raise UnsupportedModel("This model has no tokenizer that can be read, so its tokens cannot be counted.")
    return ChatFormat(tokenizer, processor=_image_processor(folder, tokenizer))


def _image_processor(folder: Path, tokenizer: PreTrainedTokenizerBase | None) -> ImageProcessor | None:
    """None for a model that reads text only."""
    from engine.generation.image_prompt import ImageProcessor

    if tokenizer is None or not accepts_images(read_config(folder), read_manifest(folder).side_files, folder):
        return None
    return ImageProcessor(folder, tokenizer)


def _read_tokenizer(folder: Path) -> PreTrainedTokenizerBase | None:
    """None where the model has none, or one no library here can read: token ids still work."""
    from transformers import AutoTokenizer

    try:
        own = read_own_tokenizer(folder)
        if own is not None:
            return own
        tokenizer = AutoTokenizer.from_pretrained(folder)
        if (folder / _PROCESSOR_TEMPLATE).is_file():
            tokenizer.chat_template = read_chat_template(folder) or tokenizer.chat_template
        return tokenizer
    except (ValueError, OSError, ImportError, KeyError, AttributeError, TypeError) as error:
        log.warning("no tokenizer in %s: %r", folder, error)
        return None


def _describe(model: StoredModel, *, is_shipped: bool) -> ModelInfo:
    state, context, sees = model.state, None, False
    if state is ModelState.READY:
        try:
            config = read_config(model.folder)
            context = context_limit(config)
            sees = accepts_images(config, model.manifest.side_files if model.manifest else (), model.folder)
        except (EngineError, TypeError, ValueError, AttributeError) as error:
            # One damaged config.json must not hide the other models.
            log.info("config.json of %s: %r", model.name, error)
            state = ModelState.DAMAGED
    template = read_chat_template(model.folder) if state is ModelState.READY else ""
    return ModelInfo(
        name=model.name,
        title=model.title,
        state=state.value,
        nbytes=model.nbytes,
        path=str(model.folder),
        dtype=model.manifest.dtype if model.manifest else None,
        architecture=model.manifest.architecture if model.manifest else None,
        context=context,
        can_chat=bool(template),
        has_thinking_switch="enable_thinking" in template,
        source=model.source.path if model.source and not is_shipped else None,
        accepts_images=sees,
        weights=weight_shape(model.manifest) if model.manifest else None,
        is_shipped=is_shipped,
    )
