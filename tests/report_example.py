"""Data of a report, made up: with plain names, or with names and texts that would like to be more than text."""

from __future__ import annotations

from dataclasses import replace
from html.parser import HTMLParser
from typing import TYPE_CHECKING

import numpy as np

from nbtext.evaluation.learning_curves import CurvePoint, Forecast, LearningCurve, _Forecasts
from nbtext.evaluation.report_data import ProvenanceSection, QuotedMistake, ReportData
from nbtext.explain.mistakes import ExcerptPiece, Misclassification, _TippingTerm
from nbtext.guarantees.precision import RiskPoint
from nbtext.inspection.terms import ClassTerms
from nbtext.metrics.evaluation import Evaluation
from nbtext.metrics.intervals import Bootstrap, wilson_interval
from nbtext.metrics.outcomes import CONFIDENCE_BINS
from nbtext.metrics.results import ProbabilityResult, ReliabilityBin
from nbtext.prediction.labels import DocumentLabels, single_label_table
from nbtext.prediction.posterior import ClassPosterior

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from nbtext.metrics.results import EvaluationResult

HOSTILE = (
    "<script>document.title='owned'</script>",
    "</style></title></textarea><img src=x onerror=alert(1)>",
    '" onmouseover="alert(1)" x=\'',
    "' onfocus='alert(1)' autofocus='",
    "$title ${style} $$ %s {0} {{x}}",
    "<!-- --><![CDATA[ ]]> <?php ?> &lt;b&gt; &#x3c;",
    "\x00\x07\x1b[31m\x7f\x85\x9b",
    "\u202egnp.exe\u202c \u2066x\u2069 \u200f \u061c",
    "\ud800\udcff \ufffe\uffff",
    "line\nbreak\r\ttab \u2028 \u2029",
    "</svg></table></section></main></body></html>",
    "javascript:alert(1)",
    "w" * 500,
)
"""Names and texts that a page may not take for anything else."""


def matrix(labels: Sequence[str]) -> dict[str, dict[str, int]]:
    """Eight of ten documents of each class right, the others taken for the next class."""
    if len(labels) == 1:
        return {labels[0]: {labels[0]: 80}}
    return {
        truth: {truth: 80, other: 20}
        for truth, other in zip(labels, [*labels[1:], labels[0]], strict=True)
    }


def evaluated(
    labels: Sequence[str], confusion: Mapping[str, Mapping[str, int]]
) -> EvaluationResult:
    """The result of a model with as many training documents of each label, on documents by true class and answer; "" is no answer."""
    evaluation = Evaluation(labels, label_proportions=np.full(len(labels), 1 / len(labels)))
    for truth, row in confusion.items():
        for answer, n in row.items():
            number = labels.index(answer) if answer else -1
            posterior = ClassPosterior(np.log(np.full((n, len(labels)), 1 / len(labels))))
            evaluation.add(
                [truth] * n,
                posterior,
                DocumentLabels(np.full(n, number), single_label_table(len(labels))),
            )
    return evaluation.result(Bootstrap(0))


def reliability(gap: float) -> ProbabilityResult:
    """Answers of probabilities 1/30, 3/30, … of which ``gap`` fewer are right."""
    bins = []
    for number in range(CONFIDENCE_BINS):
        confidence, n = (number + 0.5) / CONFIDENCE_BINS, 10 + 20 * number
        right = round(n * max(confidence - gap, 0))
        bins.append(
            ReliabilityBin(
                number / CONFIDENCE_BINS,
                (number + 1) / CONFIDENCE_BINS,
                n,
                confidence,
                right / n,
                wilson_interval(right, n),
            )
        )
    return ProbabilityResult(
        tuple(bins), log_loss=0.5 + gap, brier=0.3 + gap, ece=gap, confidence=0.8 + gap
    )


