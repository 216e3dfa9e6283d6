"""The list of what is published: believed only with the makers' signature, and never an older one again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from app import published_list
from app.published_list import ListSource
from app.signed_list import MOST_BYTES, ListRefused, ListTooOld, ListUnreadable, read_list, shipped_keys
from engine.errors import HubError, HubUnreachable, HubUntrusted
from tests.helpers.hub_server import Fault
from tests.helpers.stand_in_runtimes import KEYS, publisher, runtime_files, sign, zip_of

RUNTIME = {
    "abi": "cp311", "torch": "2.13.0", "platform": "win-amd64", "version": "2", "cuda": 13, "min_driver": "580.65",
    "min_compute": "7.5", "unpacked_size": 3, "parts": [{"url": "https://x.example/a", "size": 20, "sha256": "a" * 64}],
}  # fmt: skip
LIST: dict[str, Any] = {
    "schema": 1, "serial": 7, "runtimes": [RUNTIME],
    "release": {"version": "0.2.0", "page": "https://x.example", "notes": {"en": "New.", "zh_CN": "新。"}},
}  # fmt: skip


def test_a_genuine_list_is_read() -> None:
    found = read_list(sign(LIST), KEYS, least_serial=7)
    (entry,) = found.runtimes
    assert (found.serial, found.release.notes["zh_CN"]) == (7, "新。")
    assert (entry.least_driver, entry.least_compute, entry.nbytes) == ((580, 65), (7, 5), 20)
    assert entry.folder_name == "cp311-torch2.13.0-cuda13-2"


def test_one_of_several_keys_is_enough_so_that_one_can_replace_another() -> None:
    old, new = Ed25519PrivateKey.generate(), Ed25519PrivateKey.generate()
    keys = {name: key.public_key().public_bytes_raw() for name, key in (("old", old), ("new", new))}
    assert read_list(sign(LIST, new, "new"), keys).serial == 7
    with pytest.raises(ListRefused, match="no signature"):
        read_list(sign(LIST, new, "old"), keys)


@pytest.mark.parametrize("place", ["text", "signature", "nobody's"])
def test_what_is_not_signed_by_the_makers_is_refused(place: str) -> None:
    envelope = json.loads(sign(LIST))
    if place == "text":
        envelope["signed"] = envelope["signed"].replace("0.2.0", "0.3.0")
    elif place == "signature":
        envelope["signatures"]["test"] = envelope["signatures"]["test"][:-4] + "AAA="
    else:
        envelope = json.loads(sign(LIST, Ed25519PrivateKey.generate()))
    with pytest.raises(ListRefused, match="no signature"):
        read_list(json.dumps(envelope).encode(), KEYS)


@pytest.mark.parametrize(
    "change",
    [
        {"schema": 2}, {"release": {"version": "1", "page": "https://x.example", "notes": []}},
        {"serial": True}, {"serial": "8"}, {"release": None}, {"runtimes": [{**RUNTIME, "abi": "../x"}]},
        {"runtimes": [{**RUNTIME, "parts": []}]}, {"runtimes": [{**RUNTIME, "version": ".."}]},
        {"runtimes": [{**RUNTIME, "parts": [{"url": "file:///etc/passwd", "size": 1, "sha256": "a" * 64}]}]},
        {"runtimes": [{**RUNTIME, "parts": [{"url": "https://x.example/a", "size": 1, "sha256": "a"}]}]},
        {"release": {"version": "1", "page": "javascript:alert(1)", "notes": {}}},
    ],
)  # fmt: skip
def test_what_is_signed_and_not_in_the_form_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ListUnreadable, match="schema 1"):
        read_list(sign({**LIST, **change}), KEYS)


@pytest.mark.parametrize(
    ("text", "signature"), [("{}", "é"), ("{}", "A"), ("{}", "AAAA"), ("\ud800", "AAAA"), ("{}", None)]
)
def test_nonsense_in_place_of_a_signature_is_refused_like_any_other(text: str, signature: str | None) -> None:
    with pytest.raises(ListRefused, match="no signature"):
        read_list(json.dumps({"signed": text, "signatures": {"test": signature}}).encode(), KEYS)


def test_an_older_list_and_a_flood_of_bytes_are_refused() -> None:
    with pytest.raises(ListTooOld):
        read_list(sign(LIST), KEYS, least_serial=8)
    with pytest.raises(ListRefused, match="larger"):
        read_list(b" " * (MOST_BYTES + 1), KEYS)
    for data in (b"", b"<html>", b"[]", b'{"signed": 1, "signatures": {}}'):
        with pytest.raises(ListRefused):
            read_list(data, KEYS)


def test_the_program_ships_keys_that_can_be_used() -> None:
    keys = shipped_keys()
    assert keys
    assert all(len(key) == 32 for key in keys.values())
    with pytest.raises(ListRefused, match="no signature"):
        read_list(sign(LIST), keys)


def test_once_seen_nothing_older_is_believed_even_after_a_restart(tmp_path: Path) -> None:
    with publisher() as there:
        there.serial = 5
        there.publish(zip_of(runtime_files()))
        assert ListSource(there.address, tmp_path / "list.json", keys=KEYS).fetch().serial == 5
        there.serial = 4
        there.publish(zip_of(runtime_files()))
        again = ListSource(there.address, tmp_path / "list.json", keys=KEYS)
        with pytest.raises(HubUntrusted, match="older than one that was seen"):
            again.fetch()
        there.serial = 6
        there.publish(zip_of(runtime_files()))
        assert again.fetch().serial == 6


def test_a_signature_of_nobody_changes_nothing_and_is_said(tmp_path: Path) -> None:
    with publisher() as there:
        there.publish()
        source = ListSource(there.address, tmp_path / "list.json", keys=KEYS)
        source.fetch()
        kept = (tmp_path / "list.json").read_bytes()
        there.files["list.json"] = sign({**LIST, "serial": 99}, Ed25519PrivateKey.generate())
        with pytest.raises(HubUntrusted, match="not signed by the makers"):
            source.fetch()
        assert (tmp_path / "list.json").read_bytes() == kept
        there.server.faults.append(Fault("list.json", page=True))
        with pytest.raises(HubUntrusted, match="not signed by the makers"):
            source.fetch()


def test_without_a_network_one_sentence_says_so(tmp_path: Path) -> None:
    with publisher() as there:
        address = there.address
    with pytest.raises(HubUnreachable, match=r"127\.0\.0\.1 refuses the connection"):
        ListSource(address, tmp_path / "list.json", keys=KEYS).fetch()


def test_a_list_for_a_newer_strata_is_not_called_a_forgery(tmp_path: Path) -> None:
    with publisher() as there:
        there.publish()
        there.files["list.json"] = sign({**LIST, "schema": 2})
        with pytest.raises(HubError, match="made for a newer Strata") as caught:
            ListSource(there.address, tmp_path / "list.json", keys=KEYS).fetch()
        assert not isinstance(caught.value, HubUntrusted)


def test_a_list_that_does_not_end_is_not_called_a_forgery(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(published_list, "LONGEST_S", -1.0)
    with publisher() as there:
        there.publish()
        with pytest.raises(HubUnreachable, match="does not answer"):
            ListSource(there.address, tmp_path / "list.json", keys=KEYS).fetch()


@pytest.mark.parametrize("proxy", ["socks5://127.0.0.1:1", "http://127.0.0.1:port"])
def test_a_proxy_that_cannot_be_used_is_said_without_its_password(tmp_path: Path, proxy: str) -> None:
    source = ListSource("http://127.0.0.1:1/list.json", tmp_path / "list.json", keys=KEYS, proxy=lambda: proxy)
    with pytest.raises(HubUnreachable, match="proxy that is set"):
        source.fetch()
