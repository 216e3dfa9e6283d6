"""Python code that comes with a model: which files it is, and whether the user allowed it here. No torch, runs nothing.

Code is allowed for one model in one revision with exactly these files, on this computer: the answer lies in the data
folder, not with the model, so that a split that was copied here, or code that has changed, is asked about again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from engine.errors import CodeNotAllowed, UnsupportedModel
from engine.load_options import LoadOptions
from engine.store.manifest import Manifest, SourceRecord
from engine.store.model_store import ModelStore
from engine.store.progress_journal import write_durably

CONSENTS_NAME = "allowed-code.json"
_MODEL_CLASSES = ("AutoModelForCausalLM", "AutoModelForImageTextToText", "AutoModel")


@dataclass(frozen=True, slots=True)
class RemoteCode:
    """The Python files of a model's folder, by name, their sizes in bytes, and the sha256 of all of them."""

    files: tuple[str, ...]
    sizes: tuple[int, ...]
    digest: str


NO_CODE = RemoteCode((), (), "")


@dataclass(frozen=True, slots=True)
class _Consent:
    model: str
    revision: str
    digest: str


def find_code(folder: Path, config: Mapping[str, Any]) -> RemoteCode:
    """What would run. Raises ``UnsupportedModel`` where it is not all in this folder."""
    code = read_code(folder)
    named: Any = config.get("auto_map")
    classes = named if isinstance(named, Mapping) else {}
    modules = {
        name: str(classes[name]).partition(".")[0] for name in ("AutoConfig", *_MODEL_CLASSES) if name in classes
    }
    missing = [module for module in modules.values() if f"{module}.py" not in code.files]
    if "AutoConfig" not in modules or len(modules) < 2 or missing:
        where = f" (it is in {missing[0].partition('--')[0]})" if missing and "--" in missing[0] else ""
        raise UnsupportedModel(
            f"The Python code this model needs is not in its folder{where}.",
            "Download the whole repository of the model, its .py files too.",
            detail=repr(named),
        )
    return code


def read_code(folder: Path) -> RemoteCode:
    """Every Python file beside config.json: one may import another."""
    files = sorted(path.name for path in folder.glob("*.py") if path.is_file())
    sizes: list[int] = []
    digest = hashlib.sha256()
    for name in files:
        text = (folder / name).read_bytes()
        sizes.append(len(text))
        digest.update(f"{name}\n{len(text)}\n".encode())
        digest.update(text)
    return RemoteCode(tuple(files), tuple(sizes), digest.hexdigest() if files else "")


def allow_code(record: SourceRecord, code: RemoteCode, store: ModelStore) -> None:
    """Remembers the user's yes to this code of this model in this revision."""
    _note(_consent(record, code), store)


def allow_shown_code(model: str, revision: str, digest: str, store: ModelStore) -> None:
    """Remembers the user's yes to what a ``CodeNotAllowed`` has named: if the code changes meanwhile, it is no yes."""
    _note(_Consent(model, revision, digest), store)


def _note(consent: _Consent, store: ModelStore) -> None:
    """In place of an earlier yes to other code of this model in this revision."""
    known = [
        other for other in _read_consents(store) if (other.model, other.revision) != (consent.model, consent.revision)
    ]
    text = json.dumps([asdict(each) for each in (*known, consent)], indent=1) + "\n"
    store.data_dir.mkdir(parents=True, exist_ok=True)
    write_durably(store.data_dir / CONSENTS_NAME, text.encode())


def require_code_allowed(record: SourceRecord, code: RemoteCode, store: ModelStore | None, model_type: str) -> None:
    """Raises ``CodeNotAllowed`` where the user was not asked about exactly this code, or said no."""
    if store is None or _consent(record, code) not in _read_consents(store):
        raise CodeNotAllowed(
            f"A model of type “{model_type}” runs only with Python code from its own repository, "
            "and you have not allowed this code.",
            "Choose a model that transformers supports by itself; or, if you trust this code, add --allow-remote-code.",
            model=f"{record.owner}/{record.name}",
            revision=record.revision,
            files=code.files,
            sizes=code.sizes,
            digest=code.digest,
        )


def with_allowed_code(folder: Path, manifest: Manifest, options: LoadOptions, store: ModelStore) -> LoadOptions:
    """``options`` for loading a split: its code may run where the user allowed it. Raises ``CodeNotAllowed``."""
    if not manifest.code:
        return options
    require_code_allowed(manifest.source, read_code(folder), store, manifest.architecture)
    return replace(options, runs_code=True)


def _consent(record: SourceRecord, code: RemoteCode) -> _Consent:
    return _Consent(f"{record.owner}/{record.name}", record.revision, code.digest)


def _read_consents(store: ModelStore) -> list[_Consent]:
    """A file that cannot be read allows nothing."""
    try:
        entries: list[dict[str, str]] = json.loads((store.data_dir / CONSENTS_NAME).read_text(encoding="utf-8"))
        return [_Consent(**entry) for entry in entries]
    except (OSError, ValueError, TypeError):
        return []
