"""Choose what ``auto`` means for scripts without spaces, stop words and smoothing: an alternative is taken if it answers left-out documents clearly better.

Each document of the sample is left out of the counts, exactly, and answered by calibrated multinomial naive Bayes, whatever the classifier: this
model leaves every document out in one pass. Pairs, words and both, and then stop words, are compared on counts, whatever the weighting; smoothing on the weights of the model,
if their sums are exact. Complement on tf-idf, which has neither, is itself compared, by the errors on every fifth document. Two settings are compared by the log loss of the same documents, a paired test. The choice follows from counts and
sample, so a model that is updated makes the choice that a trained one makes.
"""

from __future__ import annotations

from dataclasses import field, replace
from typing import TYPE_CHECKING

import numpy as np

from nbtext.classifiers.base import Training, load_classifier_class, select_classifier_class
from nbtext.classifiers.held_out import fit_classifier_calibration, sort_by_content, split_held_out
from nbtext.classifiers.multinomial import MultinomialNaiveBayes
from nbtext.counts.corpus_counts import Subsets
from nbtext.counts.statistics import estimate_statistics
from nbtext.counts.vocabulary import SEGMENTATION_MARKS, has_segmentation, is_stop_word
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

    from nbtext.counts.documents import CountedDocuments
    from nbtext.counts.statistics import ClassStatistics
    from nbtext.settings import Settings, Weighting
    from nbtext.type_names import Floats, Mask


MAX_ENTRIES_TIMES_CLASSES: dict[type[Posterior], tuple[int, int]] = {
    ClassPosterior: (1 << 20, 1 << 21),
    LabelPosterior: (1 << 22, 1 << 23),
}
"""Entries times classes of the documents that are left out, by the kind of labels: first few, and if that does not decide clearly, more.

2²⁰ take about 8 ms a setting. Of several labels there are four times as many, since most documents have few of many: 0.1 to 0.5 s a setting,
most of it to calibrate."""

SMOOTHING_ALTERNATIVES = (0.03, 0.1, 0.3, 1.0)
"""Pseudo-counts to compare with the one of greatest evidence, if they differ from it by at least `MIN_SMOOTHING_RATIO`."""

TFIDF_SMOOTHING_ALTERNATIVES = (0.003, 0.01, 0.03, 0.1, 0.5, 1.0)
"""The same for complement on tf-idf, beside its own."""

MIN_SMOOTHING_RATIO = 2.0


def has_auto_settings(settings: Settings) -> bool:
    """Return whether anything is chosen by left-out documents."""
    return (
        settings.counts_stop_words
        or settings.counts_pairs_and_words
        or _compares_smoothing(settings)
        or _holds_out(settings)
    )


def _compares_smoothing(settings: Settings) -> bool:
    multinomial = (
        settings.classifier == "multinomial"
        and settings.weighting != "tfidf"
        and settings.prior_shape == "symmetric"
    )
    return settings.smoothing == "auto" and multinomial and settings.estimate != "ml"


def choose_auto_settings(
    statistics: ClassStatistics,
    sample: CountedDocuments,
    settings: Settings,
    selected: Mask,
    documents: CountedDocuments | None = None,
    *,
    pairs_only: bool = False,
) -> Choices:
    """Return the choices for a corpus, given a sample of it; ``selected`` are the terms within the limits of --min-df and --max-df, shape (n_terms,).

    ``documents`` are all there are, for a classifier that needs them. With ``pairs_only`` nothing else is compared with pairs of scripts without
    spaces.
    """
    vocabulary = statistics.vocabulary
    of_sides = NO_CHOICES
    n_sampled = len(sample)
    can_compare = n_sampled >= MIN_CLEAR_DOCUMENTS
    stop = (
        is_stop_word(vocabulary) & selected
        if settings.counts_stop_words
        else np.zeros_like(selected)
    )
    if settings.counts_pairs_and_words:
        if can_compare and not pairs_only:
            of_sides = _choose_sides(statistics, sample, settings, selected & ~stop)
        selected = selected & ~find_dropped_terms(
            vocabulary, settings, replace(of_sides, stop_words_kept=True)
        )
    chosen = Choices(stop_words_kept=bool(stop.any()) and not (selected & ~stop).any())
    exact = (
        settings.weighting != "log" or statistics.weight_unit == 1
    )  # as `MultinomialNaiveBayes.is_leave_one_out_exact`
    compares_smoothing = exact and _compares_smoothing(settings)
    if (stop.any() and n_sampled >= MIN_COMPARED_DOCUMENTS) or (can_compare and compares_smoothing):
        on_counts = _Trials.of(statistics, settings, "counts")
        on_weights = (
            on_counts
            if settings.weighting == "counts"
            else _Trials.of(statistics, settings, settings.weighting)
        )

        def of_others(documents: CountedDocuments) -> Choices:
            """Return what these documents decide: of stop words if there are any, and of smoothing."""
            choices = Choices()
            terms = selected & ~stop
            losses = None
            if stop.any():
                pseudo_count = on_counts.evidence(
                    terms
                )  # that of all terms is nearly the same, and takes time
                losses = on_counts.losses(documents, terms, pseudo_count)
                kept = on_counts.losses(documents, selected, pseudo_count)
                comparison = PairedTest.from_losses(losses, kept)
                choices = Choices(comparison.keeps_stop_words, comparison)
                if comparison.keeps_stop_words:
                    losses = kept
                    terms = selected
            if not (can_compare and compares_smoothing):
                return choices
            if losses is None or on_weights is not on_counts:
                losses = on_weights.losses(documents, terms)
            pseudo_count, comparison = on_weights.best_alternative(documents, terms, losses)
            return replace(
                choices,
                pseudo_count=pseudo_count if comparison.is_clear else None,
                smoothing=comparison,
            )

        chosen = _decided(statistics, sample, of_others)
    if documents is not None and _holds_out(settings):
        kept = selected if chosen.stop_words_kept else selected & ~stop
        chosen = replace(chosen, pseudo_count=_by_held_out(statistics, settings, kept, documents))
    return replace(chosen, sides=of_sides.sides, unspaced=of_sides.unspaced)


