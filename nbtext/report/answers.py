"""Answers as lines of every form.

Answers to documents that were held out of training, as JSON lines.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from nbtext.report import forms as records
from nbtext.report.forms import finite, json_line, number

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from nbtext.evaluation.cross_validation import Prediction
    from nbtext.model.scoring import Answer


COLUMNS = ("id", "label", "probability")


class AnswerForm(NamedTuple):
    """How answers are printed: ``output`` tsv, csv, jsonl or table; how many classes of each; costs; scores; each at once or not; safe cells."""

    output: str
    top_k: int = 0
    costs: bool = False
    scores: bool = False
    flush: bool = False
    excel_safe: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        """Heads of the columns: of csv and table with those that options add; tsv always has the first three and no others."""
        if self.output == "tsv":
            return COLUMNS
        others = [f"{name}_{place}" for place in range(2, self.top_k + 1) for name in ("label", "probability")]
        return (*COLUMNS, *others, *(["expected_cost"] if self.costs else []))


def write_answers(stream: Iterable[Answer], form: AnswerForm) -> None:
    """Print a line for each answer."""
    if form.output == "table":
        from nbtext.report.forms import print_table

        texts = ("id", "label")
        numeric = [place for place, name in enumerate(form.columns) if not name.startswith(texts)]
        print_table(None, form.columns, (fields(answer, form) for answer in stream), numeric=numeric)
        return
    if form.output == "csv":
        sys.stdout.write(records.csv_line(form.columns))
    for answer in stream:
        if form.output == "jsonl":
            sys.stdout.write(records.json_line(record(answer, form)))
        else:
            line = records.tsv if form.output == "tsv" else records.csv_line
            sys.stdout.write(line(fields(answer, form)))
        if form.flush:
            sys.stdout.flush()


def fields(answer: Answer, form: AnswerForm) -> tuple[str, ...]:
    """Document, label, probability; without an answer the label is empty and the third says why. Then the columns that the form adds, to all but tsv."""
    why_not = str(answer.problem or answer.abstained)
    safe = records.excel_safe if form.excel_safe else str
    first = (safe(answer.id), safe(answer.label or ""), why_not if answer.label is None else number(answer.probability))
    if form.output == "tsv":
        return first
    others = [text for ranked in answer.ranked[1:] for text in (safe(ranked.label), number(ranked.probability))]
    missing = [""] * (2 * max(form.top_k - 1, 0) - len(others))
    return (*first, *others, *missing, *([number(answer.expected_cost)] if form.costs else []))


def record(answer: Answer, form: AnswerForm) -> dict[str, Any]:
    """id, label and probability; expected_cost, labels, abstained, error and notice where they apply."""
    made: dict[str, Any] = {"id": answer.id, "label": answer.label, "probability": _rounded(answer.probability)}
    if form.costs:
        made["expected_cost"] = _rounded(answer.expected_cost)
    if form.top_k and answer.problem is None:
        made["labels"] = [
            {
                "label": label,
                "probability": _rounded(probability),
                **({"score": finite(score), "log_odds": finite(odds)} if form.scores else {}),
            }
            for label, probability, score, odds in answer.ranked
        ]
    for name, why in (("abstained", answer.abstained), ("error", answer.problem), ("notice", answer.notice)):
        if why is not None:
            made[name] = str(why)
    return made


def _rounded(value: float | None) -> float | None:
    return None if value is None else float(number(value))


def prediction_lines(predictions: Iterable[Prediction], names: Sequence[str], classes: Sequence[str]) -> Iterator[bytes]:
    """A JSON object on a line for each: id, truth, answer and probability; both null where no class is possible, else the answer where it abstains."""
    for row, truth, answer, probability in predictions:
        yield json_line({
            "id": names[row],
            "truth": classes[truth],
            "answer": classes[answer] if answer >= 0 else None,
            "probability": float(number(probability)) if probability >= 0 else None,
        }).encode()  # fmt: skip