def example(
    labels: Sequence[str] = ("cats", "dogs", "fish"), text: str = "a text of a document"
) -> ReportData:
    """Everything that a page can show."""
    terms = (_TippingTerm(text, 2.5), _TippingTerm("other", float("inf")))
    excerpt = (
        ExcerptPiece("… "),
        ExcerptPiece(text),
        ExcerptPiece(" "),
        ExcerptPiece(text, 2.5),
        ExcerptPiece(text, -1.5),
    )
    mistake = QuotedMistake(
        Misclassification(f"corpus/{text}", labels[0], labels[-1], 0.9996, 8.0, terms),
        0.0001,
        excerpt,
    )
    points = (
        (n, 0.5 + n / 4000, (0.45 + n / 4000, 0.55 + n / 4000), 0.4 + n / 4000)
        for n in (100, 300, 1000)
    )
    forecast = Forecast(2500, 0.8, (0.75, 0.85), 0.76)
    return ReportData(
        title=f"A report: {text}",
        evaluation=evaluated(labels, matrix(labels)),
        uncalibrated=reliability(0.2),
        calibrated=reliability(0.01),
        mistakes=(mistake, QuotedMistake(replace(mistake.mistake, truth=text), None, excerpt)),
        top_terms=tuple(ClassTerms(label, ((text, 0.02), ("word", 0.01))) for label in labels),
        provenance=(ProvenanceSection(f"Report {text}", ((text, text), ("documents", "corpus"))),),
        learning_curve=LearningCurve(
            1250,
            5,
            tuple(CurvePoint(*point, (0.3, 0.9), 0.95) for point in points),
            _Forecasts(forecast),
        ),
        risk_curve=(RiskPoint(0.5, 0.9, 0.95, (0.9, 0.98)), RiskPoint(1.0, 0.4, 0.8, (0.75, 0.85))),
    )


def without_optional_parts(data: ReportData) -> ReportData:
    """The same without mistakes, calibration, terms and learning curve."""
    labels = data.evaluation.classes
    right = evaluated(labels, {label: {label: 80} for label in labels})
    return replace(
        data,
        evaluation=right,
        mistakes=(),
        uncalibrated=None,
        top_terms=(),
        learning_curve=None,
        risk_curve=(),
    )


class Page(HTMLParser):
    """Reads a page strictly: every element but void ones is closed in turn, no attribute comes twice, no identifier either."""

    VOID = frozenset({"meta", "link", "wbr", "br", "hr"})

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.texts: list[tuple[str, str]] = []
        """Each piece of text, with the element that it stands in."""
        self.other: list[str] = []
        """Comments, declarations, processing instructions."""
        self._open: list[str] = []
        self.feed(html)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len(dict(attrs)) == len(attrs), (tag, attrs)
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in self.VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append((self._open[-1] if self._open else "", data))

    def handle_comment(self, data: str) -> None:
        self.other.append(data)

    def handle_decl(self, decl: str) -> None:
        self.other.append(decl)

    def handle_pi(self, data: str) -> None:
        self.other.append(data)

    def unknown_decl(self, data: str) -> None:
        self.other.append(data)

    def all(self, tag: str) -> list[dict[str, str]]:
        """The attributes of all elements of a name."""
        return [attributes for name, attributes in self.elements if name == tag]

    def assert_everything_has_a_name(self) -> None:
        """Of what is drawn, listed or scrolled, those who do not see it are told."""
        assert self.all("html") == [{"lang": "en"}]
        for picture in self.all("svg"):
            assert picture.get("aria-hidden") == "true" or (
                picture["role"] == "img" and len(picture["aria-label"]) > 20
            ), picture
        assert len(self.all("table")) == len(self.all("caption"))
        assert all("scope" in head for head in self.all("th"))
        identifiers = [attributes["id"] for _, attributes in self.elements if "id" in attributes]
        assert len(identifiers) == len(set(identifiers))
        assert all(part["aria-labelledby"] in identifiers for part in self.all("section"))
        frames = [frame for frame in self.all("div") if frame.get("role") == "region"]
        assert frames
        assert all(frame["aria-label"] and frame["tabindex"] == "0" for frame in frames)

    def assert_nothing_comes_from_elsewhere_or_runs(self) -> None:
        assert not {name for name, _ in self.elements} & {
            "script",
            "img",
            "iframe",
            "object",
            "form",
        }
        for _, attributes in self.elements:
            assert not any(
                name.startswith("on") or name in ("src", "style", "srcset") for name in attributes
            )
            assert attributes.get("href", "#").startswith(("#", "data:,"))

    @property
    def shape(self) -> list[tuple[str, tuple[str, ...]]]:
        """The elements with the names of their attributes: what data must not change. Without breaks within names, and titles of long ones."""
        return [
            (name, tuple(key for key in attributes if key != "title"))
            for name, attributes in self.elements
            if name != "wbr"
        ]

    @property
    def text(self) -> str:
        """All that is read."""
        return "".join(text for element, text in self.texts if element != "style")
