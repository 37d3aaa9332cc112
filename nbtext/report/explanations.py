"""What an explanation shows to people, on a terminal or on a page: the strongest parts, the text cut up by words, the steps of calibration.

Explanations of answers as lines for machines: TSV with a line for each part, or an object for each document.

A text for people, its words shaded by what they add: by background on a terminal with colours, by marks and signed numbers without.

Words for the answer are bold on blue, words for the other class underlined on orange, which those who do not tell colours apart can tell
apart too; the darker, the more a word adds beside the strongest one.

What would give documents another answer: sentences for people, TSV and JSON lines for machines.

What the analyzer made of documents: a table of words, JSON lines, or TSV with a line for each word and n-gram.

A file of mistakes: JSON lines, the surest mistake first.

Lines wait in a temporary file, in memory while they are few; of each, 24 bytes are kept to sort by.
"""

from __future__ import annotations

import sys
import tempfile
from array import array
from collections import Counter
from dataclasses import asdict
from itertools import islice
from math import inf, isfinite
from typing import IO, TYPE_CHECKING, Any, Self

import numpy as np

from nbtext.errors import PathError, quantity, reason
from nbtext.report import forms as records
from nbtext.report.forms import finite, json_line, number, print_blank, print_drawn, print_lines, print_table, tsv, visible
from nbtext.store.atomic import check_replaceable, replace_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from nbtext.explain.counterfactual import WhyNot
    from nbtext.explain.explanation import Explained, Explanation, RuledOut
    from nbtext.explain.mistakes import Misclassification
    from nbtext.explain.word_walk import Term, Token

    Row = Sequence[str]


LEVELS = (0.1, 1 / 3, 2 / 3)
"""Parts of the strongest word's nats from which a word is shaded a little, more, and most."""


def strongest_first(of: Explanation, top: int) -> tuple[list[tuple[str, float, str, str]], tuple[int, float], int]:
    """The ``top`` strongest words and attributes as name, nats, times and terms; how many others add something, and what; words that add nothing."""
    words = [(word.word, word.nats, str(word.occurrences), ", ".join(word.terms)) for word in of.words if word.nats]
    parts = words + [(f"{each.name}={each.value}", each.nats, "", "beside the text") for each in of.attributes]
    parts.sort(key=lambda part: -abs(part[1]))
    others = sum(part[1] for part in parts[top:])
    return parts[:top], (len(parts[top:]), others), len(of.words) - len(words)


def calibration_lines(of: Explanation) -> list[str]:
    """From the log odds to the probability, step by step, in words."""
    steps, lines = of.calibration, []
    if steps.on_scale != of.log_odds and abs(steps.on_scale - of.log_odds) > 1e-9 * max(abs(of.log_odds), 1.0):
        lines.append(f"As shares of the document the log odds are {signed(steps.on_scale)}.")
    divided = steps.on_scale / steps.temperature
    lines.append(f"Calibration divides by {steps.temperature:.4f}: {signed(divided)} nats.")
    if steps.on_curve:
        lines.append(f"Its isotonic curve makes that {signed(steps.log_odds)} nats.")
    if steps.temperature == 1 and not steps.on_curve:
        lines[-1] = "Calibration changes nothing."
    lines.append(f"So {of.label} has the probability {of.probability:.6g} and {of.against} has {of.against_probability:.6g}.")
    return lines


def causes(explained: Explained) -> list[tuple[str, str]]:
    """The classes of a document that none could have made, each with what rules it out in words."""
    return [(cause.label, _cause_in_words(cause)) for cause in explained.ruled_out]


def _cause_in_words(cause: RuledOut) -> str:
    if cause.by == "word":
        return f"{cause.name}, the term {cause.term}" if cause.name != cause.term else str(cause.name)
    if cause.by == "attribute":
        return f"{cause.name}={cause.value}"
    return "the class prior" if cause.by == "prior" else "a term that all its training documents have and this one lacks"


def level(nats: float, strongest: float) -> int:
    """From 0, not shaded, to 3, by the part of the strongest word's nats."""
    share = 1.0 if abs(nats) == inf else abs(nats) / strongest if strongest not in (0, inf) else 0.0
    return sum(share >= least for least in LEVELS) if nats else 0


