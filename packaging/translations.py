"""Brings the translations up to date with the program's texts, and compiles them.

    python packaging/translations.py            # collect texts, compile, say what is missing
    python packaging/translations.py --check    # change nothing; fail where a text is missing or a file is old

``resources/translations/strata_zh_CN.ts`` holds every text; ``strata_en.ts`` only English plurals. The compiled
``.qm`` files are committed, so that building and running need no Qt tools.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "resources" / "translations"
CHINESE = FOLDER / "strata_zh_CN.ts"
ENGLISH = FOLDER / "strata_en.ts"


def sources() -> list[str]:
    """Files with texts, relative to the root: the places in the .ts files must not name a folder of this computer."""
    return sorted(each.relative_to(ROOT).as_posix() for each in (ROOT / "app").rglob("*.py"))


def collect(file: Path, *options: str) -> None:
    """Adds new texts to ``file`` and takes out those that are gone."""
    tool("lupdate", *sources(), "-ts", str(file), "-no-obsolete", "-locations", "none", *options)


def compile_to(file: Path, target: Path) -> None:
    tool("lrelease", str(file), "-qm", str(target), "-silent")


def tool(name: str, *arguments: str) -> None:
    program = Path(sys.executable).parent / f"pyside6-{name}"
    subprocess.run([str(program), *arguments], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)


def texts(file: Path) -> dict[tuple[str, str], list[str]]:
    """(context, English) to its translations: several for a plural, empty ones where there are none yet."""
    found: dict[tuple[str, str], list[str]] = {}
    for context in ET.parse(file).getroot().iter("context"):
        name = context.findtext("name") or ""
        for message in context.iter("message"):
            translation = message.find("translation")
            forms = [] if translation is None else [each.text or "" for each in translation.iter("numerusform")]
            whole = "" if translation is None else translation.text or ""
            found[name, message.findtext("source") or ""] = forms or [whole]
    return found


def missing(file: Path) -> list[str]:
    """``context: English`` of every text without a translation."""
    return [
        f"{context}: {source}" for (context, source), forms in texts(file).items() if not all(map(str.strip, forms))
    ]


def update() -> list[str]:
    """Both files and both compiled ones. Returns what is missing."""
    collect(CHINESE, "-target-language", "zh_CN")
    collect(ENGLISH, "-pluralonly", "-target-language", "en")
    for file in (CHINESE, ENGLISH):
        compile_to(file, file.with_suffix(".qm"))
    return missing(CHINESE) + missing(ENGLISH)


def outdated() -> list[str]:
    """What ``update`` would change, in sentences. Writes only into a temporary folder."""
    problems = [f"no translation: {each}" for file in (CHINESE, ENGLISH) for each in missing(file)]
    with tempfile.TemporaryDirectory() as folder:
        for file, options in ((CHINESE, ()), (ENGLISH, ("-pluralonly",))):
            fresh = Path(folder) / file.name
            fresh.write_bytes(file.read_bytes())
            collect(fresh, *options)
            gone, new = set(texts(file)) - set(texts(fresh)), set(texts(fresh)) - set(texts(file))
            problems += [f"{file.name} lacks: {each}" for each in sorted(new)]
            problems += [f"{file.name} has too much: {each}" for each in sorted(gone)]
            compiled = Path(folder) / file.with_suffix(".qm").name
            compile_to(file, compiled)
            if compiled.read_bytes() != file.with_suffix(".qm").read_bytes():
                problems.append(f"{file.with_suffix('.qm').name} is older than its .ts file")
    return problems


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="change nothing, fail where something is missing")
    problems = outdated() if parser.parse_args().check else update()
    for each in problems:
        print(each)
    print(f"{len(texts(CHINESE))} texts, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
