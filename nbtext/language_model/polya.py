"""The Pólya distribution: a document draws word probabilities of its own around those of its class, then its tokens from them.

A document of n tokens with counts n_j has, its tokens in order, log p = Σ_j [log Γ(s·φ_j + n_j) − log Γ(s·φ_j)] − [log Γ(s + n) − log Γ(s)]:
a term that occurred once is more probable to occur again. The smaller the concentration s, the more so; as it grows the tokens become
independent draws from φ. Sources: R. Madsen, D. Kauchak, C. Elkan, Modeling word burstiness using the Dirichlet distribution (2005);
T. Minka, Estimating a Dirichlet distribution (2000), section 3.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from nbtext.language_model.smoothing import psi_rise, where_it_turns
from nbtext.records import NamedTuple
from nbtext.text.hashing import pair, unpair

if TYPE_CHECKING:
    from nbtext.counts.documents import CountedDocuments
    from nbtext.counts.matrix import DocumentTermMatrix
    from nbtext.language_model.dirichlet import LanguageModels
    from nbtext.type_names import Floats, Mask, Numbers

LEAST_CONCENTRATION, MOST_CONCENTRATION = 1e-2, 1e8
"""Bounds of the concentration; without repetition the likelihood grows without end."""

LEAST_GAIN = 1e-6
"""Nats over all documents that are worth another step."""

SUMMED = 16
"""Steps of `log_rise` that are summed; from there on Stirling's series is as exact."""


class PolyaModels(NamedTuple):
    """Pólya distributions of the classes."""

    means: LanguageModels
    """φ."""
    concentration: float
    """s, the same for all classes."""


def log_rise(start: Floats, steps: Numbers) -> Floats:
    """Return log Γ(x + n) − log Γ(x) = Σ_{i < n} log(x + i), shape (n_rows, n_columns), in nats; −inf where x is 0 and n is not.

    ``start`` x from 0 has that shape, ``steps`` n from 0 has shape (n_rows,). Nearly every count is small and its sum short; sums of more than
    `SUMMED` go on by Stirling's series. Source: NIST Digital Library of Mathematical Functions, 5.5.1 and 5.11.1. `classify` needs this, and
    importing `scipy.special` for log Γ takes 0.17 s, more than numpy's own 0.12 s.

    >>> float(np.exp(log_rise(np.array([[0.5]]), np.array([3]))[0, 0])).__round__(9)  # 0.5 · 1.5 · 2.5
    1.875
    """
    rise = np.zeros(start.shape)
    with np.errstate(divide="ignore"):
        for step in range(min(int(steps.max(initial=0)), SUMMED)):
            rows = np.flatnonzero(steps > step)
            rise[rows] += np.log(start[rows] + step)
    rows = np.flatnonzero(steps > SUMMED)
    x, more = start[rows] + SUMMED, (steps[rows] - SUMMED)[:, np.newaxis]
    rise[rows] += more * np.log(x) + ((x + more - 0.5) * np.log1p(more / x) - more) + (_stirling(x + more) - _stirling(x))
    return rise


def _stirling(x: Floats) -> Floats:
    """Return the part of log Γ(x) that vanishes as x grows, with an error below 2e-14 for x of at least 16."""
    square = 1 / (x * x)
    return (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square / 1680))) / x


def likeliest_concentration(models: LanguageModels, documents: CountedDocuments) -> float:
    """Return the concentration s that makes documents, which the models were estimated from, most probable given φ; with six digits.

    By bisection of the derivative Σ_d Σ_j φ_j [ψ(s·φ_j + n_jd) − ψ(s·φ_j)] − Σ_d [ψ(s + n_d) − ψ(s)], in which an entry with n_jd = 1 adds
    1/s; Minka's fixed point converges to the same place by smaller steps. `MOST_CONCENTRATION` if no document has two tokens.
    """
    matrix = documents.matrix.of_terms(models.selected)
    repeated = np.flatnonzero(matrix.counts > 1)
    return _likeliest(matrix, models.probability_in(matrix.terms[repeated], documents.classes[matrix.entry_documents[repeated]]))


def _likeliest(matrix: DocumentTermMatrix, probabilities: Floats) -> float:
    """Return the likeliest concentration, given φ of the entries with n_jd above 1."""
    lengths, more = matrix.lengths, matrix.counts[matrix.counts > 1] - 1
    if lengths.max(initial=0) < 2:
        return MOST_CONCENTRATION

    def slope(concentration: float) -> float:
        gained = matrix.terms.size / concentration
        if more.size:
            gained += float(probabilities @ psi_rise(concentration * probabilities + 1, more))
        return gained - float(psi_rise(np.full(1, concentration), lengths).sum())

    return float(f"{where_it_turns(slope, LEAST_CONCENTRATION, MOST_CONCENTRATION):.6g}")


def maximum_log_likelihood(documents: CountedDocuments, selected: Mask) -> float:
    """Return the greatest Σ_d log p(d | s, φ_k) over all means φ_k and one concentration s, in nats.

    By Minka's fixed point φ_jk ∝ φ_jk Σ_d [ψ(s·φ_jk + n_jd) − ψ(s·φ_jk)] over the documents of the class, in turn with the concentration, from
    Elkan's φ_jk ∝ d_jk; neither step lowers it.
    """
    matrix = documents.matrix.of_terms(selected)
    cells, place = np.unique(pair(documents.classes[matrix.entry_documents], matrix.terms), return_inverse=True)
    of_class = unpair(cells)[0]
    shares, best = np.bincount(place, np.ones(place.size)), -np.inf
    while True:
        probabilities = (shares / np.bincount(of_class, shares)[of_class])[place]
        concentration = _likeliest(matrix, probabilities[matrix.counts > 1])
        found = log_rise(concentration * probabilities[:, np.newaxis], matrix.counts).sum()
        found -= log_rise(np.full((matrix.n_documents, 1), concentration), matrix.lengths).sum()
        if found < best + LEAST_GAIN:
            return float(found)
        best, shares = float(found), np.bincount(place, probabilities * psi_rise(concentration * probabilities, matrix.counts))
