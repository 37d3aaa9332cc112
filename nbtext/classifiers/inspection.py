"""Parameters of a classifier to show: the probabilities of terms, and parameters of its own."""

from __future__ import annotations

from dataclasses import field
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nbtext.fast_dataclasses import dataclass
from nbtext.language_model.dirichlet import LanguageModels, compute_beta_posteriors

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from nbtext.type_names import Floats, Ints, Mask, TermFunction

MEANING_OF_TOKENS = "that a token of the class is the term"


@dataclass(frozen=True, eq=False)
class TermProbabilities:
    """Estimated probabilities of terms in each class, which `inspect` shows.

    Without `absence_probability`, the terms of a class share one distribution and their
    probabilities sum to 1.
    """

    symbol: str
    """The letter of the probability in `docs/mathematics.md`."""
    meaning: str
    """The event that has the probability, such as `MEANING_OF_TOKENS`."""
    selected: Mask
    """True for terms that have a probability, shape (n_terms,)."""
    probability: TermFunction
    """Returns the probabilities of n selected terms, shape (n, n_classes)."""
    posteriors: Callable[[Ints], tuple[Floats, Floats]] | None = None
    """Returns a and b of the posteriors Beta(a, b) of n terms, both of shape (n, n_classes).

    Both are nan where a term has no posterior. None if the counts are not whole numbers.
    """
    absence_probability: TermFunction | None = None
    """Returns 1 − probability, if every term has a distribution of its own."""
    corpus_probability: TermFunction | None = None
    """Returns the probabilities in all documents, shape (n, 1).

    None if these are the mean over the classes, weighted by their priors.
    """

    @classmethod
    def from_models(
        cls,
        models: LanguageModels,
        meaning: str = MEANING_OF_TOKENS,
        unseen_pseudo_counts: Floats | None = None,
    ) -> TermProbabilities:
        """Return the probabilities of language models.

        With ``unseen_pseudo_counts``, shape (1, 1), return the probability of an outcome that no
        document has and that has this pseudo-count. The result is the same for any term.
        """
        posteriors = None
        if _has_whole_counts(models):
            posteriors = partial(
                compute_beta_posteriors, models, unseen_pseudo_counts=unseen_pseudo_counts
            )
        if unseen_pseudo_counts is None:
            return cls("φ", meaning, models.selected, models.compute_probability, posteriors)

        def get_unseen_probability(_: Ints) -> Floats:
            return models.estimate_unseen_outcome_probability(unseen_pseudo_counts)

        return cls("φ", meaning, np.ones(1, np.bool_), get_unseen_probability, posteriors)


def _has_whole_counts(models: LanguageModels) -> bool:
    """Return True if the models are estimated from unweighted counts of documents."""
    statistics = models.statistics
    table = statistics.table
    return (
        statistics.weight_unit == 1
        and table.n_document_layers == len(table.layers)
        and not np.any(statistics.observed_counts.cell_counts % 1)
    )


class Boundary(NamedTuple):
    """Boundaries between classes, linear or quadratic in features x.

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
    """A boundary between two classes that is linear in the presence of terms, x.

    The first class is preferred where wᵀx + b > 0.
    """

    terms: Ints
    """Shape (n_terms,)."""
    weights: Floats
    """w_j, shape (n_terms,), in nats."""
    bias: float
    """b, in nats."""


@dataclass(frozen=True, eq=False)
class ClassifierParameters:
    """Parameters that only some classifiers have. None or empty for all others."""

    l2: float | None = None
    """The strength of the penalty on large weights."""
    number_weights: Floats | None = None
    """Weights of counts and numbers, in nats per standard deviation, (n_numbers, n_classes)."""
    boundary: Boundary | None = None
    """Boundaries between classes in features that are not terms."""
    two_class_boundary: TwoClassBoundary | None = None
    """The boundary between two classes in terms."""
    member_weights: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """c and β of the weight c · n^β of each member of an ensemble, by its name."""
