"""The graphics card in words, and what the user may do about it now. Pure, translated."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from PySide6.QtCore import QCoreApplication

from app.engine_texts import shown_text
from app.gpu.choice import NothingSuits
from app.gpu.driver import Driver
from app.gpu.meter import Amount
from app.gpu.status import GpuState, GpuStatus
from app.verdicts import duration_text, speed_text
from engine.errors import DeviceUnavailable, EngineError
from engine.quantities import format_size


class Deed(StrEnum):
    """What a button does."""

    ASK = "ask"
    ACCEPT = "accept"
    DECLINE = "decline"
    CANCEL = "cancel"
    DISCARD = "discard"
    TRY_AGAIN = "try again"
    REMOVE = "remove"


@dataclass(frozen=True, slots=True)
class Choice:
    """A button. The first of several is the one most people want."""

    deed: Deed
    text: str


def sentence(status: GpuStatus) -> str:
    """What is the case now."""
    translate = QCoreApplication.translate
    match status.state:
        case GpuState.HIDDEN:
            return ""
        case GpuState.AVAILABLE if status.downloaded:
            return translate("Gpu", "{size} of the software for the card are downloaded.").format(
                size=format_size(status.downloaded)
            )
        case GpuState.AVAILABLE:
            return translate(
                "Gpu",
                "Models answer faster on the card. The software for it does not come with the installer; its size is "
                "shown before anything is downloaded.",
            )
        case GpuState.ASKING:
            return translate("Gpu", "Looking up what suits your driver…")
        case GpuState.OFFERED:
            return _offer_text(status)
        case GpuState.FETCHING | GpuState.UNPACKING:
            return ""
        case GpuState.TRYING:
            return translate("Gpu", "A tiny model computes on the card, as a test.")
        case GpuState.IN_USE if status.is_card_missing:
            return translate(
                "Gpu",
                "No card is found at the moment, so models run on the processor. Check that its driver is installed.",
            )
        case GpuState.IN_USE if status.has_newer:
            return translate(
                "Gpu", "In use, and there is newer software for the card. What is installed takes {size} on the drive."
            ).format(size=format_size(status.installed))
        case GpuState.IN_USE:
            return translate("Gpu", "In use. The software for the card takes {size} on the drive.").format(
                size=format_size(status.installed)
            )
        case GpuState.SET_ASIDE:
            return translate("Gpu", "Not in use: models run on the processor. {reason}").format(
                reason=shown_text(status.reason)
            )
        case GpuState.REMOVING:
            return translate("Gpu", "The engine goes back to the processor…")


def choices(status: GpuStatus) -> list[Choice]:
    translate = QCoreApplication.translate
    remove = Choice(Deed.REMOVE, translate("Gpu", "Remove, frees {size}").format(size=format_size(status.installed)))
    match status.state:
        case GpuState.AVAILABLE if status.downloaded:
            return [
                Choice(Deed.ASK, translate("Gpu", "Try again") if status.problem else translate("Gpu", "Go on")),
                Choice(Deed.DISCARD, translate("Gpu", "Delete the download")),
            ]
        case GpuState.AVAILABLE:
            return [Choice(Deed.ASK, translate("Gpu", "Use my NVIDIA graphics card"))]
        case GpuState.OFFERED:
            return [
                Choice(Deed.ACCEPT, translate("Gpu", "Download")),
                Choice(Deed.DECLINE, translate("Gpu", "Not now")),
            ]
        case GpuState.FETCHING | GpuState.UNPACKING | GpuState.TRYING:
            return [Choice(Deed.CANCEL, translate("Gpu", "Cancel"))]
        case GpuState.IN_USE:
            return [*_newer(status), remove]
        case GpuState.SET_ASIDE:
            return [Choice(Deed.TRY_AGAIN, translate("Gpu", "Try it again")), *_newer(status), remove]
        case GpuState.ASKING:
            return [Choice(Deed.DECLINE, translate("Gpu", "Cancel"))]
        case GpuState.HIDDEN | GpuState.REMOVING:
            return []


def _newer(status: GpuStatus) -> list[Choice]:
    """What was downloaded of an update can be gone on with, or deleted."""
    translate = QCoreApplication.translate
    if not status.can_ask:
        return []
    if status.downloaded:
        return [
            Choice(Deed.ASK, translate("Gpu", "Go on with the update")),
            Choice(Deed.DISCARD, translate("Gpu", "Delete the download")),
        ]
    text = translate("Gpu", "Update") if status.has_newer else translate("Gpu", "Look for newer software")
    return [Choice(Deed.ASK, text)]


def phase_text(state: GpuState) -> str:
    """Beside the bar; "" where there is none."""
    return {
        GpuState.FETCHING: QCoreApplication.translate("Gpu", "Downloading"),
        GpuState.UNPACKING: QCoreApplication.translate("Gpu", "Unpacking"),
        GpuState.TRYING: QCoreApplication.translate("Gpu", "Trying it out"),
    }.get(state, "")


def share_of(amount: Amount | None) -> float | None:
    return amount.done / amount.total if amount is not None and amount.total else None


def percent_text(amount: Amount | None) -> str:
    share = share_of(amount)
    return "" if share is None else f"{100 * share:.1f} %"


def figures_text(status: GpuStatus) -> str:
    """Bytes, speed and time left."""
    amount = status.amount
    if amount is None or not amount.total or status.state not in (GpuState.FETCHING, GpuState.UNPACKING):
        return ""
    parts = [
        QCoreApplication.translate("Gpu", "{done} of {total}").format(
            done=format_size(amount.done), total=format_size(amount.total)
        )
    ]
    if status.state is GpuState.FETCHING:
        parts.append(speed_text(amount.bytes_per_second))
        if amount.seconds_left is not None:
            left = QCoreApplication.translate("Gpu", "about {time} left")
            parts.append(left.format(time=duration_text(max(amount.seconds_left, 1.0))))
    return " · ".join(parts)


def card_text(status: GpuStatus) -> str:
    """By its name, where it has told it."""
    return status.card or QCoreApplication.translate("Gpu", "NVIDIA graphics card")


def driver_text(status: GpuStatus) -> str:
    if not status.driver:
        return ""
    return QCoreApplication.translate("Gpu", "Driver {version}").format(version=status.driver)


def explain_nothing(found: NothingSuits, driver: Driver) -> EngineError:
    """Why no published runtime suits, and what helps."""
    translate = QCoreApplication.translate
    if found.least_driver:
        return DeviceUnavailable(
            translate("Gpu", "The NVIDIA driver here is {have}; {need} or newer is needed.").format(
                have=driver.version_text, need=".".join(map(str, found.least_driver))
            ),
            translate("Gpu", "Update the driver, restart the computer, then try again."),
        )
    if found.is_card_too_old:
        return DeviceUnavailable(
            translate("Gpu", "This card is older than those that can be computed with."),
            translate("Gpu", "Strata goes on with the processor."),
        )
    return DeviceUnavailable(
        translate("Gpu", "There is no software for graphics cards for this version of Strata yet."),
        translate("Gpu", "Look again later, or install the newest version of Strata."),
    )


def explain_return(reason: str) -> EngineError:
    """An update did not start."""
    said = QCoreApplication.translate("Gpu", "The newer software failed, so the one before it is used again. {reason}")
    return EngineError(said.format(reason=shown_text(reason)))


def _offer_text(status: GpuStatus) -> str:
    offer = status.offer
    assert offer is not None
    return QCoreApplication.translate(
        "Gpu",
        "{download} to download. On the drive it takes {need} during the installation and {after} afterwards; "
        "{free} are free.",
    ).format(
        download=format_size(offer.download),
        need=format_size(offer.need),
        after=format_size(offer.entry.unpacked_bytes),
        free=format_size(offer.free),
    )
