"""Selection of terms that carry information about the class, by four criteria.

Each criterion returns, for n terms, what every class contributes, shape (n, n_classes), and the score of each term, shape (n,), in nats except
χ². A term speaks for the class that contributes most. Where documents have several labels, each label is a class beside the documents without it, in a
last axis of two; the score is the sum over labels, of log odds the largest.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nbtext.counts.matrix import iter_blocks
from nbtext.language_model.dirichlet import log
from nbtext.ragged import compute_offsets
from nbtext.settings import CRITERIA

if TYPE_CHECKING:
    from collections.abc import Callable

    from nbtext.language_model.dirichlet import LanguageModels
    from nbtext.type_names import Floats, Ints, Mask

    Scores = tuple[Floats, Floats]
    Criterion = Callable[[LanguageModels, Floats, Ints], Scores]

MAX_PROBABILITIES_IN_MEMORY = 1 << 20
"""Probabilities of terms by class computed at once: 8 MiB."""

MAX_DENSE_PROBABILITIES = 1 << 28
"""Probabilities that are all looked at, for three seconds; in models of more, mutual information is summed over the classes that have a term."""


def mutual_information(models: LanguageModels, prior: Floats, terms: Ints) -> Scores:
    """Return I_j = Σ_k φ_jk π_k log(φ_jk / Σ_l φ_jl π_l), from the language models. Source: Gambosi's notes, "Feature selection"."""
    probability, prior = _compared(models, prior, terms)
    joint = probability * prior
    summands = joint * _log_ratio(joint, joint.sum(axis=-1, keepdims=True) * prior)
    return _of_classes(summands), _sums(summands)


def _compared(models: LanguageModels, prior: Floats, terms: Ints) -> tuple[Floats, Floats]:
    """Return φ_jk, shape (n, n_classes), and π_k; of labels with those of the rest in a last axis."""
    probability = models.compute_probability(terms)
    if models.statistics.posterior_type.is_exclusive:
        return probability, prior
    of_rest = models.estimate_rest_probability(
        replace(models, statistics=models.statistics.all_documents), terms
    )
    return np.stack((probability, of_rest), axis=-1), np.stack((prior, 1 - prior), axis=-1)


def _of_classes(values: Floats) -> Floats:
    return values if values.ndim == 2 else values[..., 0]


def _sums(summands: Floats) -> Floats:
    return summands.reshape(len(summands), -1).sum(axis=1)


def _in_cells(
    models: LanguageModels, prior: Floats, terms: Ints
) -> tuple[Ints, Ints, Floats, Floats, Floats]:
    """Return what `LanguageModels.weigh_entries` does: places, classes, φ_jk and u_k; and p_j = Σ_k φ_jk π_k, shape (n,)."""
    places, classes, probability, unseen = models.estimate_cell_probabilities(terms)
    joint_unseen = unseen * prior
    mass = joint_unseen.sum() + np.bincount(
        places, probability * prior[classes] - joint_unseen[classes], terms.size
    )
    return places, classes, probability, unseen, mass


def uses_sparse_sum(models: LanguageModels, prior: Floats) -> bool:
    """Return True if mutual information is summed over the classes that have a term: of more than `MAX_DENSE_PROBABILITIES`, if the other classes are alike."""
    return (
        models.statistics.posterior_type.is_exclusive
        and models.has_equal_unseen_probability
        and int(np.count_nonzero(models.selected)) * prior.size > MAX_DENSE_PROBABILITIES
    )


def compute_sparse_summands(
    models: LanguageModels, prior: Floats, terms: Ints, chosen: Ints
) -> Floats:
    """Return the summands of `mutual_information` of some classes, shape (n, n_chosen), in a model that `uses_sparse_sum`."""
    places, classes, of_cells, unseen, mass = _in_cells(models, prior, terms)
    column = np.full(prior.size, -1)
    column[chosen] = np.arange(chosen.size)
    here = np.flatnonzero(column[classes] >= 0)
    probability = np.tile(unseen[chosen], (terms.size, 1))
    probability[places[here], column[classes[here]]] = of_cells[here]
    joint = probability * prior[chosen]
    return joint * _log_ratio(joint, mass[:, np.newaxis] * prior[chosen])


def _mutual_information_of_cells(
    models: LanguageModels, prior: Floats, terms: Ints
) -> tuple[Floats, Ints, Mask]:
    """Return I_j and the class that each term speaks for as `mutual_information` has them, and where the class is certain, all of shape (n,).

    With u_k and p_j of `_in_cells` I_j = Σ_k u_k π_k log u_k + Σ over the classes with j [φ_jk π_k log φ_jk − u_k π_k log u_k] − p_j log p_j.
    """
    places, classes, probability, unseen, mass = _in_cells(models, prior, terms)
    joint = probability * prior[classes]
    joint_unseen = unseen * prior
    of_unseen = joint_unseen * _log_ratio(unseen, np.ones(1))
    sums = of_unseen.sum() + np.bincount(
        places, joint * np.log(probability) - of_unseen[classes], terms.size
    )
    summands = joint * np.log(probability / mass[places])
    order = np.lexsort((-summands, places))
    sizes = np.bincount(places, minlength=terms.size)
    first = order[np.minimum(compute_offsets(sizes)[:-1], order.size - 1)]
    most_of_others = joint_unseen.max() * np.maximum(_log_ratio(unseen.max(keepdims=True), mass), 0)
    return (
        sums - mass * np.log(mass),
        classes[first],
        (sizes > 0) & (summands[first] > most_of_others),
    )


