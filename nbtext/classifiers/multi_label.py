"""One-versus-rest classification: for each label a model of its documents against all others.

The score of label k is log π_k/(1 − π_k) + Σ_j n_jd log(φ_jk / φ_j,rest). The rest are the
documents without the label. Their counts are the counts of all documents minus the counts of the
label.
Labels compete only in the calibration, `nbtext.prediction.label_calibration`.
Source: G. Tsoumakas, I. Katakis, Multi-label classification: an overview (2007).
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
    compute_label_log_prior_odds,
    compute_log_prior_odds,
    get_classifier_parameters,
    get_term_probabilities,
    load_classifier_class,
)
from nbtext.counts.matrix import DocumentTermMatrix, add_weighted_sums
from nbtext.errors import UsageError
from nbtext.fast_dataclasses import dataclass
from nbtext.language_model.dirichlet import times_log
from nbtext.prediction.calibration import HeldOutScores
from nbtext.text.hashing import pair, unpair

if TYPE_CHECKING:
    from nbtext.classifiers.inspection import ClassifierParameters, TermProbabilities
    from nbtext.classifiers.multinomial import MultinomialNaiveBayes
    from nbtext.counts.documents import CountedDocuments
    from nbtext.counts.statistics import ClassStatistics
    from nbtext.language_model.smoothing import LeaveOneOutEntries
    from nbtext.settings import Settings
    from nbtext.type_names import Floats, Ints, Mask, Numbers


@dataclass(frozen=True, eq=False)
class OneVsRestClassifier(LinearClassifier):
    """A linear naive Bayes model for each label, and a model of all documents.

    The example has three documents, two labels, four terms and smoothing 1. Label grain has 4
    tokens, its rest 2. So the ratio of φ for wheat is (2 + 1)/(4 + 4) : (0 + 1)/(2 + 4) = 9/4.
    Label trade also has 4 tokens, its rest 2. The ratio is (1 + 1)/(4 + 4) : (1 + 1)/(2 + 4) = 3/4.
    Each label has 2 of the 3 documents, so its prior odds are (2 + ½)/(1 + ½):

    >>> from fractions import Fraction
    >>> from nbtext import TextClassifier
    >>> model = TextClassifier(stemmer="none", stop_words="none", calibration="none", smoothing=1)
    >>> texts = ["wheat price", "wheat rain", "oil price"]
    >>> model = model.fit(texts, [["grain", "trade"], ["grain"], ["trade"]])
    >>> one_vs_rest = model.fitted.classifier
    >>> wheat = np.array(one_vs_rest.training.statistics.vocabulary.find(["wheat"]))
    >>> for log_odds in (one_vs_rest.compute_weights(wheat)[0], one_vs_rest.bias):
    ...     odds = np.exp(log_odds)
    ...     print(*(Fraction(ratio).limit_denominator(100) for ratio in odds.tolist()))
    9/4 3/4
    5/3 5/3
    """

    label_models: LabelClassifier
    """The models of the labels."""
    overall_model: LabelClassifier
    """The model of all documents, of one class."""

    @classmethod
    def estimate(cls, training: Training) -> Self:
        """Estimate the models of the labels, and the model of all documents, from the counts."""
        base_class = load_classifier_class(training.settings.classifier)
        if not issubclass(base_class, LabelClassifier):
            raise TypeError("the classifier is for documents of one label each")
        overall_training = replace(training, statistics=training.statistics.all_documents)
        overall_model = base_class.estimate(overall_training)
        return cls(training, base_class.estimate(training), overall_model)

    @classmethod
    def is_leave_one_out_exact(cls, settings: Settings, weight_unit: int) -> bool:
        """Return True if the model of a label can subtract a document exactly.

        The pseudo-counts of a background prior depend on the document.
        """
        if settings.prior_shape != "symmetric":
            return False
        base_class = load_classifier_class(settings.classifier)
        return base_class.is_leave_one_out_exact(settings, weight_unit)

    @cached_property
    def bias(self) -> Floats:
        """The log prior odds plus the scores of absent terms, shape (n_classes,)."""
        bias_vs_rest = self.label_models.compute_bias_vs_rest(self.overall_model)
        return compute_label_log_prior_odds(self.training) + bias_vs_rest

    def compute_weights(self, terms: Ints) -> Floats:
        """Return log φ_jk − log φ_j,rest, shape (n, n_classes), in nats."""
        return self.label_models.compute_weights_vs_rest(self.overall_model, terms)

    def compute_features(self, matrix: DocumentTermMatrix) -> DocumentTermMatrix:
        """Return the features of documents for the models of the labels."""
        return self.label_models.compute_features(matrix)

    def leave_one_out(self, documents: CountedDocuments) -> HeldOutScores:
        """Return the scores of training documents, each by the counts of all other documents.

        A label that no other document has gets the score −inf. Raise `UsageError` if pseudo-counts
        depend on the document.
        """
        from nbtext.counts.weighting import apply_additive_weighting
        from nbtext.language_model.smoothing import subtract_each_document

        if self.training.settings.prior_shape != "symmetric":
            raise UsageError(
                "leave-one-out is not exact for several labels with --set prior-shape=background",
                hint="cross-validate with folds",
            )
        statistics = self.training.statistics
        selected = self._multinomial.language_models.selected
        truth = documents.to_document_labels(statistics.n_classes)
        has_label = truth.to_mask(statistics.n_classes)
        weights = documents.compute_weights(statistics)
        weighted = apply_additive_weighting(documents, self._multinomial.weighting)
        # The counts of all documents have no labels.
        unlabelled = replace(weighted, labels=None)
        removed = subtract_each_document(self._overall_counts, selected, unlabelled)

        scores = self._sum_log_count_ratios(removed, has_label)
        scores -= self._sum_log_token_ratios(removed, has_label)
        document_weights = weights[:, np.newaxis]
        label_documents = statistics.class_documents - np.where(has_label, document_weights, 0.0)
        scores += compute_log_prior_odds(
            self.training.settings.class_prior,
            label_documents,
            statistics.n_documents - document_weights,
        )
        scores[has_label & (label_documents <= 0)] = -np.inf

        # An entry, a term of a document, is shared if another document contains the term.
        selected_entries = documents.matrix.select_terms(selected)
        lengths = selected_entries.select_entries(removed.is_shared).known_tokens
        unknown_lengths = documents.matrix.known_tokens - lengths
        return HeldOutScores(
            scores=scores,
            lengths=lengths,
            unknown_lengths=unknown_lengths,
            truth=truth,
            weights=weights,
        )

    @property
    def _multinomial(self) -> MultinomialNaiveBayes:
        """The models of the labels. `leave_one_out` supports only multinomial naive Bayes."""
        return self.label_models  # type: ignore[return-value]

    @property
    def _overall_counts(self) -> ClassStatistics:
        """The weighted counts of all documents, of one class."""
        return self.overall_model.counts  # type: ignore[attr-defined]

    def _sum_log_count_ratios(self, removed: LeaveOneOutEntries, has_label: Mask) -> Floats:
        """Return Σ_j n_jd [log(m_jk + α_j) − log(m_j,rest + α_j)] without document d.

        ``has_label`` and the result have the shape (n_docs, n_classes).
        """
        naive_bayes = self._multinomial
        models = naive_bayes.language_models
        matrix = removed.matrix
        # If a document lacks the label, the ratio depends only on the term and on its count in
        # the document, so it is computed once for each key: a pair of a term and a count.
        _, count_indices = np.unique(removed.weighted_counts, return_inverse=True)
        keys, entry_keys = np.unique(pair(matrix.terms, count_indices), return_inverse=True)
        # The remaining counts are equal for all entries of a key.
        key_remaining_counts = np.zeros(keys.size)
        key_remaining_counts[entry_keys] = removed.remaining_counts

        def compute_ratios(key_indices: Ints) -> Floats:
            terms, _ = unpair(keys[key_indices])
            label_counts = naive_bayes.counts.get_dense_counts(terms)
            rest_counts = key_remaining_counts[key_indices, np.newaxis] - label_counts
            pseudo_counts = models.compute_pseudo_counts(terms)[:, np.newaxis]
            return _log_ratio(label_counts, rest_counts, pseudo_counts)

        scores = np.zeros(has_label.shape)
        # This changes the scores in place. The keys take the role of terms.
        add_weighted_sums(scores, matrix._replace(terms=entry_keys), keys.size, compute_ratios)

        # If a document has the label, its counts are subtracted from the label, not from the rest.
        entries, labels = np.nonzero(has_label[matrix.entry_documents])
        terms = matrix.terms[entries]
        rows = matrix.entry_documents[entries]
        removed_counts = removed.weighted_counts[entries]
        remaining_counts = removed.remaining_counts[entries]
        label_counts = naive_bayes.counts.look_up_counts(terms, labels)
        pseudo_counts = models.compute_pseudo_counts(terms)
        ratios = _log_ratio(label_counts, remaining_counts - label_counts, pseudo_counts)
        corrected_ratios = _log_ratio(
            label_counts - removed_counts,
            remaining_counts + removed_counts - label_counts,
            pseudo_counts,
        )
        np.add.at(scores, (rows, labels), matrix.counts[entries] * (corrected_ratios - ratios))
        return scores

    def _sum_log_token_ratios(self, removed: LeaveOneOutEntries, has_label: Mask) -> Floats:
        """Return n_d [log(N_k + α_0) − log(N_rest + α_0)] without document d.

        ``has_label`` and the result have the shape (n_docs, n_classes).
        """
        models = self._multinomial.language_models
        tokens = removed.weighted_lengths[:, np.newaxis]
        pseudo_tokens = models.compute_leave_one_out_pseudo_tokens(removed.vanishing)
        label_tokens = np.maximum(models.class_tokens - np.where(has_label, tokens, 0), 0.0)
        all_tokens = self._overall_counts.count_tokens(models.selected)
        rest_tokens = all_tokens - tokens - label_tokens
        # Pseudo-tokens are 0 for a document if no other document contains any of its terms.
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = _log_ratio(label_tokens, rest_tokens, pseudo_tokens[:, np.newaxis])
            return times_log(removed.matrix.row_sums[:, np.newaxis], ratios)


def _log_ratio(label_counts: Numbers, rest_counts: Numbers, pseudo_counts: Floats) -> Floats:
    """Return log(m_k + α) − log(m_rest + α)."""
    # Rounding may leave counts below 0.
    label_logs = np.log(np.maximum(label_counts, 0.0) + pseudo_counts)
    return label_logs - np.log(np.maximum(rest_counts, 0.0) + pseudo_counts)


@get_term_probabilities.register(OneVsRestClassifier)
def get_label_probabilities(classifier: OneVsRestClassifier) -> TermProbabilities | None:
    """Return the term probabilities of each label and of all documents."""
    label_probabilities = get_term_probabilities(classifier.label_models)
    overall = get_term_probabilities(classifier.overall_model)
    if label_probabilities is None or overall is None:
        return None
    return replace(label_probabilities, compute_corpus_probability=overall.compute_probability)


@get_classifier_parameters.register(OneVsRestClassifier)
def get_one_vs_rest_parameters(classifier: OneVsRestClassifier) -> ClassifierParameters:
    """Return the log odds of coins for each label against all other documents."""
    from nbtext.classifiers.inspection import ClassifierParameters, LogOdds

    probabilities = get_term_probabilities(classifier.label_models)
    if probabilities is None or not probabilities.is_bernoulli:
        return ClassifierParameters()
    terms = np.flatnonzero(classifier.label_models.get_scored_terms())
    log_odds = LogOdds(terms, classifier.compute_weights(terms), classifier.bias)
    return ClassifierParameters(log_odds=log_odds)