def _holds_out(settings: Settings) -> bool:
    """Return whether pseudo-counts are compared by the classifier itself: for complement on tf-idf, which has no evidence."""
    return (
        settings.smoothing == "auto"
        and settings.classifier == "complement"
        and settings.weighting == "tfidf"
        and settings.prior_shape == "symmetric"
    )


def _by_held_out(
    whole: ClassStatistics, settings: Settings, selected: Mask, documents: CountedDocuments
) -> float | None:
    """Return the pseudo-count under which a model of the others answers every fifth document clearly better; None if none does.

    It is compared by errors, since by the log loss of scores that are no likelihoods numbers would be chosen whose answers are worse. One is taken only
    if the calibrated log loss is no higher with it.
    """
    chosen = load_classifier_class(settings.classifier)
    documents = sort_by_content(documents)
    held_out = split_held_out(documents)[1]
    if len(held_out) < MIN_CLEAR_DOCUMENTS:
        return None
    is_fitted = np.ones(len(documents), np.bool_)
    is_fitted[held_out] = False
    statistics = estimate_statistics(
        Subsets(whole.table, documents).select_table(is_fitted), whole.weights
    )
    here = selected & statistics.term_occurs
    training = Training(
        statistics,
        here,
        chosen.DEFAULT_PSEUDO_COUNT,
        settings,
        documents=documents.take(np.flatnonzero(is_fitted)),
    )
    fitted = chosen.estimate(training)
    left_out = documents.take(held_out)

    truth = left_out.to_document_labels(statistics.n_classes)

    def judged(pseudo_count: float) -> tuple[Floats, float]:
        """Return which documents are answered wrong, shape (n_docs,), and the mean log loss of those of known classes after calibration, in nats."""
        model = replace(fitted, training=replace(training, smoothing=pseudo_count))
        scores, lengths = model.joint_log_likelihood(left_out.matrix)
        errors = (scores.argmax(axis=1) != truth.indices).astype(np.float64)
        known = np.isfinite(scores[np.arange(len(truth)), truth.indices])
        if not known.any():
            return errors, np.inf
        scores = scores[known]
        lengths = lengths[known]
        of_known = truth[known]
        calibration = fit_classifier_calibration(model, scores, of_known, lengths, None)
        posterior = statistics.posterior_type(calibration.compute_log_posterior(scores, lengths))
        return errors, float(posterior.compute_log_losses(of_known).mean())

    usual, usual_loss = judged(chosen.DEFAULT_PSEUDO_COUNT)
    best_count = None
    best = PairedTest(0.0, 0.0, len(usual))
    for pseudo_count in TFIDF_SMOOTHING_ALTERNATIVES:
        errors, loss = judged(pseudo_count)
        test = PairedTest.from_losses(usual, errors)
        if test.gain > best.gain and loss <= usual_loss:
            best_count = pseudo_count
            best = test
    return best_count if best.is_clear else None


