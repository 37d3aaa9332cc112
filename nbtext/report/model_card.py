"""A model card: Markdown that begins with YAML (M. Mitchell et al., Model cards for model reporting, 2019; fields of the front matter: Hugging Face).

Everything in it comes from the model or from an evaluation of it. The rest is left out, or marked as unknown.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from nbtext.errors import listed, quantity
from nbtext.records import NamedTuple
from nbtext.report.forms import FIGURES, PROBABILITY_FIGURES, bounds, by_place, cells, escaped_json, figure, setting, visible
from nbtext.settings import LANGUAGE_CODES, Settings
from nbtext.version import __version__

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from nbtext.evaluation.label_errors import SampledSuspects
    from nbtext.inspection.overview import Overview
    from nbtext.type_names import Parsed

UNKNOWN = "not recorded"

TITLES = {name: title[0].upper() + title[1:] for name, title in FIGURES.items()} | {"coverage": "Share of documents answered"}
"""Of figures in the card, by their names in an evaluation."""

METRIC_TYPES = {"accuracy": "accuracy", "macro_f1": "f1", "log_loss": "log_loss", "brier": "brier_score", "ece": "ece"}
"""Figures in the front matter, with the names that they have there."""

FEW_IN_TRAINING, FEW_IN_TEST = 50, 10
"""Documents of a class below which the card says so."""

CLASSES = {"class": "0", "training documents": "1.documents:,", "terms that speak for it": "1.top_terms"}
TEST = {"test documents": "2:,:0", "precision": "3:.4f:–", "recall": "4:.4f:–", "F1": "5:.4f:–"}
FIGURE_ROWS = by_place("figure", "value:.4f", "95 % interval:.4f:–")
CALIBRATION = by_place("figure", "before calibration:.4f:infinite", "after:.4f:infinite")

TERMS_SHOWN = CONFUSIONS_SHOWN = 5
CLASSES_NAMED = 20


class CardFacts(NamedTuple):
    """The content of a card."""

    name: str
    overview: Overview
    license: str | None
    dataset: str | None
    """Name of the test documents."""
    evaluation: Mapping[str, Parsed] | None
    """The JSON of ``nbtext evaluate``."""
    suspects: SampledSuspects | None
    """None without left-out documents."""


def model_card(facts: CardFacts) -> str:
    """Return the card."""
    parts = (
        _summary(facts),
        _training(facts),
        _classes(facts),
        _settings(facts),
        _figures(facts),
        _promises(facts),
        _limits(facts),
        f"## Use\n\n```sh\nnbtext classify document.txt --model MODEL\n```\n\nThis card was written by nbtext {__version__}.\n",
    )
    return "".join(("---\n", *_yaml(_front_matter(facts)), "---\n", *("\n" + part for part in parts)))


def _front_matter(facts: CardFacts) -> dict[str, object]:
    language, name, judged = _language(facts.overview), facts.dataset or UNKNOWN, facts.evaluation or {}
    metrics = [
        {"type": kind, "name": TITLES[key], "value": float(f"{judged[key]:.6g}")}
        for key, kind in METRIC_TYPES.items()
        if judged.get(key) is not None
    ]
    task = {"type": "text-classification", "name": "Text Classification"}
    result = {"task": task, "dataset": {"type": name, "name": name}, "metrics": metrics}
    return {
        "license": facts.license,
        "language": language and [language],
        "library_name": "nbtext",
        "pipeline_tag": "text-classification",
        "tags": ["nbtext", "text-classification", str(facts.overview.training["classifier"])],
        "model-index": None if facts.evaluation is None else [{"name": facts.name, "results": [result]}],
    }


def _language(overview: Overview) -> str | None:
    """Return the code of the language whose words the model treats specially; None if it treats all alike."""
    training = overview.training
    if training["stemmer"] == "none" and training["stop_words"] == "none":
        return None
    return next((code for code, language in LANGUAGE_CODES.items() if language == training["language"]), None)


def _yaml(record: Mapping[str, object]) -> Iterator[str]:
    r"""Yield a mapping as lines of YAML, a name and its value as JSON, which YAML 1.2 contains; without those whose value is None.

    >>> print("".join(_yaml({"license": "mit", "tags": ["a: b", "\n"]})), end="")
    license: "mit"
    tags: ["a: b", "\n"]
    """
    for name, value in record.items():
        if value is not None:
            yield f"{name}: {escaped_json(json.dumps(value, ensure_ascii=False))}\n"


_MARKDOWN = str.maketrans({character: f"\\{character}" for character in "\\`*_[]<>|#~"} | {"\n": " ", "\r": " ", "\t": " "})


def _text(value: object) -> str:
    r"""Return a name from others as text of Markdown that stays on its line.

    >>> print(_text("a|*b*"))
    a\|\*b\*
    """
    return visible(str(value).translate(_MARKDOWN))


def _table(heads: Collection[str], rows: Iterable[Iterable[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "".join(f"| {' | '.join(row)} |\n" for row in lines)


def _items(lines: Iterable[str]) -> str:
    return "".join(f"- {line}\n" for line in lines)


def _summary(facts: CardFacts) -> str:
    found = facts.overview
    kind, returns, whose = ("label", "labels", "their") if found.several_labels else ("class", "a class", "its")
    return (
        f"# {_text(facts.name)}\n\nA text classifier of {quantity(len(found.classes), kind)}, trained by nbtext ({_text(found.training['classifier'])}). "
        f"It returns {returns} for each document and {whose} probability.\n"
    )


def _training(facts: CardFacts) -> str:
    found = facts.overview
    lines = {
        "Documents": f"{found.documents:,}",
        "Tokens": f"{found.tokens:,}",
        "Terms": f"{found.terms:,}, of which {found.selected_terms:,} are used",
        "Where the documents come from": UNKNOWN,
        "Format": _text(found.reading["format"]),
        "Written by": ", ".join(f"{_text(name)} {_text(version)}" for name, version in found.written_by.items()),
    }
    return f"## Training\n\n{_items(f'{name}: {value}' for name, value in lines.items())}"


def _classes(facts: CardFacts) -> str:
    per_class = (facts.evaluation or {}).get("per_class", {})
    columns = CLASSES | TEST if per_class else CLASSES
    figures = ("support", "precision", "recall", "f1")
    rows = ((label, of_class, *map(per_class.get(label, {}).get, figures)) for label, of_class in facts.overview.classes.items())
    return f"## Classes\n\n{_table(columns, cells(columns, rows, safe=_text))}"


def _settings(facts: CardFacts) -> str:
    defaults, given = Settings(), facts.overview.training
    changed = [(f"`{name}`", _text(setting(value))) for name, value in given.items() if value != defaults[name]]
    text = "All settings are the defaults.\n"
    if changed:
        text = f"Settings that differ from the defaults:\n\n{_table(('setting', 'value'), changed)}"
    return f"## Settings\n\n{text}\nPseudo-count of each term: {facts.overview.smoothing:g}\n"


def _figures(facts: CardFacts) -> str:
    found, calibration = facts.evaluation, facts.overview.calibration
    text = "The model was not evaluated on test documents.\n"
    if found is not None:
        intervals = found.get("intervals", {})
        rows = [(title, found[name], intervals.get(name)) for name, title in TITLES.items() if found.get(name) is not None]
        text = f"On {quantity(found['n'], 'document')} of {_text(facts.dataset or UNKNOWN)}:\n\n{_table(FIGURE_ROWS, cells(FIGURE_ROWS, rows))}"
        if baseline := (found.get("baselines") or {}).get("largest_class"):
            text += f"\nAlways answering {_text(baseline['label'])} would have the accuracy {figure(baseline['accuracy'])}.\n"
        if (leaks := found.get("sampled_leaks")) is not None:
            text += f"\nIn the model's sample of its training documents: {leaks['found']:,} of {quantity(leaks['checked'], 'test document')} that could be checked.\n"
    if calibration is None:
        return f"## Evaluation\n\n{text}\n### Calibration\n\nProbabilities are not calibrated.\n"
    before, after = calibration.before or {}, calibration.after or {}
    rows = [(TITLES[name], before.get(name), after.get(name)) for name in PROBABILITY_FIGURES]
    of_sample = f"On {quantity(calibration.documents, 'training document')}, each scored by a model that was not trained on it:\n"
    return f"## Evaluation\n\n{text}\n### Calibration\n\n{of_sample}\n{_table(CALIBRATION, cells(CALIBRATION, rows, 'infinite'))}"


def _promises(facts: CardFacts) -> str:
    sets = (facts.evaluation or {}).get("sets")
    text = "No promise was tested.\n"
    if sets:
        text = (
            f"Sets of classes that promise to hold the true class with probability {sets['promised']:g} held it for {sets['coverage']:.4f} of "
            f"{quantity(sets['n'], 'test document')} (95 % interval {bounds(sets['interval'])}), in sets of mean size {sets['size']:.2f}.\n"
        )
    return f"## Promises\n\n{text}"


def _limits(facts: CardFacts) -> str:
    found = facts.evaluation or {}
    lines = [
        "A document may get several of these labels, or none."
        if facts.overview.several_labels
        else "Every document gets one of these classes, even if it belongs to none, unless a threshold is set.",
        "Probabilities hold for documents like those of training. Where documents or class shares change, they do not.",
        "Whether the training documents hold personal data or are biased: not known.",
    ]
    if few := [_text(label) for label, of_class in facts.overview.classes.items() if of_class.documents < FEW_IN_TRAINING]:
        lines.append(f"Classes with fewer than {FEW_IN_TRAINING} training documents: {listed(few, CLASSES_NAMED)}.")
    if few := [_text(label) for label, judged in found.get("per_class", {}).items() if judged.get("support", 0) < FEW_IN_TEST]:
        lines.append(f"Classes with fewer than {FEW_IN_TEST} test documents, whose figures say little: {listed(few, CLASSES_NAMED)}.")
    mistakes = ((-n, truth, answer) for truth, row in found.get("confusion", {}).items() for answer, n in row.items() if answer != truth)
    lines += (
        f"{quantity(-n, 'test document')} of {_text(truth)} {'got no answer' if not answer else f'answered {_text(answer)}'}."
        for n, truth, answer in sorted(mistakes)[:CONFUSIONS_SHOWN]
    )
    if (suspects := facts.suspects) is not None:
        lines.append(
            f"Suspects: of {quantity(suspects.documents, 'training document')}, {suspects.found:,} may have a wrong label. A model that was not trained on "
            f"them gives another class a probability of at least {suspects.probability:g}."
        )
    return f"## Limits\n\n{_items(lines)}"
