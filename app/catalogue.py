"""The models Strata suggests: rows of ``resources/catalogue.json`` as typed, frozen facts.

Owns reading that file. Must not know Qt, the engine, or this machine; what a model costs here is
``app.estimates``, how that is said is ``app.verdicts``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from app.paths import resources_dir

_FORMAT = 1
_BYTES_PER_PARAMETER = {"bfloat16": 2.0, "float16": 2.0, "float32": 4.0, "float8_e4m3fn": 1.0, "mxfp4": 0.53125}
"""mxfp4: four bits a value and one scale byte for 32 of them."""


@dataclass(frozen=True, slots=True)
class CatalogueEntry:
    """One model a hub offers. Counts of parameters are rounded; ``weight_bytes`` is what its weight files take.

    ``active_parameters`` are those at work on one token (all of them in a dense model). ``languages`` and
    ``sentence`` are keyed by language code. ``table_parameters`` of the ``parameters`` are in a lookup table that stays
    on the disk. The last three, 0 where unknown, are the engine's own plan of the published config: a usual
    conversation's cache, and beside it the least memory that runs the model on a graphics card and on a computer
    without one.
    """

    repo: str
    title: str
    licence: str
    is_gated: bool
    parameters: int
    active_parameters: int
    dtype: str
    weight_bytes: int
    is_approximate: bool
    hidden_size: int
    layers: int
    vocabulary: int
    is_tied: bool
    experts: int
    experts_per_token: int
    context: int
    languages: Mapping[str, str]
    sentence: Mapping[str, str]
    is_bundled: bool
    has_thinking: bool
    table_parameters: int
    cache_bytes: int
    least_device_bytes: int
    least_memory_bytes: int

    @property
    def loaded_bytes(self) -> int:
        """What all weights take once loaded: a hub may store a tied matrix twice, Strata stores it once."""
        return round(self.parameters * self.bytes_per_parameter)

    @property
    def bytes_per_parameter(self) -> float:
        return _BYTES_PER_PARAMETER[self.dtype]

    def sentence_in(self, language: str) -> str:
        return in_language(self.sentence, language)

    def languages_in(self, language: str) -> str:
        return in_language(self.languages, language)


def read_catalogue() -> tuple[CatalogueEntry, ...]:
    """The shipped catalogue, smallest first."""
    return parse_catalogue((resources_dir() / "catalogue.json").read_text(encoding="utf-8"))


def parse_catalogue(text: str) -> tuple[CatalogueEntry, ...]:
    """Raises ``ValueError`` or ``KeyError`` for a file that is not a catalogue: ours, so a bug."""
    document: dict[str, Any] = json.loads(text)
    if document["format"] != _FORMAT:
        raise ValueError(f"catalogue format {document['format']}, expected {_FORMAT}")
    entries = [_entry(row) for row in document["models"]]
    return tuple(sorted(entries, key=lambda entry: entry.parameters))


def find_entry(entries: tuple[CatalogueEntry, ...], repo: str) -> CatalogueEntry | None:
    return next((entry for entry in entries if entry.repo.casefold() == repo.casefold()), None)


def in_language(texts: Mapping[str, str], language: str) -> str:
    """The text in ``language`` ("zh_CN", "en_GB"), else in a language of that family, else in English."""
    short = language.partition("_")[0]
    related = next((text for code, text in texts.items() if code.partition("_")[0] == short), texts["en"])
    return texts.get(language, related)


def _entry(row: dict[str, Any]) -> CatalogueEntry:
    parameters = int(row["parameters"])
    return CatalogueEntry(
        repo=row["repo"],
        title=row["title"],
        licence=row["licence"],
        is_gated=bool(row["gated"]),
        parameters=parameters,
        active_parameters=int(row.get("active_parameters", parameters)),
        dtype=row["dtype"],
        weight_bytes=int(row["weight_bytes"]),
        is_approximate=bool(row["approximate"]),
        hidden_size=int(row["hidden_size"]),
        layers=int(row["layers"]),
        vocabulary=int(row["vocabulary"]),
        is_tied=bool(row["is_tied"]),
        experts=int(row.get("experts", 0)),
        experts_per_token=int(row.get("experts_per_token", 0)),
        context=int(row["context"]),
        languages=cast(Mapping[str, str], row["languages"]),
        sentence=cast(Mapping[str, str], row["sentence"]),
        is_bundled=bool(row.get("is_bundled", False)),
        has_thinking=bool(row.get("has_thinking", False)),
        table_parameters=int(row.get("table_parameters", 0)),
        cache_bytes=int(row.get("cache_bytes", 0)),
        least_device_bytes=int(row.get("least_device_bytes", 0)),
        least_memory_bytes=int(row.get("least_memory_bytes", 0)),
    )
