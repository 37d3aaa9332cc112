"""Choose what ``auto`` means for scripts without spaces, stop words and smoothing.

An alternative is chosen if it predicts held-out documents clearly better. Each document of the
sample is subtracted from the counts, exactly, and predicted by calibrated multinomial naive Bayes,
whatever the classifier: this model leaves out every document in one pass. Two settings are compared
by the log loss of the same documents, in a paired test.

Segmentations and then stop words are compared on counts, whatever the weighting. Pseudo-counts are
compared on the weights of the model, if their sums are exact. Complement naive Bayes on tf-idf has
neither, so that classifier itself is compared, by its errors on every fifth document.

Choices follow from counts and sample, so an updated model makes the same choices as a trained one.
"""

from __future__ import annotations

from dataclasses import field, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nbtext.classifiers.base import Training, load_classifier_class, select_classifier_class
from nbtext.classifiers.held_out import (
    fit_classifier_calibration,
    sort_by_content,
    split_held_out,
)
from nbtext.classifiers.multinomial import MultinomialNaiveBayes
from nbtext.counts.corpus_counts import Subsets
from nbtext.counts.statistics import estimate_statistics
from nbtext.counts.vocabulary import SEGMENTATION_MARKS, mask_segmentation, mask_stop_words
from nbtext.fast_dataclasses import dataclass
from nbtext.fitted_model import (
    MIN_CLEAR_DOCUMENTS,
    MIN_COMPARED_DOCUMENTS,
    NO_CHOICES,
    Choices,
    PairedTest,
    find_dropped_terms,
)
from nbtext.prediction.posterior import ClassPosterior, LabelPosterior, Posterior, look_up_kind
from nbtext.settings import TermSmoothing
from nbtext.text.surface_forms import PAIRS, WORDS

if TYPE_CHECKING:
    from collections.abc import Callable

    from nbtext.classifiers.base import Classifier
    from nbtext.counts.documents import CountedDocuments
    from nbtext.counts.statistics import ClassStatistics
    from nbtext.prediction.labels import DocumentLabels
    from nbtext.settings import Settings, Weighting
    from nbtext.type_names import Floats, Mask


MAX_ENTRIES_TIMES_CLASSES: dict[type[Posterior], tuple[int, int]] = {
    ClassPosterior: (1 << 20, 1 << 21),
    LabelPosterior: (1 << 22, 1 << 23),
}
"""Limits of matrix entries times classes of the held-out documents, by kind of posterior.

The first limit is for the first comparison, the second for the comparison after an unclear one.
2²⁰ entries take about 8 ms per setting. Multi-label corpora need more, since most documents have
few of many labels."""

SMOOTHING_ALTERNATIVES = (0.03, 0.1, 0.3, 1.0)
"""Pseudo-counts to compare with the pseudo-count of greatest evidence."""

TFIDF_SMOOTHING_ALTERNATIVES = (0.003, 0.01, 0.03, 0.1, 0.5, 1.0)
"""Pseudo-counts to compare with the default of complement naive Bayes on tf-idf."""

MIN_SMOOTHING_RATIO = 2.0
"""Ratio from which a pseudo-count is different enough from another to be compared."""


def has_auto_settings(settings: Settings) -> bool:
    """Return whether any setting is chosen by held-out documents."""
    return (
        settings.counts_stop_words
        or settings.counts_pairs_and_words
        or _compares_smoothing(settings)
        or _compares_tfidf_smoothing(settings)
    )


def _compares_smoothing(settings: Settings) -> bool:
    """Return whether pseudo-counts are compared by multinomial naive Bayes."""
    return (
        settings.smoothing == "auto"
        and settings.classifier == "multinomial"
        and settings.weighting != "tfidf"
        and settings.prior_shape == "symmetric"
        and settings.estimate != "ml"
    )


def _compares_tfidf_smoothing(settings: Settings) -> bool:
    """Return whether pseudo-counts are compared by complement naive Bayes on tf-idf.

    This classifier has no evidence.
    """
    return (
        settings.smoothing == "auto"
        and settings.classifier == "complement"
        and settings.weighting == "tfidf"
        and settings.prior_shape == "symmetric"
    )


