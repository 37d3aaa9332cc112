"""Several labels per document: for each label the two-class model of its documents against all others.

Score of label k: log π_k/(1 − π_k) + Σ_j n_jd log(φ_jk / φ_j,rest), where the rest are the documents without the label, whose counts are those of all less its
own. The labels compete only in the calibration, `nbtext.prediction.label_calibration`. Source: G. Tsoumakas, I. Katakis, Multi-label classification: an overview
(2007), for one label against the rest.
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
    from nbtext.classifiers.inspection import TermProbabilities
    from nbtext.classifiers.multinomial import MultinomialNaiveBayes
    from nbtext.counts.documents import CountedDocuments
    from nbtext.settings import Settings
    from nbtext.type_names import Floats, Ints, Numbers


@dataclass(frozen=True, eq=False)
class OneVsRestClassifier(LinearClassifier):
    """A linear naive Bayes model for each label, and one of all documents."""

    label_models: LabelClassifier
    overall_model: LabelClassifier

    @classmethod
    def estimate(cls, training: Training) -> Self:
        """Return the model that follows from the counts."""
        kind = load_classifier_class(training.settings.classifier)
        if not issubclass(kind, LabelClassifier):
            raise TypeError("the classifier is for documents of one label each")
        of_all = kind.estimate(replace(training, statistics=training.statistics.all_documents))
        return cls(training, kind.estimate(training), of_all)

    @classmethod
    def is_leave_one_out_exact(cls, settings: Settings, unit: int) -> bool:
        """Return whether the model of a label does, and its pseudo-counts do not depend on the document."""
        if settings.prior_shape != "symmetric":
            return False
        return load_classifier_class(settings.classifier).is_leave_one_out_exact(settings, unit)

    @cached_property
    def bias(self) -> Floats:
        """The log prior odds, and what absent terms add, shape (n_classes,)."""
        return compute_label_log_prior_odds(self.training) + self.label_models.compute_bias_vs_rest(
            self.overall_model
        )

    def compute_weights(self, terms: Ints) -> Floats:
        """Return log φ_jk − log φ_j,rest, shape (n, n_classes), in nats."""
        return self.label_models.compute_weights_vs_rest(self.overall_model, terms)

    def compute_features(self, matrix: DocumentTermMatrix) -> DocumentTermMatrix:
        """Return the features of the models."""
        return self.label_models.compute_features(matrix)

    def leave_one_out(self, documents: CountedDocuments) -> HeldOutScores:
        """Return the scores of documents of the corpus, each by the counts of all others; −inf for a label that no other document has.

        Raises `UsageError` for pseudo-counts in proportion to the corpus.
        """
        from nbtext.counts.weighting import apply_additive_weighting
        from nbtext.language_model.smoothing import subtract_each_document

        if self.training.settings.prior_shape != "symmetric":
            raise UsageError(
                "leave-one-out is not exact for several labels with --set prior-shape=background",
                hint="cross-validate with folds",
            )
        # The only classifier that subtracts exactly.
        naive_bayes: MultinomialNaiveBayes = self.label_models  # type: ignore[assignment]
        statistics = self.training.statistics
        everything = self.overall_model.counts  # type: ignore[attr-defined]
        models = naive_bayes.language_models
        truth = documents.to_document_labels(statistics.n_classes)
        is_own = truth.to_mask(statistics.n_classes)
        weights = documents.compute_weights(statistics)
        counted = replace(apply_additive_weighting(documents, naive_bayes.weighting), labels=None)
        matrix, own, remaining, vanishing, tokens, others = subtract_each_document(
            everything, models.selected, counted
        )
        owners = matrix.entry_documents
        amounts = matrix.counts

        _, number = np.unique(own, return_inverse=True)
        keys, place = np.unique(pair(matrix.terms, number), return_inverse=True)
        rest_of_key = np.zeros(keys.size)
        rest_of_key[place] = remaining

        def log_ratio(with_label: Numbers, without: Numbers, added: Floats) -> Floats:
            """Return log(m + α) − log(m_rest + α), where rounding may take counts below 0."""
            return np.log(np.maximum(with_label, 0.0) + added) - np.log(
                np.maximum(without, 0.0) + added
            )

        def log_ratios(numbers: Ints) -> Floats:
            """Return the weights of a term in a document that has not the label, given the numbers of term and count, shape (n, n_classes)."""
            terms = unpair(keys[numbers])[0]
            counts = naive_bayes.counts.get_dense_counts(terms)
            return log_ratio(
                counts,
                rest_of_key[numbers, np.newaxis] - counts,
                models.compute_pseudo_counts(terms)[0],
            )

        scores = np.zeros((len(documents), statistics.n_classes))
        add_weighted_sums(scores, matrix._replace(terms=place), keys.size, log_ratios)
        entries, labels = np.nonzero(is_own[owners])
        terms = matrix.terms[entries]
        rows = owners[entries]
        its = own[entries]
        counts = naive_bayes.counts.look_up_counts(terms, labels)
        added = models.compute_pseudo_counts(terms)[0][:, 0]
        before = log_ratio(counts, remaining[entries] - counts, added)
        after = log_ratio(counts - its, remaining[entries] + its - counts, added)
        np.add.at(scores, (rows, labels), amounts[entries] * (after - before))

        total = models.compute_leave_one_out_pseudo_tokens(vanishing)[:, np.newaxis]
        with_label = np.maximum(models.class_tokens - is_own * tokens[:, np.newaxis], 0.0)
        without = everything.count_tokens(models.selected) - tokens[:, np.newaxis] - with_label
        with np.errstate(
            divide="ignore", invalid="ignore"
        ):  # a document alone with all of its terms has none left
            scores -= times_log(
                matrix.row_sums[:, np.newaxis], log_ratio(with_label, without, total)
            )
        holding = statistics.class_documents - is_own * weights[:, np.newaxis]
        scores += compute_log_prior_odds(
            self.training.settings.class_prior,
            holding,
            statistics.n_documents - weights[:, np.newaxis],
        )
        scores[is_own & (holding <= 0)] = -np.inf
        lengths = documents.matrix.select_terms(models.selected).select_entries(others).known_tokens
        return HeldOutScores(
            scores, lengths, documents.matrix.known_tokens - lengths, truth, weights
        )


@get_term_probabilities.register(OneVsRestClassifier)
def label_probabilities(classifier: OneVsRestClassifier) -> TermProbabilities | None:
    """Return those of the labels, with those of all documents."""
    of_labels = get_term_probabilities(classifier.label_models)
    of_all = get_term_probabilities(classifier.overall_model)
    return of_labels and of_all and replace(of_labels, corpus_probability=of_all.probability)
