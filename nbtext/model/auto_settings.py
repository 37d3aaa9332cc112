"""Choose what ``auto`` means for scripts without spaces, stop words and smoothing.

Training calls `choose_auto_settings`. An alternative is chosen if it predicts held-out documents
clearly better, in a paired test of the log loss of the same documents. Each document of the sample
is subtracted from the counts, exactly, and predicted by calibrated multinomial naive Bayes, even
for other classifiers, because this model can hold out every document in one pass.

Segmentations (pairs or words of scripts without spaces), and then stop words, are compared on
counts, for every weighting. Pseudo-counts are compared on the weights of the model, if sums of
weights are exact. Complement naive Bayes on tf-idf has no exact sums, so its own errors on every
fifth document are compared.

Updating a model leads to the same choices as training, because they depend on counts and sample.
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
from nbtext.counts.vocabulary import mask_segmentation, mask_stop_words
from nbtext.fast_dataclasses import dataclass
from nbtext.fitted_model import (
    MIN_CLEAR_DOCUMENTS,
    MIN_COMPARED_DOCUMENTS,
    NO_CHOICES,
    Choices,
    PairedTest,
    find_dropped_terms,
    get_fixed_pseudo_count,
)
from nbtext.prediction.posterior import ClassPosterior, LabelPosterior, Posterior, look_up_kind
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

The first limit is for the first test, the second for its repetition if the first test is unclear.
2²⁰ take about 8 ms per setting. Multi-label corpora need more, since most of their documents have
only a few of many labels.
"""

SMOOTHING_ALTERNATIVES = (0.03, 0.1, 0.3, 1.0)
"""Pseudo-counts to compare with the pseudo-count of greatest evidence, ascending."""

TFIDF_SMOOTHING_ALTERNATIVES = (0.003, 0.01, 0.03, 0.1, 0.5, 1.0)
"""Pseudo-counts to compare with the default of complement naive Bayes on tf-idf."""

MIN_SMOOTHING_RATIO = 2.0
"""Pseudo-counts with a smaller ratio are too similar to be compared."""


def has_auto_settings(settings: Settings) -> bool:
    """Return whether training compares alternatives of any setting on held-out documents."""
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
    """Return whether pseudo-counts are compared by complement naive Bayes on tf-idf."""
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
    """Return the choices for a corpus, from a sample of its documents.

    ``selected`` is a mask of the terms within the limits --min-df and --max-df, shape (n_terms,).
    ``documents`` are all documents, for a classifier that needs them. If ``pairs_only``, scripts
    without spaces are counted by pairs without a test.
    """
    vocabulary = statistics.vocabulary
    is_stop_word = np.zeros_like(selected)
    if settings.counts_stop_words:
        is_stop_word = mask_stop_words(vocabulary) & selected

    unspaced_choices = NO_CHOICES
    if settings.counts_pairs_and_words:
        if len(sample) >= MIN_CLEAR_DOCUMENTS and not pairs_only:
            unspaced_choices = _choose_segmentation(
                statistics, sample, settings, selected & ~is_stop_word
            )
        # Only the terms of other segmentations are dropped. Stop words are compared later.
        choices = replace(unspaced_choices, stop_words_kept=True)
        selected = selected & ~find_dropped_terms(vocabulary, settings, choices)

    terms = _TermSets(selected, is_stop_word)
    choices = _choose_stop_words_and_smoothing(statistics, sample, settings, terms)
    if documents is not None and _compares_tfidf_smoothing(settings):
        used_terms = selected if choices.stop_words_kept else terms.content_terms
        pseudo_count = _choose_tfidf_smoothing(statistics, settings, used_terms, documents)
        choices = replace(choices, pseudo_count=pseudo_count)
    return replace(choices, sides=unspaced_choices.sides, unspaced=unspaced_choices.unspaced)


class _TermSets(NamedTuple):
    """Masks of terms that the model may use, shape (n_terms,)."""

    selected: Mask
    is_stop_word: Mask
    """True for the selected stop words if training chooses whether to use them, else False."""

    @property
    def content_terms(self) -> Mask:
        """Mask of the selected terms that are not stop words."""
        return self.selected & ~self.is_stop_word


