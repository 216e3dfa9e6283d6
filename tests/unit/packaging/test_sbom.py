"""The list of parts: one entry for each licence in the bundle, and the same for the same bundle."""

from __future__ import annotations

from sbom import bill_of_materials

from engine import __version__

PARTS = [
    {"name": "Strata", "version": __version__, "licence": "MIT", "page": "", "files": ["a"]},
    {"name": "Jinja2", "version": "3.1.6", "licence": "BSD-3-Clause", "page": "https://x.test/jinja", "files": ["a"]},
    {"name": "torch", "version": "2.13.0+cpu", "licence": "", "page": "", "files": ["a"]},
    {
        "name": "libxcb1",
        "version": "1.15-1",
        "licence": "",
        "page": "https://packages.debian.org/libxcb1",
        "files": ["a"],
    },
    {"name": "Python", "version": "3.11.9", "licence": "PSF-2.0", "page": "https://www.python.org", "files": ["a"]},
    {"name": "SmolLM2-135M-Instruct", "version": "", "licence": "Apache-2.0", "page": "", "files": ["a"]},
]


def test_parts_are_named_as_their_registries_name_them() -> None:
    found = bill_of_materials(PARTS, "linux-x86_64", "ubuntu")
    assert found["metadata"]["component"]["version"] == __version__
    by_name = {each["name"]: each for each in found["components"]}
    assert by_name.keys() == {part["name"] for part in PARTS} - {"Strata"}
    assert {name: each.get("purl") for name, each in by_name.items()} == {
        "Jinja2": "pkg:pypi/jinja2@3.1.6",
        "torch": "pkg:pypi/torch@2.13.0%2Bcpu",
        "libxcb1": "pkg:deb/ubuntu/libxcb1@1.15-1",
        "Python": None,
        "SmolLM2-135M-Instruct": None,
    }
    assert by_name["Jinja2"]["licenses"] == [{"license": {"name": "BSD-3-Clause"}}]
    assert by_name["SmolLM2-135M-Instruct"]["type"] == "machine-learning-model"


def test_the_same_bundle_gives_the_same_list() -> None:
    first = bill_of_materials(PARTS, "linux-x86_64", "debian")
    assert bill_of_materials(PARTS, "linux-x86_64", "debian") == first
    other = bill_of_materials(PARTS[:-1], "linux-x86_64", "debian")
    assert other["serialNumber"] != first["serialNumber"]
