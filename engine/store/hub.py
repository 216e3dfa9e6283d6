"""The hub through its own client: what a repository holds, small files, byte ranges, search, model cards. No torch.

Every request goes through one session of the ``huggingface_hub`` library that has timeouts and the caller's proxy,
and every failure comes out as one ``HubError``. What may pass is asked for again, as patiently as the caller wishes;
an open ``stream`` is the caller's own to go on with.
"""

from __future__ import annotations

import functools
import logging
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx2
from huggingface_hub import HfApi, ModelInfo, hf_hub_url, is_offline_mode, set_client_factory
from huggingface_hub.errors import HfHubHTTPError, HFValidationError, OfflineModeIsEnabled, RemoteEntryNotFoundError
from huggingface_hub.utils import build_hf_headers, get_session, hf_raise_for_status

from engine import __version__
from engine.errors import EngineError, HubError, InvalidRequest, NotOnHub
from engine.hub_access import HubAccess, SearchFilters
from engine.reports import HubModel
from engine.store.hub_errors import explain_network, explain_status, not_a_hub
from engine.store.hub_search import describe_hit, search_arguments
from engine.store.patience import BRIEF, Patience, try_patiently

log = logging.getLogger(__name__)

TIMEOUT_S = 20.0
"""How long a server may be silent."""
_SMALL_FILE_BYTES = 64 << 20
_CARD_BYTES = 1 << 20
_STRANGE = (ValueError, KeyError, TypeError, AttributeError)
"""What the library raises for an answer that is no hub's."""


@dataclass(frozen=True, slots=True)
class HubFile:
    """One file of a repository. ``sha256`` is that of a big (LFS) file; ``blob_id`` git's own sha1 of a small one."""

    name: str
    size: int
    sha256: str | None
    blob_id: str | None


@dataclass(frozen=True, slots=True)
class HubRepo:
    """A repository at one commit. ``modified_ns`` is a whole even second, which every file system can keep."""

    owner: str
    name: str
    commit: str
    is_gated: bool
    modified_ns: int
    files: tuple[HubFile, ...]

    @property
    def title(self) -> str:
        return f"{self.owner}/{self.name}"

    def file(self, name: str) -> HubFile:
        """Raises ``KeyError``."""
        for file in self.files:
            if file.name == name:
                return file
        raise KeyError(name)


class HubClient:
    """One hub as one user sees it. Calls may come from any thread.

    The library keeps one session for a process; making a client with another proxy replaces it.
    """

    def __init__(
        self,
        access: HubAccess,
        *,
        timeout_s: float = TIMEOUT_S,
        patience: Patience = BRIEF,
        wait: Callable[[EngineError, float], None] | None = None,
    ) -> None:
        """``wait`` gets the error and the seconds until the next try, and may raise to give up."""
        self.access = access
        self._patience = patience
        self._wait = wait or (lambda _error, delay_s: time.sleep(delay_s))
        _use_session(access.proxy, timeout_s)
        self._api = HfApi(
            endpoint=access.endpoint.rstrip("/"),
            token=access.token or False,
            library_name="strata",
            library_version=__version__,
        )
        self._headers: dict[str, str] = build_hf_headers(
            token=access.token or False, library_name="strata", library_version=__version__
        )
        # Compressed, a range would be one of the compressed file.
        self._headers["Accept-Encoding"] = "identity"

    def repository(self, repo: str, revision: str | None = None) -> HubRepo:
        """One request. Raises ``HubError``, ``InvalidRequest``."""

        def ask() -> HubRepo:
            with self._explained(repo):
                return _describe_repo(self._api.model_info(repo, revision=revision, files_metadata=True))

        return try_patiently(ask, self._patience, self._wait)

    def read_small(self, repo: HubRepo, file: HubFile) -> bytes:
        """A whole small file. Raises ``HubError``."""
        if file.size > _SMALL_FILE_BYTES:
            raise HubError(f"{file.name} of {repo.title} is too big for what it should be.", "Choose another model.")
        return self.read_range(repo, file, 0, file.size)

    def read_range(self, repo: HubRepo, file: HubFile, start: int, end: int) -> bytes:
        """Bytes ``start`` to ``end`` (exclusive). Raises ``HubError``."""
        return try_patiently(lambda: self._read_range(repo, file, start, end), self._patience, self._wait)

    def _read_range(self, repo: HubRepo, file: HubFile, start: int, end: int) -> bytes:
        parts: list[bytes] = []
        with self.stream(repo, file, start, end) as (first, response), self._explained(repo.title):
            if first > start:
                raise not_a_hub(self.access, f"asked for byte {start} of {file.name}, got {first}")
            count = 0
            for chunk in response.iter_bytes():
                parts.append(chunk)
                count += len(chunk)
                # A server that knows no ranges sends all of the file.
                if first + count >= end:
                    break
        data = b"".join(parts)[start - first : end - first]
        if len(data) != end - start:
            raise explain_network(httpx2.ReadError("ended early"), self.access)
        return data

    @contextmanager
    def stream(self, repo: HubRepo, file: HubFile, start: int, end: int) -> Generator[tuple[int, httpx2.Response]]:
        """An open answer for a range, and the byte it starts at: ``start``, or 0 where ranges are not known.

        Reading it may raise ``httpx2`` errors. Raises ``HubError``.
        """
        url = hf_hub_url(repo.title, file.name, revision=repo.commit, endpoint=self._api.endpoint)
        headers = dict(self._headers)
        if start > 0 or end < file.size:
            headers["Range"] = f"bytes={start}-{end - 1}"
        with self._explained(repo.title):
            request = get_session().build_request("GET", url, headers=headers)
            # A redirect to another origin drops the authorization header, as the hub's storage wants it.
            response = get_session().send(request, stream=True, follow_redirects=True)
        try:
            with self._explained(repo.title):
                hf_raise_for_status(response)
            yield _first_byte(response, file, self.access), response
        finally:
            response.close()

    def search(self, query: str, filters: SearchFilters, limit: int) -> list[HubModel]:
        """Raises ``HubError``."""

        def ask() -> list[HubModel]:
            with self._explained(""):
                hits = self._api.list_models(**search_arguments(query, filters, limit))
                return [describe_hit(hit, self._api.endpoint) for hit in hits]

        return try_patiently(ask, self._patience, self._wait)

    def model_card(self, repo: str) -> str:
        """The page a repository introduces itself with, as Markdown without its head; "" where it has none."""
        try:
            content = try_patiently(lambda: self._read_card(repo), self._patience, self._wait)
        except NotOnHub as error:
            if isinstance(error.__cause__, RemoteEntryNotFoundError):
                return ""
            raise
        return _without_head(content[:_CARD_BYTES].decode("utf-8", errors="replace"))

    def _read_card(self, repo: str) -> bytes:
        with self._explained(repo):
            url = hf_hub_url(repo, "README.md", endpoint=self._api.endpoint)
            return get_session().get(url, headers=self._headers).content

    @contextmanager
    def _explained(self, repo: str) -> Generator[None]:
        try:
            yield
        except EngineError:
            raise
        except HfHubHTTPError as error:
            raise explain_status(error, self.access, repo) from error
        except (httpx2.HTTPError, OfflineModeIsEnabled) as error:
            raise explain_network(error, self.access, _url_of(error)) from error
        except HFValidationError as error:
            raise InvalidRequest(f"“{repo}” is not a name on a hub.", "Write it as owner/name.") from error
        except httpx2.InvalidURL as error:
            raise InvalidRequest(
                f"“{self.access.endpoint}” is not the address of a hub.", "Write it like https://huggingface.co"
            ) from error
        except _STRANGE as error:
            raise not_a_hub(self.access, repr(error)) from error