def choose_auto_settings(
    statistics: ClassStatistics,
    sample: CountedDocuments,
    settings: Settings,
    selected: Mask,
    documents: CountedDocuments | None = None,
    *,
    pairs_only: bool = False,
) -> Choices:
    """Return the choices for a corpus, given a sample of its documents.

    ``selected`` are the terms within the limits --min-df and --max-df, shape (n_terms,).
    ``documents`` are all documents, for a classifier that needs them. If ``pairs_only``, scripts
    without spaces are counted by pairs without a comparison.
    """
    vocabulary = statistics.vocabulary
    stop_words = np.zeros_like(selected)
    if settings.counts_stop_words:
        stop_words = mask_stop_words(vocabulary) & selected

    segmentation_choice = NO_CHOICES
    if settings.counts_pairs_and_words:
        if len(sample) >= MIN_CLEAR_DOCUMENTS and not pairs_only:
            segmentation_choice = _choose_segmentation(
                statistics, sample, settings, selected & ~stop_words
            )
        dropped_by_segmentation = find_dropped_terms(
            vocabulary, settings, replace(segmentation_choice, stop_words_kept=True)
        )
        selected = selected & ~dropped_by_segmentation

    terms = _TermSets(selected, stop_words)
    choices = _choose_stop_words_and_smoothing(statistics, sample, settings, terms)
    if documents is not None and _compares_tfidf_smoothing(settings):
        used_terms = selected if choices.stop_words_kept else terms.content_terms
        pseudo_count = _choose_tfidf_smoothing(statistics, settings, used_terms, documents)
        choices = replace(choices, pseudo_count=pseudo_count)
    return replace(choices, sides=segmentation_choice.sides, unspaced=segmentation_choice.unspaced)


class _TermSets(NamedTuple):
    """Masks of the terms that may be used, both of shape (n_terms,)."""

    selected: Mask
    stop_words: Mask

    @property
    def content_terms(self) -> Mask:
        """The selected terms that are not stop words."""
        return self.selected & ~self.stop_words


def _choose_stop_words_and_smoothing(
    statistics: ClassStatistics, sample: CountedDocuments, settings: Settings, terms: _TermSets
) -> Choices:
    """Compare stop words, and then pseudo-counts, on held-out documents of the sample."""
    has_stop_words = bool(terms.stop_words.any())
    # The same condition as `MultinomialNaiveBayes.is_leave_one_out_exact`.
    is_exact = settings.weighting != "log" or statistics.weight_unit == 1
    compares_smoothing = (
        is_exact and _compares_smoothing(settings) and len(sample) >= MIN_CLEAR_DOCUMENTS
    )
    compares_stop_words = has_stop_words and len(sample) >= MIN_COMPARED_DOCUMENTS
    if not compares_stop_words and not compares_smoothing:
        has_other_terms = bool(terms.content_terms.any())
        return Choices(stop_words_kept=has_stop_words and not has_other_terms)

    on_counts = _Alternatives.from_settings(statistics, settings, "counts")
    on_weights = on_counts
    if settings.weighting != "counts":
        on_weights = _Alternatives.from_settings(statistics, settings, settings.weighting)

    def decide(documents: CountedDocuments) -> Choices:
        """Return the choices that these documents support."""
        choices = Choices()
        used_terms = terms.content_terms
        losses = None
        if has_stop_words:
            choices, losses = _compare_stop_words(on_counts, documents, terms)
            if choices.stop_words_kept:
                used_terms = terms.selected
        if not compares_smoothing:
            return choices
        if losses is None or on_weights is not on_counts:
            losses = on_weights.compute_losses(documents, used_terms)
        pseudo_count, comparison = on_weights.find_best_smoothing(documents, used_terms, losses)
        return replace(
            choices,
            pseudo_count=pseudo_count if comparison.is_clear else None,
            smoothing=comparison,
        )

    return _decide_in_stages(statistics, sample, decide)


def _compare_stop_words(
    alternatives: _Alternatives, documents: CountedDocuments, terms: _TermSets
) -> tuple[Choices, Floats]:
    """Return the choice for stop words, and the losses of the documents with this choice."""
    # The evidence of all terms is nearly the same, and takes time.
    pseudo_count = alternatives.find_evidence_smoothing(terms.content_terms)
    losses = alternatives.compute_losses(documents, terms.content_terms, pseudo_count)
    losses_with_stop_words = alternatives.compute_losses(documents, terms.selected, pseudo_count)
    comparison = PairedTest.from_losses(losses, losses_with_stop_words)
    choices = Choices(comparison.keeps_stop_words, comparison)
    return choices, losses_with_stop_words if comparison.keeps_stop_words else losses


