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
    class_conditionals,
    classifier_class,
    label_prior_odds,
    log_prior_odds,
)
from nbtext.counts.matrix import DocumentTermMatrix, add_weighted_sums
from nbtext.errors import UsageError
from nbtext.fast_dataclasses import dataclass
from nbtext.language_model.dirichlet import times_log
from nbtext.prediction.calibration import Unseen
from nbtext.text.hashing import pair, unpair

if TYPE_CHECKING:
    from nbtext.classifiers.inspection import TermProbabilities
    from nbtext.classifiers.multinomial import MultinomialNaiveBayes
    from nbtext.counts.documents import CountedDocuments
    from nbtext.settings import Settings
    from nbtext.type_names import Floats, Numbers, Whole


@dataclass(frozen=True, eq=False)
class LabelsAgainstRest(LinearClassifier):
    """A linear naive Bayes model for each label, and one of all documents."""

    of_labels: LabelClassifier
    of_all: LabelClassifier

    @classmethod
    def estimate(cls, training: Training) -> Self:
        """Return the model that follows from the counts."""
        kind = classifier_class(training.settings.classifier)
        if not issubclass(kind, LabelClassifier):
            raise TypeError("the classifier is for documents of one label each")
        of_all = kind.estimate(replace(training, statistics=training.statistics.all_documents))
        return cls(training, kind.estimate(training), of_all)

    @classmethod
    def subtracts_exactly(cls, settings: Settings, unit: int) -> bool:
        """Return whether the model of a label does, and its pseudo-counts do not depend on the document."""
        if settings.prior_shape != "symmetric":
            return False
        return classifier_class(settings.classifier).subtracts_exactly(settings, unit)

    @cached_property
    def bias(self) -> Floats:
        """The log prior odds, and what absent terms add, shape (n_classes,)."""
        return label_prior_odds(self.training) + self.of_labels.bias_against(self.of_all)

    def weights(self, terms: Whole) -> Floats:
        """Return log φ_jk − log φ_j,rest, shape (n, n_classes), in nats."""
        return self.of_labels.against(self.of_all, terms)

    def features(self, matrix: DocumentTermMatrix) -> DocumentTermMatrix:
        """Return the features of the models."""
        return self.of_labels.features(matrix)

    def leave_one_out(self, documents: CountedDocuments) -> Unseen:
        """Return the scores of documents of the corpus, each by the counts of all others; −inf for a label that no other document has.

        Raises `UsageError` for pseudo-counts in proportion to the corpus.
        """
        from nbtext.counts.weighting import as_summed
        from nbtext.language_model.smoothing import without_themselves

        if self.training.settings.prior_shape != "symmetric":
            raise UsageError(
                "leave-one-out is not exact for several labels with --set prior-shape=background",
                hint="cross-validate with folds",
            )
        # The only classifier that subtracts exactly.
        naive_bayes: MultinomialNaiveBayes = self.of_labels  # type: ignore[assignment]
        statistics = self.training.statistics
        everything = self.of_all.counts  # type: ignore[attr-defined]
        models = naive_bayes.language_models
        truth = documents.truth(statistics.n_classes)
        is_own = truth.mask(statistics.n_classes)
        weights = documents.natural_weights(statistics)
        counted = replace(as_summed(documents, naive_bayes.weighting), labels=None)
        matrix, own, remaining, vanishing, tokens, others = without_themselves(
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

        def log_ratios(numbers: Whole) -> Floats:
            """Return the weights of a term in a document that has not the label, given the numbers of term and count, shape (n, n_classes)."""
            terms = unpair(keys[numbers])[0]
            counts = naive_bayes.counts.counts_of(terms)
            return log_ratio(
                counts, rest_of_key[numbers, np.newaxis] - counts, models.pseudo_counts(terms)[0]
            )

        scores = np.zeros((len(documents), statistics.n_classes))
        add_weighted_sums(scores, matrix._replace(terms=place), keys.size, log_ratios)
        entries, labels = np.nonzero(is_own[owners])
        terms = matrix.terms[entries]
        rows = owners[entries]
        its = own[entries]
        counts = naive_bayes.counts.counts_in(terms, labels)
        added = models.pseudo_counts(terms)[0][:, 0]
        before = log_ratio(counts, remaining[entries] - counts, added)
        after = log_ratio(counts - its, remaining[entries] + its - counts, added)
        np.add.at(scores, (rows, labels), amounts[entries] * (after - before))

        total = models.pseudo_tokens_without(vanishing)[:, np.newaxis]
        with_label = np.maximum(models.class_tokens - is_own * tokens[:, np.newaxis], 0.0)
        without = everything.tokens_of(models.selected) - tokens[:, np.newaxis] - with_label
        with np.errstate(
            divide="ignore", invalid="ignore"
        ):  # a document alone with all of its terms has none left
            scores -= times_log(matrix.sums[:, np.newaxis], log_ratio(with_label, without, total))
        holding = statistics.class_documents - is_own * weights[:, np.newaxis]
        scores += log_prior_odds(
            self.training.settings.class_prior,
            holding,
            statistics.n_documents - weights[:, np.newaxis],
        )
        scores[is_own & (holding <= 0)] = -np.inf
        lengths = documents.matrix.of_terms(models.selected).of_entries(others).lengths
        return Unseen(scores, lengths, documents.matrix.lengths - lengths, truth, weights)


@class_conditionals.register(LabelsAgainstRest)
def label_probabilities(classifier: LabelsAgainstRest) -> TermProbabilities | None:
    """Return those of the labels, with those of all documents."""
    of_labels = class_conditionals(classifier.of_labels)
    of_all = class_conditionals(classifier.of_all)
    return of_labels and of_all and replace(of_labels, corpus=of_all.probability)
