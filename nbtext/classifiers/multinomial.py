"""Multinomial naive Bayes: the tokens of a document are independent draws from a language model.

log p(d, C_k) = log π_k + Σ_j n_jd log φ_jk. The probabilities of the document's length and of the
order of its terms are omitted, because they are the same in every class. Source: IIR eq. 13.4;
A. McCallum, K. Nigam, A comparison of event models for naive Bayes text classification (1998).

Terms of documents may be weighted, here and in complement naive Bayes. The sums of weights by
counts, presence and logs follow from the statistics of the corpus. The sums of tf-idf weights need
all documents, so the model file contains them as an array.
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
    compute_leave_one_out_prior,
    compute_log_likelihood_per_token,
    get_default_smoothing,
    get_term_probabilities,
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

WEIGHTED_COUNTS_ARRAY = "weighted_counts"
"""Name of the array in the model file."""

WEIGHT_MEANINGS = {
    "binary": "that a token of the class is the term, each document counting a term once",
    "log": "the term's proportion of the log weights of the class",
    "tfidf": "the term's proportion of the tf-idf weights of the class",
}
"""The meaning of φ for each weighting, as `inspect` prints it."""


@dataclass(frozen=True, eq=False)
class WeightedCountsClassifier(LinearClassifier):
    """A linear classifier of documents with weighted terms, estimated from weighted counts."""

    counts: ClassStatistics
    """The statistics of training, with sums of weights instead of counts."""

    @property
    def weighting(self) -> str:
        """The weighting of terms, one of `nbtext.settings.WEIGHTINGS`."""
        return self.training.settings.weighting

    @cached_property
    def language_models(self) -> LanguageModels:
        """The language models of the classes, over weighted counts."""
        return self.training.estimate_language_models(self.counts)

    @classmethod
    def estimate(cls, training: Training) -> Self:
        """Estimate the model from the counts, and for tf-idf also from the documents."""
        return cls(training, training.compute_weighted_statistics())

    def to_arrays(self) -> Arrays:
        """Return the sums of weights, shape (n_cells,), if they do not follow from counts."""
        if self.weighting != "tfidf":
            return {}
        return {WEIGHTED_COUNTS_ARRAY: self.counts.cell_counts}

    @classmethod
    def from_arrays(cls, training: Training, arrays: Arrays) -> Self:
        """Restore the model from the result of `to_arrays`.

        Raise `ModelError` if the arrays cannot come from `to_arrays`.
        """
        statistics = training.statistics
        has_array = training.settings.weighting == "tfidf"
        unexpected_names = set(arrays)
        if has_array:
            unexpected_names.discard(WEIGHTED_COUNTS_ARRAY)
        require_valid_model(not unexpected_names, "its weighted counts do not fit its weighting")
        if not has_array:
            return cls.estimate(training)
        # A model file omits empty arrays.
        sums = arrays.get(WEIGHTED_COUNTS_ARRAY, np.empty(0)).astype(np.float64)
        cell_counts = statistics.cell_counts
        # Documents have unit length, so the weight of a term is at most its count.
        require_valid_model(
            sums.shape == cell_counts.shape and np.all((sums >= 0) & (sums <= cell_counts)),
            "its weighted counts do not fit its counts",
        )
        return cls(training, replace(statistics, cell_counts=sums))

    def compute_features(self, matrix: DocumentTermMatrix) -> DocumentTermMatrix:
        """Return the documents with weights instead of counts."""
        if self.weighting == "counts":
            return matrix
        from nbtext.counts.weighting import weigh_matrix

        return weigh_matrix(matrix, self.weighting, self.counts)


@dataclass(frozen=True, eq=False)
class MultinomialNaiveBayes(WeightedCountsClassifier, LabelClassifier):
    """A class prior π, and for each class a language model φ.

    IIR, example 13.1: is a document about China? With smoothing 1 and the classes no and yes,
    φ of chinese is (1 + 1)/(3 + 6) and (5 + 1)/(8 + 6), φ of tokyo is (1 + 1)/(3 + 6) and
    (0 + 1)/(8 + 6). The joint probabilities of the last document are 1/4 · (2/9)³ · (2/9)² and
    3/4 · (3/7)³ · (1/14)²:

    >>> from fractions import Fraction
    >>> from nbtext import TextClassifier
    >>> model = TextClassifier(stemmer="none", stop_words="none", calibration="none", smoothing=1)
    >>> texts = ["Chinese Beijing Chinese", "Chinese Chinese Shanghai", "Chinese Macao"]
    >>> texts.append("Tokyo Japan Chinese")
    >>> naive_bayes = model.fit(texts, ["yes", "yes", "yes", "no"]).fitted.classifier
    >>> for term in naive_bayes.training.statistics.vocabulary.find(["chinese", "tokyo"]):
    ...     phi = np.exp(naive_bayes.compute_weights(np.array([term])))
    ...     print(*(Fraction(p).limit_denominator(100) for p in phi.ravel().tolist()))
    2/9 3/7
    2/9 1/14
    >>> joint = np.exp(model.joint_log_likelihood(["Chinese Chinese Chinese Tokyo Japan"]))
    >>> joint.round(4).tolist()
    [[0.0001, 0.0003]]
    """

    @classmethod
    def choose_smoothing(cls, training: Training) -> float:
        """Return the pseudo-count of the greatest evidence, or for tf-idf the default.

        For tf-idf, evidence does worse on four corpora of five.
        """
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
        """`COUNT_TEMPERATURE_EXPONENT`, but 0 for tf-idf, where documents have unit length."""
        if self.weighting == "tfidf":
            return 0.0
        return COUNT_TEMPERATURE_EXPONENT

    def add_term_scores(self, scores: Floats, features: DocumentTermMatrix) -> None:
        """Add log φ_jk times features to ``scores``, shape (n_docs, n_classes), in place."""
        self.language_models.add_log_probabilities(scores, features)

    def compute_weights_vs_rest(self, overall: Self, terms: Ints) -> Floats:
        """Return log φ_jk − log φ_j,rest, shape (n, n_classes), in nats."""
        rest_probability = self.language_models.estimate_rest_probability(
            overall.language_models, terms
        )
        return self.compute_weights(terms) - log(rest_probability)

    @classmethod
    def is_leave_one_out_exact(cls, settings: Settings, weight_unit: int) -> bool:
        """Return True if the weights of a document can be subtracted exactly from their sums.

        It is False for tf-idf, and for logs multiplied by weights of documents or classes.
        """
        if settings.weighting == "tfidf":
            return False
        if settings.weighting == "log":
            return weight_unit == 1 and settings.class_weight is None
        return True

    def leave_one_out(self, documents: CountedDocuments) -> HeldOutScores:
        """Return log p(d, C_k) of training documents, each by the model of all other documents.

        Raise `UsageError` if the weighted counts cannot be subtracted exactly.
        """
        from nbtext.counts.weighting import apply_additive_weighting
        from nbtext.language_model.smoothing import compute_leave_one_out_scores

        self._require_exact_subtraction()
        scores, lengths, unknown_lengths = compute_leave_one_out_scores(
            self.language_models,
            documents=apply_additive_weighting(documents, self.weighting),
            tokens=documents.matrix,
        )
        weights = documents.compute_weights(self.counts)
        self._add_leave_one_out_priors(scores, documents.classes, weights)
        truth = documents.to_document_labels(self.training.statistics.n_classes)
        return HeldOutScores(
            scores=scores,
            lengths=lengths,
            unknown_lengths=unknown_lengths,
            truth=truth,
            weights=weights,
        )

    def _require_exact_subtraction(self) -> None:
        """Raise `UsageError` if `leave_one_out` would not be exact."""
        if self.is_leave_one_out_exact(self.training.settings, self.counts.weight_unit):
            return
        condition = ""
        if self.weighting == "log":
            condition = " with weights of documents or classes"
        raise UsageError(
            f"leave-one-out is not exact for --weighting {self.weighting}{condition}",
            hint="cross-validate with folds",
        )

    def _add_leave_one_out_priors(self, scores: Floats, classes: Ints, weights: Floats) -> None:
        """Add log π_k without the document to ``scores`` of each document in place, in nats.

        ``scores`` have the shape (n_docs, n_classes), ``classes`` and ``weights`` of the documents
        (n_docs,). All documents of one class and weight have the same prior.
        """
        setting = self.training.settings.class_prior
        for label_index, weight in set(zip(classes.tolist(), weights.tolist(), strict=True)):
            prior = compute_leave_one_out_prior(setting, self.counts, label_index, weight)
            has_prior = (classes == label_index) & (weights == weight)
            scores[has_prior] += log(prior)


@get_term_probabilities.register(MultinomialNaiveBayes)
def get_language_model_probabilities(classifier: MultinomialNaiveBayes) -> TermProbabilities:
    """Return φ_jk. For weighted counts it is a proportion of weights."""
    from nbtext.classifiers.inspection import TERM_EVENT, TermProbabilities

    meaning = WEIGHT_MEANINGS.get(classifier.weighting, TERM_EVENT)
    return TermProbabilities.from_models(classifier.language_models, meaning)


@compute_component_fits.register(MultinomialNaiveBayes)
def measure_language_model_fit(classifier: MultinomialNaiveBayes) -> list[ComponentFit]:
    """Return the fit of the language models to the text."""
    from nbtext.language_model.measures import (
        ComponentFit,
        compute_class_log_evidence,
        measure_term_fit,
    )

    models = classifier.language_models
    return [ComponentFit("text", compute_class_log_evidence(models), measure_term_fit(models))]


@compute_log_likelihood_per_token.register(MultinomialNaiveBayes)
def compute_multinomial_likelihood_per_token(
    classifier: MultinomialNaiveBayes, scores: Floats, lengths: Ints, unknown_lengths: Ints
) -> ScoresAndTokens | None:
    """Return Σ_j n_jd log φ_jk / n_d under the most probable class, and n_d.

    An unknown token counts as a token of a term that occurs in no training document. Return None
    for weighted counts, because these are not draws of tokens.
    """
    if classifier.weighting != "counts":
        return None
    classes = scores.argmax(axis=1)
    class_scores = scores[np.arange(classes.size), classes]
    log_likelihood = subtract_scores(class_scores, classifier.bias[classes])
    log_unseen = classifier.language_models.estimate_log_unseen_probability()
    log_likelihood += times_log(unknown_lengths, log_unseen[classes])
    tokens = lengths + unknown_lengths
    per_token = np.divide(log_likelihood, tokens, out=np.zeros(classes.size), where=tokens > 0)
    return per_token, tokens
