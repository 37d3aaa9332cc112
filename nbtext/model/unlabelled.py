"""Learn from unlabelled documents too, by expectation maximisation (EM) with multinomial naive Bayes.

E step: each unlabelled document belongs to each class with the calibrated posterior of the model so far. M step: its counts, times these shares and
one weight λ, add to those of the labelled documents. The shares are calibrated, because those of naive Bayes are so near 0 and 1 that the first
guess would be kept. λ is the one of `WEIGHTS` or 0 that makes left-out labelled documents most probable, each part of them after EM without them;
calibration is learnt from these documents.

Source: K. Nigam, A. McCallum, S. Thrun, T. Mitchell, Text classification from labeled and unlabeled documents using EM (2000), sections 4 and 5.1.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nbtext.attributes import Attributes
from nbtext.classifiers.base import Training, Unseen
from nbtext.classifiers.multinomial import MultinomialNaiveBayes
from nbtext.counts.corpus_counts import Subsets, is_known, with_ngram_parts
from nbtext.counts.counting import count_documents
from nbtext.counts.soft_counts import SoftCounter, SoftCounts, added, without_cells
from nbtext.counts.statistics import Renumbering
from nbtext.counts.vocabulary import is_category, is_stop_word
from nbtext.counts.weighting import weighted
from nbtext.document_parts import WEIGHT_UNIT
from nbtext.errors import UsageError, quantity
from nbtext.model.training import (
    after_choice,
    calibrated,
    calibration_method,
    classifier,
    loss_after_calibration,
    own_pseudo_counts,
    posteriors,
    scored_sample,
    terms_and_smoothing,
    with_profile,
    without_dropped,
)
from nbtext.ragged import offsets
from nbtext.steps import stepped

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from nbtext.counts.corpus_counts import CorpusCounts
    from nbtext.counts.counting import Analysis
    from nbtext.counts.documents import CountedDocuments
    from nbtext.counts.matrix import DocumentTermMatrix
    from nbtext.counts.statistics import ClassStatistics
    from nbtext.counts.vocabulary import Vocabulary
    from nbtext.model.training import Learnt
    from nbtext.settings import Settings

    Floats = NDArray[np.float64]
    Whole = NDArray[np.int64]

WEIGHTS = (1.0, 0.3, 0.1, 0.03)
"""λ, tried downwards as long as left-out documents become more probable; 0 is tried too."""

ITERATIONS = 5
"""Of EM. On 20 Newsgroups more change less than a hundredth of the answers."""

FOLDS = 4
"""Parts of the sample of labelled documents, each left out once."""

LEAST_LABELLED = 10
"""With fewer left-out documents no weight is better than another."""

LEAST_DOCUMENTS = 2
"""A term that no labelled document holds is learnt if so many others hold it: in a single one it says nothing of others."""


class UnlabelledDocuments(NamedTuple):
    """Unlabelled documents as counts, in the order of the hashes of their content, so that nothing depends on how they came."""

    vocabulary: Vocabulary
    term_documents: Whole
    """Documents with each term, shape (n_terms,)."""
    matrix: DocumentTermMatrix

    @classmethod
    def of(cls, analysis: Analysis, texts: Iterable[bytes]) -> UnlabelledDocuments:
        """Count texts in valid UTF-8; raise `UsageError` if there is not one."""
        statistics, documents = count_documents(((".", text) for text in texts), analysis)
        return cls(statistics.vocabulary, statistics.term_documents, documents.matrix.rows(np.argsort(documents.hashes, kind="stable")))


def require_unlabelled(settings: Settings) -> None:
    """Raise `UsageError` if unlabelled documents cannot be learnt from under these settings."""
    others = {
        f"--classifier {settings.classifier}": settings.classifier != "multinomial",
        f"--weighting {settings.weighting}": settings.weighting == "tfidf",
        f"--estimate {settings.estimate}": settings.estimate == "ml",
        f"--class-weight {settings.class_weight}": settings.class_weight is not None,
        f"--top {settings.top}": settings.top is not None,
        f"--max-terms {settings.max_terms}": settings.max_terms is not None,
        "--smoothing leave-one-out": settings.smoothing == "leave-one-out",
        "--sample 0": not settings.sample,
        "--calibration none": settings.calibration == "none",
        "attributes": bool(Attributes.of(settings.reading).names),
    }
    for setting, is_set in others.items():
        if is_set:
            raise UsageError(f"--unlabelled and {setting} exclude each other", hint="leave one of them out")


def learn_unlabelled(counts: CorpusCounts, settings: Settings, learnt: Learnt, pool: UnlabelledDocuments) -> tuple[CorpusCounts, Learnt]:
    """Return what a model of labelled documents, which has no such layer, becomes by unlabelled ones: counts over more terms, and a layer.

    Settings are as `nbtext.model.training.learn` takes them. Raises `UsageError` as `require_unlabelled`, and for too few labelled documents.
    """
    require_unlabelled(settings)
    if len(counts.sample.documents) < LEAST_LABELLED:
        found = quantity(len(counts.sample.documents), "labelled document")
        raise UsageError(f"{found} cannot show how much unlabelled ones help", hint=f"label {LEAST_LABELLED} or more")
    wider, matrix = _over_all_terms(counts, learnt, pool)
    em = _ExpectationMaximisation(wider, settings, learnt, matrix)
    trials = {0.0: em.trial(0.0)}
    losses, before = {0.0: loss_after_calibration(trials[0.0].unseen)}, np.inf
    for weight in stepped(WEIGHTS, "weight"):
        trials[weight] = em.trial(weight)
        losses[weight] = loss_after_calibration(trials[weight].unseen)
        if losses[weight] > before:
            break
        before = losses[weight]
    best = min(losses, key=losses.__getitem__)
    named = {f"{weight:g}": float(f"{loss:.6g}") for weight, loss in sorted(losses.items())}
    if not best:
        return counts, replace(learnt, unlabelled=SoftCounts(without_cells(counts.statistics), best, matrix.n_documents, named))
    layer = SoftCounts(em.soft(trials[best].shares), best, matrix.n_documents, named)
    return wider, _learnt(wider, settings, learnt, layer, trials[best].unseen)


def _learnt(counts: CorpusCounts, settings: Settings, learnt: Learnt, layer: SoftCounts, unseen: Unseen) -> Learnt:
    """Return what follows from labelled and unlabelled documents, calibrated on labelled ones that were left out."""
    statistics = layer.added_to(counts.statistics.natural)
    choices = replace(learnt.choices, pseudo_count=None, smoothing=None)
    found = replace(terms_and_smoothing(replace(counts, statistics=statistics), settings, choices=choices), unlabelled=layer)
    fitted = classifier(counts.statistics, found, settings)
    found = calibrated(with_profile(found, fitted, unseen), calibration_method(settings), fitted, unseen)
    return replace(found, left_out=posteriors(fitted, found.calibration, unseen))


def _over_all_terms(counts: CorpusCounts, learnt: Learnt, pool: UnlabelledDocuments) -> tuple[CorpusCounts, DocumentTermMatrix]:
    """Return counts with the terms of the pool, without cells where no labelled document holds them, and the pool over the same terms."""
    statistics = counts.statistics
    kept = is_known(statistics.vocabulary, pool.vocabulary)
    if not counts.is_closed:
        dropped = is_category(pool.vocabulary) | (is_stop_word(pool.vocabulary) & (not learnt.choices.stop_words_kept))
        kept |= (pool.term_documents >= LEAST_DOCUMENTS) & ~dropped
    kept = with_ngram_parts(pool.vocabulary, kept)
    vocabulary, mine, theirs = statistics.vocabulary.union(pool.vocabulary.restrict(kept))
    sizes = np.zeros(len(vocabulary), np.int64)
    sizes[mine] = np.diff(statistics.term_offsets)
    numbers = np.full(kept.size, -1)
    numbers[kept] = theirs
    matrix = pool.matrix.of_terms(kept)
    matrix = matrix._replace(terms=numbers.astype(matrix.terms.dtype)[matrix.terms])
    wider = replace(statistics, vocabulary=vocabulary, term_offsets=offsets(sizes))
    sample = counts.sample.renumbered(Renumbering(mine, np.arange(statistics.n_classes)))
    return replace(counts, statistics=wider, sample=sample), matrix


def without_unlabelled(counts: CorpusCounts) -> CorpusCounts:
    """Return the counts with the terms of labelled documents alone."""
    return counts.restricted(np.diff(counts.statistics.term_offsets) > 0)


class _Trial(NamedTuple):
    """EM with one weight."""

    shares: Floats
    """Of the unlabelled documents in the classes, in thousandths, shape (n_docs, n_classes)."""
    unseen: Unseen
    """Scores of the sample by models without its documents."""


@dataclass(frozen=True, eq=False)
class _ExpectationMaximisation:
    """EM with several weights, of all labelled documents and of parts of them."""

    counts: CorpusCounts
    settings: Settings
    labelled: Learnt
    """What was learnt from labelled documents alone, over fewer terms."""
    pool: DocumentTermMatrix
    """Unlabelled documents over the terms of the counts."""

    @cached_property
    def learnt(self) -> Learnt:
        """What was learnt from labelled documents, over the terms of the counts: new terms count unless they are dropped stop words."""
        statistics = self.counts.statistics
        selected = np.ones(statistics.n_terms, np.bool_)
        selected[np.diff(statistics.term_offsets) > 0] = self.labelled.selected
        selected = after_choice(statistics, selected, self.labelled.choices, self.settings)
        return replace(self.labelled, selected=selected, own=own_pseudo_counts(statistics, self.settings))

    @cached_property
    def _known(self) -> DocumentTermMatrix:
        return self.pool.of_terms(self.learnt.selected)

    @cached_property
    def _features(self) -> DocumentTermMatrix:
        return weighted(self._known, self.settings.weighting, self.counts.statistics)

    @cached_property
    def _counter(self) -> SoftCounter:
        return SoftCounter(self._features, self._sums(self.counts.statistics.natural))

    def soft(self, shares: Floats) -> ClassStatistics:
        """Return the counts of the unlabelled documents in the classes to which they belong."""
        return SoftCounter(self._known, self.counts.statistics).statistics(shares)

    def trial(self, weight: float) -> _Trial:
        """Run EM with all labelled documents, and then without each fold of the sample, with the same pseudo-counts."""
        smoothing = [self.learnt.smoothing]
        _, shares = self._fitted(self.counts.statistics.natural, weight, smoothing)
        sample = scored_sample(without_dropped(self.counts, self.learnt, self.settings), self.counts.statistics)
        subsets, folds = Subsets(self.counts.statistics, self.counts.sample.documents), np.arange(len(sample)) % FOLDS
        parts = []
        for fold in range(FOLDS):
            rows = np.flatnonzero(folds == fold)
            model, _ = self._fitted(subsets.without(rows).natural, weight, smoothing)
            parts.append(self._scored(model, sample.rows(rows)))
        return _Trial(shares, Unseen(*(np.concatenate(column) for column in zip(*parts, strict=True))))

    def _scored(self, model: MultinomialNaiveBayes, documents: CountedDocuments) -> Unseen:
        matrix = documents.matrix
        known = matrix.of_terms(model.known())
        scores, _ = model.joint_log_likelihood(weighted(known, self.settings.weighting, self.counts.statistics))
        weights = documents.natural_weights(self.counts.statistics.weight_unit)
        return Unseen(scores, known.lengths, matrix.tokens - known.lengths, documents.classes, weights)

    def _fitted(self, labelled: ClassStatistics, weight: float, smoothing: list[float]) -> tuple[MultinomialNaiveBayes, Floats]:
        """Return the model after EM, and the shares of the documents; without EM if the weight is 0.

        ``smoothing`` holds the pseudo-counts of the models, the first at least; those that are missing are chosen and added.
        """
        labelled, lengths = self._sums(labelled), self._known.lengths
        model, shares = self._model(labelled, smoothing[0]), np.zeros((self.pool.n_documents, labelled.n_classes))
        for step in range(1, 1 + ITERATIONS if weight else 1):
            scores, _ = model.joint_log_likelihood(self._features)
            shares = np.rint(WEIGHT_UNIT * np.exp(self.learnt.calibration.log_posterior(scores, lengths)))
            sums = added(labelled, self._counter.counts(shares), weight / WEIGHT_UNIT)
            if len(smoothing) == step:
                smoothing.append(self._smoothing(sums))
            model = self._model(sums, smoothing[step])
        return model, shares

    def _sums(self, labelled: ClassStatistics) -> ClassStatistics:
        """Return statistics with the sums of weights as their counts, which are all that EM needs."""
        return replace(MultinomialNaiveBayes.counted(labelled, self.learnt.selected, self.settings), cell_logs=None)

    def _smoothing(self, sums: ClassStatistics) -> float:
        """Return the pseudo-count that the user gave, else the one of greatest evidence."""
        if not isinstance(self.settings.smoothing, str):
            return self.learnt.smoothing
        return MultinomialNaiveBayes.smoothing(sums, self._selected(sums), replace(self.settings, weighting="counts"))

    def _model(self, sums: ClassStatistics, smoothing: float) -> MultinomialNaiveBayes:
        """Return the model of sums of weights."""
        settings = replace(self.settings, weighting="counts")
        return MultinomialNaiveBayes(Training(sums, self._selected(sums), smoothing, settings, own=self.learnt.own), sums)

    def _selected(self, sums: ClassStatistics) -> NDArray[np.bool_]:
        return self.learnt.selected & (np.diff(sums.term_offsets) > 0)
