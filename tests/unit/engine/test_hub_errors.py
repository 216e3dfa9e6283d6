"""What goes wrong on the way to a hub: one sentence for each, and whether trying again may help."""

from __future__ import annotations

import errno
import pickle
import shutil
import socket
import ssl
import subprocess
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import httpx2
import pytest

from engine.errors import HubError, HubUnreachable, HubUntrusted
from engine.hub_access import HubAccess
from engine.store.hub import HubClient
from engine.store.hub_errors import explain_network, retry_after_s
from engine.store.patience import Patience
from tests.helpers.hub_server import FakeRepo, Fault, HubServer

ONCE = Patience(attempts=1)


def caused_by(error: Exception, cause: BaseException) -> Exception:
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (caused_by(httpx2.ConnectError("x"), socket.gaierror(-3, "Temporary failure")), "cannot be found"),
        (caused_by(httpx2.ConnectError("x"), OSError(errno.ENETUNREACH, "Network is unreachable")), "is offline"),
        (caused_by(httpx2.ConnectError("x"), ConnectionRefusedError()), "refuses the connection"),
        (httpx2.ReadTimeout("x"), "does not answer"),
        (httpx2.ConnectTimeout("x"), "does not answer"),
        (httpx2.RemoteProtocolError("x"), "broke off"),
        (httpx2.ReadError("x"), "broke off"),
        (httpx2.ProxyError("407"), "proxy"),
        (caused_by(httpx2.ConnectError("x"), ssl.SSLError("handshake")), "No secure connection"),
    ],
)
def test_what_may_pass_is_said_in_one_sentence(error: httpx2.HTTPError, says: str) -> None:
    found = explain_network(error, HubAccess())
    assert isinstance(found, HubUnreachable)
    assert says in found.message
    assert found.next_step
    assert "\n" not in str(found)


def test_a_certificate_that_is_not_trusted_names_interception_and_the_clock() -> None:
    error = caused_by(httpx2.ConnectError("x"), ssl.SSLCertVerificationError("self-signed certificate"))
    found = explain_network(error, HubAccess())  # pyright: ignore[reportArgumentType]
    assert isinstance(found, HubUntrusted)
    assert "huggingface.co" in found.message
    assert "clock" in found.message


@pytest.mark.skipif(shutil.which("openssl") is None, reason="makes a certificate with openssl")
def test_a_connection_that_is_intercepted_is_recognised(tmp_path: Path) -> None:
    path = tmp_path / "cert.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days",
         "2", "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", path, "-out",
         tmp_path / "public.pem"],
        check=True, capture_output=True,
    )  # fmt: skip
    path.write_bytes(path.read_bytes() + (tmp_path / "public.pem").read_bytes())
    with HubServer({}, certificate=path) as server, pytest.raises(HubUntrusted):
        HubClient(HubAccess(endpoint=server.endpoint), patience=ONCE).repository("acme/tiny")


def test_a_name_that_no_server_knows_is_recognised() -> None:
    with pytest.raises(HubUnreachable, match=r"hub\.invalid cannot be found|offline"):
        HubClient(HubAccess(endpoint="http://hub.invalid"), patience=ONCE).repository("acme/tiny")


def test_a_silent_server_is_given_up_on() -> None:
    with HubServer({"acme/tiny": FakeRepo({"config.json": b"{}"})}) as server:
        server.faults = [Fault("config.json", stall_after=0)]
        hub = HubClient(HubAccess(endpoint=server.endpoint), patience=ONCE, timeout_s=0.2)
        repo = hub.repository("acme/tiny")
        with pytest.raises(HubUnreachable, match="does not answer"):
            hub.read_small(repo, repo.file("config.json"))


def test_a_proxy_that_is_not_there_is_named() -> None:
    access = HubAccess(endpoint="http://hub.invalid", proxy="http://user:hunter2@127.0.0.1:9")
    with pytest.raises(HubUnreachable) as caught:
        HubClient(access, patience=ONCE).repository("acme/tiny")
    assert "hunter2" not in f"{caught.value} {caught.value.detail} {access!r}"


def test_a_proxy_is_used() -> None:
    # A proxy for plain HTTP gets the whole address and answers for it: the hub server does, for any host.
    with HubServer({"acme/tiny": FakeRepo({"config.json": b"{}"})}) as server:
        access = HubAccess(endpoint="http://hub.invalid", proxy=server.endpoint)
        repo = HubClient(access, patience=ONCE).repository("acme/tiny")
        assert repo.title == "acme/tiny"
        assert server.paths()[0].startswith("http://hub.invalid/")


def test_offline_mode_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(HubError, match="HF_HUB_OFFLINE"):
        HubClient(HubAccess(endpoint="http://127.0.0.1:9"), patience=ONCE).repository("acme/tiny")


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "12"}, 12.0),
        ({"RateLimit": '"api";r=0;t=55'}, 55.0),
        ({"RateLimit": '"api";r=3;t=55'}, None),
        ({"Retry-After": "soon"}, None),
        ({}, None),
    ],
)
def test_the_wait_is_read_from_either_header(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after_s(httpx2.Response(429, headers=headers)) == seconds


def test_the_wait_may_be_a_date() -> None:
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=90), usegmt=True)
    seconds = retry_after_s(httpx2.Response(503, headers={"Retry-After": date}))
    assert seconds is not None
    assert 80 < seconds <= 90


def test_errors_cross_a_process_boundary() -> None:
    error = HubUntrusted("a", "b", detail="c")
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), again.message, again.next_step, again.detail) == (HubUntrusted, "a", "b", "c")


def test_waits_double_up_to_a_limit_and_end() -> None:
    patience = Patience(attempts=9, first_s=1, limit_s=20)
    error = HubUnreachable("x")
    assert [patience.delay_s(count, error) for count in range(1, 10)] == [1, 2, 4, 8, 16, 20, 20, 20, None]
    assert patience.delay_s(1, HubError("x")) is None
