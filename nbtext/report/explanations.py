"""Single documents, for people and as TSV or JSON lines: tokens, explanations, and words to remove for another answer.

A text for people has its words shaded by what they add, relative to the strongest one: words for the answer bold on blue, words for the
other class underlined on orange, which does not need colours to tell them apart. Without a terminal, signed numbers stand behind the words.
"""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections import Counter
from dataclasses import asdict
from itertools import islice
from math import inf, isclose, isfinite
from operator import itemgetter
from typing import TYPE_CHECKING

from nbtext.errors import format_quantity
from nbtext.explain.contributions import split_weighted_text
from nbtext.metrics.results import to_json_values
from nbtext.report.output_formats import (
    Column,
    escape_controls,
    format_grid,
    format_listing,
    format_nats,
    format_number,
    format_six_digits,
    format_table,
    has_styles,
    make_tuple_columns,
    print_blocks,
    print_with_blank_lines,
    render_text,
    write_records,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from rich.text import Text

    from nbtext.explain.counterfactual import WhyNotResult
    from nbtext.explain.explanation import ExplainedDocument, Explanation, RuledOutClass
    from nbtext.explain.token_trace import NgramTerm, Token
    from nbtext.type_names import ParsedJson


LEVELS = (0.1, 1 / 3, 2 / 3)
"""Parts of the strongest word's nats from which a word is shaded a little, more, and most."""

FOR = (
    "",
    "bold rgb(0,0,0) on rgb(214,230,245)",
    "bold rgb(0,0,0) on rgb(143,184,222)",
    "bold rgb(255,255,255) on rgb(8,81,156)",
)

AGAINST = (
    "",
    "underline rgb(0,0,0) on rgb(253,226,200)",
    "underline rgb(0,0,0) on rgb(244,165,96)",
    "underline rgb(255,255,255) on rgb(148,66,8)",
)
"""Styles of rich by `level`."""


def collect_summands(
    explanation: Explanation, top: int, others: str
) -> tuple[list[tuple[str, float, str, str]], int]:
    """Return the parts of the log odds as name, nats, number of occurrences and terms, and the number of words that add nothing.

    First what there is without any word, then the ``top`` strongest words and attributes, then all ``others`` as one, last the rest if they do
    not add up. Only words and attributes have terms.
    """
    words = [
        (word.word, word.nats, str(word.occurrences), ", ".join(word.terms))
        for word in explanation.words
        if word.nats
    ]
    parts = words + [
        (f"{each.name}={each.value}", each.nats, "", "beside the text")
        for each in explanation.attributes
    ]
    parts.sort(key=lambda part: -abs(part[1]))
    found = [("without any word", explanation.prior, "", ""), *parts[:top]]
    if parts[top:]:
        found.append(
            (
                format_quantity(len(parts[top:]), others),
                sum(part[1] for part in parts[top:]),
                "",
                "",
            )
        )
    if explanation.remainder is not None:
        found.append(("rest: the words do not add up", explanation.remainder, "", ""))
    return found, len(explanation.words) - len(words)


def describe_calibration(explanation: Explanation) -> list[str]:
    """Return the steps from the log odds to the probability, in words."""
    steps = explanation.calibration
    lines = []
    if not isclose(steps.on_scale, explanation.log_odds, abs_tol=1e-9):
        lines.append(
            f"As shares of the document the log odds are {format_signed_nats(steps.on_scale)}."
        )
    if steps.temperature is None:
        lines.append(
            f"Calibration, of all labels together, makes that {format_signed_nats(steps.log_odds)} nats."
        )
    elif steps.temperature == 1:
        lines.append("Calibration changes nothing.")
    else:
        lines.append(
            f"Calibration divides by {steps.temperature:.4f}: "
            f"{format_signed_nats(steps.on_scale / steps.temperature)} nats."
        )
    answer = (
        f"So {explanation.label} has the probability {format_six_digits(explanation.probability)}"
    )
    lines.append(
        f"{answer} and {explanation.against} has {format_six_digits(explanation.against_probability)}."
    )
    return lines


def describe_causes(explained: ExplainedDocument) -> list[tuple[str, str]]:
    """Return the classes of a document that is impossible under all of them, each with what rules it out in words."""
    return [(cause.label, _cause_in_words(cause)) for cause in explained.ruled_out_classes]


def _cause_in_words(cause: RuledOutClass) -> str:
    if cause.cause == "word":
        return (
            f"{cause.name}, the term {cause.term}" if cause.name != cause.term else str(cause.name)
        )
    if cause.cause == "attribute":
        return f"{cause.name}={cause.value}"
    return (
        "the class prior"
        if cause.cause == "prior"
        else "a term that all its training documents have and this one lacks"
    )


def compute_shade_level(contribution: float, strongest: float) -> int:
    """Return from 0, not shaded, to 3, by the part of the strongest word's nats."""
    share = (
        abs(contribution) / strongest if isfinite(contribution) and strongest else abs(contribution)
    )
    return bisect_right(LEVELS, share)


def split_by_contribution(explanation: Explanation) -> Iterator[tuple[str, float]]:
    """Return the text in pieces: the text between words with 0 nats, and each occurrence of a word with its part of the word's nats."""
    places = sorted(
        (begin, end, word.nats / len(word.spans))
        for word in explanation.words
        for begin, end in word.spans.tolist()
    )
    return split_weighted_text(explanation.text, places)


def find_max_contribution(pieces: Iterable[tuple[str, float]]) -> float:
    """Return the largest finite |nats| of pieces of a text."""
    return max(
        (abs(contribution) for _, contribution in pieces if abs(contribution) < inf), default=0.0
    )


def format_signed_nats(contribution: float) -> str:
    """Return nats with two decimals."""
    return format_nats(contribution, 2)


def describe_idle_words(n: int) -> str:
    """Return how many words add nothing, as a sentence without its end."""
    return f"{format_quantity(n, 'word')} {'adds' if n == 1 else 'add'} nothing"


EXPLANATION_COLUMNS = (
    "id",
    "label",
    "against",
    "kind",
    "name",
    "nats",
    "count",
    "places",
    "note",
)
"""Heads of the columns of `rows`."""


def write_explanations(stream: Iterable[ExplainedDocument], output: str, top: int) -> None:
    """Print each as it comes, as tsv, csv or jsonl; for people the answer, the text with words shaded, the ``top`` strongest parts, and the probability."""
    if output != "table":
        columns = make_tuple_columns(*EXPLANATION_COLUMNS)
        write_records(stream, output, columns, iter_explanation_rows, _make_explanation_record)
        return

    def draw(explained: ExplainedDocument) -> None:
        explanation = explained.explanation
        if explanation is None:
            reasons = (
                format_grid(("class", "ruled out by"), describe_causes(explained))
                if explained.ruled_out_classes
                else ""
            )
            print_blocks(
                format_listing({"document": explained.id, "no answer": explained.missing_reason}),
                reasons,
            )
            return
        of_answer, of_other = (
            (", bold on blue", ", underlined on orange") if has_styles() else ("", "")
        )
        head = {
            "document": explanation.id,
            "answer": f"{explanation.label}  ({format_number(explanation.probability)}){of_answer}",
            "against": f"{explanation.against}  "
            f"({format_number(explanation.against_probability)}){of_other}",
        }
        parts, idle = collect_summands(explanation, top, "other")
        lines = [
            (
                name if times or terms else f"({name})",
                format_signed_nats(contribution),
                times,
                terms,
            )
            for name, contribution, times, terms in parts
        ]
        lines.append(
            (
                "log odds",
                format_signed_nats(explanation.log_odds),
                "",
                describe_idle_words(idle) if idle else "",
            )
        )
        print_blocks(
            format_listing(head),
            render_text(shade_text(split_by_contribution(explanation)))
            if explanation.text.strip()
            else "",
            format_grid(("part", "nats", "times", "terms"), lines, numeric_columns=(1, 2)),
            "".join(f"{escape_controls(line)}\n" for line in describe_calibration(explanation)),
        )

    print_with_blank_lines(stream, draw)


def iter_explanation_rows(explained: ExplainedDocument) -> Iterator[tuple[object, ...]]:
    """Yield document, answer, class compared with, kind, name, nats, count, places and note of each part.

    Kinds are prior, word, attribute, rest, log-odds (the sum of those before it) and calibrated; or none, without an answer.
    """
    explanation = explained.explanation
    if explanation is None:
        yield explained.id, "", "", "none", "", "", "", "", explained.missing_reason
        return
    pair = explanation.id, explanation.label, explanation.against
    yield *pair, "prior", "", explanation.prior, "", "", explained.notice
    for word in explanation.words:
        shares = (
            (word.seed_proportion, "seed words"),
            (word.unlabelled_proportion, "unlabelled documents"),
        )
        layers = ", ".join(
            f"{share:.0%} of its counts from {layer}" for share, layer in shares if share
        )
        places = ",".join(["%d-%d"] * len(word.spans)) % tuple(
            word.spans.ravel().tolist()
        )  # a long text has a million places
        yield (
            *pair,
            "word",
            word.word,
            word.nats,
            word.occurrences,
            places,
            word.drop_reason or layers,
        )
    for attribute in explanation.attributes:
        yield *pair, "attribute", f"{attribute.name}={attribute.value}", attribute.nats, "", "", ""
    if explanation.remainder is not None:
        yield *pair, "rest", "", explanation.remainder, "", "", "words do not add up"
    yield *pair, "log-odds", "", explanation.log_odds, "", "", ""
    probabilities = f"{format_six_digits(explanation.probability)} to {format_six_digits(explanation.against_probability)}"
    yield *pair, "calibrated", "", explanation.calibration.log_odds, "", "", probabilities


def _make_explanation_record(explained: ExplainedDocument) -> dict[str, ParsedJson]:
    """Return everything; infinite numbers are null, with ``rules_out`` beside them."""
    explanation = explained.explanation
    if explanation is None:
        ruled_out = [
            {
                "class": cause.label,
                "by": cause.cause,
                **_known(
                    **{"word" if cause.value is None else "name": cause.name},
                    term=cause.term,
                    value=cause.value,
                ),
            }
            for cause in explained.ruled_out_classes
        ]
        why = _known(
            abstained=explained.abstention,
            error=explained.problem and explained.problem.line,
            ruled_out=ruled_out or None,
        )
        return {"id": explained.id, "label": None, **why}
    names = ("id", "label", "probability", "against", "against_probability", "log_odds", "prior")

    def adds(nats: float) -> dict[str, object]:
        return {"nats": nats, **({} if isfinite(nats) else {"rules_out": explanation.against})}

    return to_json_values(
        {
            **{name: getattr(explanation, name) for name in names},
            "words": [
                {
                    "word": word.word,
                    **adds(word.nats),
                    "count": word.occurrences,
                    "places": word.spans.tolist(),
                    "terms": word.terms,
                    **_known(
                        dropped=word.drop_reason or None,
                        unlabelled=word.unlabelled_proportion
                        and round(word.unlabelled_proportion, 6),
                        seeds=word.seed_proportion and round(word.seed_proportion, 6),
                    ),
                }
                for word in explanation.words
            ],
            "attributes": [
                {"name": each.name, "value": each.value, **adds(each.nats)}
                for each in explanation.attributes
            ],
            "adds_up": explanation.remainder is None,
            **_known(rest=explanation.remainder),
            "calibration": explanation.calibration,
            **_known(notice=explained.notice or None),
            "text": explanation.text,
        }
    )


def _known(**values: object) -> dict[str, object]:
    """Return what is not None."""
    return {name: value for name, value in values.items() if value is not None}


def shade_text(
    pieces: Iterable[tuple[str, float]], escape: Callable[[str], str] = escape_controls
) -> Text:
    """Return a text in pieces with nats for rich, made safe to look at; on a screen without styles nats stand behind the words."""
    from rich.text import Text

    pieces = list(pieces)
    drawn = Text()
    marks = not has_styles()
    most = find_max_contribution(pieces)
    for text, contribution in pieces:
        shown = "\n".join(escape(line) for line in text.expandtabs(8).splitlines()) + (
            "\n" if text.endswith("\n") else ""
        )
        depth = compute_shade_level(contribution, most)
        if depth and marks:
            shown += escape(f"[{format_signed_nats(contribution)}]")
        drawn.append(
            shown, style=None if marks else (FOR if contribution > 0 else AGAINST)[depth] or None
        )
    return drawn


def write_why_not(stream: Iterable[WhyNotResult], output: str) -> None:
    """Print each as it comes: ``table``, which is sentences, ``format_tsv_line``, ``csv`` or ``jsonl``."""
    if output == "table":
        print_with_blank_lines(
            stream, lambda found: print_blocks(format_listing(describe_why_not(found)))
        )
    else:
        columns = make_tuple_columns("id", "label", "wanted", "word", "count")
        columns.append(Column("probability", itemgetter(5), ".6g"))
        columns.append(Column("why", itemgetter(6)))
        write_records(stream, output, columns, _why_not_rows, _why_not_record)


def _why_not_rows(found: WhyNotResult) -> Iterator[tuple[object, ...]]:
    """Yield document, answer, wanted class, word, occurrences, probability of the wanted class then; or why there is no word."""
    first = found.id, found.label, found.wanted
    if found.removed_words is None:
        yield *first, "", "", "", found.problem.line if found.problem else found.reason
        return
    for word, times in found.removed_words.items():
        yield *first, word, times, found.probability_without, ""


def _why_not_record(found: WhyNotResult) -> dict[str, object]:
    """Return the answer, the wanted class, and what to ``remove``; or ``why`` nothing was found."""
    names = ("id", "label", "probability", "wanted", "wanted_probability")
    record = {name: getattr(found, name) for name in names}
    if found.removed_words is not None:
        occurrences = sum(found.removed_words.values())
        record["remove"] = {
            "words": list(found.removed_words),
            "occurrences": occurrences,
            "probability": found.probability_without,
        }
    return record | _known(error=found.problem and found.problem.line, why=found.reason)


def describe_why_not(found: WhyNotResult) -> dict[str, str | None]:
    """Return names, and what is said of each, None for nothing."""
    if found.problem is not None:
        return {"document": found.id, "error": found.problem.line}
    answer = (
        "none"
        if found.label is None
        else f"{found.label}  ({format_number(found.probability, '')})"
    )
    return {
        "document": found.id,
        "answer": answer,
        "wanted": f"{found.wanted}  ({format_number(found.wanted_probability)})",
        "why not": _reason(found.reason),
        "remove": None
        if found.removed_words is None
        else _removed(found.removed_words, found.probability_without),
    }


def _reason(why: str | None) -> str | None:
    from nbtext.explain.counterfactual import (
        ALREADY_PREDICTED,
        MAX_REMOVED_WORDS,
        NOT_ENOUGH,
        ZERO_PRIOR,
    )

    reasons = {
        ALREADY_PREDICTED: "it is the answer already",
        ZERO_PRIOR: "no text makes it the answer: its prior probability is 0",
        NOT_ENOUGH: f"up to {MAX_REMOVED_WORDS} words are not enough",
    }
    return None if why is None else reasons[why]


def _removed(words: Mapping[str, int], probability: float | None) -> str:
    these = "this word" if len(words) == 1 else f"these {len(words)} words"
    each = ", ".join(
        word if times == 1 else f"{word} {times} times" for word, times in words.items()
    )
    return f"{these}: {each}; then {format_number(probability, '')}"


ROWS_AT_ONCE = 500
"""Rows of a table that are aligned with each other, so that a long text shows at once."""


def _bytes(token: Token) -> str:
    return "" if token.start is None else f"{token.start}–{token.end}"


WORDS: Sequence[Column[Token]] = (
    Column("bytes", _bytes),
    Column("as written", lambda token: token.form),
    Column("word", lambda token: token.word),
    Column("term", lambda token: token.term),
    Column("term id", lambda token: token.term_id, "d"),
    Column("dropped", lambda token: token.dropped),
)
NGRAMS: Sequence[Column[Token]] = (
    Column("n-grams", lambda token: _in_words(token.ngrams)),
    Column("character n-grams", lambda token: _in_words(token.char_ngrams)),
)
"""Left out where they are empty."""

TOKEN_COLUMNS = ("id", "start", "end", "kind", "form", "word", "term", "term_id", "dropped")


def write_tokens(documents: Iterable[tuple[str, Iterable[Token]]], output: str) -> None:
    """Print the tokens of documents, given by name, as they come; ``output`` is table, jsonl, tsv or csv."""
    if output == "table":
        print_with_blank_lines(documents, lambda document: _print_tokens(*document))
    else:
        columns = make_tuple_columns(*TOKEN_COLUMNS)
        write_records(
            ((name, token) for name, tokens in documents for token in tokens),
            output,
            columns,
            _token_rows,
            _token_record,
        )


def _token_record(found: tuple[str, Token]) -> dict[str, object]:
    record = asdict(found[1])
    for term in record["char_ngrams"]:
        del term["end"]
    return {"id": found[0], **record}


def _token_rows(found: tuple[str, Token]) -> Iterator[tuple[object, ...]]:
    """Yield document, start, end, kind, form, word, term, its number, and why it was dropped."""
    name, token = found
    yield (
        name,
        token.start,
        token.end,
        token.kind,
        token.form,
        token.word,
        token.term,
        token.term_id,
        token.dropped,
    )
    for kind, terms in (("ngram", token.ngrams), ("char-ngram", token.char_ngrams)):
        for each in terms:
            yield name, token.start, each.end, kind, "", "", each.term, each.term_id, each.dropped


def _print_tokens(name: str, tokens: Iterable[Token]) -> None:
    became: Counter[str] = Counter()
    stream = iter(tokens)
    sys.stdout.write(f"{escape_controls(name)}\n")
    while seen := list(islice(stream, ROWS_AT_ONCE)):
        became.update(token.dropped or "" for token in seen)
        filled = [column for column in NGRAMS if any(column.value(token) for token in seen)]
        print_blocks(format_table([*WORDS, *filled], seen))
    dropped = [f"{count:,} {why}" for why, count in sorted(became.items()) if why]
    sys.stdout.write("; ".join([f"counts: {became['']:,} of {became.total():,}", *dropped]) + "\n")


def _in_words(terms: tuple[NgramTerm, ...]) -> str:
    """Return terms with commas between them, those that do not count in brackets."""
    return ", ".join(term.term if term.dropped is None else f"({term.term})" for term in terms)