def pieces(of: Explanation) -> Iterator[tuple[str, float]]:
    """The text cut up: what stands between words with 0 nats, and each occurrence of a word with its part of the nats of the word."""
    places = sorted((begin, end, word.nats / len(word.places)) for word in of.words for begin, end in word.places)
    text, done = of.text.encode(), 0
    for begin, end, nats in places:
        if nats:
            yield text[done:begin].decode(), 0.0
            yield text[begin:end].decode(), nats
            done = end
    yield text[done:].decode(), 0.0


def strongest(of: Explanation) -> float:
    """The most that one occurrence of a word adds or takes, infinite ones aside."""
    return max((abs(nats) for _, nats in pieces(of) if abs(nats) < inf), default=0.0)


def signed(nats: float) -> str:
    """Two decimals with a sign, the minus sign and not a hyphen.

    >>> signed(-2.345)
    '−2.35'
    """
    return f"{nats:+.2f}".replace("-", "−").replace("inf", "∞")


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


_FOR = ("", "bold rgb(0,0,0) on rgb(214,230,245)", "bold rgb(0,0,0) on rgb(143,184,222)", "bold rgb(255,255,255) on rgb(8,81,156)")


_AGAINST = (
    "",
    "underline rgb(0,0,0) on rgb(253,226,200)",
    "underline rgb(0,0,0) on rgb(244,165,96)",
    "underline rgb(255,255,255) on rgb(148,66,8)",
)


def print_explanations(stream: Iterable[Explained], top: int) -> None:
    """Print for each document its answer, its text with words shaded, the ``top`` strongest parts, and the way to the probability."""
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


def _print(of: Explanation, top: int) -> None:
    of_answer, of_other = (", bold on blue", ", underlined on orange") if _has_styles() else ("", "")
    print_lines({
        "document": of.id,
        "answer": f"{of.label}  ({of.probability:.4f}){of_answer}",
        "against": f"{of.against}  ({of.against_probability:.4f}){of_other}",
    })  # fmt: skip
    print_blank()
    if of.text.strip():
        print_drawn(lambda _: _shaded(of))
        print_blank()
    print_table(None, ("part", "nats", "times", "terms"), _rows(of, top), numeric=(1, 2))
    print_blank()
    for line in calibration_lines(of):
        sys.stdout.write(f"{visible(line)}\n")


def _rows(of: Explanation, top: int) -> Iterator[tuple[str, ...]]:
    parts, (n_others, others), idle = strongest_first(of, top)
    yield "(without any word)", signed(of.prior), "", ""
    for name, nats, times, terms in parts:
        yield name, signed(nats), times, terms
    if n_others:
        yield f"({quantity(n_others, 'other')})", signed(others), "", ""
    if of.rest is not None:
        yield "(rest: the words do not add up)", signed(of.rest), "", ""
    yield "log odds", signed(of.log_odds), "", f"{quantity(idle, 'word')} {'adds' if idle == 1 else 'add'} nothing" if idle else ""


def _shaded(of: Explanation) -> Any:  # noqa: ANN401 - a rich.text.Text, not to be imported at start
    from rich.text import Text

    drawn, most, marks = Text(), strongest(of), not _has_styles()
    for text, nats in pieces(of):
        shown = "\n".join(visible(line) for line in text.expandtabs(8).splitlines()) + ("\n" if text.endswith("\n") else "")
        depth = level(nats, most)
        if depth and marks:
            shown += f"[{signed(nats)}]"
        drawn.append(shown, style=None if marks else (_FOR if nats > 0 else _AGAINST)[depth] or None)
    return drawn


def _has_styles() -> bool:
    """Whether standard output shows bold and underlined letters."""
    from rich.console import Console

    return sys.stdout.isatty() and Console().color_system is not None


WORDS = {
    "answered-so": "it is the answer already",
    "no-prior": "no text makes it the answer: its prior probability is 0",
    "impossible": "every class is impossible",
}


def write_why_not(stream: Iterable[WhyNot], output: str) -> None:
    """Print each when it is there: ``table``, which is sentences, ``tsv`` or ``jsonl``."""
    for place, found in enumerate(stream):
        if output == "jsonl":
            sys.stdout.write(records.json_line(why_not_record(found)))
        elif output == "tsv":
            for row in why_not_rows(found):
                sys.stdout.write(records.tsv(row))
        else:
            if place:
                print_blank()
            print_lines(sentences(found))


