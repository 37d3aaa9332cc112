"""Explanations and what would change an answer, for people and as TSV or JSON lines.

A text for people has its words shaded by what they add, relative to the strongest one: words for the answer bold on blue, words for the
other class underlined on orange, which does not need colours to tell them apart. Without a terminal, signed numbers stand behind the words.
"""

from __future__ import annotations

import sys
from math import inf, isfinite
from typing import TYPE_CHECKING, Any

from nbtext.errors import quantity
from nbtext.report.forms import finite, json_line, print_blank, print_drawn, print_lines, print_table, tsv, visible
from nbtext.report.numbers import figure, nats, six_digits

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from nbtext.explain.counterfactual import WhyNot, WordChange
    from nbtext.explain.explanation import Explained, Explanation, RuledOut

LEVELS = (0.1, 1 / 3, 2 / 3)
"""Parts of the strongest word's nats from which a word is shaded a little, more, and most."""

FOR = ("", "bold rgb(0,0,0) on rgb(214,230,245)", "bold rgb(0,0,0) on rgb(143,184,222)", "bold rgb(255,255,255) on rgb(8,81,156)")

AGAINST = (
    "",
    "underline rgb(0,0,0) on rgb(253,226,200)",
    "underline rgb(0,0,0) on rgb(244,165,96)",
    "underline rgb(255,255,255) on rgb(148,66,8)",
)
"""Styles of rich by `level`."""


def strongest_first(explanation: Explanation, top: int) -> tuple[list[tuple[str, float, str, str]], tuple[int, float], int]:
    """Return the ``top`` strongest parts, the number of the others with their sum of nats, and the number of words that add nothing.

    Parts are words and attributes, as name, nats, number of occurrences and terms.
    """
    words = [(word.word, word.nats, str(word.occurrences), ", ".join(word.terms)) for word in explanation.words if word.nats]
    parts = words + [(f"{each.name}={each.value}", each.nats, "", "beside the text") for each in explanation.attributes]
    parts.sort(key=lambda part: -abs(part[1]))
    others = sum(part[1] for part in parts[top:])
    return parts[:top], (len(parts[top:]), others), len(explanation.words) - len(words)


def calibration_lines(explanation: Explanation) -> list[str]:
    """Return the steps from the log odds to the probability, in words."""
    steps, lines = explanation.calibration, []
    if steps.on_scale != explanation.log_odds and abs(steps.on_scale - explanation.log_odds) > 1e-9 * max(abs(explanation.log_odds), 1.0):
        lines.append(f"As shares of the document the log odds are {signed(steps.on_scale)}.")
    divided = steps.on_scale / steps.temperature
    lines.append(f"Calibration divides by {steps.temperature:.4f}: {signed(divided)} nats.")
    if steps.on_curve:
        lines.append(f"Its isotonic curve makes that {signed(steps.log_odds)} nats.")
    if steps.temperature == 1 and not steps.on_curve:
        lines[-1] = "Calibration changes nothing."
    answer = f"So {explanation.label} has the probability {six_digits(explanation.probability)}"
    lines.append(f"{answer} and {explanation.against} has {six_digits(explanation.against_probability)}.")
    return lines


def causes(explained: Explained) -> list[tuple[str, str]]:
    """Return the classes of a document that is impossible under all of them, each with what rules it out in words."""
    return [(cause.label, _cause_in_words(cause)) for cause in explained.ruled_out]


def _cause_in_words(cause: RuledOut) -> str:
    if cause.by == "word":
        return f"{cause.name}, the term {cause.term}" if cause.name != cause.term else str(cause.name)
    if cause.by == "attribute":
        return f"{cause.name}={cause.value}"
    return "the class prior" if cause.by == "prior" else "a term that all its training documents have and this one lacks"


def level(contribution: float, strongest: float) -> int:
    """Return from 0, not shaded, to 3, by the part of the strongest word's nats."""
    share = 1.0 if abs(contribution) == inf else abs(contribution) / strongest if strongest not in (0, inf) else 0.0
    return sum(share >= least for least in LEVELS) if contribution else 0


