"""Multinomial naive Bayes: the tokens of a document are independent draws from the language model of its class.

log p(d, C_k) = log π_k + Σ_j n_jd log φ_jk. The probabilities of the document's length and of the order of its terms are left out: they are
the same in every class. Source: IIR eq. 13.4; A. McCallum, K. Nigam, A comparison of event models for naive Bayes text classification (1998).

Terms may be weighted, as they may be for complement. Counts, presence and logs add, so their sums are in the statistics. Those of tf-idf are computed from
all documents in training and kept in the model file beside the statistics.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Self

import numpy as np

from nbtext.classifiers.base import (
    LabelClassifier,
    LinearClassifier,
    Training,
    compute_component_fits,
    compute_log_likelihood_per_token,
    get_default_smoothing,
    get_term_probabilities,
    leave_one_out_prior,
    subtract_scores,
)
from nbtext.errors import UsageError, require_valid_model
from nbtext.fast_dataclasses import dataclass
from nbtext.language_model.dirichlet import log, times_log
from nbtext.prediction.calibration import COUNT_TEMPERATURE_EXPONENT, HeldOutScores

if TYPE_CHECKING:
    from nbtext.classifiers.inspection import TermProbabilities
    from nbtext.counts.documents import CountedDocuments
    from nbtext.counts.matrix import DocumentTermMatrix
    from nbtext.counts.statistics import ClassStatistics
    from nbtext.language_model.dirichlet import LanguageModels
    from nbtext.language_model.measures import ComponentFit
    from nbtext.settings import Settings
    from nbtext.type_names import Arrays, Floats, Ints, ScoresAndTokens

WEIGHTED_COUNTS = "weighted_counts"
"""The array in the model file."""

OF_WEIGHTS = {
    "binary": "that a token of the class is the term, each document counting a term once",
    "log": "the term's share of the log weights of the class",
    "tfidf": "the term's share of the tf-idf weights of the class",
}
"""What φ is the probability of, by weighting."""


@dataclass(frozen=True, eq=False)
class WeightedCountsClassifier(LinearClassifier):
    """A linear classifier estimated from weighted counts, for documents weighted in the same way."""

    counts: ClassStatistics
    """The statistics, with weighted cells in place of counts."""

    @property
    def weighting(self) -> str:
        """How terms are weighted, as `nbtext.counts.weighting.weighted` takes it."""
        return self.training.settings.weighting

    @cached_property
    def language_models(self) -> LanguageModels:
        """The language models of the classes, over weighted counts."""
        return self.training.estimate_language_models(self.counts)

    @classmethod
    def estimate(cls, training: Training) -> Self:
        """Return the model that follows from the counts, and from the documents if it needs them."""
        return cls(training, training.compute_weighted_statistics())

    def to_arrays(self) -> Arrays:
        """Return the weighted counts of the cells, if they need documents."""
        return {WEIGHTED_COUNTS: self.counts.cell_counts} if self.weighting == "tfidf" else {}

    @classmethod
    def from_arrays(cls, training: Training, arrays: Arrays) -> Self:
        """Return the model that had these `arrays`; raise `ModelError` if no model can have had them."""
        statistics = training.statistics
        settings = training.settings
        needed = settings.weighting == "tfidf"
        require_valid_model(
            set(arrays) <= ({WEIGHTED_COUNTS} if needed else set()),
            "its weighted counts do not fit its weighting",
        )
        if not needed:
            return cls.estimate(training)
        kept = arrays.get(WEIGHTED_COUNTS, np.empty(0))  # a file leaves empty arrays out
        cells = kept.astype(np.float64)
        whole = statistics.cell_counts
        possible = cells.shape == whole.shape and np.all(
            (cells >= 0) & (cells <= whole)
        )  # weights of unit length are below n
        require_valid_model(possible, "its weighted counts do not fit its counts")
        return cls(training, replace(statistics, cell_counts=cells))

    def compute_features(self, matrix: DocumentTermMatrix) -> DocumentTermMatrix:
        """Return the weighted terms of documents."""
        if self.weighting == "counts":
            return matrix
        from nbtext.counts.weighting import weigh_matrix

        return weigh_matrix(matrix, self.weighting, self.counts)


@dataclass(frozen=True, eq=False)
class MultinomialNaiveBayes(WeightedCountsClassifier, LabelClassifier):
    """A class prior π and a language model φ for each class."""

    @classmethod
    def choose_smoothing(cls, training: Training) -> float:
        """Return the pseudo-count of the greatest evidence; a tenth for tf-idf, where on four corpora of five evidence does worse."""
        if training.settings.weighting == "tfidf":
            return get_default_smoothing(training, cls.DEFAULT_PSEUDO_COUNT)
        return super().choose_smoothing(training)

    @property
    def bias(self) -> Floats:
        """log π_k, shape (n_classes,)."""
        return self.log_prior

    def compute_weights(self, terms: Ints) -> Floats:
        """Return log φ_jk, shape (n, n_classes), in nats."""
        return self.language_models.compute_log_probability(terms)

    @property
    def default_length_exponent(self) -> float:
        """`COUNT_TEMPERATURE_EXPONENT`; 0 on tf-idf, where documents have unit length."""
        return 0.0 if self.weighting == "tfidf" else COUNT_TEMPERATURE_EXPONENT

    def add_term_scores(self, scores: Floats, features: DocumentTermMatrix) -> None:
        """Add log φ_jk times features to the scores, shape (n_docs, n_classes), in nats."""
        self.language_models.add_log_probabilities(scores, features)

    def compute_weights_vs_rest(self, everything: Self, terms: Ints) -> Floats:
        """Return log φ_jk − log φ_j,rest, shape (n, n_classes), in nats."""
        return self.compute_weights(terms) - log(
            self.language_models.estimate_rest_probability(everything.language_models, terms)
        )

    @classmethod
    def is_leave_one_out_exact(cls, settings: Settings, unit: int) -> bool:
        """Return True if the sums are exact: not of tf-idf, and not of logs times the weights of documents."""
        return settings.weighting != "tfidf" and (
            settings.weighting != "log" or (unit == 1 and settings.class_weight is None)
        )

    def leave_one_out(self, documents: CountedDocuments) -> HeldOutScores:
        """Return log p(d, C_k) of documents of the corpus, each with the prior and the language models of all others.

        Raises `UsageError` on tf-idf, and on logs times the weights of documents.
        """
        from nbtext.counts.weighting import apply_additive_weighting
        from nbtext.language_model.smoothing import compute_leave_one_out_scores

        if not self.is_leave_one_out_exact(self.training.settings, self.counts.weight_unit):
            why = "" if self.weighting == "tfidf" else " with weights of documents or classes"
            raise UsageError(
                f"leave-one-out is not exact for --weighting {self.weighting}{why}",
                hint="cross-validate with folds",
            )
        scores, lengths, unknown = compute_leave_one_out_scores(
            self.language_models,
            apply_additive_weighting(documents, self.weighting),
            documents.matrix,
        )
        weights = documents.compute_weights(self.counts)
        for label, weight in sorted(
            set(zip(documents.classes.tolist(), weights.tolist(), strict=True))
        ):
            prior = leave_one_out_prior(
                self.training.settings.class_prior, self.counts, label, weight
            )
            scores[(documents.classes == label) & (weights == weight)] += log(prior)
        return HeldOutScores(
            scores,
            lengths,
            unknown,
            documents.to_document_labels(self.training.statistics.n_classes),
            weights,
        )


@get_term_probabilities.register(MultinomialNaiveBayes)
def language_model_probabilities(classifier: MultinomialNaiveBayes) -> TermProbabilities:
    """Return φ_jk, on weighted counts shares of weights."""
    from nbtext.classifiers.inspection import MEANING_OF_TOKENS, TermProbabilities

    meaning = OF_WEIGHTS.get(classifier.weighting, MEANING_OF_TOKENS)
    return TermProbabilities.from_models(classifier.language_models, meaning)


@compute_component_fits.register(MultinomialNaiveBayes)
def language_model_fits(classifier: MultinomialNaiveBayes) -> list[ComponentFit]:
    """Return the fit of the language models."""
    from nbtext.language_model.measures import (
        ComponentFit,
        compute_class_log_evidence,
        measure_term_fit,
    )

    models = classifier.language_models
    return [ComponentFit("text", compute_class_log_evidence(models), measure_term_fit(models))]


@compute_log_likelihood_per_token.register(MultinomialNaiveBayes)
def multinomial_likelihood_per_token(
    classifier: MultinomialNaiveBayes, scores: Floats, lengths: Ints, unknown: Ints
) -> ScoresAndTokens | None:
    """Return Σ_j n_jd log φ_jk / n_d under the best class; an unknown token counts as one of a term that no document held.

    None on weighted counts, which are no draws of tokens.
    """
    if classifier.weighting != "counts":
        return None
    best = scores.argmax(axis=1)
    tokens = lengths + unknown
    likelihood = subtract_scores(scores[np.arange(best.size), best], classifier.bias[best])
    likelihood += times_log(
        unknown, classifier.language_models.estimate_log_unseen_probability()[best]
    )
    return np.divide(likelihood, tokens, out=np.zeros(best.size), where=tokens > 0), tokens
