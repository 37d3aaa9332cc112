"""What is shown of a classifier: the probabilities of terms that its scores are made of, and parameters of its own."""

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

    The terms of a class share one distribution and their probabilities sum to 1, unless there is an ``absence``.
    """

    symbol: str
    """As in `docs/mathematics.md`."""
    meaning: str
    """What it is the probability of, such as `OF_TOKENS`."""
    selected: Mask
    """The terms that have one, shape (n_terms,)."""
    probability: TermFunction
    """Returns those of selected terms, shape (n, n_classes)."""
    posteriors: Callable[[Ints], tuple[Floats, Floats]] | None = None
    """Returns a and b of the posterior Beta(a, b), both of shape (n, n_classes), nan where there is none; None if the counts are not whole."""
    absence_probability: TermFunction | None = None
    """Returns 1 less each probability, if every term has a distribution of its own."""
    corpus_probability: TermFunction | None = None
    """Returns those in all documents, shape (n, 1); None if that is the sum over classes by their priors."""

    @classmethod
    def from_models(
        cls, models: LanguageModels, meaning: str = MEANING_OF_TOKENS, own: Floats | None = None
    ) -> TermProbabilities:
        """Return those of language models, or that of an outcome that no document has, with its ``own`` pseudo-count, shape (1, 1), as any term."""
        statistics = models.statistics
        table = statistics.table
        whole = (
            statistics.weight_unit == 1
            and table.n_document_layers == len(table.layers)
            and not np.any(statistics.observed_counts.cell_counts % 1)
        )
        posteriors = (
            partial(compute_beta_posteriors, models, unseen_pseudo_counts=own) if whole else None
        )
        if own is not None:
            return cls(
                "φ",
                meaning,
                np.ones(1, np.bool_),
                lambda _: models.estimate_unseen_outcome_probability(own),
                posteriors,
            )
        return cls("φ", meaning, models.selected, models.compute_probability, posteriors)


class Boundary(NamedTuple):
    """Boundaries: class k is preferred to l where xᵀ(W_k − W_l)x + (w_k − w_l)ᵀx + w_k0 − w_l0 > 0, without W where they are linear."""

    weights: Floats
    """w_k, shape (n_classes, n_features)."""
    bias: Floats
    """w_k0, shape (n_classes,), in nats."""
    matrices: Floats | None = None
    """W_k, shape (n_classes, n_features, n_features); None where boundaries are linear."""
    means: Floats | None = None
    """μ_k, shape (n_classes, n_features); None for latent features, and so is the next."""
    covariances: Floats | None = None
    """Σ, shape (1, n_features, n_features), or one for each class."""


class TwoClassBoundary(NamedTuple):
    """The boundary between two classes where it is linear in which terms are present: the first is preferred where wᵀx + b > 0."""

    terms: Ints
    """Shape (n_terms,)."""
    weights: Floats
    """w_j, shape (n_terms,), in nats."""
    bias: float
    """b, in nats."""


@dataclass(frozen=True, eq=False)
class ClassifierParameters:
    """The parameters of a classifier that others do not have; None where it has no such thing either."""

    l2: float | None = None
    """The strength of the penalty on large weights."""
    number_weights: Floats | None = None
    """The weights of all counts and numbers, in nats for a standard deviation, shape (n_numbers, n_classes)."""
    boundary: Boundary | None = None
    """The boundaries between classes in features that are not terms."""
    two_class_boundary: TwoClassBoundary | None = None
    member_weights: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """Scale c and exponent β of the weight c · n^β of each member of an average, by its name; empty for other classifiers."""
