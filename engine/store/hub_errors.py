"""What the hub client's and the network's exceptions mean: one sentence and one next step for each. No torch.

Addresses go into details without their query: what a storage server signs there is as good as a password.
"""

from __future__ import annotations

import datetime
import email.utils
import errno
import socket
import ssl
from collections.abc import Iterator
from urllib.parse import urlsplit

import httpx2
from huggingface_hub.errors import (
    DisabledRepoError,
    GatedRepoError,
    HfHubHTTPError,
    OfflineModeIsEnabled,
    RemoteEntryNotFoundError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)
from huggingface_hub.utils import parse_ratelimit_headers

from engine.errors import AccessRefused, HubBusy, HubError, HubUnreachable, HubUntrusted, NotOnHub
from engine.hub_access import HubAccess
from engine.quantities import format_duration

_PASSING_STATUSES = (408, 425, 429, 500, 502, 503, 504, 520, 522, 524)
_OFFLINE = (errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN)
_TRY_AGAIN = "Try again later; what is already there is kept."


def explain_network(error: httpx2.HTTPError | OSError, access: HubAccess, url: str = "") -> HubError:
    """A request that got no answer, or an answer that broke off."""
    host = urlsplit(url or access.endpoint).hostname or "the hub"
    detail = repr(error)
    causes = list(_causes(error))
    if any(isinstance(cause, OfflineModeIsEnabled) for cause in causes):
        return HubError(
            "The hub's tools are switched to offline mode on this computer (HF_HUB_OFFLINE).",
            "Take that variable away, then try again.",
            detail=detail,
        )
    if any(isinstance(cause, ssl.SSLError) for cause in causes):
        return _untrusted(causes, host, detail)
    if any(isinstance(cause, httpx2.ProxyError) for cause in causes):
        return HubUnreachable(
            "The proxy did not let the connection through.", "Check the proxy's address and password.", detail=detail
        )
    if any(isinstance(cause, socket.gaierror) for cause in causes):
        return HubUnreachable(
            f"The address {host} cannot be found.",
            "Check that this computer is online, and the address of the hub.",
            detail=detail,
        )
    if any(isinstance(cause, OSError) and cause.errno in _OFFLINE for cause in causes):
        return HubUnreachable("This computer is offline.", "Connect it, then try again.", detail=detail)
    if any(isinstance(cause, httpx2.TimeoutException) for cause in causes):
        return HubUnreachable(f"{host} does not answer.", _TRY_AGAIN, detail=detail)
    if any(isinstance(cause, ConnectionRefusedError) for cause in causes):
        return HubUnreachable(
            f"{host} refuses the connection.", "Check the address of the hub, and the proxy.", detail=detail
        )
    return HubUnreachable(f"The connection to {host} broke off.", _TRY_AGAIN, detail=detail)


def explain_status(error: HfHubHTTPError, access: HubAccess, repo: str = "") -> HubError:
    """An answer of 400 or above. ``repo`` is what was asked for, as ``owner/name``."""
    response = error.response
    status = response.status_code
    detail = f"{status} from {_without_query(str(response.url))}: {error.server_message or ''}".strip()
    page = f"{access.endpoint.rstrip('/')}/{repo}" if repo else access.endpoint
    if isinstance(error, GatedRepoError):
        return _gated(repo, page, access, detail)
    if isinstance(error, RevisionNotFoundError):
        return NotOnHub(f"{repo} has no such revision.", f"See which there are on {page}/commits/main", detail=detail)
    if isinstance(error, RemoteEntryNotFoundError):
        return NotOnHub(f"A file of {repo} is not on the hub.", f"Look at its page: {page}/tree/main", detail=detail)
    if isinstance(error, DisabledRepoError):
        return AccessRefused(f"The hub has disabled {repo}.", "Choose another model.", page=page, detail=detail)
    if _is_from_elsewhere(response, access):
        # A storage server whose signed address has run out: asked again, the hub gives a new one.
        return HubBusy(f"The hub's storage refused a file of {repo} ({status}).", _TRY_AGAIN, detail=detail)
    if status == 401 and access.token:
        return AccessRefused(
            "The hub does not accept this access token.",
            f"Make a new one on {access.endpoint.rstrip('/')}/settings/tokens and enter it.",
            page=f"{access.endpoint.rstrip('/')}/settings/tokens",
            detail=detail,
        )
    if isinstance(error, RepositoryNotFoundError) or status in (401, 404):
        hint = "" if access.token else " If it is private, give an access token."
        return NotOnHub(
            f"There is no {repo or 'such model'} on the hub.", f"Check how it is written.{hint}", detail=detail
        )
    if status == 403:
        return AccessRefused(
            f"The hub does not let this access token read {repo}."
            if access.token
            else f"The hub does not show {repo}.",
            f"Look at its page: {page}",
            page=page,
            needs_token=not access.token,
            detail=detail,
        )
    if status in _PASSING_STATUSES:
        return _busy(response, status, detail)
    return HubError(f"The hub answered with an error ({status}).", _TRY_AGAIN, detail=detail)


