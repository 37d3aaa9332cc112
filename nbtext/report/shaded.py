"""A text for people, its words shaded by what they add: by background on a terminal with colours, by marks and signed numbers without.

Words for the answer are bold on blue, words for the other class underlined on orange, which those who do not tell colours apart can tell
apart too; the darker, the more a word adds beside the strongest one.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from nbtext.errors import counted
from nbtext.report.explained_parts import calibration_lines, causes, level, pieces, signed, strongest, strongest_first
from nbtext.report.tables import print_blank, print_drawn, print_lines, print_table
from nbtext.report.visible import visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from nbtext.explain.explanation import Explained, Explanation

_FOR = ("", "bold rgb(0,0,0) on rgb(214,230,245)", "bold rgb(0,0,0) on rgb(143,184,222)", "bold rgb(255,255,255) on rgb(8,81,156)")
_AGAINST = (
    "",
    "underline rgb(0,0,0) on rgb(253,226,200)",
    "underline rgb(0,0,0) on rgb(244,165,96)",
    "underline rgb(255,255,255) on rgb(148,66,8)",
)


def print_explanations(stream: Iterable[Explained], top: int) -> None:
    """Print for each document its answer, its text with words shaded, the ``top`` strongest parts, and the way to the probability."""
    for number, explained in enumerate(stream):
        if number:
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
        yield f"({counted(n_others, 'other')})", signed(others), "", ""
    if of.rest is not None:
        yield "(rest: the words do not add up)", signed(of.rest), "", ""
    yield "log odds", signed(of.log_odds), "", f"{counted(idle, 'word')} {'adds' if idle == 1 else 'add'} nothing" if idle else ""


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
