"""How a report was made: the model's sizes, settings and versions as names and values. No clock, so that the same report is the same file."""

from __future__ import annotations

from hashlib import file_digest
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nbtext import __version__
from nbtext.errors import counted
from nbtext.model.overview import overview

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from nbtext.model.text_classifier import TextClassifier

MOST_NUMBERS = 50
"""By name, such as the pseudo-counts of terms, that are listed."""

Rows = tuple[tuple[str, str], ...]


def how_made(model: TextClassifier, model_path: str, *, corpus: Sequence[str], command: str) -> tuple[tuple[str, Rows], ...]:
    """Headings, each with names and values; ``corpus`` and ``command`` as they were given."""
    of = overview(model, 0)
    with Path(model_path).open("rb") as file:
        digest = file_digest(file, "sha256").hexdigest()
    report = (
        ("command", command),
        ("documents", ", ".join(corpus) or "the list of files"),
        ("page written by", f"nbtext {__version__}"),
    )
    sizes = (
        ("file", model_path),
        ("SHA-256", digest),
        ("written by", _versions(of["written_by"])),
        ("classes", f"{len(of['classes']):,}"),
        ("training documents", f"{of['documents']:,}"),
        ("training tokens", f"{of['tokens']:,}"),
        ("terms", f"{of['terms']:,}, {of['selected_terms']:,} of them selected, {counted(of['ngrams'], 'n-gram')}"),
        ("stop words", f"{of['stop_words']:,}"),
        ("smoothing", f"{of['smoothing']:.6g}{_own(of['terms_with_own_smoothing'])}"),
        ("calibration", _calibration(of["calibration"])),
        ("sample kept", _documents(of["sample"]["documents"])),
    )
    return ("Report", report), ("Model", sizes), ("Training", _settings(of["training"])), ("Reading", _settings(of["reading"]))


def _own(n: int) -> str:
    return f", {counted(n, 'term')} {'has its' if n == 1 else 'have their'} own" if n else ""


def _documents(n: int) -> str:
    return counted(n, "training document")


def _calibration(of: Mapping[str, Any] | None) -> str:
    if of is None:
        return "none"
    scale, exponent = of["temperature"]["scale"], of["temperature"]["exponent"]
    temperature = f"{scale:.4g} × tokens^{exponent:.4g}" if exponent else f"{scale:.4g}"
    return f"{of['method']}, temperature {temperature}, from {_documents(of['documents'])}, each judged by a model without it"


def _settings(values: Mapping[str, Any]) -> Rows:
    return tuple((name.replace("_", " "), _value(value)) for name, value in values.items() if value is not None)


def _value(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict) and len(value) > MOST_NUMBERS:
        return f"{len(value):,} numbers by name"
    if isinstance(value, dict):
        return ", ".join(f"{name} {number}" for name, number in value.items())
    return str(value)


def _versions(written_by: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {version}" for name, version in written_by.items())
