"""What would give documents another answer: sentences for people, TSV and JSON lines for machines."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from nbtext.errors import counted
from nbtext.report import records
from nbtext.report.records import number
from nbtext.report.tables import print_blank, print_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from nbtext.explain.counterfactual import WhyNot

WORDS = {
    "answered-so": "it is the answer already",
    "no-prior": "no text makes it the answer: its prior probability is 0",
    "impossible": "every class is impossible",
}


def write_why_not(stream: Iterable[WhyNot], output: str) -> None:
    """Print each when it is there: ``table``, which is sentences, ``tsv`` or ``jsonl``."""
    for place, found in enumerate(stream):
        if output == "jsonl":
            sys.stdout.write(records.json_line(record(found)))
        elif output == "tsv":
            for row in rows(found):
                sys.stdout.write(records.tsv(row))
        else:
            if place:
                print_blank()
            print_lines(sentences(found))


def rows(of: WhyNot) -> Iterator[tuple[str, ...]]:
    """Document, answer, wanted class, remove or add or none, word, how often, probability of the wanted class then, smallest or not."""
    first = of.id, of.label or "", of.wanted
    if of.removal is None or of.addition is None:
        yield *first, "none", "", "", "", str(of.problem or of.why)
        return
    removal, addition = of.removal, of.addition
    if removal.words is None:
        yield *first, "remove", "", "", "", "none" if removal.smallest else "none-found"
    for word in removal.words or ():
        yield *first, "remove", word, "", number(removal.probability), _known(smallest=removal.smallest)
    if addition.terms is None:
        yield *first, "add", "", "", "", "none-found"
    for term, times in addition.terms or ():
        yield *first, "add", term, str(times), number(addition.probability), _known(smallest=addition.smallest)


def record(of: WhyNot) -> dict[str, Any]:
    """The answer, the wanted class, and ``remove`` and ``add``, null where there is nothing that would do; or ``why`` nothing was looked for."""
    made: dict[str, Any] = {"id": of.id, "label": of.label, "probability": of.probability, "wanted": of.wanted}
    made["wanted_probability"] = of.wanted_probability
    if of.problem is not None:
        made["error"] = str(of.problem)
    if of.why is not None:
        made["why"] = of.why
    if of.removal is not None:
        words, occurrences, smallest, probability = of.removal
        found = {"words": words and list(words), "occurrences": occurrences, "probability": probability}
        made["remove"] = {**(found if words is not None else {"words": None}), "smallest": smallest}
    if of.addition is not None:
        terms, smallest, probability = of.addition
        listed = None if terms is None else [{"term": term, "count": times} for term, times in terms]
        made["add"] = {"terms": listed, **({} if terms is None else {"probability": probability}), "smallest": smallest}
    return made


def sentences(of: WhyNot) -> dict[str, str]:
    """Names and what is to be said of each."""
    answer = "none" if of.label is None else f"{of.label}  ({_share(of.probability)})"
    said = {"document": of.id, "answer": answer}
    if of.problem is not None:
        return {"document": of.id, "error": str(of.problem)}
    said["wanted"] = of.wanted if of.wanted_probability is None else f"{of.wanted}  ({_share(of.wanted_probability)})"
    if of.why is not None:
        said["why not"] = WORDS[of.why]
    if of.removal is not None:
        said["remove"] = _removal(of)
    if of.addition is not None:
        said["add"] = _addition(of)
    return said


def _removal(of: WhyNot) -> str:
    assert of.removal is not None  # noqa: S101 - looked at before
    words, occurrences, smallest, probability = of.removal
    if words is None:
        return "no words whose absence would do" if smallest else "no words were found whose absence would do; there may be some"
    times = "" if occurrences == len(words) else f" ({counted(occurrences, 'occurrence')})"
    kind = "the fewest words" if smallest else "perhaps not the fewest words"
    return f"{', '.join(words)}{times}: {kind}; then {_share(probability)}"


def _addition(of: WhyNot) -> str:
    assert of.addition is not None  # noqa: S101 - looked at before
    terms, smallest, probability = of.addition
    if terms is None:
        return "no terms were found that would do, a few of them added"
    listed = ", ".join(term if times == 1 else f"{term} {times} times" for term, times in terms)
    return f"{listed}: {'the fewest occurrences' if smallest else 'perhaps not the fewest occurrences'}; then {_share(probability)}"


def _known(*, smallest: bool) -> str:
    return "smallest" if smallest else "perhaps-not-smallest"


def _share(probability: float | None) -> str:
    return "" if probability is None else f"{probability:.4f}"
