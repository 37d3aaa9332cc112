"""The provenance of a report: sizes, settings and versions of the model as names and values. No clock: the same report has the same bytes."""

from __future__ import annotations

from hashlib import file_digest
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nbtext import __version__
from nbtext.errors import quantity
from nbtext.inspection.overview import overview

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from nbtext.evaluation.gathering import Provenance
    from nbtext.inspection.overview import CalibrationOverview
    from nbtext.model.text_classifier import TextClassifier

MOST_NUMBERS = 50
"""Numbers by name, such as the pseudo-counts of terms, that are listed."""


def provenance(model: TextClassifier, model_path: str, *, corpus: Sequence[str], command: str) -> Provenance:
    """Return headings, each with names and values; ``corpus`` and ``command`` as they were given."""
    found = overview(model, 0)
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
        ("written by", ", ".join(f"{name} {version}" for name, version in found.written_by.items())),
        ("classes", f"{len(found.classes):,}"),
        ("training documents", f"{found.documents:,}"),
        ("training tokens", f"{found.tokens:,}"),
        ("terms", f"{found.terms:,}, {found.selected_terms:,} of them selected, {quantity(found.ngrams, 'n-gram')}"),
        ("stop words", f"{found.stop_words:,}"),
        ("smoothing", f"{found.smoothing:.6g}{_own(found.terms_with_own_smoothing)}"),
        ("calibration", _calibration(found.calibration)),
        ("sample kept", _documents(found.sample.documents)),
    )
    return ("Report", report), ("Model", sizes), ("Training", _settings(found.training)), ("Reading", _settings(found.reading))


def _own(n: int) -> str:
    return f", {quantity(n, 'term')} {'has its' if n == 1 else 'have their'} own" if n else ""


def _documents(n: int) -> str:
    return quantity(n, "training document")


def _calibration(calibration: CalibrationOverview | None) -> str:
    if calibration is None:
        return "none"
    scale, exponent = calibration.temperature["scale"], calibration.temperature["exponent"]
    temperature = f"{scale:.4g} × tokens^{exponent:.4g}" if exponent else f"{scale:.4g}"
    return f"{calibration.method}, temperature {temperature}, from {_documents(calibration.documents)}, each judged by a model without it"


def _settings(values: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    return tuple((name.replace("_", " "), _value(value)) for name, value in values.items() if value is not None)


def _value(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict) and len(value) > MOST_NUMBERS:
        return f"{len(value):,} numbers by name"
    if isinstance(value, dict):
        return ", ".join(f"{name} {number}" for name, number in value.items())
    return str(value)