def pieces(explanation: Explanation) -> Iterator[tuple[str, float]]:
    """Yield the text in pieces: the text between words with 0 nats, and each occurrence of a word with its part of the word's nats."""
    places = sorted((begin, end, word.nats / len(word.places)) for word in explanation.words for begin, end in word.places)
    text, done = explanation.text.encode(), 0
    for begin, end, contribution in places:
        if contribution:
            yield text[done:begin].decode(), 0.0
            yield text[begin:end].decode(), contribution
            done = end
    yield text[done:].decode(), 0.0


def strongest(explanation: Explanation) -> float:
    """Return the largest finite |nats| of one occurrence of a word."""
    return max((abs(contribution) for _, contribution in pieces(explanation) if abs(contribution) < inf), default=0.0)


def signed(contribution: float) -> str:
    """Return nats with two decimals."""
    return nats(contribution, 2)


def idle_words(n: int) -> str:
    """Return how many words add nothing, as a sentence without its end."""
    return f"{quantity(n, 'word')} {'adds' if n == 1 else 'add'} nothing"


def write_explanations(stream: Iterable[Explained], output: str) -> None:
    """Print each as it comes, as tsv or jsonl."""
    for explained in stream:
        if output == "jsonl":
            sys.stdout.write(json_line(explanation_record(explained)))
        else:
            sys.stdout.writelines(map(tsv, rows(explained)))


def rows(explained: Explained) -> Iterator[tuple[str, ...]]:
    """Yield document, answer, class compared with, kind, name, nats, count, places and note of each part.

    Kinds are prior, word, attribute, rest, log-odds (the sum of those before it) and calibrated; or none, without an answer.
    """
    explanation = explained.explanation
    if explanation is None:
        yield explained.id, "", "", "none", "", "", "", "", str(explained.problem or explained.abstained)
        return
    pair = explanation.id, explanation.label, explanation.against
    yield *pair, "prior", "", repr(explanation.prior), "", "", explained.notice or ""
    for word in explanation.words:
        places = ",".join(f"{begin}-{end}" for begin, end in word.places)
        yield *pair, "word", word.word, repr(word.nats), str(word.occurrences), places, word.note or ""
    for attribute in explanation.attributes:
        yield *pair, "attribute", f"{attribute.name}={attribute.value}", repr(attribute.nats), "", "", ""
    if explanation.rest is not None:
        yield *pair, "rest", "", repr(explanation.rest), "", "", "words do not add up"
    yield *pair, "log-odds", "", repr(explanation.log_odds), "", "", ""
    probabilities = f"{six_digits(explanation.probability)} to {six_digits(explanation.against_probability)}"
    yield *pair, "calibrated", "", repr(explanation.calibration.log_odds), "", "", probabilities


def explanation_record(explained: Explained) -> dict[str, Any]:
    """Return everything; infinite numbers are null, with ``rules_out`` beside them."""
    explanation = explained.explanation
    if explanation is None:
        why = {"abstained": explained.abstained, "error": explained.problem}
        ruled_out = {"ruled_out": [_cause(cause) for cause in explained.ruled_out]} if explained.ruled_out else {}
        return {"id": explained.id, "label": None, **{name: str(text) for name, text in why.items() if text is not None}, **ruled_out}
    steps = explanation.calibration
    return {
        "id": explanation.id,
        "label": explanation.label,
        "probability": explanation.probability,
        "against": explanation.against,
        "against_probability": explanation.against_probability,
        "log_odds": finite(explanation.log_odds),
        "prior": finite(explanation.prior),
        "words": [
            {
                "word": word.word,
                **_nats(word.nats, explanation.against),
                "count": word.occurrences,
                "places": word.places,
                "terms": word.terms,
                **({"dropped": word.note} if word.note else {}),
            }
            for word in explanation.words
        ],
        "attributes": [
            {"name": each.name, "value": each.value, **_nats(each.nats, explanation.against)} for each in explanation.attributes
        ],
        "adds_up": explanation.rest is None,
        **({} if explanation.rest is None else {"rest": finite(explanation.rest)}),
        "calibration": {
            "on_scale": finite(steps.on_scale),
            "temperature": steps.temperature,
            "curve": steps.on_curve,
            "log_odds": finite(steps.log_odds),
        },
        **({"notice": explained.notice} if explained.notice else {}),
        "text": explanation.text,
    }


