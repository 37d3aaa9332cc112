"""The tokens of documents: a table of words, JSON lines, or TSV with a line for each word and n-gram."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import asdict
from itertools import islice
from typing import TYPE_CHECKING, Any

from nbtext.report.forms import json_line, print_blank, tsv, visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from nbtext.explain.word_walk import Term, Token

    Row = Sequence[str]

ROWS_AT_ONCE = 500
"""Rows of a table that are aligned with each other, so that a long text shows at once."""

WIDEST = 40
"""Characters of a cell that are shown."""

HEADS = ("bytes", "as it stands", "word", "term", "term id", "dropped")

LISTS: dict[str, Callable[[Token], tuple[Term, ...]]] = {
    "n-grams": lambda token: token.ngrams,
    "character n-grams": lambda token: token.char_ngrams,
}
"""Columns that are left out where they are empty."""


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
    """Yield document, start, end, kind, form, word, term, its number, and why it was dropped."""
    for token in tokens:
        start = _text(token.start)
        where = (name, start, _text(token.end))
        yield tsv((*where, token.kind, token.form, token.word, _text(token.term), _text(token.term_id), _text(token.dropped)))
        for kind, terms in (("ngram", token.ngrams), ("char-ngram", token.char_ngrams)):
            for each in terms:
                yield tsv((name, start, each.end, kind, "", "", each.term, _text(each.term_id), _text(each.dropped)))


def _print_table(name: str, tokens: Iterable[Token]) -> None:
    became: Counter[str] = Counter()
    stream = iter(tokens)
    sys.stdout.write(f"{visible(name)}\n")
    while seen := list(islice(stream, ROWS_AT_ONCE)):
        became.update(token.dropped or "" for token in seen)
        filled = {title: terms_of for title, terms_of in LISTS.items() if any(map(terms_of, seen))}
        rows = [(*_cells(token), *(_joined(terms_of(token)) for terms_of in filled.values())) for token in seen]
        sys.stdout.writelines(_aligned([*HEADS, *filled], rows))
    dropped = [f"{count:,} {why}" for why, count in sorted(became.items()) if why]
    sys.stdout.write("; ".join([f"counts: {became['']:,} of {became.total():,}", *dropped]) + "\n")


def _cells(token: Token) -> Row:
    where = "" if token.start is None else f"{token.start}–{token.end}"
    return (where, _short(token.form), _short(token.word), _short(token.term or ""), _text(token.term_id), token.dropped or "")


def _joined(terms: tuple[Term, ...]) -> str:
    """Return terms with commas between them, those that do not count in brackets."""
    return ", ".join(visible(term.term if term.dropped is None else f"({term.term})") for term in terms)


def _aligned(heads: Row, rows: Sequence[Row]) -> Iterator[str]:
    """Yield the lines of a table; rich would take minutes for many thousand rows."""
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