def why_not_rows(of: WhyNot) -> Iterator[tuple[str, ...]]:
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


def why_not_record(of: WhyNot) -> dict[str, Any]:
    """The answer, the wanted class, and ``remove`` and ``add``, null where there is nothing that would do; or ``why`` nothing was looked for."""
    made: dict[str, Any] = {"id": of.id, "label": of.label, "probability": of.probability, "wanted": of.wanted}
    made["wanted_probability"] = of.wanted_probability
    if of.problem is not None:
        made["error"] = str(of.problem)
    if of.why is not None:
        made["why"] = of.why
    if of.removal is not None:
        words, removal = of.removal.words, of.removal
        found = {"words": words and list(words), "occurrences": removal.occurrences, "probability": removal.probability}
        made["remove"] = {**(found if words is not None else {"words": None}), "smallest": removal.smallest}
    if of.addition is not None:
        terms, addition = of.addition.terms, of.addition
        listed = None if terms is None else [{"term": term, "count": times} for term, times in terms]
        made["add"] = {"terms": listed, **({} if terms is None else {"probability": addition.probability}), "smallest": addition.smallest}
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
    words, occurrences = of.removal.words, of.removal.occurrences
    if words is None:
        return "no words whose absence would do" if of.removal.smallest else "no words were found whose absence would do; there may be some"
    times = "" if occurrences == len(words) else f" ({quantity(occurrences, 'occurrence')})"
    kind = "the fewest words" if of.removal.smallest else "perhaps not the fewest words"
    return f"{', '.join(words)}{times}: {kind}; then {_share(of.removal.probability)}"


def _addition(of: WhyNot) -> str:
    assert of.addition is not None  # noqa: S101 - looked at before
    terms = of.addition.terms
    if terms is None:
        return "no terms were found that would do, a few of them added"
    listed = ", ".join(term if times == 1 else f"{term} {times} times" for term, times in terms)
    kind = "the fewest occurrences" if of.addition.smallest else "perhaps not the fewest occurrences"
    return f"{listed}: {kind}; then {_share(of.addition.probability)}"


def _known(*, smallest: bool) -> str:
    return "smallest" if smallest else "perhaps-not-smallest"


def _share(probability: float | None) -> str:
    return "" if probability is None else f"{probability:.4f}"


COLUMNS = ("document", "start", "end", "kind", "form", "word", "term", "term_id", "dropped")
"""Of TSV."""


ROWS_AT_ONCE = 500
"""Rows of a table that are as wide as the widest of them, so that a long text shows at once."""


WIDEST = 40
"""Characters of a cell that are shown."""


def write_tokens(documents: Iterable[tuple[str, Iterable[Token]]], output: str) -> None:
    """Print the tokens of documents, given by name, as they come; ``output`` is table, jsonl or tsv."""
    for place, (name, tokens) in enumerate(documents):
        if output == "table":
            if place:
                print_blank()
            _print_table(name, tokens)
        else:
            lines = _json_lines if output == "jsonl" else _tsv_lines
            sys.stdout.writelines(lines(name, tokens))


def _json_lines(name: str, tokens: Iterable[Token]) -> Iterator[str]:
    for token in tokens:
        record: dict[str, Any] = {"id": name, **asdict(token)}
        for term in record["char_ngrams"]:
            del term["end"]
        yield json_line(record)


def _tsv_lines(name: str, tokens: Iterable[Token]) -> Iterator[str]:
    for token in tokens:
        start = _text(token.start)
        where = (name, start, _text(token.end))
        yield tsv((*where, token.kind, token.form, token.word, _text(token.term), _text(token.term_id), _text(token.dropped)))
        for kind, terms in (("ngram", token.ngrams), ("char-ngram", token.char_ngrams)):
            for each in terms:
                yield tsv((name, start, each.end, kind, "", "", each.term, _text(each.term_id), _text(each.dropped)))