def _cause(cause: RuledOut) -> dict[str, Any]:
    named = {"name" if cause.value is not None else "word": cause.name, "term": cause.term, "value": cause.value}
    return {"class": cause.label, "by": cause.by, **{name: text for name, text in named.items() if text is not None}}


def _nats(value: float, against: str) -> dict[str, Any]:
    return {"nats": finite(value), **({} if isfinite(value) else {"rules_out": against})}


def print_explanations(stream: Iterable[Explained], top: int) -> None:
    """Print for each document its answer, its text with words shaded, the ``top`` strongest parts, and the steps to the probability."""
    for place, explained in enumerate(stream):
        if place:
            print_blank()
        if explained.explanation is not None:
            _print(explained.explanation, top)
        else:
            print_lines({"document": explained.id, "no answer": str(explained.problem or explained.abstained)})
            if explained.ruled_out:
                print_blank()
                print_table(None, ("class", "ruled out by"), causes(explained))


def _print(explanation: Explanation, top: int) -> None:
    of_answer, of_other = (", bold on blue", ", underlined on orange") if _has_styles() else ("", "")
    print_lines({
        "document": explanation.id,
        "answer": f"{explanation.label}  ({figure(explanation.probability)}){of_answer}",
        "against": f"{explanation.against}  ({figure(explanation.against_probability)}){of_other}",
    })  # fmt: skip
    print_blank()
    if explanation.text.strip():
        print_drawn(lambda _: _shaded(explanation))
        print_blank()
    print_table(None, ("part", "nats", "times", "terms"), _rows(explanation, top), numeric=(1, 2))
    print_blank()
    for line in calibration_lines(explanation):
        sys.stdout.write(f"{visible(line)}\n")


def _rows(explanation: Explanation, top: int) -> Iterator[tuple[str, ...]]:
    parts, (n_others, others), idle = strongest_first(explanation, top)
    yield "(without any word)", signed(explanation.prior), "", ""
    for name, contribution, times, terms in parts:
        yield name, signed(contribution), times, terms
    if n_others:
        yield f"({quantity(n_others, 'other')})", signed(others), "", ""
    if explanation.rest is not None:
        yield "(rest: the words do not add up)", signed(explanation.rest), "", ""
    yield "log odds", signed(explanation.log_odds), "", idle_words(idle) if idle else ""


def _shaded(explanation: Explanation) -> Any:  # noqa: ANN401 - a rich.text.Text, not to be imported at start
    from rich.text import Text

    drawn, most, marks = Text(), strongest(explanation), not _has_styles()
    for text, contribution in pieces(explanation):
        shown = "\n".join(visible(line) for line in text.expandtabs(8).splitlines()) + ("\n" if text.endswith("\n") else "")
        depth = level(contribution, most)
        if depth and marks:
            shown += f"[{signed(contribution)}]"
        drawn.append(shown, style=None if marks else (FOR if contribution > 0 else AGAINST)[depth] or None)
    return drawn


def _has_styles() -> bool:
    """Return True if standard output shows bold and underlined letters."""
    from rich.console import Console

    return sys.stdout.isatty() and Console().color_system is not None


REASONS = {
    "answered-so": "it is the answer already",
    "no-prior": "no text makes it the answer: its prior probability is 0",
    "impossible": "every class is impossible",
}


