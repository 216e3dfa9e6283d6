"""What an installer carries, as a list that programs read (SBOM): CycloneDX 1.6, from the bundle's own licences.

    python packaging/sbom.py        of the bundle in build/, into dist/

The licences are collected of what is really inside, so this names that and nothing that only built it.
"""

from __future__ import annotations

import json
import platform
import re
import sys
import uuid
from pathlib import Path
from typing import Any
from urllib.parse import quote

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from layout import bundle_layout

from app.licences import INDEX
from engine import __version__

SYSTEMS = {"linux": "linux-x86_64", "win32": "windows-x64", "darwin": "macos-arm64"}
_DEBIAN = "https://packages.debian.org/"


def main() -> int:
    licences = bundle_layout(ROOT / "build", sys.platform).licences / INDEX
    if not licences.is_file():
        print("There is no bundle in build/: run python3 dev.py package first.", file=sys.stderr)
        return 1
    system = SYSTEMS[sys.platform]
    # Libraries of the system come from the one this was built on.
    vendor = platform.freedesktop_os_release()["ID"] if sys.platform == "linux" else ""
    content = bill_of_materials(json.loads(licences.read_text(encoding="utf-8")), system, vendor)
    made = ROOT / "dist" / f"strata-{__version__}-{system}.cdx.json"
    made.parent.mkdir(exist_ok=True)
    made.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"{made.relative_to(ROOT)}: {len(content['components'])} parts")
    return 0


def bill_of_materials(parts: list[dict[str, Any]], system: str, vendor: str = "") -> dict[str, Any]:
    """The document for one system; ``parts`` are the rows of licences.json. Same parts, same document.

    ``vendor`` is whose Debian packages the libraries of the system are: debian, ubuntu.
    """
    components = [_component(part, vendor) for part in parts if part["name"] != "Strata"]
    names = json.dumps([system, __version__, components], sort_keys=True)
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, names)}",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": "strata",
                "name": "Strata",
                "version": __version__,
                "licenses": [{"license": {"id": "MIT"}}],
                "properties": [{"name": "strata:system", "value": system}],
            }
        },
        "components": components,
    }


def _component(part: dict[str, Any], vendor: str) -> dict[str, Any]:
    name, version = part["name"], part["version"]
    found: dict[str, Any] = {
        "type": "machine-learning-model" if name.startswith("SmolLM2") else "library",
        "bom-ref": f"{name}@{version}",
        "name": name,
    }
    if version:
        found["version"] = version
    if part["licence"]:
        found["licenses"] = [{"license": {"name": part["licence"]}}]
    if part["page"].startswith(_DEBIAN):
        found["purl"] = f"pkg:deb/{vendor}/{quote(name)}@{quote(version, safe='')}"
    elif version and name != "Python":
        found["purl"] = f"pkg:pypi/{re.sub('[-_.]+', '-', name).lower()}@{quote(version, safe='')}"
    if part["page"].startswith(("http://", "https://")):
        found["externalReferences"] = [{"type": "website", "url": part["page"]}]
    return found


if __name__ == "__main__":
    sys.exit(main())
