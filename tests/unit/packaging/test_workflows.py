"""The workflows: well formed, pinned, with no more rights than they need, and calling what exists."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

import dev

ROOT = Path(__file__).resolve().parents[3]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
BUILD_OPTIONS = (ROOT / "packaging" / "build.py").read_text(encoding="utf-8")
each_workflow = pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.stem)


def jobs(file: Path) -> dict[str, Any]:
    return yaml.safe_load(file.read_text(encoding="utf-8"))["jobs"]


def steps(file: Path) -> Iterator[dict[str, Any]]:
    for job in jobs(file).values():
        yield from job["steps"]


def commands(file: Path) -> str:
    return "\n".join(step["run"] for step in steps(file) if "run" in step)


def test_they_are_what_github_understands() -> None:
    assert [file.stem for file in WORKFLOWS] == ["ci", "release"]
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-workflows"]
    done = subprocess.run([*command, *map(str, WORKFLOWS)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@each_workflow
def test_every_action_is_pinned_by_its_commit_and_says_its_version(file: Path) -> None:
    used = re.findall(r"uses: (.*)", file.read_text(encoding="utf-8"))
    assert len(used) == sum("uses" in step for step in steps(file))
    for line in used:
        assert re.fullmatch(r"actions/[a-z-]+@[0-9a-f]{40}  # v\d+\.\d+\.\d+", line), line


@each_workflow
def test_only_publishing_may_write(file: Path) -> None:
    whole = yaml.safe_load(file.read_text(encoding="utf-8"))["permissions"]
    assert whole in ({}, {"contents": "read"})
    rights = {name: job.get("permissions", whole) for name, job in jobs(file).items()}
    publishing = rights.pop("publish", {})
    assert all(each == {"contents": "read"} for each in rights.values()), rights
    assert publishing in ({}, {"contents": "write", "id-token": "write", "attestations": "write"})
    if publishing:  # nothing of ours or of others runs there but the actions and gh
        assert not re.search(r"python|pip|checkout", str(jobs(file)["publish"]))


@each_workflow
def test_secrets_are_seen_by_the_steps_that_sign_and_those_are_skipped_without(file: Path) -> None:
    for step in steps(file):
        if "secrets." in str(step) and step.get("id") != "secrets":
            assert "needs.prepare.outputs." in step["if"], step["name"]
    outside = [{**job, "steps": []} for job in jobs(file).values()]
    assert "secrets." not in re.sub(r"steps\.secrets\.", "", str(outside))


@each_workflow
def test_what_they_run_exists(file: Path) -> None:
    text = commands(file)
    for name in re.findall(r"dev\.py (\w+)", text):
        assert name in dev.COMMANDS
    for name in re.findall(r"dev\.([A-Z_]+|install_packages)", text):
        assert hasattr(dev, name)
    for option in re.findall(r"dev\.py package (.*)", text):
        assert all(f'"{each}"' in BUILD_OPTIONS for each in option.split()), option
    scripts = re.findall(r"packaging/\S+\.(?:py|ps1)", text)
    assert all((ROOT / script).is_file() for script in scripts), scripts


def test_the_test_command_is_the_readme_s() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "python3 dev.py test\n" in readme
    assert "python dev.py test" in commands(WORKFLOWS[0]).splitlines()


def test_a_release_is_locked_tested_signed_and_tried_in_this_order() -> None:
    order = [
        "locks.py install", "dev.py test", "--bundle-only --check", "signing.py", "notarisation.py build",
        "sign.ps1 build", "--installers-only", "appimage.py", "notarisation.py dist", "sign.ps1 dist", "--selftest",
        "try_installer.ps1", "sbom.py", "sha256sum", "gh release create",
    ]  # fmt: skip
    text = commands(WORKFLOWS[1])
    places = [text.index(each) for each in order]
    assert places == sorted(places)


def test_the_systems_are_those_that_are_locked() -> None:
    assert jobs(WORKFLOWS[1])["build"]["strategy"]["matrix"]["system"] == ["ubuntu-22.04", "windows-2025", "macos-15"]
    pythons = [step["with"]["python-version"] for step in steps(WORKFLOWS[1]) if "setup-python" in step.get("uses", "")]
    from locks import OLDEST_MACOS, PYTHON

    assert pythons == [PYTHON]
    assert jobs(WORKFLOWS[1])["build"]["env"]["MACOSX_DEPLOYMENT_TARGET"] == OLDEST_MACOS