def _choose_tfidf_smoothing(
    statistics: ClassStatistics, settings: Settings, selected: Mask, documents: CountedDocuments
) -> float | None:
    """Return the pseudo-count that predicts every fifth document clearly better than the default.

    Return None if no pseudo-count does. They are compared by errors: the scores are not
    likelihoods, so a lower log loss can go with worse predictions. The calibrated log loss must not
    be higher, however.
    """
    classifier_class = load_classifier_class(settings.classifier)
    documents = sort_by_content(documents)
    held_out_rows = split_held_out(documents)[1]
    if len(held_out_rows) < MIN_CLEAR_DOCUMENTS:
        return None
    is_fitted = np.ones(len(documents), np.bool_)
    is_fitted[held_out_rows] = False
    fitted_statistics = estimate_statistics(
        Subsets(statistics.table, documents).select_table(is_fitted), statistics.weights
    )
    training = Training(
        fitted_statistics,
        selected & fitted_statistics.term_occurs,
        classifier_class.DEFAULT_PSEUDO_COUNT,
        settings,
        documents=documents.take(np.flatnonzero(is_fitted)),
    )
    classifier = classifier_class.estimate(training)
    held_out = documents.take(held_out_rows)
    truth = held_out.to_document_labels(fitted_statistics.n_classes)

    def evaluate(pseudo_count: float) -> tuple[Floats, float]:
        model = replace(classifier, training=replace(training, smoothing=pseudo_count))
        return _evaluate_held_out(model, held_out, truth)

    default_errors, default_loss = evaluate(classifier_class.DEFAULT_PSEUDO_COUNT)
    best_count = None
    best_test = PairedTest(0.0, 0.0, len(default_errors))
    for pseudo_count in TFIDF_SMOOTHING_ALTERNATIVES:
        errors, loss = evaluate(pseudo_count)
        test = PairedTest.from_losses(default_errors, errors)
        if test.gain > best_test.gain and loss <= default_loss:
            best_count = pseudo_count
            best_test = test
    return best_count if best_test.is_clear else None


def _evaluate_held_out(
    classifier: Classifier, documents: CountedDocuments, truth: DocumentLabels
) -> tuple[Floats, float]:
    """Return which documents are predicted wrong, shape (n_docs,), and the calibrated log loss.

    The log loss is the mean over the documents whose true class has a finite score, in nats.
    """
    scores, lengths = classifier.joint_log_likelihood(documents.matrix)
    errors = (scores.argmax(axis=1) != truth.indices).astype(np.float64)
    is_known = np.isfinite(scores[np.arange(len(truth)), truth.indices])
    if not is_known.any():
        return errors, np.inf
    scores = scores[is_known]
    lengths = lengths[is_known]
    known_truth = truth[is_known]
    calibration = fit_classifier_calibration(classifier, scores, known_truth, lengths, None)
    log_posterior = calibration.compute_log_posterior(scores, lengths)
    posterior = classifier.training.statistics.posterior_type(log_posterior)
    return errors, float(posterior.compute_log_losses(known_truth).mean())


def _choose_segmentation(
    statistics: ClassStatistics, sample: CountedDocuments, settings: Settings, selected: Mask
) -> Choices:
    """Return the choice between pairs, words and both; pairs unless another is clearly better.

    With few documents in scripts without spaces nothing is compared: the test would only see noise
    of the calibration.
    """
    mask_by_segmentation = {
        segmentation: mask_segmentation(statistics.vocabulary, segmentation) & selected
        for segmentation in SEGMENTATION_MARKS
    }
    pairs = mask_by_segmentation[PAIRS]
    words = mask_by_segmentation[WORDS]
    unspaced_entries = np.flatnonzero((pairs | words)[sample.matrix.terms])
    entries_per_document = np.bincount(sample.matrix.entry_documents[unspaced_entries])
    if np.count_nonzero(entries_per_document) < MIN_CLEAR_DOCUMENTS:
        return NO_CHOICES
    alternatives = _Alternatives.from_settings(statistics, settings, "counts")

    def decide(documents: CountedDocuments) -> Choices:
        pair_losses = alternatives.compute_losses(documents, selected & ~words)
        word_losses = alternatives.compute_losses(documents, selected & ~pairs)
        losses_of_both = alternatives.compute_losses(documents, selected)
        words_test = PairedTest.from_losses(pair_losses, word_losses)
        both_test = PairedTest.from_losses(pair_losses, losses_of_both)
        segmentations: tuple[str, ...] = (WORDS,)
        best_test = words_test
        if both_test.gain > words_test.gain:
            segmentations = (PAIRS, WORDS)
            best_test = both_test
        if not best_test.is_clear:
            segmentations = (PAIRS,)
        return Choices(sides=segmentations, unspaced=best_test)

    return _decide_in_stages(statistics, sample, decide)