def _choose_stop_words_and_smoothing(
    statistics: ClassStatistics, sample: CountedDocuments, settings: Settings, terms: _TermSets
) -> Choices:
    """Choose whether to use stop words, and then the pseudo-count, on held-out documents."""
    has_stop_words = bool(terms.is_stop_word.any())
    # The same condition as `MultinomialNaiveBayes.is_leave_one_out_exact`.
    is_exact = settings.weighting != "log" or statistics.weight_unit == 1
    compares_smoothing = (
        is_exact and _compares_smoothing(settings) and len(sample) >= MIN_CLEAR_DOCUMENTS
    )
    compares_stop_words = has_stop_words and len(sample) >= MIN_COMPARED_DOCUMENTS
    if not compares_stop_words and not compares_smoothing:
        # Stop words are dropped, unless the model has no other terms.
        return Choices(stop_words_kept=has_stop_words and not terms.content_terms.any())

    count_models = _Alternatives.from_settings(statistics, settings, "counts")
    weight_models = count_models
    if settings.weighting != "counts":
        weight_models = _Alternatives.from_settings(statistics, settings, settings.weighting)

    def decide(documents: CountedDocuments) -> Choices:
        """Return the choices that these documents support."""
        choices = NO_CHOICES
        used_terms = terms.content_terms
        count_losses = None
        if has_stop_words:
            choices, count_losses = _compare_stop_words(count_models, documents, terms)
            if choices.stop_words_kept:
                used_terms = terms.selected
        if not compares_smoothing:
            return choices
        losses = count_losses
        if losses is None or weight_models is not count_models:
            losses = weight_models.compute_losses(documents, used_terms)
        pseudo_count, test = weight_models.find_best_smoothing(documents, used_terms, losses)
        if test.is_clear:
            choices = replace(choices, pseudo_count=pseudo_count)
        return replace(choices, smoothing=test)

    return _decide_in_stages(statistics, sample, decide)


def _compare_stop_words(
    alternatives: _Alternatives, documents: CountedDocuments, terms: _TermSets
) -> tuple[Choices, Floats]:
    """Return the choice for stop words, and the losses of the documents with this choice."""
    # The model with stop words would have nearly the same pseudo-count, which takes time to find.
    pseudo_count = alternatives.find_evidence_smoothing(terms.content_terms)
    losses = alternatives.compute_losses(documents, terms.content_terms, pseudo_count)
    losses_with_stop_words = alternatives.compute_losses(documents, terms.selected, pseudo_count)
    test = PairedTest.from_losses(losses, losses_with_stop_words)
    if test.keeps_stop_words:
        losses = losses_with_stop_words
    return Choices(stop_words_kept=test.keeps_stop_words, stop_words=test), losses


def _choose_tfidf_smoothing(
    statistics: ClassStatistics, settings: Settings, selected: Mask, documents: CountedDocuments
) -> float | None:
    """Return the pseudo-count that predicts every fifth document clearly better than the default.

    Return None if no pseudo-count is clearly better. The test compares errors, not log losses,
    because the scores are not likelihoods: predictions can be worse although the log loss is lower.
    But the calibrated log loss must not increase.
    """
    classifier_class = load_classifier_class(settings.classifier)
    documents = sort_by_content(documents)
    fitted_rows, held_out_rows = split_held_out(documents)
    if len(held_out_rows) < MIN_CLEAR_DOCUMENTS:
        return None
    is_fitted = np.zeros(len(documents), np.bool_)
    is_fitted[fitted_rows] = True
    fitted_table = Subsets(statistics.table, documents).select_table(is_fitted)
    fitted_statistics = estimate_statistics(fitted_table, statistics.weights)
    training = Training(
        fitted_statistics,
        selected & fitted_statistics.term_occurs,
        classifier_class.DEFAULT_PSEUDO_COUNT,
        settings,
        documents=documents.take(fitted_rows),
    )
    classifier = classifier_class.estimate(training)
    held_out = documents.take(held_out_rows)
    truth = held_out.to_document_labels(fitted_statistics.n_classes)

    def evaluate(pseudo_count: float) -> tuple[Floats, float]:
        """Return the errors and the log loss of the classifier with this pseudo-count."""
        model = replace(classifier, training=replace(training, smoothing=pseudo_count))
        return _evaluate_held_out(model, held_out, truth)

    default_errors, default_loss = evaluate(classifier_class.DEFAULT_PSEUDO_COUNT)
    best_pseudo_count = None
    best_test = PairedTest.from_losses(default_errors, default_errors)  # a gain of 0
    for pseudo_count in TFIDF_SMOOTHING_ALTERNATIVES:
        errors, loss = evaluate(pseudo_count)
        test = PairedTest.from_losses(default_errors, errors)
        if test.gain > best_test.gain and loss <= default_loss:
            best_pseudo_count = pseudo_count
            best_test = test
    return best_pseudo_count if best_test.is_clear else None