def _print_table(name: str, tokens: Iterable[Token]) -> None:
    seen: list[Token] = []
    became: Counter[str] = Counter()
    heads = ["bytes", "as it stands", "word", "term", "term id", "dropped"]
    stream = iter(tokens)
    sys.stdout.write(f"{visible(name)}\n")
    while seen := list(islice(stream, ROWS_AT_ONCE)):
        became.update("" if token.dropped is None else token.dropped for token in seen)
        lists = [
            (title, [_joined(terms_of(token)) for token in seen])
            for title, terms_of in _LISTS.items()
            if any(terms_of(token) for token in seen)
        ]
        rows = [(*_cells(token), *(column[place] for _, column in lists)) for place, token in enumerate(seen)]
        sys.stdout.writelines(_aligned([*heads, *(title for title, _ in lists)], rows))
    dropped = [f"{count:,} {why}" for why, count in sorted(became.items()) if why]
    sys.stdout.write("; ".join([f"counts: {became['']:,} of {became.total():,}", *dropped]) + "\n")


_LISTS: dict[str, Callable[[Token], tuple[Term, ...]]] = {
    "n-grams": lambda token: token.ngrams,
    "character n-grams": lambda token: token.char_ngrams,
}
"""Columns that are there if there is something in them."""


def _cells(token: Token) -> Row:
    where = "" if token.start is None else f"{token.start}–{token.end}"
    return (where, _short(token.form), _short(token.word), _short(token.term or ""), _text(token.term_id), token.dropped or "")


def _joined(terms: tuple[Term, ...]) -> str:
    """Terms with commas between them; in brackets those that do not count."""
    return ", ".join(visible(term.term if term.dropped is None else f"({term.term})") for term in terms)


def _aligned(heads: Row, rows: Sequence[Row]) -> Iterator[str]:
    """Lines of a table. Tables of many thousand rows would take rich minutes."""
    from rich.cells import cell_len

    widths = [max(map(cell_len, column)) for column in zip(heads, *rows, strict=True)]
    for row in (heads, ["─" * width for width in widths], *rows):
        padded = (cell + " " * (width - cell_len(cell)) for cell, width in zip(row, widths, strict=True))
        yield "  ".join(padded).rstrip() + "\n"


def _short(text: str) -> str:
    text = visible(text)
    return text if len(text) <= WIDEST else f"{text[: WIDEST - 1]}…"


def _text(value: object) -> str:
    return "" if value is None else str(value)


IN_MEMORY = 1 << 25
"""Bytes of lines before they go to disk."""


class MistakeFile:
    """Collects mistakes, then writes them to ``path`` at one stroke. Raises `PathError` if it cannot be written, at once if that shows."""

    def __init__(self, path: str) -> None:
        check_replaceable(path)
        self._path = path
        self._lines = tempfile.SpooledTemporaryFile(IN_MEMORY)  # noqa: SIM115 - closed by __exit__
        self._sureness = array("d")
        self._ends = array("q", [0])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._lines.close()

    def add(self, mistakes: Iterable[Misclassification]) -> None:
        """Keep mistakes."""
        try:
            for mistake in mistakes:
                line = json_line(mistake_record(mistake)).encode()
                self._lines.write(line)
                self._ends.append(self._ends[-1] + len(line))
                self._sureness.extend((mistake.probability, mistake.margin))
        except OSError as problem:
            raise PathError(
                f"cannot write: {reason(problem)}", where=tempfile.gettempdir(), hint="set TMPDIR to a folder with room"
            ) from None

    def write(self) -> None:
        """Replace the file: by falling probability of the wrong answer, then by its margin, then in the order of the documents."""
        sureness = np.array(self._sureness).reshape(-1, 2)
        order = np.lexsort((-sureness[:, 1], -sureness[:, 0]))

        def fill(file: IO[bytes]) -> None:
            for place in order.tolist():
                self._lines.seek(self._ends[place])
                file.write(self._lines.read(self._ends[place + 1] - self._ends[place]))

        replace_file(self._path, fill)


def mistake_record(mistake: Misclassification) -> dict[str, Any]:
    """id, truth, answer, probability and terms; nats are null where a term rules the true class out."""
    made: dict[str, Any] = {
        "id": mistake.id,
        "truth": mistake.truth,
        "answer": mistake.answer,
        "probability": float(number(mistake.probability)),
        "terms": [{"term": term, "nats": float(number(nats)) if np.isfinite(nats) else None} for term, nats in mistake.terms],
    }
    if mistake.against is not None:
        made["against"] = mistake.against
    return made