def _decide_in_stages(
    statistics: ClassStatistics,
    sample: CountedDocuments,
    decide: Callable[[CountedDocuments], Choices],
) -> Choices:
    """Return the choices of the first documents of the sample, or of more if they are unclear.

    The sample is in the order of hashes, so its first documents are a random selection.
    """
    for limit in look_up_kind(MAX_ENTRIES_TIMES_CLASSES, statistics.posterior_type):
        max_entries = limit // statistics.n_classes
        n_fitting = int(
            np.searchsorted(np.cumsum(sample.matrix.row_sizes), max_entries, side="right")
        )
        n_documents = min(len(sample), max(n_fitting, 2 * MIN_CLEAR_DOCUMENTS))
        choices = decide(sample.take(np.arange(n_documents)))
        tests = (choices.unspaced, choices.stop_words, choices.smoothing)
        is_unclear = any(test is not None and test.needs_more_documents for test in tests)
        if n_documents == len(sample) or not is_unclear:
            break
    return choices


@dataclass(frozen=True)
class _Alternatives:
    """Multinomial models of a corpus under one weighting, to compare on held-out documents."""

    statistics: ClassStatistics
    settings: Settings
    _evidence_smoothing: dict[bytes, float] = field(default_factory=dict)
    """Cached results of `find_evidence_smoothing`, by mask of terms."""

    @classmethod
    def from_settings(
        cls, statistics: ClassStatistics, settings: Settings, weighting: Weighting
    ) -> _Alternatives:
        """Return the alternatives for a corpus, whatever the classifier of the settings."""
        multinomial_settings = replace(
            settings,
            classifier="multinomial",
            weighting=weighting,
            prior_shape="symmetric",
            estimate="mean",
        )
        return cls(statistics, multinomial_settings)

    def find_evidence_smoothing(self, selected: Mask) -> float:
        """Return the pseudo-count of greatest evidence, or the one that the user set.

        It applies to terms without a pseudo-count of their own.
        """
        setting = self.settings.smoothing
        if isinstance(setting, TermSmoothing):
            return float(setting.default)
        if isinstance(setting, (int, float)):
            return float(setting)
        key = selected.tobytes()
        if key not in self._evidence_smoothing:
            self._evidence_smoothing[key] = MultinomialNaiveBayes.choose_smoothing(
                Training(self.statistics, selected, np.nan, self.settings)
            )
        return self._evidence_smoothing[key]

    def compute_losses(
        self, documents: CountedDocuments, selected: Mask, pseudo_count: float | None = None
    ) -> Floats:
        """Return the calibrated log loss of each held-out document, in nats, shape (n_docs,).

        The loss is nan if a class of the document has no other document. Without ``pseudo_count``,
        use the pseudo-count of greatest evidence.
        """
        if pseudo_count is None:
            pseudo_count = self.find_evidence_smoothing(selected)
        classifier = select_classifier_class(self.statistics, self.settings).estimate(
            Training(self.statistics, selected, pseudo_count, self.settings)
        )
        held_out = classifier.leave_one_out(documents)
        scores, lengths, _, truth, _ = held_out.take_known_classes()
        calibration = fit_classifier_calibration(classifier, scores, truth, lengths, None)
        posterior = self.statistics.posterior_type(
            calibration.compute_log_posterior(scores, lengths)
        )
        losses = np.full(len(documents), np.nan)
        losses[held_out.has_known_labels] = posterior.compute_log_losses(truth)
        return losses

    def find_best_smoothing(
        self, documents: CountedDocuments, selected: Mask, losses: Floats
    ) -> tuple[float, PairedTest]:
        """Return the best pseudo-count of `SMOOTHING_ALTERNATIVES`, and its test.

        ``losses`` are those of the greatest evidence. Search upwards while each alternative is
        better than the previous one; if none is better than the evidence, search downwards.
        """
        evidence = self.find_evidence_smoothing(selected)
        larger = [
            count for count in SMOOTHING_ALTERNATIVES if count >= MIN_SMOOTHING_RATIO * evidence
        ]
        smaller = [
            count for count in SMOOTHING_ALTERNATIVES if count * MIN_SMOOTHING_RATIO <= evidence
        ]
        best_count = evidence
        best_test = PairedTest(0.0, 0.0, len(losses))
        for direction in (larger, smaller[::-1]):
            for pseudo_count in direction:
                test = PairedTest.from_losses(
                    losses, self.compute_losses(documents, selected, pseudo_count)
                )
                if best_count == evidence or test.gain > best_test.gain:
                    best_count = pseudo_count
                    best_test = test
                if test.gain < max(best_test.gain, 0):
                    break
            if best_test.gain > 0:
                break
        return best_count, best_test