class HubSession(httpx2.Client):
    """The library's session, with a timeout for the requests it makes without one, and failures said at once.

    ``huggingface_hub`` 2.4 asks for lists without a timeout and retries them itself with blocking sleeps; an answer
    that is an error is raised here, before its retries see it.
    """

    def __init__(self, proxy: str | None, timeout_s: float) -> None:
        self._usual_timeout = httpx2.Timeout(timeout_s, connect=min(timeout_s, 10.0))
        super().__init__(proxy=proxy, timeout=self._usual_timeout, follow_redirects=True)

    def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        if is_offline_mode():
            raise OfflineModeIsEnabled
        given = request.extensions.get("timeout") or {}
        usual = self._usual_timeout.as_dict()
        request.extensions["timeout"] = {name: given.get(name) or usual[name] for name in usual}
        try:
            response = super().send(request, **options)
        except httpx2.TransportError as error:
            raise _NoAnswer(request, error) from error
        if response.status_code >= 400:
            with _closed_on_error(response):
                hf_raise_for_status(response)
        return response


class _NoAnswer(httpx2.RequestError):
    """A request without an answer; its cause says why. None of the kinds the library retries by itself."""

    def __init__(self, request: httpx2.Request, cause: httpx2.TransportError) -> None:
        super().__init__(str(cause), request=request)
        self.reason = cause


@contextmanager
def _closed_on_error(response: httpx2.Response) -> Generator[None]:
    try:
        yield
    except HfHubHTTPError:
        response.close()
        raise


@functools.lru_cache(maxsize=1)
def _use_session(proxy: str | None, timeout_s: float) -> None:
    """Cached, so that a running download keeps its connection while a search begins with the same settings."""
    set_client_factory(lambda: HubSession(proxy, timeout_s))


def _describe_repo(info: ModelInfo) -> HubRepo:
    owner, _, name = info.id.rpartition("/")
    if not info.sha:
        raise ValueError("no commit")
    seconds = int(info.last_modified.timestamp()) if info.last_modified else 0
    return HubRepo(
        owner=owner or "hub",
        name=name,
        commit=info.sha,
        is_gated=bool(info.gated),
        modified_ns=seconds // 2 * 2 * 10**9,
        files=tuple(
            HubFile(
                name=sibling.rfilename,
                size=sibling.lfs.size if sibling.lfs else sibling.size or 0,
                sha256=sibling.lfs.sha256 if sibling.lfs else None,
                blob_id=None if sibling.lfs else sibling.blob_id,
            )
            for sibling in info.siblings or []
        ),
    )


def _first_byte(response: httpx2.Response, file: HubFile, access: HubAccess) -> int:
    """Where the answer starts in the file. Raises ``HubError`` where it is another file, or a page."""
    if response.status_code == 206:
        place, _, total = response.headers.get("Content-Range", "").removeprefix("bytes ").partition("/")
        first = place.partition("-")[0]
        if total == str(file.size) and first.isdigit():
            return int(first)
    elif response.status_code == 200:
        length = response.headers.get("Content-Length")
        is_page = "html" in response.headers.get("Content-Type", "") and not file.name.endswith((".html", ".md"))
        if not is_page and length in (None, str(file.size)):
            return 0
    raise not_a_hub(access, f"{response.status_code} {dict(response.headers).get('content-type')} for {file.name}")


def _url_of(error: BaseException) -> str:
    request: Any = getattr(error, "_request", None)
    return str(request.url) if request is not None else ""


def _without_head(text: str) -> str:
    """A card without the YAML between its first two ``---`` lines."""
    if not text.startswith("---"):
        return text
    _, separator, rest = text[3:].partition("\n---")
    return rest.partition("\n")[2].lstrip() if separator else text