def not_a_hub(access: HubAccess, detail: str) -> HubError:
    """An answer that is no hub's: a login page of the network, or a wrong address."""
    return HubError(
        f"What answers at {access.endpoint} is not a model hub.",
        "Check its address; if this network has a login page, open it in a browser first.",
        detail=detail,
    )


def retry_after_s(response: httpx2.Response) -> float | None:
    """Seconds the server asked to wait: ``Retry-After`` as a number or a date, or the hub's rate limit."""
    limit = parse_ratelimit_headers(response.headers)
    if limit is not None and limit.remaining == 0:
        return float(limit.reset_in_seconds)
    value = response.headers.get("Retry-After", "").strip()
    if value.isdigit():
        return float(value)
    try:
        date = email.utils.parsedate_to_datetime(value)
    except ValueError:
        return None
    return max(0.0, (date - datetime.datetime.now(datetime.UTC)).total_seconds())


def _gated(repo: str, page: str, access: HubAccess, detail: str) -> AccessRefused:
    if access.token is None:
        return AccessRefused(
            f"{repo} is given only to those who accept its licence.",
            f"Accept it on {page} and give your access token.",
            page=page,
            needs_token=True,
            detail=detail,
        )
    return AccessRefused(
        f"The licence of {repo} is not accepted yet for your access token, or the request still waits.",
        f"Accept it on {page}, then try again.",
        page=page,
        detail=detail,
    )


def _busy(response: httpx2.Response, status: int, detail: str) -> HubBusy:
    wait = retry_after_s(response)
    if status == 429:
        when = f"Try again in {format_duration(wait)}." if wait else _TRY_AGAIN
        return HubBusy("The hub has had too many requests from here.", when, retry_after_s=wait, detail=detail)
    return HubBusy(f"The hub has a problem at the moment ({status}).", _TRY_AGAIN, retry_after_s=wait, detail=detail)


def _untrusted(causes: list[BaseException], host: str, detail: str) -> HubError:
    if any(isinstance(cause, ssl.SSLCertVerificationError) for cause in causes):
        return HubUntrusted(
            f"The certificate shown for {host} is not trusted: something between here and the hub (a company's filter, "
            "a virus scanner) reads the connection, or this computer's clock is wrong.",
            "Add that filter's certificate to the system's trusted ones, or use another network.",
            detail=detail,
        )
    return HubUnreachable(f"No secure connection to {host} could be made.", _TRY_AGAIN, detail=detail)


def _is_from_elsewhere(response: httpx2.Response, access: HubAccess) -> bool:
    hosts = urlsplit(str(response.url)).netloc, urlsplit(access.endpoint).netloc
    return response.status_code in (400, 401, 403, 410) and hosts[0] != hosts[1]


def _without_query(url: str) -> str:
    return url.partition("?")[0]


def _causes(error: BaseException) -> Iterator[BaseException]:
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__ or cause.__context__