def write_why_not(stream: Iterable[WhyNot], output: str) -> None:
    """Print each as it comes: ``table``, which is sentences, ``tsv`` or ``jsonl``."""
    for place, found in enumerate(stream):
        if output == "jsonl":
            sys.stdout.write(json_line(why_not_record(found)))
        elif output == "tsv":
            sys.stdout.writelines(map(tsv, why_not_rows(found)))
        else:
            if place:
                print_blank()
            print_lines(sentences(found))


def why_not_rows(found: WhyNot) -> Iterator[tuple[str, ...]]:
    """Yield document, answer, wanted class, remove or add or none, word, occurrences, probability of the wanted class then, smallest or not."""
    first = found.id, found.label or "", found.wanted
    if found.removal is None or found.addition is None:
        yield *first, "none", "", "", "", str(found.problem or found.why)
        return
    removal, addition = found.removal, found.addition
    if removal.items is None:
        yield *first, "remove", "", "", "", "none" if removal.smallest else "none-found"
    for word, _ in removal.items or ():
        yield *first, "remove", word, "", six_digits(removal.probability), _known(smallest=removal.smallest)
    if addition.items is None:
        yield *first, "add", "", "", "", "none-found"
    for term, times in addition.items or ():
        yield *first, "add", term, str(times), six_digits(addition.probability), _known(smallest=addition.smallest)


def why_not_record(found: WhyNot) -> dict[str, Any]:
    """Return the answer, the wanted class, and ``remove`` and ``add``, null where nothing was found; or ``why`` nothing was searched."""
    made: dict[str, Any] = {"id": found.id, "label": found.label, "probability": found.probability, "wanted": found.wanted}
    made["wanted_probability"] = found.wanted_probability
    if found.problem is not None:
        made["error"] = str(found.problem)
    if found.why is not None:
        made["why"] = found.why
    removal, addition = found.removal, found.addition
    if removal is not None:
        words, change = None, dict[str, Any]()
        if removal.items is not None:
            words = [word for word, _ in removal.items]
            change = {"occurrences": sum(times for _, times in removal.items), "probability": removal.probability}
        made["remove"] = {"words": words, **change, "smallest": removal.smallest}
    if addition is not None:
        terms = None if addition.items is None else [{"term": term, "count": times} for term, times in addition.items]
        made["add"] = {"terms": terms, **({} if terms is None else {"probability": addition.probability}), "smallest": addition.smallest}
    return made


def sentences(found: WhyNot) -> dict[str, str]:
    """Return names, and what is said of each."""
    if found.problem is not None:
        return {"document": found.id, "error": str(found.problem)}
    answer = "none" if found.label is None else f"{found.label}  ({figure(found.probability, '')})"
    wanted = found.wanted if found.wanted_probability is None else f"{found.wanted}  ({figure(found.wanted_probability)})"
    said = {"document": found.id, "answer": answer, "wanted": wanted}
    if found.why is not None:
        said["why not"] = REASONS[found.why]
    if found.removal is not None:
        said["remove"] = _removal(found.removal)
    if found.addition is not None:
        said["add"] = _addition(found.addition)
    return said


def _removal(removal: WordChange) -> str:
    if removal.items is None:
        return "no words whose absence would do" if removal.smallest else "no words were found whose absence would do; there may be some"
    occurrences = sum(times for _, times in removal.items)
    times = "" if occurrences == len(removal.items) else f" ({quantity(occurrences, 'occurrence')})"
    kind = "the fewest words" if removal.smallest else "perhaps not the fewest words"
    return f"{', '.join(word for word, _ in removal.items)}{times}: {kind}; then {figure(removal.probability, '')}"


def _addition(addition: WordChange) -> str:
    if addition.items is None:
        return "no terms were found that would do, a few of them added"
    terms = ", ".join(term if times == 1 else f"{term} {times} times" for term, times in addition.items)
    kind = "the fewest occurrences" if addition.smallest else "perhaps not the fewest occurrences"
    return f"{terms}: {kind}; then {figure(addition.probability, '')}"


def _known(*, smallest: bool) -> str:
    return "smallest" if smallest else "perhaps-not-smallest"