def _choose_sides(
    statistics: ClassStatistics, sample: CountedDocuments, settings: Settings, selected: Mask
) -> Choices:
    """Return which of words, pairs and both answer left-out documents best; pairs unless another is clearly better.

    A few documents in scripts without spaces among many others decide nothing: the test would see noise of the calibration alone.
    """
    of_side = {
        side: has_segmentation(statistics.vocabulary, side) & selected
        for side in SEGMENTATION_MARKS
    }
    matrix = sample.matrix
    of_scripts = np.flatnonzero((of_side[PAIRS] | of_side[WORDS])[matrix.terms])
    if np.count_nonzero(np.bincount(matrix.entry_documents[of_scripts])) < MIN_CLEAR_DOCUMENTS:
        return NO_CHOICES
    trials = _Trials.of(statistics, settings, "counts")

    def of_sides(documents: CountedDocuments) -> Choices:
        of_pairs = trials.losses(documents, selected & ~of_side[WORDS])
        tests = {
            (WORDS,): PairedTest.from_losses(
                of_pairs, trials.losses(documents, selected & ~of_side[PAIRS])
            ),
            (PAIRS, WORDS): PairedTest.from_losses(of_pairs, trials.losses(documents, selected)),
        }
        sides, best = max(tests.items(), key=lambda test: test[1].gain)
        return Choices(sides=sides if best.is_clear else (PAIRS,), unspaced=best)

    return _decided(statistics, sample, of_sides)


def _decided(
    statistics: ClassStatistics,
    sample: CountedDocuments,
    decide: Callable[[CountedDocuments], Choices],
) -> Choices:
    """Return what the first documents of the sample decide, and if that is not clear, more of them.

    The sample is in the order of hashes, so they are drawn at random.
    """
    n_classes = statistics.n_classes
    for products in look_up_kind(MAX_ENTRIES_TIMES_CLASSES, statistics.posterior_type):
        most = products // n_classes
        fitting = int(np.searchsorted(np.cumsum(sample.matrix.row_sizes), most, side="right"))
        documents = sample.take(np.arange(min(len(sample), max(fitting, 2 * MIN_CLEAR_DOCUMENTS))))
        chosen = decide(documents)
        compared = (chosen.unspaced, chosen.stop_words, chosen.smoothing)
        if len(documents) == len(sample) or not any(
            test is not None and test.needs_more_documents for test in compared
        ):
            break
    return chosen


@dataclass(frozen=True)
class _Trials:
    """Multinomial models of a corpus under one weighting, to answer left-out documents by."""

    statistics: ClassStatistics
    settings: Settings
    _evidence: dict[bytes, float] = field(default_factory=dict)
    """By mask of terms."""

    @classmethod
    def of(cls, statistics: ClassStatistics, settings: Settings, weighting: Weighting) -> _Trials:
        """Return those of multinomial models, whatever the classifier."""
        return cls(
            statistics,
            replace(
                settings,
                classifier="multinomial",
                weighting=weighting,
                prior_shape="symmetric",
                estimate="mean",
            ),
        )

    def evidence(self, selected: Mask) -> float:
        """Return the pseudo-count of greatest evidence, or the one that the user gave, of all terms without one of their own."""
        given = self.settings.smoothing
        if isinstance(given, TermSmoothing):
            return float(given.default)
        if isinstance(given, (int, float)):
            return float(given)
        terms = selected.tobytes()
        if terms not in self._evidence:
            self._evidence[terms] = MultinomialNaiveBayes.choose_smoothing(
                Training(self.statistics, selected, np.nan, self.settings)
            )
        return self._evidence[terms]

    def losses(
        self, documents: CountedDocuments, selected: Mask, pseudo_count: float | None = None
    ) -> Floats:
        """Return the calibrated log loss of each document, shape (n_docs,), in nats; nan if a class of it has no other document.

        Without a pseudo-count, that of `evidence` is added.
        """
        smoothing = self.evidence(selected) if pseudo_count is None else pseudo_count
        fitted = select_classifier_class(self.statistics, self.settings).estimate(
            Training(self.statistics, selected, smoothing, self.settings)
        )
        unseen = fitted.leave_one_out(documents)
        scores, lengths, _, truth, _ = unseen.take_known_classes()
        calibration = fit_classifier_calibration(fitted, scores, truth, lengths, None)
        posterior = self.statistics.posterior_type(
            calibration.compute_log_posterior(scores, lengths)
        )
        losses = np.full(len(documents), np.nan)
        losses[unseen.has_known_labels] = posterior.compute_log_losses(truth)
        return losses

    def best_alternative(
        self, documents: CountedDocuments, selected: Mask, losses: Floats
    ) -> tuple[float, PairedTest]:
        """Return the best of `SMOOTHING_ALTERNATIVES`: upwards as long as each is better than the one before, and else downwards."""
        evidence = self.evidence(selected)
        above = [one for one in SMOOTHING_ALTERNATIVES if one >= MIN_SMOOTHING_RATIO * evidence]
        below = [
            one for one in reversed(SMOOTHING_ALTERNATIVES) if one * MIN_SMOOTHING_RATIO <= evidence
        ]
        best = evidence, PairedTest(0.0, 0.0, len(losses))
        for direction in (above, below):
            for pseudo_count in direction:
                test = PairedTest.from_losses(
                    losses, self.losses(documents, selected, pseudo_count)
                )
                if best[0] == evidence or test.gain > best[1].gain:
                    best = pseudo_count, test
                if test.gain < max(best[1].gain, 0):
                    break
            if best[1].gain > 0:
                break
        return best
