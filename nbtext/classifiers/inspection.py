"""Records that `inspect` shows of a classifier: probabilities of terms, boundaries and weights.

The generic functions at the end of `nbtext.classifiers.base` return these records.
"""

from __future__ import annotations

from dataclasses import field
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nbtext.fast_dataclasses import dataclass
from nbtext.language_model.dirichlet import (
    LanguageModels,
    compute_beta_posteriors,
    compute_beta_priors,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from nbtext.type_names import Floats, Ints, Mask, TermFunction

TERM_EVENT = "that a token of the class is the term"
"""The event that has the probability of a term in a language model, as `inspect` prints it."""


@dataclass(frozen=True, eq=False)
class TermProbabilities:
    """Functions that compute the probabilities of terms in each class.

    The argument of each function is term indices, shape (n,). A language model has one distribution
    over all terms of a class, which sums to 1. In a Bernoulli model each term has a distribution of
    its own: the term is present or absent.
    """

    symbol: str
    """The letter of the probability in `docs/mathematics.md`."""
    meaning: str
    """The event that has the probability, such as `TERM_EVENT`."""
    selected: Mask
    """True for terms that have a probability, shape (n_terms,)."""
    compute_probability: TermFunction
    """Returns the probabilities of selected terms, shape (n, n_classes)."""
    compute_posteriors: Callable[[Ints], tuple[Floats, Floats]] | None = None
    """Returns a and b of the posteriors Beta(a, b) of terms, both of shape (n, n_classes).

    Both are nan where a term has no posterior. None if the counts are not whole numbers.
    """
    compute_priors: Callable[[Ints], tuple[Floats, Floats]] | None = None
    """Returns a and b of the priors Beta(a, b) of terms, shape (n, n_classes) or (n, 1), or nan."""
    compute_absence_probability: TermFunction | None = None
    """Returns 1 − probability. None for language models."""
    compute_corpus_probability: TermFunction | None = None
    """Returns the probabilities in all documents, shape (n, 1).

    None if the probability in all documents is the mean over the classes, weighted by their priors.
    """

    @property
    def is_bernoulli(self) -> bool:
        """True if each term has a distribution of its own."""
        return self.compute_absence_probability is not None

    @classmethod
    def from_models(cls, models: LanguageModels, meaning: str = TERM_EVENT) -> TermProbabilities:
        """Return the probabilities φ of the terms of language models."""
        return cls(
            symbol="φ",
            meaning=meaning,
            selected=models.selected,
            compute_probability=models.compute_probability,
            compute_posteriors=_make_posterior_function(models),
            compute_priors=partial(compute_beta_priors, models),
        )

    @classmethod
    def from_unseen_outcome(
        cls, models: LanguageModels, meaning: str, pseudo_count: float
    ) -> TermProbabilities:
        """Return the probability φ of one outcome that no document has, with this pseudo-count.

        The functions ignore their argument, because the outcome has no term index.
        """
        pseudo_counts = np.array([[pseudo_count]])

        def compute_probability(_: Ints) -> Floats:
            return models.estimate_unseen_outcome_probability(pseudo_counts)

        return cls(
            symbol="φ",
            meaning=meaning,
            # The index −1, of a term that is not in the vocabulary, finds this element.
            selected=np.array([True]),
            compute_probability=compute_probability,
            compute_posteriors=_make_posterior_function(models, pseudo_counts),
            compute_priors=partial(compute_beta_priors, models, unseen_pseudo_counts=pseudo_counts),
        )


def _make_posterior_function(
    models: LanguageModels, unseen_pseudo_counts: Floats | None = None
) -> Callable[[Ints], tuple[Floats, Floats]] | None:
    """Return `compute_beta_posteriors` of the models, or None if counts are not whole numbers."""
    statistics = models.statistics
    table = statistics.table
    has_unit_weights = statistics.weight_unit == 1
    # Other layers, such as unlabelled documents, have fractional counts.
    has_only_labelled_documents = table.n_document_layers == len(table.layers)
    has_whole_cells = not np.any(statistics.observed_counts.cell_counts % 1)
    if has_unit_weights and has_only_labelled_documents and has_whole_cells:
        return partial(compute_beta_posteriors, models, unseen_pseudo_counts=unseen_pseudo_counts)
    return None


class ClassBoundaries(NamedTuple):
    """All boundaries between classes, linear or quadratic in features x.

    Class k is preferred to l where xᵀ(W_k − W_l)x + (w_k − w_l)ᵀx + w_k0 − w_l0 > 0.
    """

    weights: Floats
    """w_k, shape (n_classes, n_features)."""
    bias: Floats
    """w_k0, shape (n_classes,), in nats."""
    matrices: Floats | None = None
    """W_k, shape (n_classes, n_features, n_features). None if boundaries are linear."""
    means: Floats | None = None
    """μ_k, shape (n_classes, n_features). None if there are latent features."""
    covariances: Floats | None = None
    """Σ_k, shape (1 or n_classes, n_features, n_features). None if there are latent features."""


class TwoClassBoundary(NamedTuple):
    """The boundary between two classes that is linear in the presence of terms.

    The first class is preferred where wᵀx + b > 0. x_j is 1 if a document contains term j, else 0.
    """

    terms: Ints
    """Indices of the terms that have weights, shape (n,)."""
    weights: Floats
    """w_j, shape (n,), in nats."""
    bias: float
    """b, in nats."""


class LogOdds(NamedTuple):
    """The log odds of terms in each of several classes.

    Class k has the score b_k + Σ_j x_j w_jk. x_j is 1 if a document contains term j, else 0.
    """

    terms: Ints
    """Indices of the terms, shape (n,)."""
    weights: Floats
    """w_jk, shape (n, n_classes), in nats."""
    bias: Floats
    """b_k, shape (n_classes,), in nats."""


@dataclass(frozen=True, eq=False)
class ClassifierParameters:
    """Parameters that only some classifiers have. For all others they are None or empty."""

    l2: float | None = None
    """The strength of the penalty on large weights."""
    number_weights: Floats | None = None
    """Weights of attributes that are counts or numbers, shape (n_numbers, n_classes).

    The unit is nats per standard deviation.
    """
    boundaries: ClassBoundaries | None = None
    """The boundaries between classes in features that are not terms."""
    two_class_boundary: TwoClassBoundary | None = None
    """The boundary between two classes in terms."""
    log_odds: LogOdds | None = None
    """The log odds of terms in more than two classes, or for each label against all others."""
    member_weights: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """c and β of each member of an ensemble, by its name.

    The weight of a member is c · n^β in a document of n used tokens.
    """
