"""What can go wrong for a user: one sentence with the numbers, one next step, detail for the log.

An ``EngineError`` is the user's situation (a full disk, a damaged file, a model that cannot run). Anything
else that escapes the engine is a bug of ours. Being cancelled is an outcome, never an error.
"""

from __future__ import annotations


class EngineError(Exception):
    """A situation the user can understand and act on.

    ``message`` says what happened with its numbers; ``next_step`` what to do about it; ``detail`` is for the log.
    """

    def __init__(self, message: str, next_step: str = "", *, detail: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.next_step = next_step
        self.detail = detail

    def __str__(self) -> str:
        return f"{self.message} {self.next_step}".strip()

    def __reduce__(self) -> tuple[object, ...]:
        return _restore, (type(self), dict(self.__dict__))


def _restore(kind: type[EngineError], state: dict[str, object]) -> EngineError:
    """Rebuilds an error that crossed a process boundary, whatever its constructor takes."""
    error = kind.__new__(kind)
    Exception.__init__(error, state["message"])
    error.__dict__.update(state)
    return error


class InvalidRequest(EngineError):
    """The request itself is malformed: an empty prompt, an id outside the vocabulary, a bad option."""


class NotLoaded(InvalidRequest):
    """No model is loaded: none was, or it has been freed since."""


class SourceError(EngineError):
    """What was given as a model is not one: missing, empty, an adapter, a web page saved as a shard."""


class ModelNotFound(EngineError):
    """No model of that name is in the models folder, and it is no folder or file either."""


class UnsupportedModel(EngineError):
    """The checkpoint is sound, but this engine or this machine cannot run it."""


class CodeNotAllowed(UnsupportedModel):
    """The model runs only with Python code of its own, and the user did not allow it: for this ``model``
    ("owner/name") in this ``revision``, ``files`` of these ``sizes`` in bytes and, together, of this ``digest``.
    """

    def __init__(
        self,
        message: str,
        next_step: str = "",
        *,
        model: str,
        revision: str,
        files: tuple[str, ...],
        sizes: tuple[int, ...],
        digest: str,
    ) -> None:
        super().__init__(message, next_step)
        self.model = model
        self.revision = revision
        self.files = files
        self.sizes = sizes
        self.digest = digest


class DamagedFile(EngineError):
    """Files that do not match their recorded size or digest. ``files`` are paths relative to the split."""

    def __init__(self, message: str, next_step: str = "", *, files: tuple[str, ...] = (), detail: str = "") -> None:
        super().__init__(message, next_step, detail=detail)
        self.files = files


class ShortageError(EngineError):
    """Too little of something countable. ``need`` and ``have`` are bytes, or tokens for a context."""

    def __init__(self, message: str, next_step: str = "", *, need: int, have: int, detail: str = "") -> None:
        super().__init__(message, next_step, detail=detail)
        self.need = need
        self.have = have


class DiskFull(ShortageError):
    """Not enough free space on the drive, in bytes."""


class BudgetTooSmall(ShortageError):
    """A memory budget, in bytes, that cannot hold even one block."""


class ContextOverflow(ShortageError):
    """The conversation is longer than the model's context, in tokens."""


class TargetNotWritable(EngineError):
    """The folder a split should go to cannot be written."""


class ModelBusy(EngineError):
    """Another process is cutting, repairing or removing this very model."""


class DeviceUnavailable(EngineError):
    """The device that was asked for is not there."""


class OutOfMemory(EngineError):
    """The system or the device had no memory left, whatever the plan said: something else took it."""


class NotFinite(EngineError):
    """The model produced infinities or NaN: a float16 overflow or damaged weights."""


class EngineDied(EngineError):
    """The process the engine ran in is gone. What was asked of it can be asked again once it runs.

    ``exit_code`` is the process' own, negative for a signal, None where it never started.
    """

    def __init__(self, message: str, next_step: str = "", *, exit_code: int | None = None, detail: str = "") -> None:
        super().__init__(message, next_step, detail=detail)
        self.exit_code = exit_code


class EngineRestarted(EngineDied):
    """It was ended on purpose, to be started anew: nobody's fault."""


class EngineFault(EngineError):
    """A bug of ours met in the engine's process; ``detail`` is its traceback. Belongs in the crash report."""


class HubError(EngineError):
    """The hub did not give what was asked of it, and asking again changes nothing."""


class HubUnreachable(HubError):
    """No connection, or one that broke: offline, a wrong address, a timeout, a proxy. Asking again may help."""


class HubBusy(HubError):
    """The hub answers, but not now (429, 5xx). ``retry_after_s`` is what it asked to wait, None if it said nothing."""

    def __init__(
        self, message: str, next_step: str = "", *, retry_after_s: float | None = None, detail: str = ""
    ) -> None:
        super().__init__(message, next_step, detail=detail)
        self.retry_after_s = retry_after_s


class HubUntrusted(HubError):
    """The certificate of whoever answered is not trusted: TLS interception, or a wrong clock."""


class AccessRefused(HubError):
    """401 or 403. ``page`` is where a licence is accepted or a token made; ``needs_token`` where none was given."""

    def __init__(
        self, message: str, next_step: str = "", *, page: str = "", needs_token: bool = False, detail: str = ""
    ) -> None:
        super().__init__(message, next_step, detail=detail)
        self.page = page
        self.needs_token = needs_token


class NotOnHub(HubError):
    """There is no such repository, revision or file, or none this token may see."""
