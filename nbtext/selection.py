"""Selection of terms that carry information about the class, by four criteria.

`rank_terms` ranks the terms of language models by a criterion. A criterion is a function of the
models, the class prior and n terms. It returns the contribution of each class to the score of each
term, shape (n, n_classes), and the scores, shape (n,). Both are in nats, except χ². A term
indicates the class with the largest contribution.

For multi-label documents, each label is compared with the documents without it: arrays have a last
axis of two. The score is the sum over labels, or for log odds the maximum.
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
"""Number of probabilities of terms by class that are computed at once: 8 MiB."""

MAX_DENSE_PROBABILITIES = 1 << 28
"""Number of terms times classes above which mutual information is summed over cells.

A cell is a term and a class that contains it. The sum over all terms and classes takes about three
seconds for this number.
"""


def mutual_information(models: LanguageModels, prior: Floats, terms: Ints) -> Scores:
    """Return I_j = Σ_k φ_jk π_k log(φ_jk / Σ_l φ_jl π_l), with φ of the models and the prior π.

    Source: Gambosi's notes, "Feature selection".
    """
    probability, priors = _get_probabilities(models, prior, terms)
    joint = probability * priors
    independent = joint.sum(axis=-1, keepdims=True) * priors
    contributions = joint * _log_ratio(joint, independent)
    return _take_classes(contributions), _sum_contributions(contributions)


def _get_probabilities(models: LanguageModels, prior: Floats, terms: Ints) -> tuple[Floats, Floats]:
    """Return φ_jk, shape (n, n_classes), and π_k, shape (n_classes,).

    For multi-label documents, both have a last axis of two: documents with the label, and without.
    """
    probability = models.compute_probability(terms)
    if models.statistics.posterior_type.is_exclusive:
        return probability, prior
    overall = replace(models, statistics=models.statistics.all_documents)
    rest_probability = models.estimate_rest_probability(overall, terms)
    return (
        np.stack((probability, rest_probability), axis=-1),
        np.stack((prior, 1 - prior), axis=-1),
    )


def _take_classes(contributions: Floats) -> Floats:
    """Return the contributions of classes, or of documents with the label, shape (n, n_classes)."""
    if contributions.ndim == 2:
        return contributions
    return contributions[..., 0]


def _sum_contributions(contributions: Floats) -> Floats:
    """Return the sum of all contributions to each term, shape (n,)."""
    return contributions.reshape(len(contributions), -1).sum(axis=1)


def uses_sparse_sum(models: LanguageModels, prior: Floats) -> bool:
    """Return True if mutual information is summed over cells, see `MAX_DENSE_PROBABILITIES`.

    The models must give a class the same probability of all terms that it does not contain.
    """
    return (
        models.statistics.posterior_type.is_exclusive
        and models.has_equal_unseen_probability
        and int(np.count_nonzero(models.selected)) * prior.size > MAX_DENSE_PROBABILITIES
    )


class _SparseProbabilities(NamedTuple):
    """φ of n terms: of each cell, and of classes without the term."""

    rows: Ints
    """Index of the term of each cell, shape (n_cells,)."""
    classes: Ints
    """Class of each cell, shape (n_cells,)."""
    probability: Floats
    """φ_jk of each cell, shape (n_cells,)."""
    unseen: Floats
    """u_k, φ of any term that class k does not contain, shape (n_classes,)."""
    marginal: Floats
    """p_j = Σ_k φ_jk π_k, shape (n,)."""


def _get_sparse_probabilities(
    models: LanguageModels, prior: Floats, terms: Ints
) -> _SparseProbabilities:
    """Return the probabilities of terms, only for models for which `uses_sparse_sum` is true."""
    rows, classes, probability, unseen = models.estimate_cell_probabilities(terms)
    joint_unseen = unseen * prior
    # the sum of p_j for a term in no class, and the change of the sum by each cell
    changes = probability * prior[classes] - joint_unseen[classes]
    marginal = joint_unseen.sum() + np.bincount(rows, changes, terms.size)
    return _SparseProbabilities(rows, classes, probability, unseen, marginal)


def compute_sparse_contributions(
    models: LanguageModels, prior: Floats, terms: Ints, classes: Ints
) -> Floats:
    """Return the contributions of some classes to `mutual_information`.

    Only for models for which `uses_sparse_sum` is true. ``terms`` and ``classes`` are indices, and
    the result has the shape (len(terms), len(classes)).
    """
    sparse = _get_sparse_probabilities(models, prior, terms)
    result_columns = np.full(prior.size, -1)  # of each class
    result_columns[classes] = np.arange(classes.size)
    columns = result_columns[sparse.classes]
    cells = np.flatnonzero(columns >= 0)
    probability = np.tile(sparse.unseen[classes], (terms.size, 1))
    probability[sparse.rows[cells], columns[cells]] = sparse.probability[cells]
    joint = probability * prior[classes]
    independent = sparse.marginal[:, np.newaxis] * prior[classes]
    return joint * _log_ratio(joint, independent)


def _compute_sparse_mutual_information(
    models: LanguageModels, prior: Floats, terms: Ints
) -> tuple[Floats, Ints, Mask]:
    """Return I_j, the class that each term indicates, and a mask of terms whose class is certain.

    All have the shape (n,). With u_k and p_j of `_SparseProbabilities`,
    I_j = Σ_k u_k π_k log u_k + Σ over cells [φ_jk π_k log φ_jk − u_k π_k log u_k] − p_j log p_j.
    The class is the class of the cell with the largest contribution. It is certain if no class
    without the term can contribute more.
    """
    sparse = _get_sparse_probabilities(models, prior, terms)
    rows = sparse.rows
    joint = sparse.probability * prior[sparse.classes]
    joint_unseen = sparse.unseen * prior
    log_unseen = _log_ratio(sparse.unseen, np.ones(1))
    unseen_summands = joint_unseen * log_unseen
    changes = joint * np.log(sparse.probability) - unseen_summands[sparse.classes]
    sums = unseen_summands.sum() + np.bincount(rows, changes, terms.size)
    information = sums - sparse.marginal * np.log(sparse.marginal)

    contributions = joint * np.log(sparse.probability / sparse.marginal[rows])
    order = np.lexsort((-contributions, rows))  # by term, then by falling contribution
    n_cells = np.bincount(rows, minlength=terms.size)
    first_ranks = compute_offsets(n_cells)[:-1]
    # a term without cells gets the cell of another term, and its class is not certain
    best_cells = order[np.minimum(first_ranks, order.size - 1)]
    max_log_ratio = np.maximum(_log_ratio(sparse.unseen.max(keepdims=True), sparse.marginal), 0)
    max_unseen_contribution = joint_unseen.max() * max_log_ratio
    is_certain = (n_cells > 0) & (contributions[best_cells] > max_unseen_contribution)
    return information, sparse.classes[best_cells], is_certain


def presence_information(models: LanguageModels, prior: Floats, terms: Ints) -> Scores:
    """Return the mutual information of the class and the presence of the term in a document.

    It is computed from the 2 × K table of documents. Source: IIR eq. 13.17.
    """
    del prior  # only other criteria use it
    term_documents, class_documents, n_documents = _count_documents(models, terms)

    def compute_contributions(table_row: Ints) -> Floats:
        joint: Floats = table_row / n_documents
        independent = joint.sum(axis=-1, keepdims=True) * (class_documents / n_documents)
        return joint * _log_ratio(joint, independent)

    presence = compute_contributions(term_documents)
    absence = compute_contributions(class_documents - term_documents)
    return _take_classes(presence), _sum_contributions(presence) + _sum_contributions(absence)


def chi2(models: LanguageModels, prior: Floats, terms: Ints) -> Scores:
    """Return χ² = Σ (observed − expected)² / expected over the 2 × K table of documents.

    χ² has K − 1 degrees of freedom. The contribution of a class is negative if fewer of its
    documents than expected contain the term. Source: IIR section 13.5.2.
    """
    del prior  # only other criteria use it
    term_documents, class_documents, n_documents = _count_documents(models, terms)

    def compute_signed_contributions(table_row: Ints) -> Floats:
        expected = table_row.sum(axis=-1, keepdims=True) * class_documents / n_documents
        differences = table_row - expected
        zeros = np.zeros_like(differences)
        signed_squares = differences * np.abs(differences)
        return np.divide(signed_squares, expected, out=zeros, where=expected > 0)

    presence = compute_signed_contributions(term_documents)
    absence = compute_signed_contributions(class_documents - term_documents)
    scores = _sum_contributions(np.abs(presence)) + _sum_contributions(np.abs(absence))
    return _take_classes(presence), scores


def log_odds_of_terms(models: LanguageModels, prior: Floats, terms: Ints) -> Scores:
    """Return the maximum over classes of log[φ_jk / φ_j,rest].

    φ_j,rest is the mean over the other classes, weighted by their priors. No term indicates a class
    without documents. A subset of a corpus may have such classes.
    """
    probability, priors = _get_probabilities(models, prior, terms)
    joint = probability * priors
    rest_joint = joint.sum(axis=-1, keepdims=True) - joint
    rest_prior = 1 - priors
    rest_probability = np.divide(
        rest_joint, rest_prior, out=np.zeros_like(joint), where=rest_prior > 0
    )
    rest_probability = np.maximum(rest_probability, 0)  # rounding may leave less than 0
    contributions = _take_classes(_log_ratio(probability, rest_probability))
    contributions[:, models.statistics.class_documents == 0] = -np.inf
    return contributions, contributions.max(axis=1, initial=-np.inf)


def get_criterion(name: str) -> Criterion:
    """Return the function of this module for a criterion of `nbtext.settings.CRITERIA`."""
    return globals()[CRITERIA[name]]


class Ranking(NamedTuple):
    """Terms by falling score, ties in the order of the vocabulary. Arrays have the shape (n,)."""

    terms: Ints
    scores: Floats
    classes: Ints
    """Index of the class that each term indicates."""


def rank_terms(
    models: LanguageModels, prior: Floats, criterion: str, top: int | None = None
) -> Ranking:
    """Return the ``top`` best of the selected terms, or all selected terms if ``top`` is None.

    ``criterion`` is a name of `nbtext.settings.CRITERIA`.
    """
    compute_scores = get_criterion(criterion)
    terms = np.flatnonzero(models.selected)
    scores = np.empty(terms.size)
    classes = np.empty(terms.size, np.int64)
    dense_rows = np.arange(terms.size)
    if compute_scores is mutual_information and uses_sparse_sum(models, prior):
        scores, classes, is_certain = _compute_sparse_mutual_information(models, prior, terms)
        dense_rows = np.flatnonzero(~is_certain)  # whose scores and classes are replaced
    for rows in iter_blocks(dense_rows, prior.size, MAX_PROBABILITIES_IN_MEMORY):
        contributions, scores[rows] = compute_scores(models, prior, terms[rows])
        classes[rows] = contributions.argmax(axis=1)
    ranked = np.argsort(-scores, kind="stable")[:top]
    return Ranking(terms[ranked], scores[ranked], classes[ranked])


def _count_documents(models: LanguageModels, terms: Ints) -> tuple[Ints, Ints, float]:
    """Return three numbers of documents: of each class with a term, of each class, and of all.

    The first array has the shape (n, n_classes), the second (n_classes,). For multi-label documents
    they have a last axis of two: the documents with the label, and the documents without it.
    """
    observed = models.statistics.observed_counts
    term_documents = observed.get_dense_documents(terms)
    class_documents = observed.class_documents
    if not observed.posterior_type.is_exclusive:
        overall = models.statistics.all_documents
        rest_term_documents = overall.get_dense_documents(terms) - term_documents
        term_documents = np.stack((term_documents, rest_term_documents), axis=-1)
        rest_documents = overall.class_documents - class_documents
        class_documents = np.stack((class_documents, rest_documents), axis=-1)
    return term_documents, class_documents, observed.n_documents


def _log_ratio(numerator: Floats, denominator: Floats) -> Floats:
    """Return log(numerator / denominator).

    The result is 0 where the numerator is 0, because x log x tends to 0 with x, and +inf where
    only the denominator is 0.
    """
    is_positive = numerator > 0
    log_numerator = np.log(np.where(is_positive, numerator, 1))
    return np.where(is_positive, log_numerator - log(denominator), 0.0)
