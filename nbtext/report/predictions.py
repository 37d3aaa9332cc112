"""Answers to documents that were held out of training, as JSON lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbtext.report.records import json_line, number

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from nbtext.evaluation.cross_validation import Prediction


def prediction_lines(predictions: Iterable[Prediction], names: Sequence[str], classes: Sequence[str]) -> Iterator[bytes]:
    """A JSON object on a line for each: id, truth, answer and probability; both null where no class is possible, else the answer where it abstains."""
    for row, truth, answer, probability in predictions:
        yield json_line({
            "id": names[row],
            "truth": classes[truth],
            "answer": classes[answer] if answer >= 0 else None,
            "probability": float(number(probability)) if probability >= 0 else None,
        }).encode()  # fmt: skip
