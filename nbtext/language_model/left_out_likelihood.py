"""The strength of the prior under which documents are most probable by the language model of their own class without them.

L(s) = Σ_d Σ_j n_jd log φ_jc, c the class of document d, φ its posterior mean from the counts m_jc − n_jd of all other documents and the
pseudo-counts s·b_j. A term that no other document holds leaves the vocabulary and the document, as in `nbtext.language_model.leave_one_out`.
Source: C. Zhai, J. Lafferty, Two-stage language models for information retrieval (2002), who leave out single tokens; here a document at a
time, because its tokens come together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nbtext.language_model.evidence import MOST_SMOOTHING, WEAKEST
from nbtext.language_model.leave_one_out import without_themselves

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nbtext.counts.documents import CountedDocuments
    from nbtext.counts.statistics import ClassStatistics

    Floats = NDArray[np.float64]

GRID = 49
"""Strengths tried first, evenly on a logarithmic scale: eight a decade. The likelihood may have several maxima; the highest of these is refined."""

BISECTIONS = 40
"""Each halves the interval around the best of them: to 1e-13 of the strength."""


class LeftOutTokens(NamedTuple):
    """Numerators r + s·b and denominators T + s·w of the probabilities of all tokens, each with how many tokens have it; flat arrays."""

    counts: Floats
    """r, occurrences of the term in the other documents of the class."""
    base: Floats
    """b, what the prior's strength is multiplied with."""
    tokens: Floats
    class_tokens: Floats
    """T, tokens in the other documents of the class."""
    base_sums: Floats
    """w, the sum of b over the terms that other documents hold."""
    lengths: Floats
    n_terms: int


def left_out_tokens(
    statistics: ClassStatistics, selected: NDArray[np.bool_], prior_shape: str, documents: CountedDocuments
) -> LeftOutTokens:
    """What the likelihood needs of the documents, which are part of the statistics; over the selected terms."""
    left = without_themselves(statistics, selected, documents)
    matrix, own = left.matrix, documents.classes[left.matrix.entry_documents]
    counts = (statistics.counts_in(matrix.terms, own) - matrix.counts).astype(np.float64)
    tokens = statistics.tokens_of(selected).astype(np.float64)
    class_tokens = tokens[documents.classes] - left.lengths
    n_terms = int(np.count_nonzero(selected))
    if prior_shape == "symmetric":
        counts, inverse = np.unique(counts, return_inverse=True)
        weights = np.bincount(inverse, matrix.counts, counts.size).astype(np.float64)
        base, base_sums = np.ones(counts.size), (n_terms - left.vanishing.entries).astype(np.float64)
    else:
        in_others = np.maximum(tokens.sum() - left.lengths, 1)
        weights, base = matrix.counts.astype(np.float64), left.remaining / in_others[matrix.entry_documents]
        base_sums = np.ones(len(documents))
    lengths = matrix.lengths.astype(np.float64)
    some = lengths > 0
    return LeftOutTokens(counts, base, weights, class_tokens[some], base_sums[some], lengths[some], n_terms)


def left_out_log_likelihood(of: LeftOutTokens, strength: float) -> float:
    """Σ n log(r + s·b) − Σ n log(T + s·w), s above 0, in nats."""
    return float(of.tokens @ np.log(of.counts + strength * of.base) - of.lengths @ np.log(of.class_tokens + strength * of.base_sums))


def _slope(of: LeftOutTokens, strength: float) -> float:
    """d/ds of `left_out_log_likelihood`."""
    numerators, denominators = of.counts + strength * of.base, of.class_tokens + strength * of.base_sums
    return float(of.tokens @ (of.base / numerators) - of.lengths @ (of.base_sums / denominators))


def likeliest_strength(of: LeftOutTokens, weakest: float, strongest: float) -> float:
    """The strength between two that maximises `left_out_log_likelihood`: the best of a grid, refined by bisection of the derivative."""
    grid = np.geomspace(weakest, strongest, GRID)
    best = int(np.argmax([left_out_log_likelihood(of, strength) for strength in grid.tolist()]))
    rises = _slope(of, float(grid[best])) > 0
    low, high = (float(grid[np.clip(best + step, 0, GRID - 1)]) for step in ((0, 1) if rises else (-1, 0)))
    for _ in range(BISECTIONS):
        strength = float(np.sqrt(low * high))
        low, high = (strength, high) if _slope(of, strength) > 0 else (low, strength)
    return high


def smoothing_by_leave_one_out(
    statistics: ClassStatistics, selected: NDArray[np.bool_], prior_shape: str, documents: CountedDocuments
) -> float:
    """The pseudo-count per term (``symmetric``) or μ (``background``) under which left-out documents are most probable.

    Between `WEAKEST` and `MOST_SMOOTHING` per term, with six digits, as `smoothing_by_evidence` has it; 0.1 per term where the documents say
    nothing, as those of a single term do.
    """
    tokens = left_out_tokens(statistics, selected, prior_shape, documents)
    n_terms = max(tokens.n_terms, 1)
    per_term = 1.0 if prior_shape == "symmetric" else float(n_terms)
    if tokens.n_terms < 2 or not tokens.class_tokens.any():
        return 0.1 * per_term
    return float(f"{likeliest_strength(tokens, WEAKEST * per_term, MOST_SMOOTHING * per_term):.6g}")