def presence_information(models: LanguageModels, prior: Floats, terms: Ints) -> Scores:
    """Return the mutual information of class and presence of the term in a document, over the 2 × K table of documents. IIR eq. 13.17."""
    del prior
    with_term, of_class, documents = _document_table(models, terms)

    def parts(cells: Ints) -> Floats:
        joint: Floats = cells / documents
        return joint * _log_ratio(joint, joint.sum(axis=-1, keepdims=True) * (of_class / documents))

    summands = parts(with_term)
    return _of_classes(summands), _sums(summands) + _sums(parts(of_class - with_term))


def chi2(models: LanguageModels, prior: Floats, terms: Ints) -> Scores:
    """Return χ² = Σ (observed − expected)² / expected over the 2 × K table of documents, K − 1 degrees of freedom. IIR section 13.5.2.

    The contribution of a class that holds the term in fewer documents than expected is negative: the term does not speak for it.
    """
    del prior
    with_term, of_class, documents = _document_table(models, terms)

    def signed_parts(cells: Ints) -> Floats:
        expected = cells.sum(axis=-1, keepdims=True) * of_class / documents
        difference = cells - expected
        return np.divide(
            difference * np.abs(difference),
            expected,
            out=np.zeros_like(difference),
            where=expected > 0,
        )

    summands = signed_parts(with_term)
    return _of_classes(summands), _sums(np.abs(summands)) + _sums(
        np.abs(signed_parts(of_class - with_term))
    )


def log_odds_of_terms(models: LanguageModels, prior: Floats, terms: Ints) -> Scores:
    """Return the largest over classes of log[φ_jk / φ_j,rest], the rest being the other classes mixed by their priors.

    In a part of a corpus a class may have no documents; no term speaks for it.
    """
    probability, prior = _compared(models, prior, terms)
    joint = probability * prior
    others = 1 - prior
    rest = np.divide(
        joint.sum(axis=-1, keepdims=True) - joint,
        others,
        out=np.zeros_like(joint),
        where=others > 0,
    )
    summands = _of_classes(_log_ratio(probability, np.maximum(rest, 0)))
    summands[:, models.statistics.class_documents == 0] = -np.inf
    return summands, summands.max(axis=1, initial=-np.inf)


def get_criterion(name: str) -> Criterion:
    """Return the function of a criterion of `nbtext.settings.CRITERIA`."""
    return globals()[CRITERIA[name]]


class Ranking(NamedTuple):
    """Terms by falling score, those of equal scores in the order of the vocabulary; all of shape (n,)."""

    terms: Ints
    scores: Floats
    classes: Ints
    """Number of the class that each term speaks for."""


def rank_terms(models: LanguageModels, prior: Floats, by: str, top: int | None = None) -> Ranking:
    """Return the ``top`` best of the selected terms by a criterion of `nbtext.settings.CRITERIA`; all of them for None."""
    score = get_criterion(by)
    terms = np.flatnonzero(models.selected)
    scores = np.empty(terms.size)
    classes = np.empty(terms.size, np.int64)
    left = np.arange(terms.size)
    if score is mutual_information and uses_sparse_sum(models, prior):
        scores, classes, certain = _mutual_information_of_cells(models, prior, terms)
        left = np.flatnonzero(~certain)
    for places in iter_blocks(left, prior.size, MAX_PROBABILITIES_IN_MEMORY):
        summands, scores[places] = score(models, prior, terms[places])
        classes[places] = summands.argmax(axis=1)
    best = np.argsort(-scores, kind="stable")[:top]
    return Ranking(terms[best], scores[best], classes[best])


def _document_table(models: LanguageModels, terms: Ints) -> tuple[Ints, Ints, float]:
    """Return the documents of each class with each term, shape (n, n_classes), all of each class, and the number of documents; labels as `_compared`."""
    statistics = models.statistics.observed_counts
    with_term = statistics.get_dense_documents(terms)
    of_class = statistics.class_documents
    if not statistics.posterior_type.is_exclusive:
        everything = models.statistics.all_documents
        with_term = np.stack(
            (with_term, everything.get_dense_documents(terms) - with_term), axis=-1
        )
        of_class = np.stack((of_class, everything.class_documents - of_class), axis=-1)
    return with_term, of_class, statistics.n_documents


def _log_ratio(above: Floats, below: Floats) -> Floats:
    """Return log(above / below), 0 where ``above`` is 0 (x log x goes to 0 with x), +inf where only ``below`` is 0."""
    return np.where(above > 0, np.log(np.where(above > 0, above, 1)) - log(below), 0.0)
