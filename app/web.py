"""The way to a server that is no model hub: the session, and what went wrong in one sentence.

Calls wait: only from a thread of their own. Sends nothing about the user. Sentences are the engine's where it has the
same, so that ``app.engine_texts`` knows them. Importing this loads no network library.
"""

from __future__ import annotations

import errno
import socket
import ssl
from collections.abc import Iterator
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from PySide6.QtCore import QCoreApplication

from engine import __version__
from engine.errors import EngineError, HubBusy, HubError, HubUnreachable, HubUntrusted

if TYPE_CHECKING:
    import httpx2

CONNECT_S = 10.0
READ_S = 20.0
_OFFLINE = (errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN)
_PASSING = (408, 425, 429, 500, 502, 503, 504)


def open_client(proxy: str = "") -> httpx2.Client:
    """``proxy`` "" for the system's own settings. Certificates are those the system trusts.

    Raises ``EngineError`` where the proxy is of a kind that cannot be used, or its address is none.
    """
    import httpx2

    try:
        return httpx2.Client(
            proxy=proxy or None,
            timeout=httpx2.Timeout(READ_S, connect=CONNECT_S),
            follow_redirects=True,
            headers={"User-Agent": f"Strata/{__version__}", "Accept-Encoding": "identity"},
        )
    except (ImportError, ValueError, httpx2.InvalidURL) as error:  # ImportError: SOCKS needs a package of its own
        raise HubUnreachable(
            QCoreApplication.translate("Web", "The proxy that is set for Strata or for the system cannot be used."),
            QCoreApplication.translate("Web", "Set one whose address begins with http:// or https://."),
            detail=type(error).__name__,  # the rest may quote a password
        ) from error


def explain_web(error: Exception, url: str) -> EngineError:
    """A request without an answer, an answer that broke off, or one that is an error."""
    import httpx2

    host = urlsplit(url).hostname or url
    detail = repr(error)
    again = QCoreApplication.translate("Web", "Try again later.")
    causes = list(_causes(error))
    if isinstance(error, httpx2.HTTPStatusError):
        status = error.response.status_code
        kind = HubBusy if status in _PASSING else HubError
        said = QCoreApplication.translate("Web", "{host} answered with an error ({status}).")
        # Without the address: where it was led to may be signed, as good as a password.
        return kind(said.format(host=host, status=status), again, detail=f"{status} {error.response.reason_phrase}")
    if any(isinstance(cause, ssl.SSLCertVerificationError) for cause in causes):
        said = QCoreApplication.translate(
            "Web",
            "The certificate shown for {host} is not trusted: something on the way reads the connection, or this "
            "computer's clock is wrong.",
        )
        use = QCoreApplication.translate("Web", "Look at the clock, or use another network.")
        return HubUntrusted(said.format(host=host), use, detail=detail)
    if any(isinstance(cause, httpx2.ProxyError) for cause in causes):
        return HubUnreachable(
            "The proxy did not let the connection through.", "Check the proxy's address and password.", detail=detail
        )
    if any(isinstance(cause, socket.gaierror) for cause in causes):
        online = QCoreApplication.translate("Web", "Check that this computer is online.")
        return HubUnreachable(f"The address {host} cannot be found.", online, detail=detail)
    if any(isinstance(cause, OSError) and cause.errno in _OFFLINE for cause in causes):
        return HubUnreachable("This computer is offline.", "Connect it, then try again.", detail=detail)
    if any(isinstance(cause, httpx2.TimeoutException) for cause in causes):
        return HubUnreachable(f"{host} does not answer.", again, detail=detail)
    if any(isinstance(cause, ConnectionRefusedError) for cause in causes):
        return HubUnreachable(f"{host} refuses the connection.", again, detail=detail)
    return HubUnreachable(f"The connection to {host} broke off.", again, detail=detail)


def socket_of(response: httpx2.Response) -> socket.socket | None:
    """What can be shut down from another thread, so that nobody waits for the timeout."""
    stream = response.extensions.get("network_stream")
    found = stream.get_extra_info("socket") if stream is not None else None
    return found if isinstance(found, socket.socket) else None


def _causes(error: BaseException) -> Iterator[BaseException]:
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__ or cause.__context__
