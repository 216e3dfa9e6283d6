"""Whether this computer's NVIDIA card is computed with: asked for, installed, in use, set aside, removed.

Owns the state and what follows from what. Everything that takes time runs in one thread of its own. Nothing is
asked of the network before the user wishes it. Must not know widgets.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import QCoreApplication, QObject, QThreadPool, QTimer, Signal, Slot

from app.background import Background
from app.bundle import Bundle
from app.engine_host import EngineHost
from app.gpu.choice import read_label
from app.gpu.driver import Driver, find_driver
from app.gpu.engine_switch import EngineSwitch
from app.gpu.installation import DEVICE, Installation, Phase
from app.gpu.meter import STALLED_S, Amount
from app.gpu.part_download import Interrupted
from app.gpu.runtime_folders import Kept, RuntimeFolders, nbytes_of
from app.gpu.status import GpuState, GpuStatus, Offer
from app.gpu.survey import Found, Survey
from app.gpu.texts import explain_return
from app.published_list import ListSource
from app.signed_list import RuntimeEntry
from engine.api import TorchReport
from engine.errors import EngineError

log = logging.getLogger(__name__)

_CLOSE_MS = 3000
_AT_REST = (GpuState.AVAILABLE, GpuState.IN_USE, GpuState.SET_ASIDE)
_PHASES = {
    Phase.FETCHING: GpuState.FETCHING,
    Phase.UNPACKING: GpuState.UNPACKING,
    Phase.TRYING: GpuState.TRYING,
}


class GpuRuntime(QObject):
    """Lives in the GUI thread. ``switched`` when the engine has begun to compute elsewhere than before; ``fell_back``
    with a sentence when it had to go back to the processor by itself.
    """

    changed = Signal()
    switched = Signal()
    fell_back = Signal(str)
    _told = Signal(object, object)
    _heard = Signal(str)

    def __init__(
        self,
        folders: RuntimeFolders,
        source: ListSource,
        shipped: Bundle | None,
        *,
        floor_bytes: Callable[[], int] = lambda: 0,
        proxy: Callable[[], str] = lambda: "",
        look: Callable[[], Driver | None] = find_driver,
        device: str = DEVICE,
        parent: QObject | None = None,
    ) -> None:
        """``shipped`` None in a checkout, where packages are the developer's own: nothing is offered then."""
        super().__init__(parent)
        self._folders = folders
        self._source = source
        self._shipped: Sequence[Path] = shipped.runtimes if shipped else ()
        self._label = read_label(self._shipped[0]) if self._shipped else None
        self._floor_bytes = floor_bytes
        self._proxy = proxy
        self._survey = Survey(folders, source, self._label, floor_bytes=floor_bytes, look=look)
        self._device = device
        self._pool = QThreadPool(self)
        self._pool.setMaxThreadCount(1)
        self._driver: Driver | None = None
        self._kept = folders.read() if self._label else Kept()
        self._switch = EngineSwitch(self._survey.usable(self._kept.in_use), self)
        self._before = Kept()
        self._installation: Installation | None = None
        self._is_new = False
        self._is_closed = False
        self._is_cancelled = False
        self._fall: str | None = None
        self._unwanted = ""
        self._asked = 0
        self._moved_at = 0.0
        self.status = GpuStatus()
        self._switch.ready.connect(self._take_ready)
        self._switch.gone.connect(self._take_gone)
        self._switch.proved.connect(self._take_proof)
        self._switch.failed.connect(self._fall_back)
        self._told.connect(self._take_amount)
        self._heard.connect(self._take_said)
        self._stall = QTimer(self, interval=1000)
        self._stall.timeout.connect(self._look_at_speed)

    @property
    def overlay(self) -> tuple[Path, ...]:
        """Runtimes the engine imports from before the program's own."""
        return self._switch.overlay

    def follow(self, engine: EngineHost) -> None:
        """Before ``engine`` starts, with ``overlay`` as its runtimes."""
        self._switch.follow(engine)

    def start(self) -> None:
        """Looks what is there, and goes on with what was under way when the program ended."""
        known = self._kept
        if self._label is not None:
            self._do(self._survey.find, lambda found: self._take_found(found, known))

    def close(self) -> None:
        """What runs goes on at the next start. Blocks until its thread has let go, three seconds at most."""
        self._is_closed = True
        if self._installation is not None:
            self._installation.stop()
        self._pool.waitForDone(_CLOSE_MS)

    def ask(self) -> None:
        """What does it take, or is there something newer? The first request to the network."""
        if self.status.can_ask and self.status.state in _AT_REST:
            self._show(GpuState.ASKING, problem=None)
            self._look_for_offer(self._take_offer)

    def decline(self) -> None:
        """Of an offer, or of waiting for one, before anything was downloaded for it."""
        if self.status.state not in (GpuState.ASKING, GpuState.OFFERED):
            return
        if self._kept.is_installing:
            kept = self._kept = replace(self._kept, is_installing=False)
            self._do(lambda: self._folders.write(kept), lambda _: None)
        self._rest()

    def accept(self) -> None:
        """Of the offer shown."""
        if self.status.state is GpuState.OFFERED and self.status.offer is not None:
            self._begin(self.status.offer.entry)

    def cancel(self) -> None:
        """Of what is fetched, unpacked or tried. What was downloaded is kept."""
        self._is_cancelled = True
        if self._installation is not None:
            self._installation.stop()

    def discard_download(self) -> None:
        if self.status.state in (*_AT_REST, GpuState.OFFERED):
            self._do(self._folders.discard_download, lambda _: self._rest(downloaded=0))

    def try_again(self) -> None:
        """Of a runtime that was set aside."""
        name = self._kept.set_aside
        if self.status.state is GpuState.SET_ASIDE:
            installation = self._new_installation()
            self._show(GpuState.TRYING, problem=None)
            self._do(lambda: self._run(installation, lambda: installation.try_again(name), name), self._take_installed)

    def remove(self) -> None:
        """The engine goes back to the processor first: files that are open cannot be deleted everywhere."""
        if self.status.state not in (GpuState.IN_USE, GpuState.SET_ASIDE) or not self._switch.has_engine:
            return
        self._unwanted = self._kept.in_use or self._kept.set_aside
        was_in_use, self._kept = bool(self._switch.overlay), Kept()
        self._show(GpuState.REMOVING, problem=None)
        if was_in_use:
            self._use(())
        else:
            self._remove_unwanted()

    # In the thread of its own

    def _run(self, installation: Installation, work: Callable[[], object], name: str) -> Kept | EngineError | None:
        """None where it was stopped."""
        try:
            work()
        except Interrupted:
            if self._is_cancelled or not self._is_closed:
                self._folders.write(replace(self._folders.read(), is_installing=False))
            return None
        except EngineError as error:
            self._folders.write(replace(self._folders.read(), is_installing=False))
            return error
        kept = Kept(in_use=name)
        self._folders.write(kept)
        return kept

    # In the GUI thread

    def _take_found(self, found: Found, known: Kept) -> None:
        if self._kept is known:  # else the engine has gone back to the processor meanwhile
            self._kept = found.kept
        self._driver = found.driver
        cards = found.driver.cards if found.driver else ()
        names = ", ".join(dict.fromkeys(card.name for card in cards))
        driver = found.driver.version_text if found.driver else ""
        self.status = replace(
            self.status,
            card=names,
            driver=driver,
            can_ask=found.driver is not None and bool(self._source.address),
            downloaded=found.downloaded,
            installed=found.installed,
            has_newer=found.has_newer,
        )
        self._rest()
        if found.kept.is_installing and self.status.can_ask and self.status.state in _AT_REST:
            self._show(GpuState.ASKING)
            self._look_for_offer(self._go_on_with)

    def _look_for_offer(self, take: Callable[[Offer | None], object]) -> None:
        """What came of it is nobody's business once it was declined, or asked for anew."""
        driver, installed = self._driver, self._kept.in_use or self._kept.set_aside
        assert driver is not None
        self._asked += 1
        number = self._asked

        def is_wanted() -> bool:
            return self.status.state is GpuState.ASKING and number == self._asked

        self._do(
            lambda: self._survey.find_offer(driver, installed),
            lambda offer: take(offer) if is_wanted() else None,
            lambda error: self._take_failure(error) if is_wanted() else None,
        )

    def _take_offer(self, offer: Offer | None) -> None:
        if offer is not None:
            self._show(GpuState.OFFERED, offer=offer)
            return
        self._rest(has_newer=False)
        self._show(said=QCoreApplication.translate("Gpu", "There is no newer software for the card."))

    def _go_on_with(self, offer: Offer | None) -> None:
        if offer is not None:
            self._begin(offer.entry)
        else:
            self.decline()

    def _begin(self, entry: RuntimeEntry) -> None:
        installation = self._new_installation()

        def work() -> Kept | EngineError | None:
            self._folders.write(replace(self._folders.read(), is_installing=True))
            return self._run(installation, lambda: installation.install(entry), entry.folder_name)

        done = entry.nbytes - self._folders.missing_bytes(entry)
        self._show(GpuState.FETCHING, offer=None, problem=None, amount=Amount(done, entry.nbytes))
        self._stall.start()
        self._do(work, self._take_installed)

    def _new_installation(self) -> Installation:
        self._is_cancelled = False
        self._installation = Installation(
            self._folders,
            shipped=self._shipped,
            floor_bytes=self._floor_bytes(),
            proxy=self._proxy(),
            told=self._told.emit,
            said=self._heard.emit,
            device=self._device,
        )
        return self._installation

    @Slot(object)
    def _take_installed(self, result: Kept | EngineError | None) -> None:
        self._installation = None
        self._stall.stop()
        if isinstance(result, Kept):
            before = self._kept
            # Tried again, it is the same one.
            self._before = before if (before.in_use or before.set_aside) != result.in_use else Kept()
            self._kept = result
            self.status = replace(self.status, has_newer=False)
            self._use((self._folders.folder(result.in_use),))
            self._measure_sizes()
        elif isinstance(result, EngineError):
            log.warning("the runtime was not installed: %s %s", result, result.detail)
            self._measure_sizes(result)
        else:
            self._measure_sizes()

    def _measure_sizes(self, problem: EngineError | None = None) -> None:
        name = self._kept.in_use or self._kept.set_aside

        def measure() -> tuple[int, int]:
            return self._folders.downloaded_bytes(), nbytes_of(self._folders.folder(name)) if name else 0

        self._do(measure, lambda sizes: self._rest(problem=problem, downloaded=sizes[0], installed=sizes[1]))

    @Slot(object, object)
    def _take_amount(self, phase: Phase, amount: Amount) -> None:
        if self._installation is not None:
            self._moved_at = time.monotonic()
            self._show(_PHASES[phase], amount=amount)

    @Slot(str)
    def _take_said(self, text: str) -> None:
        if self._installation is not None:
            self._show(said=text)

    def _look_at_speed(self) -> None:
        """What stands still has no speed, and no end."""
        amount = self.status.amount
        is_stalled = time.monotonic() - self._moved_at > STALLED_S
        if self.status.state is GpuState.FETCHING and is_stalled and amount is not None and amount.bytes_per_second:
            self._show(amount=Amount(amount.done, amount.total))

    # The engine

    def _use(self, overlay: tuple[Path, ...]) -> None:
        self._is_new = True
        self._switch.lay(overlay)

    @Slot()
    def _take_ready(self) -> None:
        if self._unwanted:
            self._remove_unwanted()
        elif self._fall is not None:
            reason, self._fall = self._fall, None
            # After everybody else has said that the engine runs again.
            QTimer.singleShot(0, self, lambda: self.fell_back.emit(reason))
            self._tell_switch()

    @Slot()
    def _take_gone(self) -> None:
        """There will be no engine that is ready."""
        if self._unwanted:
            self._remove_unwanted()

    @Slot(object)
    def _take_proof(self, report: TorchReport) -> None:
        self._show(is_card_missing=not report.devices)
        if self._is_new:
            self._tell_switch()
        before, self._before = self._before, Kept()
        if name := before.in_use or before.set_aside:
            self._do(lambda: self._folders.remove(name), lambda _: None, self._log_leftover)

    def _log_leftover(self, error: Exception) -> None:
        log.warning("what was used before goes at the next start: %r", error)

    @Slot(str)
    def _fall_back(self, reason: str) -> None:
        """To what was used before an update that has not proved itself; else to the processor, and that is said."""
        fallen = self._kept.in_use
        before, self._before = self._before, Kept()
        overlay = self._survey.usable(before.in_use)
        log.error("the runtime %s is set aside for %s: %s", fallen, overlay, reason)
        kept = self._kept = Kept(in_use=before.in_use) if overlay else Kept(set_aside=fallen, reason=reason)
        problem = explain_return(reason) if overlay else None
        if not overlay:
            self._fall = reason
        self._use(overlay)

        def keep() -> None:
            if self._folders.read().in_use == fallen:  # else another was installed meanwhile
                self._folders.write(kept)

        self._do(keep, lambda _: self._measure_sizes(problem) if self._installation is None else None)

    def _remove_unwanted(self) -> None:
        name, self._unwanted = self._unwanted, ""

        def remove() -> None:
            self._folders.write(Kept())
            self._folders.remove(name)

        self._do(remove, lambda _: self._take_removed())

    def _take_removed(self) -> None:
        self._rest(installed=0, is_card_missing=False)
        self._tell_switch()

    def _tell_switch(self) -> None:
        self._is_new = False
        self.switched.emit()

    # Its state

    def _rest(self, problem: EngineError | None = None, **changes: object) -> None:
        """The state nothing is under way in."""
        if self._switch.overlay:
            state = GpuState.IN_USE
        elif self._kept.set_aside:
            state = GpuState.SET_ASIDE
        elif self.status.can_ask:
            state = GpuState.AVAILABLE
        else:
            state = GpuState.HIDDEN
        changes |= {"offer": None, "amount": None, "said": "", "problem": problem, "reason": self._kept.reason}
        self._show(state, **changes)

    def _show(self, state: GpuState | None = None, **changes: object) -> None:
        self.status = replace(self.status, state=state or self.status.state, **changes)  # pyright: ignore[reportArgumentType]
        self.changed.emit()

    def _do(
        self,
        work: Callable[[], object],
        take: Callable[..., object],
        take_failure: Callable[[Exception], object] | None = None,
    ) -> None:
        if self._is_closed:
            return
        background = Background(work, self, pool=self._pool)
        background.done.connect(take)
        background.failed.connect(take_failure or self._take_failure)

    @Slot(object)
    def _take_failure(self, error: Exception) -> None:
        self._installation = None
        self._stall.stop()
        if not isinstance(error, EngineError):
            said = QCoreApplication.translate("Gpu", "The folder {folder} could not be written to.")
            error = EngineError(said.format(folder=self._folders.root), detail=repr(error))
        self._rest(problem=error)
