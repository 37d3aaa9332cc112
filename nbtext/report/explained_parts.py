"""What an explanation shows to people, on a terminal or on a page: the strongest parts, the text cut up by words, the steps of calibration."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nbtext.explain.explanation import Explained, Explanation, RuledOut

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
    return [(cause.label, _cause(cause)) for cause in explained.ruled_out]


def _cause(cause: RuledOut) -> str:
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