def _evaluate_held_out(
    classifier: Classifier, documents: CountedDocuments, truth: DocumentLabels
) -> tuple[Floats, float]:
    """Return the error of each document, 1 or 0, shape (n_docs,), and the calibrated log loss.

    The log loss is the mean over the documents whose class is known, in nats, or infinity if there
    are no such documents. The classifier knows the classes of the documents that it is fitted to.
    """
    scores, lengths = classifier.joint_log_likelihood(documents.matrix)
    errors = (scores.argmax(axis=1) != truth.indices).astype(np.float64)
    true_scores = scores[np.arange(len(truth)), truth.indices]
    has_known_class = np.isfinite(true_scores)
    if not has_known_class.any():
        return errors, np.inf
    scores = scores[has_known_class]
    lengths = lengths[has_known_class]
    truth = truth[has_known_class]
    calibration = fit_classifier_calibration(classifier, scores, truth, lengths, weights=None)
    log_posterior = calibration.compute_log_posterior(scores, lengths)
    posterior = classifier.training.statistics.posterior_type(log_posterior)
    return errors, float(posterior.compute_log_losses(truth).mean())


def _choose_segmentation(
    statistics: ClassStatistics, sample: CountedDocuments, settings: Settings, selected: Mask
) -> Choices:
    """Return the choice between pairs, words and both.

    The choice is pairs unless words or both are clearly better. It is pairs without a test if few
    documents have terms in scripts without spaces, because the calibration of few documents
    differs by chance.
    """
    is_pair = mask_segmentation(statistics.vocabulary, PAIRS) & selected
    is_word = mask_segmentation(statistics.vocabulary, WORDS) & selected
    is_unspaced_term = is_pair | is_word
    is_unspaced_entry = is_unspaced_term[sample.matrix.terms]
    entries_per_document = np.bincount(sample.matrix.entry_documents[is_unspaced_entry])
    n_unspaced_documents = np.count_nonzero(entries_per_document)
    if n_unspaced_documents < MIN_CLEAR_DOCUMENTS:
        return NO_CHOICES
    alternatives = _Alternatives.from_settings(statistics, settings, "counts")

    def decide(documents: CountedDocuments) -> Choices:
        """Return the choice that these documents support."""
        pair_losses = alternatives.compute_losses(documents, selected & ~is_word)
        word_losses = alternatives.compute_losses(documents, selected & ~is_pair)
        joint_losses = alternatives.compute_losses(documents, selected)
        words_test = PairedTest.from_losses(pair_losses, word_losses)
        joint_test = PairedTest.from_losses(pair_losses, joint_losses)
        segmentations: tuple[str, ...] = (WORDS,)
        best_test = words_test
        if joint_test.gain > words_test.gain:
            segmentations = (PAIRS, WORDS)
            best_test = joint_test
        if not best_test.is_clear:
            segmentations = (PAIRS,)
        return Choices(sides=segmentations, unspaced=best_test)

    return _decide_in_stages(statistics, sample, decide)


