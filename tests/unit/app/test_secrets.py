"""The hub token: in the keyring, or for this session only, and never in what is written or copied."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.crash import crash_report
from app.log import start_log
from app.redaction import HIDDEN, redacted
from app.secrets import PROBE, SERVICE, TOKEN, Keyring, KeyringUnavailable, Secrets, TokenPlace
from app.settings import Settings

TOKEN_VALUE = "hf_AbCdEfGhIjKlMnOpQrStUvWx"
PLAIN_VALUE = "no-known-shape-9182"


class MemoryKeyring:
    """A keyring as a dictionary."""

    def __init__(self) -> None:
        self.kept: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, name: str) -> str | None:
        return self.kept.get((service, name))

    def set_password(self, service: str, name: str, value: str) -> None:
        self.kept[service, name] = value

    def delete_password(self, service: str, name: str) -> None:
        del self.kept[service, name]


class ForgetfulKeyring(MemoryKeyring):
    """Says yes and keeps nothing, as a broken backend does."""

    def set_password(self, service: str, name: str, value: str) -> None:
        pass


def no_keyring() -> Keyring:
    raise KeyringUnavailable("none on this computer")


@pytest.fixture(autouse=True)
def _no_token_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"):
        monkeypatch.delenv(name, raising=False)


def opened(qtbot: QtBot, open_keyring: Callable[[], Keyring]) -> Secrets:
    secrets = Secrets(open_keyring)
    with qtbot.waitSignal(secrets.changed):
        secrets.open()
    return secrets


def test_a_token_is_found_again_by_the_next_session(qtbot: QtBot) -> None:
    keyring = MemoryKeyring()
    first = opened(qtbot, lambda: keyring)
    first.set_token(f" {TOKEN_VALUE} ")
    first.close()
    assert keyring.kept == {(SERVICE, TOKEN): TOKEN_VALUE}
    second = opened(qtbot, lambda: keyring)
    assert (second.token(), second.place()) == (TOKEN_VALUE, TokenPlace.KEYRING)


def test_removing_a_token_removes_it_from_the_keyring(qtbot: QtBot) -> None:
    keyring = MemoryKeyring()
    keyring.kept[SERVICE, TOKEN] = TOKEN_VALUE
    secrets = opened(qtbot, lambda: keyring)
    secrets.set_token("")
    secrets.close()
    assert secrets.token() is None
    assert keyring.kept == {}


@pytest.mark.parametrize("open_keyring", [no_keyring, ForgetfulKeyring])
def test_without_a_keyring_a_token_holds_for_the_session_and_it_says_so(
    qtbot: QtBot, open_keyring: Callable[[], Keyring]
) -> None:
    secrets = opened(qtbot, open_keyring)
    assert secrets.place() is TokenPlace.SESSION
    secrets.set_token(TOKEN_VALUE)
    secrets.close()
    assert secrets.token() == TOKEN_VALUE


def test_the_probe_leaves_nothing_behind(qtbot: QtBot) -> None:
    keyring = MemoryKeyring()
    opened(qtbot, lambda: keyring)
    assert (SERVICE, PROBE) not in keyring.kept


def test_a_token_of_the_environment_is_used_and_the_keyring_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", TOKEN_VALUE)
    secrets = Secrets(no_keyring)
    secrets.open()
    assert (secrets.token(), secrets.place()) == (TOKEN_VALUE, TokenPlace.ENVIRONMENT)


@pytest.mark.parametrize(
    "text",
    [
        f"token {TOKEN_VALUE} refused",
        "Authorization: Bearer abcdefgh12345678",
        "{'authorization': 'Bearer abcdefgh12345678'}",
        "proxy http://user:abcdefgh12345678@proxy:8080",
        'token="abcdefgh12345678"',
    ],
)
def test_what_looks_like_a_secret_is_removed(text: str) -> None:
    clean = redacted(text)
    assert HIDDEN in clean
    assert TOKEN_VALUE not in clean
    assert "abcdefgh12345678" not in clean


def test_ordinary_text_is_left_alone() -> None:
    text = "token 12 · layer 37/80 · see https://huggingface.co/docs and tokens: 128"
    assert redacted(text) == text


def test_neither_log_nor_report_nor_settings_hold_the_token(tmp_path: Path, qtbot: QtBot) -> None:
    secrets = opened(qtbot, no_keyring)
    secrets.set_token(PLAIN_VALUE)
    log_file = tmp_path / "strata.log"
    settings = Settings(tmp_path / "settings.json")
    handler = start_log(log_file, secrets.known_values)
    try:
        logging.getLogger("app.test").warning("asked with %s", PLAIN_VALUE)
        try:
            raise RuntimeError(f"refused {PLAIN_VALUE} and {TOKEN_VALUE}")
        except RuntimeError as error:
            logging.getLogger("app.test").exception("failed")
            report = crash_report(error, log_file, secrets.known_values())
    finally:
        for each in list(logging.getLogger().handlers):
            if each is handler or (type(each).__module__ == "logging" and each.formatter is not None):
                logging.getLogger().removeHandler(each)
        handler.close()
    settings.flush()
    secrets.close()
    written = "".join(file.read_text(encoding="utf-8") for file in tmp_path.iterdir())
    assert "failed" in written
    for text in (written, report.text, report.title):
        assert PLAIN_VALUE not in text
        assert TOKEN_VALUE not in text
    assert "RuntimeError" in report.text
