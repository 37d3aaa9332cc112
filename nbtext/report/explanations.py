"""Explanations of answers as lines for machines: TSV with a line for each part, or an object for each document."""

from __future__ import annotations

import sys
from math import isfinite
from typing import TYPE_CHECKING, Any

from nbtext.report import records
from nbtext.report.records import finite

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from nbtext.explain.explanation import Explained, RuledOut

KINDS = ("prior", "word", "attribute", "rest", "log-odds", "calibrated", "none")
"""What a line of TSV may say: the last but two is the sum of those before it."""


def write_explanations(stream: Iterable[Explained], output: str) -> None:
    """Print each when it is there, in the form tsv or jsonl."""
    for explained in stream:
        if output == "jsonl":
            sys.stdout.write(records.json_line(record(explained)))
        else:
            for row in rows(explained):
                sys.stdout.write(records.tsv(row))


def rows(explained: Explained) -> Iterator[tuple[str, ...]]:
    """Document, answer, class compared with, kind, name, nats, count, places, note."""
    of = explained.explanation
    if of is None:
        yield explained.id, "", "", "none", "", "", "", "", str(explained.problem or explained.abstained)
        return
    pair = of.id, of.label, of.against
    yield *pair, "prior", "", repr(of.prior), "", "", explained.notice or ""
    for word in of.words:
        places = ",".join(f"{begin}-{end}" for begin, end in word.places)
        yield *pair, "word", word.word, repr(word.nats), str(word.occurrences), places, word.note or ""
    for attribute in of.attributes:
        yield *pair, "attribute", f"{attribute.name}={attribute.value}", repr(attribute.nats), "", "", ""
    if of.rest is not None:
        yield *pair, "rest", "", repr(of.rest), "", "", "words do not add up"
    yield *pair, "log-odds", "", repr(of.log_odds), "", "", ""
    yield (
        *pair,
        "calibrated",
        "",
        repr(of.calibration.log_odds),
        "",
        "",
        f"{records.number(of.probability)} to {records.number(of.against_probability)}",
    )


def record(explained: Explained) -> dict[str, Any]:
    """Everything; infinite numbers are null, with ``rules_out`` beside them."""
    of = explained.explanation
    if of is None:
        why = {"abstained": explained.abstained, "error": explained.problem}
        causes = {"ruled_out": [_cause(cause) for cause in explained.ruled_out]} if explained.ruled_out else {}
        return {"id": explained.id, "label": None, **{name: str(text) for name, text in why.items() if text is not None}, **causes}
    steps = of.calibration
    return {
        "id": of.id,
        "label": of.label,
        "probability": of.probability,
        "against": of.against,
        "against_probability": of.against_probability,
        "log_odds": finite(of.log_odds),
        "prior": finite(of.prior),
        "words": [
            {
                "word": word.word,
                **_nats(word.nats, of.against),
                "count": word.occurrences,
                "places": [list(place) for place in word.places],
                "terms": list(word.terms),
                **({"dropped": word.note} if word.note else {}),
            }
            for word in of.words
        ],
        "attributes": [{"name": each.name, "value": each.value, **_nats(each.nats, of.against)} for each in of.attributes],
        "adds_up": of.rest is None,
        **({} if of.rest is None else {"rest": finite(of.rest)}),
        "calibration": {
            "on_scale": finite(steps.on_scale),
            "temperature": steps.temperature,
            "curve": steps.on_curve,
            "log_odds": finite(steps.log_odds),
        },
        **({"notice": explained.notice} if explained.notice else {}),
        "text": of.text,
    }


def _cause(cause: RuledOut) -> dict[str, Any]:
    """What rules a class out, with the keys that apply."""
    named = {"name" if cause.value is not None else "word": cause.name, "term": cause.term, "value": cause.value}
    return {"class": cause.label, "by": cause.by, **{name: text for name, text in named.items() if text is not None}}


def _nats(value: float, against: str) -> dict[str, Any]:
    return {"nats": finite(value), **({} if isfinite(value) else {"rules_out": against})}
