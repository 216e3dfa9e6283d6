"""A model hub on this machine: the answers of the real one that its client relies on, and the faults of real networks.

Two servers, as there: the hub itself (API, small files, redirects) and its storage (big files) at another origin,
which must never see a token. Big files are those of ``LFS_BYTES`` and more, or with a name that weights have.
"""

from __future__ import annotations

import hashlib
import json
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import parse_qs, unquote, urlsplit

COMMIT = "89abcdef0123456789abcdef0123456789abcdef"
LFS_BYTES = 1 << 20
_WEIGHTS = (".safetensors", ".bin", ".gguf", ".onnx", ".pth")
_CHUNK_BYTES = 8 << 10


@dataclass
class FakeRepo:
    """``gated`` needs a token in the server's ``accepted``; ``private`` one it knows. ``extra`` goes into the API."""

    files: dict[str, bytes]
    commit: str = COMMIT
    gated: bool = False
    private: bool = False
    branches: tuple[str, ...] = ("main",)
    extra: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of_folder(cls, folder: Path, **options: Any) -> FakeRepo:
        files = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        return cls(files, **options)


@dataclass
class Fault:
    """What goes wrong with requests whose path has ``part`` in it, ``times`` times, to one ``server`` or both.

    Only where at least ``least`` bytes are asked for, to let the short reads of heads pass. One of:

    a ``status`` with ``headers``; the connection ``cut_after`` so many bytes of the body; one body byte changed at
    ``flip_at`` of the file; silence until the server's ``release`` is set, after ``stall_after`` bytes; a ``page``
    of HTML; ``ignores_range``; ``chunk_s`` seconds between 8 KiB pieces.
    """

    part: str
    times: int = 1
    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    cut_after: int | None = None
    flip_at: int | None = None
    stall_after: int | None = None
    page: bool = False
    ignores_range: bool = False
    chunk_s: float = 0.0
    server: str | None = None
    least: int = 0


@dataclass
class Seen:
    """One request. ``server`` is "hub" or "storage"; ``sent`` the bytes of its body that were handed to the network."""

    server: str
    method: str
    path: str
    range: str | None
    token: str | None
    user_agent: str
    sent: int = 0


class HubServer:
    """A context manager. ``repos`` by ``owner/name``; ``tokens`` it knows, ``accepted`` those whose licence is."""

    def __init__(self, repos: dict[str, FakeRepo], *, certificate: Path | None = None) -> None:
        self.repos = repos
        self.tokens: set[str] = set()
        self.accepted: set[str] = set()
        self.faults: list[Fault] = []
        self.seen: list[Seen] = []
        self.release = threading.Event()
        self.lock = threading.Lock()
        self._servers = [_listen(self, "hub", certificate), _listen(self, "storage", certificate)]
        scheme = "https" if certificate else "http"
        self.endpoint, self.storage = (f"{scheme}://127.0.0.1:{server.server_port}" for server in self._servers)
        self.on_request: Callable[[Seen], None] = lambda seen: None

    def __enter__(self) -> HubServer:
        for server in self._servers:
            threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.release.set()
        for server in self._servers:
            server.shutdown()
            server.server_close()

    def sent(self, part: str = "") -> int:
        """Body bytes sent for paths (of files, by their names) with ``part`` in them."""
        with self.lock:
            return sum(seen.sent for seen in self.seen if part in seen.path)

    def paths(self) -> list[str]:
        with self.lock:
            return [seen.path for seen in self.seen]

    def take_fault(self, path: str, server: str, nbytes: float) -> Fault | None:
        with self.lock:
            for fault in self.faults:
                is_meant = fault.part in path and fault.server in (None, server) and nbytes >= fault.least
                if is_meant and fault.times > 0:
                    fault.times -= 1
                    return fault
        return None

    def record(self, seen: Seen) -> None:
        with self.lock:
            self.seen.append(seen)
        self.on_request(seen)


def is_big(name: str, data: bytes) -> bool:
    return name.endswith(_WEIGHTS) or len(data) >= LFS_BYTES


