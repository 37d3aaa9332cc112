"""Slow twins: every formula once more in plain Python, as near to the page as it goes, for the fast code to be equal to.

Nothing here is imported from nbtext. Counts are whole numbers, probabilities are fractions, so that only logarithms are rounded.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple
from unicodedata import category, combining, name, normalize

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

Labelled = tuple[str, list[str]]
"""A document: its class and its terms in order."""


def words(text: str, *, unspaced: bool = False) -> list[str]:
    """Runs of letters, digits and marks with single apostrophes inside, of two characters or more and at most 255 bytes."""
    shown = "".join(character for character in text if category(character) != "Cf")
    folded = normalize(
        "NFKC", normalize("NFKC", stream_safe(shown)).casefold().replace("i\u0307", "i")
    )
    visible = [
        "'" if character == "’" else character
        for character in folded
        if category(character) != "Cf"
    ]
    found = []
    run: list[str] = []
    for position, character in enumerate([*visible, " "]):
        apostrophe = character == "'"
        beside = (
            apostrophe
            and "'"
            in visible[max(position - 1, 0) : position] + visible[position + 1 : position + 2]
        )
        if (apostrophe and not beside) or category(character)[0] in "LMN":
            run.append(character)
            continue
        while run and category(run[0])[0] not in "LN":
            del run[0]
        while run and run[-1] == "'":
            del run[-1]
        if (len(run) >= 2 and len("".join(run).encode()) <= 255) or (
            unspaced and run and unspaced_kind(run[0]) == "letter"
        ):
            found.append("".join(run))
        run = []
        if category(character) == "So" and (
            0x2600 <= ord(character) < 0x27C0 or ord(character) >= 0x1F000
        ):  # a pictograph
            found.append(character)
    return found


def stream_safe(text: str) -> str:
    """UAX15-D4: U+034F before what would make more than 30 non-starters in a row."""
    safe, count = "", 0
    for character in text:
        decomposed = normalize("NFKD", character)
        starters = [place for place, part in enumerate(decomposed) if combining(part) == 0]
        if count + (starters[0] if starters else len(decomposed)) > 30:
            safe, count = safe + "\u034f", 0
        safe += character
        count = len(decomposed) - starters[-1] - 1 if starters else count + len(decomposed)
    return safe


def surfaces(text: bytes) -> list[bytes]:
    """Maximal runs of two or more ASCII letters, digits, apostrophes and bytes from 0x80, ASCII letters in lower case."""
    return [form.lower() for form in re.split(rb"[^A-Za-z0-9'\x80-\xff]+", text) if len(form) > 1]


def terms(
    text: bytes,
    stop_words: Collection[str] = (),
    stem: Callable[[str], str] = str,
    split: Callable[[str], list[str]] = words,
) -> list[str]:
    """The terms of a document: the words of each piece between ASCII separators, without stop words, stemmed."""
    pieces = re.split(rb"[^A-Za-z0-9'\x80-\xff]+", text)
    return [
        stem(word) for piece in pieces for word in split(piece.decode()) if word not in stop_words
    ]


def pairs(text: str) -> list[str]:
    """The words of a piece, in which each two adjacent characters of a run of a script without spaces are a word, and one that is a run."""
    characters: list[tuple[str, str]] = []
    for character in text:
        kind = unspaced_kind(character)
        before = characters[-1][0] if characters else ""
        if kind == "mark" and before == "letter":
            characters[-1] = ("letter", characters[-1][1] + character)
        elif kind == "letter":
            characters.append(("letter", character))
        elif before == "":
            characters.append(("", characters.pop()[1] + character if characters else character))
        else:
            characters.append(("", character))
    found = []
    for place, (kind, part) in enumerate(characters):
        if kind == "":
            found += words(part, unspaced=True)
            continue
        after = characters[place + 1] if place + 1 < len(characters) else ("", "")
        if after[0] == kind:
            found += words(part + after[1], unspaced=True)
        elif place == 0 or characters[place - 1][0] != kind:
            found += words(part, unspaced=True)
    return found


def unspaced_kind(character: str) -> str:
    """Of Han, Kana, Thai, Lao, Khmer and Myanmar: letter or mark; empty for all else."""
    code, kind = ord(character), category(character)[0]
    if (
        0xFE00 <= code <= 0xFE0F
        or 0xE0100 <= code <= 0xE01EF
        or code in (0x3099, 0x309A, 0xFF9E, 0xFF9F, *range(0x302A, 0x3030))
    ):
        return "mark"
    if any(
        first <= code <= last
        for first, last in (
            (0xE00, 0xEFF),
            (0x1000, 0x109F),
            (0x1780, 0x17DF),
            (0xA9E0, 0xA9FF),
            (0xAA60, 0xAA7F),
        )
    ):
        return "mark" if kind == "M" or code in (0xE33, 0xEB3) else "letter" if kind == "L" else ""
    named = name(character, "")
    script = ("CJK UNIFIED IDEOGRAPH", "CJK COMPATIBILITY IDEOGRAPH", "HIRAGANA", "KATAKANA", "HALFWIDTH KATAKANA", "HENTAIGANA",
              "IDEOGRAPHIC ITERATION", "IDEOGRAPHIC CLOSING", "IDEOGRAPHIC NUMBER", "HANGZHOU", "VERTICAL KANA", "VERTICAL IDEOGRAPHIC", "MASU")  # fmt: skip
    return "letter" if named.startswith(script) and kind in "LN" else ""


def ngrams(sequence: Sequence[str], order: int) -> list[str]:
    """Each term and the 2- to ``order``-grams that begin with it."""
    return [
        " ".join(sequence[i : i + n])
        for i in range(len(sequence))
        for n in range(1, order + 1)
        if i + n <= len(sequence)
    ]


class Counts(NamedTuple):
    """Class statistics as dictionaries: documents by class, and by (class, term) occurrences and documents."""

    documents: dict[str, int]
    occurrences: dict[tuple[str, str], int]
    holding: dict[tuple[str, str], int]

    @property
    def classes(self) -> list[str]:
        return sorted(self.documents)

    @property
    def terms(self) -> list[str]:
        """Shorter n-grams first, then by UTF-8 bytes word by word."""
        return sorted(
            {term for _, term in self.occurrences},
            key=lambda term: (term.count(" "), [part.encode() for part in term.split(" ")]),
        )

    def tokens(self, label: str, over: Collection[str]) -> int:
        return sum(
            count for (k, term), count in self.occurrences.items() if k == label and term in over
        )


def count(documents: Sequence[Labelled], order: int = 1) -> Counts:
    """Count labelled documents one by one."""
    numbers: Counter[str] = Counter()
    occurrences: Counter[tuple[str, str]] = Counter()
    holding: Counter[tuple[str, str]] = Counter()
    for label, sequence in documents:
        numbers[label] += 1
        present = Counter(ngrams(sequence, order))
        occurrences.update({(label, term): n for term, n in present.items()})
        holding.update((label, term) for term in present)
    return Counts(dict(numbers), dict(occurrences), dict(holding))


def class_prior(counts: Counts, added: float = 0) -> dict[str, Fraction]:
    """(D_k + A) / (D + A K)."""
    a, total = Fraction(added), sum(counts.documents.values())
    return {
        label: (counts.documents[label] + a) / (total + a * len(counts.documents))
        for label in counts.classes
    }


Models = dict[tuple[str, str], Fraction]
"""φ by (class, term)."""


def language_models(
    counts: Counts,
    over: Collection[str],
    smoothing: float,
    shape: str,
    estimate: str,
    own: Mapping[str, float] | None = None,
) -> Models:
    """Maximum likelihood, or the mode or mean of the posterior under α_j = pseudo-count (+ 1 for the mode); some terms have their own."""
    total = sum(counts.tokens(label, over) for label in counts.classes)
    pseudo_counts = {}
    for term in over:
        in_corpus = sum(counts.occurrences.get((k, term), 0) for k in counts.classes)
        share = 1 if shape == "symmetric" else Fraction(in_corpus, max(total, 1))
        pseudo_counts[term] = Fraction((own or {}).get(term, smoothing)) * share
    all_added = sum(pseudo_counts.values(), Fraction(0))
    models = {}
    for label in counts.classes:
        n = counts.tokens(label, over)
        for term in over:
            m = counts.occurrences.get((label, term), 0)
            added = pseudo_counts[term]
            if estimate == "ml":
                above, below = Fraction(m), Fraction(n)
            elif estimate == "map":
                alpha, alpha_0 = added + 1, all_added + len(over)
                above, below = m + alpha - 1, n + alpha_0 - len(over)
            else:
                above, below = m + added, n + all_added
            models[label, term] = above / below if below else Fraction(0)
    return models


def log_evidence(counts: Counts, over: Collection[str], alpha: Mapping[str, float]) -> float:
    """Σ_k log Γ(α_0) − log Γ(N_k + α_0) + Σ_j [log Γ(m_jk + α_j) − log Γ(α_j)]."""
    alpha_0 = math.fsum(alpha[term] for term in over)
    summands = []
    for label in counts.classes:
        summands += [math.lgamma(alpha_0), -math.lgamma(counts.tokens(label, over) + alpha_0)]
        for term in over:
            summands += [
                math.lgamma(counts.occurrences.get((label, term), 0) + alpha[term]),
                -math.lgamma(alpha[term]),
            ]
    return math.fsum(summands)


def log(x: Fraction | float) -> float:
    """Natural logarithm, −inf of 0."""
    return math.log(x) if x else -math.inf


def joint_log_likelihood(
    models: Models, prior: Mapping[str, Fraction], sequence: Sequence[str]
) -> dict[str, float]:
    """log π_k + Σ_j n_jd log φ_jk for each class; terms without φ count for nothing."""
    known = {term for _, term in models}
    return {
        label: sum(
            (log(models[label, term]) for term in sequence if term in known), log(prior[label])
        )
        for label in prior
    }


def log_posterior(joint: Mapping[str, float]) -> dict[str, float]:
    """log p(C_k | d) = log p(d, C_k) − log Σ_l p(d, C_l)."""
    highest = max(joint.values())
    evidence = math.log(math.fsum(math.exp(value - highest) for value in joint.values()))
    return {label: (value - highest) - evidence for label, value in joint.items()}


def x_log_ratio(x: Fraction, above: Fraction, below: Fraction) -> float:
    """x log(above / below), 0 if x is 0."""
    return float(x) * math.log(above / below) if x else 0.0


def mutual_information(
    models: Models, prior: Mapping[str, Fraction], term: str
) -> dict[str, float]:
    """What each class adds to Σ_k φ_jk π_k log(φ_jk / Σ_l φ_jl π_l)."""
    mixed = sum((models[label, term] * prior[label] for label in prior), Fraction(0))
    return {k: x_log_ratio(models[k, term] * prior[k], models[k, term], mixed) for k in prior}


def log_odds(models: Models, prior: Mapping[str, Fraction], term: str) -> dict[str, float]:
    """log of φ_jk over the mixture of the other classes."""
    odds = {}
    for k in prior:
        rest = sum(
            (models[label, term] * prior[label] for label in prior if label != k), Fraction(0)
        )
        others = 1 - prior[k]
        phi = models[k, term]
        odds[k] = 0.0 if not phi else math.inf if not rest else math.log(phi * others / rest)
    return odds


Cell = tuple[str, bool]


def document_table(counts: Counts, term: str) -> dict[Cell, int]:
    """Documents by class and by whether they hold the term."""
    with_term = {label: counts.holding.get((label, term), 0) for label in counts.classes}
    return {(k, True): with_term[k] for k in with_term} | {
        (k, False): counts.documents[k] - with_term[k] for k in with_term
    }


def expected(table: Mapping[Cell, int], cell: Cell) -> Fraction:
    """Row sum × column sum / all."""
    of_class = sum(n for (k, _), n in table.items() if k == cell[0])
    of_presence = sum(n for (_, present), n in table.items() if present == cell[1])
    return Fraction(of_class * of_presence, sum(table.values()))


def presence(counts: Counts, term: str) -> float:
    """Σ over the cells of N_cell/N log(N_cell / expected)."""
    table = document_table(counts, term)
    total = sum(table.values())
    return math.fsum(
        x_log_ratio(Fraction(n, total), Fraction(n), expected(table, cell))
        for cell, n in table.items()
    )


def chi2(counts: Counts, term: str) -> float:
    """Σ over the cells of (N_cell − expected)² / expected."""
    table = document_table(counts, term)
    return float(
        sum(
            ((n - e) ** 2 / e for cell, n in table.items() if (e := expected(table, cell))),
            Fraction(0),
        )
    )
