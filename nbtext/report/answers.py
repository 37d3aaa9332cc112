"""Answers as rows of three columns and as JSON records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nbtext.report.records import number

if TYPE_CHECKING:
    from nbtext.model.answers import Answer

COLUMNS = ("id", "label", "probability")


def fields(answer: Answer) -> tuple[str, str, str]:
    """Document, label, probability; without an answer the label is empty and the third says why."""
    if answer.label is None:
        return answer.id, "", str(answer.problem or answer.abstained)
    return answer.id, answer.label, number(answer.probability)


def record(answer: Answer) -> dict[str, Any]:
    """id, label and probability; abstained, error or notice where they apply."""
    made: dict[str, Any] = {"id": answer.id, "label": answer.label, "probability": None}
    if answer.probability is not None:
        made["probability"] = float(number(answer.probability))
    for name, why in (("abstained", answer.abstained), ("error", answer.problem), ("notice", answer.notice)):
        if why is not None:
            made[name] = str(why)
    return made