def blob_id(data: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that leave early are what is tested."""


def _listen(hub: HubServer, name: str, certificate: Path | None) -> _Server:
    kind: type[_Handler] = _HubHandler if name == "hub" else _StorageHandler
    bound = type(kind.__name__, (kind,), {"hub": hub, "name": name})
    server = _Server(("127.0.0.1", 0), bound)  # pyright: ignore[reportArgumentType]
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    return server


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    hub: ClassVar[HubServer]
    name: ClassVar[str]

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: what was asked is in ``seen``."""

    @property
    def token(self) -> str | None:
        value = self.headers.get("Authorization")
        return value.removeprefix("Bearer ") if value else None

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        raise NotImplementedError

    def answer(
        self,
        data: bytes,
        *,
        status: int = 200,
        headers: Mapping[str, str] | None = None,
        path: str | None = None,
        fault: Fault | None = None,
    ) -> None:
        """Sends a body. The request is recorded before, and counted while it goes: a client may be faster than we."""
        seen = Seen(
            server=self.name,
            method=self.command,
            path=path or self.path,
            range=self.headers.get("Range"),
            token=self.token,
            user_agent=self.headers.get("User-Agent", ""),
        )
        self.hub.record(seen)
        self.send_response(status)
        for key, value in (headers or {}).items():
            self.send_header(key, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command == "GET":
            for piece in _pieces(data, fault, self.hub):
                seen.sent += len(piece)
                self.wfile.write(piece)
        if seen.sent < len(data):
            self.close_connection = True

    def refuse(self, status: int, code: str = "", message: str = "", headers: Mapping[str, str] | None = None) -> None:
        found = {"X-Error-Code": code, "X-Error-Message": message, **(headers or {})}
        body = json.dumps({"error": message or code or "error"}).encode()
        self.answer(body, status=status, headers={key: value for key, value in found.items() if value})

    def has_failed(self, path: str) -> tuple[bool, Fault | None]:
        """Whether a fault was the whole answer, and one that concerns the body otherwise."""
        first, _, last = self.headers.get("Range", "").removeprefix("bytes=").partition("-")
        nbytes = int(last) - int(first) + 1 if last else float("inf")
        fault = self.hub.take_fault(path, self.name, nbytes)
        if fault is not None and fault.status is not None:
            self.refuse(fault.status, headers=fault.headers)
            return True, None
        if fault is not None and fault.page:
            self.answer(b"<!DOCTYPE html><html>Sign in</html>", headers={"Content-Type": "text/html"}, path=path)
            return True, None
        return False, fault

    def send_file(self, data: bytes, path: str, fault: Fault | None, headers: Mapping[str, str]) -> None:
        """A file, or the range of it that was asked for."""
        if fault is not None and fault.flip_at is not None:
            data = data[: fault.flip_at] + bytes([data[fault.flip_at] ^ 1]) + data[fault.flip_at + 1 :]
        wanted = self.headers.get("Range")
        is_another = self.headers.get("If-Range") not in (None, headers.get("ETag"))
        if wanted is None or is_another or (fault is not None and fault.ignores_range):
            self.answer(data, headers=headers, path=path, fault=fault)
            return
        first, last = wanted.removeprefix("bytes=").split("-")
        start, end = int(first), min(int(last or len(data) - 1) + 1, len(data))
        if start >= len(data):
            self.answer(b"", status=416, headers={"Content-Range": f"bytes */{len(data)}"}, path=path)
            return
        place = {"Content-Range": f"bytes {start}-{end - 1}/{len(data)}"}
        self.answer(data[start:end], status=206, headers={**headers, **place}, path=path, fault=fault)


class _HubHandler(_Handler):
    def do_GET(self) -> None:
        url = urlsplit(self.path)
        parts = [unquote(part) for part in url.path.strip("/").split("/")]
        done, fault = self.has_failed(self.path)
        if done:
            return
        if self.token is not None and self.token not in self.hub.tokens:
            self.refuse(401, message="Invalid credentials in Authorization header")
        elif parts[:2] == ["api", "models"] and len(parts) == 2:
            self._search(parse_qs(url.query))
        elif parts[:2] == ["api", "models"]:
            revision = parts[5] if parts[4:5] == ["revision"] else "main"
            if (repo := self._find("/".join(parts[2:4]), revision)) is not None:
                self._describe("/".join(parts[2:4]), repo, parse_qs(url.query))
        elif len(parts) > 4 and parts[2] == "resolve":
            if (repo := self._find("/".join(parts[:2]), parts[3])) is not None:
                self._resolve("/".join(parts[:2]), repo, "/".join(parts[4:]), fault)
        else:
            self.refuse(404)

    def _find(self, name: str, revision: str) -> FakeRepo | None:
        """None where the request was refused."""
        repo = self.hub.repos.get(name)
        if repo is None or (repo.private and self.token is None):
            if self.token is None:
                self.refuse(401, message="Invalid username or password.")
            else:
                self.refuse(404, "RepoNotFound", "Repository not found")
            return None
        if revision not in repo.branches and not repo.commit.startswith(revision):
            self.refuse(404, "RevisionNotFound", f"Invalid rev id: {revision}")
            return None
        return repo

    def _describe(self, name: str, repo: FakeRepo, query: Mapping[str, list[str]]) -> None:
        siblings: list[dict[str, Any]] = []
        for file, data in repo.files.items():
            sibling: dict[str, Any] = {"rfilename": file}
            if "blobs" in query:
                sibling |= {"size": len(data), "blobId": blob_id(data)}
                if is_big(file, data):
                    digest = hashlib.sha256(data).hexdigest()
                    sibling["lfs"] = {"sha256": digest, "size": len(data), "pointerSize": 134}
            siblings.append(sibling)
        self._send_json({**_summary(name, repo), "siblings": siblings})

    def _search(self, query: Mapping[str, list[str]]) -> None:
        text = query.get("search", [""])[0].casefold()
        limit = int(query.get("limit", ["100"])[0])
        found = [_summary(name, repo) for name, repo in self.hub.repos.items() if text in name.casefold()]
        if "author" in query:
            found = [hit for hit in found if hit["id"].startswith(f"{query['author'][0]}/")]
        if "filter" in query:
            found = [hit for hit in found if set(query["filter"]) <= set(hit.get("tags", []))]
        if query.get("sort") in (["downloads"], ["likes"]):
            found.sort(key=lambda hit: -hit.get(query["sort"][0], 0))
        self._send_json(found[:limit])

    def _resolve(self, name: str, repo: FakeRepo, file: str, fault: Fault | None) -> None:
        if repo.gated and self.token is None:
            self.refuse(401, "GatedRepo", f"Access to model {name} is restricted. Please log in.")
            return
        if repo.gated and self.token not in self.hub.accepted:
            self.refuse(403, "GatedRepo", f"Access to model {name} is restricted and you are not in the list.")
            return
        data = repo.files.get(file)
        if data is None:
            self.refuse(404, "EntryNotFound", "Entry not found", {"X-Repo-Commit": repo.commit})
            return
        headers = {"X-Repo-Commit": repo.commit, "Accept-Ranges": "bytes"}
        if is_big(file, data):
            digest = hashlib.sha256(data).hexdigest()
            headers |= {
                "X-Linked-Etag": f'"{digest}"', "X-Linked-Size": str(len(data)),
                "Location": f"{self.hub.storage}/{name}/{repo.commit}/{file}?signature=secret",
            }  # fmt: skip
            self.answer(b"Found. Redirecting", status=302, headers=headers)
            return
        self.send_file(data, self.path, fault, {**headers, "ETag": f'"{blob_id(data)}"'})

    def _send_json(self, data: Any) -> None:
        self.answer(json.dumps(data).encode(), headers={"Content-Type": "application/json"})


class _StorageHandler(_Handler):
    def do_GET(self) -> None:
        path = unquote(urlsplit(self.path).path)
        owner, name, _, file = path.strip("/").split("/", 3)
        done, fault = self.has_failed(path)
        if not done:
            data = self.hub.repos[f"{owner}/{name}"].files[file]
            self.send_file(data, path, fault, {"Accept-Ranges": "bytes", "ETag": f'"{blob_id(data)}"'})


def _summary(name: str, repo: FakeRepo) -> dict[str, Any]:
    return {
        "_id": "1", "id": name, "modelId": name, "sha": repo.commit, "private": repo.private,
        "gated": "manual" if repo.gated else False, "lastModified": "2026-01-02T03:04:05.000Z",
        "downloads": 0, "likes": 0, "tags": ["safetensors"], **repo.extra,
    }  # fmt: skip


def _pieces(data: bytes, fault: Fault | None, hub: HubServer) -> Iterator[bytes]:
    if fault is None or (fault.cut_after is None and fault.stall_after is None and not fault.chunk_s):
        yield data
        return
    end = len(data) if fault.cut_after is None else min(fault.cut_after, len(data))
    for start in range(0, end, _CHUNK_BYTES):
        if fault.stall_after is not None and start >= fault.stall_after:
            hub.release.wait()
        if fault.chunk_s:
            time.sleep(fault.chunk_s)
        yield data[start : min(start + _CHUNK_BYTES, end)]


@contextmanager
def serve(repos: dict[str, FakeRepo]) -> Iterator[HubServer]:
    with HubServer(repos) as server:
        yield server


def with_files(repo: FakeRepo, files: Mapping[str, bytes]) -> FakeRepo:
    return replace(repo, files={**repo.files, **files})
