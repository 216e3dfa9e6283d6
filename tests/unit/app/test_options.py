"""What may be said when the program is started."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.options import parse_options


def test_a_report_of_the_self_test_has_a_whole_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    options = parse_options(["--selftest", "--report", "found.txt"])
    assert options.is_self_test
    assert options.report == tmp_path / "found.txt"


def test_a_report_of_nothing_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as refused:
        parse_options(["--report", "found.txt"])
    assert refused.value.code == 2
    assert "--report goes with --selftest" in capsys.readouterr().err