def _decide_in_stages(
    statistics: ClassStatistics,
    sample: CountedDocuments,
    decide: Callable[[CountedDocuments], Choices],
) -> Choices:
    """Return the choices of ``decide`` on the first documents of the sample.

    If a test is unclear, return the choices on more documents. The sample is in the order of
    hashes, so its first documents are a random selection.
    """
    cumulative_entries = np.cumsum(sample.matrix.row_sizes)
    for limit in look_up_kind(MAX_ENTRIES_TIMES_CLASSES, statistics.posterior_type):
        max_entries = limit // statistics.n_classes
        n_within_limit = int(np.searchsorted(cumulative_entries, max_entries, side="right"))
        n_documents = min(len(sample), max(n_within_limit, 2 * MIN_CLEAR_DOCUMENTS))
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
    """Cache of `find_evidence_smoothing`, by the bytes of the mask of terms."""

    @classmethod
    def from_settings(
        cls, statistics: ClassStatistics, settings: Settings, weighting: Weighting
    ) -> _Alternatives:
        """Return the alternatives under a weighting, even if the settings are of another model."""
        multinomial_settings = replace(
            settings,
            classifier="multinomial",
            weighting=weighting,
            prior_shape="symmetric",
            estimate="mean",
        )
        return cls(statistics, multinomial_settings)

    def find_evidence_smoothing(self, selected: Mask) -> float:
        """Return the pseudo-count that the user set, else the pseudo-count of greatest evidence."""
        pseudo_count = get_fixed_pseudo_count(self.settings.smoothing)
        # A tuple of two numbers is for the Bernoulli model, not for these multinomial models.
        if pseudo_count is not None and not isinstance(self.settings.smoothing, tuple):
            return pseudo_count
        key = selected.tobytes()
        if key not in self._evidence_smoothing:
            self._evidence_smoothing[key] = MultinomialNaiveBayes.choose_smoothing(
                Training(self.statistics, selected, smoothing=np.nan, settings=self.settings)
            )
        return self._evidence_smoothing[key]

    def compute_losses(
        self, documents: CountedDocuments, selected: Mask, pseudo_count: float | None = None
    ) -> Floats:
        """Return the calibrated log loss of each held-out document, in nats, shape (n_docs,).

        The loss is nan if a class of the document has no other document. By default the
        pseudo-count is the result of `find_evidence_smoothing`.
        """
        if pseudo_count is None:
            pseudo_count = self.find_evidence_smoothing(selected)
        training = Training(self.statistics, selected, pseudo_count, self.settings)
        classifier_class = select_classifier_class(self.statistics, self.settings)
        classifier = classifier_class.estimate(training)
        all_held_out = classifier.leave_one_out(documents)
        held_out = all_held_out.take_known_classes()
        calibration = fit_classifier_calibration(
            classifier, held_out.scores, held_out.truth, held_out.lengths, weights=None
        )
        log_posterior = calibration.compute_log_posterior(held_out.scores, held_out.lengths)
        posterior = self.statistics.posterior_type(log_posterior)
        losses = np.full(len(documents), np.nan)
        losses[all_held_out.has_known_labels] = posterior.compute_log_losses(held_out.truth)
        return losses

    def find_best_smoothing(
        self, documents: CountedDocuments, selected: Mask, losses: Floats
    ) -> tuple[float, PairedTest]:
        """Return the best pseudo-count of `SMOOTHING_ALTERNATIVES`, and its test.

        ``losses`` are the losses with the pseudo-count of greatest evidence, e. Try pseudo-counts
        above e, ascending, until the losses increase. If none of them is better than e, try
        pseudo-counts below e, descending. The best pseudo-count may be worse than e.
        """
        evidence = self.find_evidence_smoothing(selected)
        larger = [
            count for count in SMOOTHING_ALTERNATIVES if count >= MIN_SMOOTHING_RATIO * evidence
        ]
        smaller = [
            count for count in SMOOTHING_ALTERNATIVES if count * MIN_SMOOTHING_RATIO <= evidence
        ]
        tests: dict[float, PairedTest] = {}
        best_gain = 0.0
        for pseudo_counts in (larger, smaller[::-1]):
            for pseudo_count in pseudo_counts:
                new_losses = self.compute_losses(documents, selected, pseudo_count)
                test = PairedTest.from_losses(losses, new_losses)
                tests[pseudo_count] = test
                if test.gain < best_gain:
                    break
                best_gain = test.gain
            if best_gain > 0:
                break
        # At least one pseudo-count was tried, because the alternatives have a large range.
        return max(tests.items(), key=lambda item: item[1].gain)
