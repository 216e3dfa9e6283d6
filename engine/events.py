"""What a long call reports while it runs. Frozen, picklable, free of torch and Qt.

A long call of the engine is an iterator of these. It ends with exactly one ``Finished`` or raises one
``EngineError``. Sizes are bytes, speeds bytes per second, times seconds.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any


class Outcome(StrEnum):
    """How a call ended when it did not fail."""

    DONE = "done"
    CANCELLED = "cancelled"


class StopReason(StrEnum):
    """Why an answer ended."""

    STOP_TOKEN = "stop_token"
    LENGTH_LIMIT = "length_limit"
    CONTEXT_FULL = "context_full"
    CANCELLED = "cancelled"


class PassKind(StrEnum):
    """A pass over the prompt, or one over a single new token."""

    PREFILL = "prefill"
    DECODE = "decode"


@dataclass(frozen=True, slots=True)
class JobProgress:
    """A download, split, verification or repair: where it is. ``seconds_left`` is None while unknown.

    ``block`` counts from 1. In the phases of a download (downloading, waiting, paused) a block is a file; its speed
    is 0 while nothing arrives.
    """

    phase: str
    block: int
    blocks: int
    block_name: str
    bytes_done: int
    bytes_total: int
    bytes_per_second: float
    seconds_left: float | None


@dataclass(frozen=True, slots=True)
class LoadProgress:
    """Resident blocks on their way into memory before the first pass."""

    block: int
    blocks: int
    bytes_done: int
    bytes_total: int


@dataclass(frozen=True, slots=True)
class Loaded:
    """A model is ready. Bytes by tier follow the residency plan; ``predicted_s_per_token`` is an estimate."""

    model: str
    device: str
    blocks: int
    device_bytes: int
    host_bytes: int
    streamed_bytes: int
    slot_bytes: int
    predicted_s_per_token: float | None
    accepts_images: bool = False


@dataclass(frozen=True, slots=True)
class LayerProgress:
    """Inside one pass: ``block`` of ``blocks`` is computed (1-based). ``token_index`` counts new tokens from 0."""

    kind: PassKind
    token_index: int
    block: int
    blocks: int
    block_name: str
    is_resident: bool
    bytes_read: int
    bytes_per_second: float
    pass_seconds_left: float | None


@dataclass(frozen=True, slots=True)
class TokenArrived:
    """One new token. ``text`` is what became decodable with it (empty inside a multi-byte character)."""

    index: int
    token_id: int
    text: str


@dataclass(frozen=True, slots=True)
class Notice:
    """Something the user should know that stops nothing."""

    text: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class BytesMoved:
    """Weight bytes used by the passes of one answer, by the tier they came from."""

    device: int
    host: int
    disk: int


@dataclass(frozen=True, slots=True)
class GenerationResult:
    """An answer's counts and timings. ``cached_tokens`` of the prompt were not computed again."""

    text: str
    token_ids: tuple[int, ...]
    stop_reason: StopReason
    prompt_tokens: int
    cached_tokens: int
    first_token_s: float | None
    s_per_token: float | None
    total_s: float
    bytes_moved: BytesMoved


@dataclass(frozen=True, slots=True)
class SplitResult:
    """A finished (or cancelled, resumable) split."""

    model: str
    path: str
    blocks: int
    bytes_written: int
    bytes_deleted: int
    elapsed_s: float


@dataclass(frozen=True, slots=True)
class MoveResult:
    """A finished (or cancelled, resumable) move. Bytes that were copied, and read back to be compared."""

    model: str
    path: str
    files: int
    bytes_copied: int
    bytes_compared: int
    elapsed_s: float


@dataclass(frozen=True, slots=True)
class VerifyResult:
    """``damaged`` are the files that did not match; ``repaired`` those rewritten from the source."""

    model: str
    files: int
    bytes_read: int
    damaged: tuple[str, ...]
    repaired: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Finished:
    """The last event of every long call."""

    outcome: Outcome
    result: GenerationResult | SplitResult | VerifyResult | MoveResult | None = None


Event = JobProgress | LoadProgress | Loaded | LayerProgress | TokenArrived | Notice | Finished


def event_to_dict(event: Event) -> dict[str, Any]:
    """A JSON-ready form: the event's name under ``event``, then its fields."""
    return {"event": type(event).__name__, **asdict(event)}
