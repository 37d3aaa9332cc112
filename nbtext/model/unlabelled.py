"""Learn from unlabelled documents too, by expectation maximisation (EM) with multinomial naive Bayes.

E step: each unlabelled document belongs to each class with a calibrated posterior of the counts so far. M step: its counts, times these shares and
one weight λ, add to those of the labelled documents. The posterior weighs each class against the rest (`_against_the_rest`): with many classes it
errs less than that of multinomial naive Bayes. It is calibrated, because uncalibrated shares are so near 0 and 1 that the first guess would be kept.
λ is the one of `WEIGHTS` or 0 that makes left-out labelled documents most probable, each part of them after EM without them; calibration is learnt
from these documents.

Sources: K. Nigam, A. McCallum, S. Thrun, T. Mitchell, Text classification from labeled and unlabeled documents using EM (2000), sections 4 and 5.1;
J. Rennie, L. Shih, J. Teevan, D. Karger, Tackling the poor assumptions of naive Bayes text classifiers (2003), section 3.1, for the E step.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np

from nbtext.classifiers.base import Training
from nbtext.classifiers.complement import ComplementNaiveBayes
from nbtext.classifiers.multinomial import MultinomialNaiveBayes
from nbtext.compatibility import POOL, require_fitting, rows_of
from nbtext.counts.corpus_counts import CorpusCounts, Subsets, is_known, with_ngram_parts
from nbtext.counts.count_table import UNLABELLED, CountTable, Layer
from nbtext.counts.counting import Analysis, count
from nbtext.counts.documents import NO_DOCUMENTS, DocumentSample
from nbtext.counts.soft_counts import SoftCounter
from nbtext.counts.statistics import (
    ClassStatistics,
    Seeds,
    Weights,
    added,
    estimated,
    require_seeded_classes,
    seed_vocabulary,
)
from nbtext.counts.vocabulary import Vocabulary, is_category
from nbtext.counts.weighting import weighted
from nbtext.document_fields import WEIGHT_UNIT
from nbtext.errors import UsageError, quantity
from nbtext.fitted_model import (
    Learnt,
    UnlabelledFigures,
    classifier,
    dropped_terms,
    own_pseudo_counts,
    training_of,
)
from nbtext.model.training import (
    calibrated,
    posteriors,
    scored_sample,
    terms_and_smoothing,
    without_dropped,
)
from nbtext.prediction.calibration import OF_COUNTS, Unseen, loss_after_calibration
from nbtext.progress import stepped

if TYPE_CHECKING:
    from collections.abc import Iterable

    from nbtext.corpus.document import Document
    from nbtext.counts.matrix import DocumentTermMatrix
    from nbtext.settings import Settings
    from nbtext.type_names import Floats, OfTerms, Whole

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
    def of(cls, analysis: Analysis, documents: Iterable[Document]) -> UnlabelledDocuments:
        """Count documents; raise `UsageError` if there is not one."""
        counts = count(
            (document._replace(label=".") for document in documents), analysis, keep_all=True
        )
        table = counts.table
        counted = counts.documents
        return cls(
            table.vocabulary,
            table.term_documents,
            counted.matrix.rows(np.argsort(counted.hashes, kind="stable")),
        )


def learn_unlabelled(
    counts: CorpusCounts, settings: Settings, learnt: Learnt, pool: UnlabelledDocuments
) -> tuple[CorpusCounts, Learnt]:
    """Return what a model of labelled documents, which has no such layer, becomes by unlabelled ones: counts over more terms, and a layer.

    Settings are as `nbtext.model.training.learn` takes them. Without labelled documents, by seeds alone, the weight is 1. Raises `UsageError` for
    settings that exclude unlabelled documents, for too few labelled documents, and for seeds of other classes.
    """
    require_fitting(settings, POOL, *rows_of(counts.table.kind))
    require_seeded_classes(learnt.weights.seeds, counts.table.classes)
    n_sampled = len(counts.sample.documents)
    if counts.table.n_documents and n_sampled < LEAST_LABELLED:
        found = quantity(n_sampled, "labelled document")
        raise UsageError(
            f"{found} cannot show how much unlabelled ones help",
            hint=f"label {LEAST_LABELLED} or more",
        )
    em = _ExpectationMaximisation.over_all_terms(counts, settings, learnt, pool)
    if not counts.table.n_documents:
        _, shares = em.fitted(1.0, [learnt.smoothing])
        return em.learnt_with(1.0, shares, UnlabelledFigures(em.pool.n_documents, {}), None)
    trials = {0.0: em.trial(0.0)}
    losses = {0.0: loss_after_calibration(trials[0.0].unseen, OF_COUNTS)}
    before = np.inf
    for weight in stepped(WEIGHTS, "weight"):
        trials[weight] = em.trial(weight)
        losses[weight] = loss_after_calibration(trials[weight].unseen, OF_COUNTS)
        if losses[weight] > before:
            break
        before = losses[weight]
    best = min(losses, key=losses.__getitem__)
    figures = UnlabelledFigures(
        em.pool.n_documents,
        {f"{weight:g}": float(f"{loss:.6g}") for weight, loss in sorted(losses.items())},
    )
    if not best:
        return counts, replace(learnt, unlabelled=figures)
    return em.learnt_with(best, trials[best].shares, figures, trials[best].unseen)


def nothing_labelled(seeds: Seeds, settings: Settings) -> tuple[CorpusCounts, Learnt]:
    """Return the counts of no documents, of the classes and terms of seeds, and what is learnt from them: nothing."""
    classes = tuple(sorted({seed.label for seed in seeds}))
    none = np.zeros(0, np.int64)
    logs = none if settings.sums_logs else None
    documents = np.zeros(len(classes), np.int64)
    table = CountTable(
        Vocabulary.of([]), classes, documents, np.zeros(1, np.int64), none, none, none, logs
    )
    smoothing = (
        settings.smoothing
        if isinstance(settings.smoothing, float)
        else MultinomialNaiveBayes.PSEUDO_COUNT
    )
    counts = CorpusCounts(table, DocumentSample.of(NO_DOCUMENTS, settings.sample)).widened(
        seed_vocabulary(seeds)
    )[0]
    return counts, Learnt(
        np.zeros(counts.table.n_terms, np.bool_), smoothing, weights=Weights(seeds=seeds)
    )


def without_unlabelled(counts: CorpusCounts) -> CorpusCounts:
    """Return the counts with the terms of labelled documents alone; raise `UsageError` if there are no such documents."""
    counts = counts.of_documents()
    if not counts.table.n_documents:
        raise UsageError(
            "the model has learnt from seed words and unlabelled documents alone, so nothing would "
            "be left",
            hint="train it again, with labelled documents or others without labels",
        )
    return counts.restricted(counts.table.held)


def _against_the_rest(model: MultinomialNaiveBayes) -> OfTerms:
    """Return a function of terms that returns (1 − 1/K) (log φ_jk − log θ_jk), θ_k the language model of all classes but k.

    The factor keeps the scale of log φ, for which calibration was learnt: where classes differ little, the difference of −log θ between two of them is
    1 / (K − 1) of that of log φ. With two classes posteriors stay as they are.
    """
    rest = ComplementNaiveBayes(model.training, model.counts)
    factor = 1 - 1 / model.counts.n_classes
    return lambda terms: factor * (model.weights(terms) + rest.weights(terms))


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
    learnt: Learnt
    """What was learnt from labelled documents, over the terms of the counts: new terms count unless they are dropped stop words."""
    pool: DocumentTermMatrix
    """Unlabelled documents over the terms of the counts."""

    @classmethod
    def over_all_terms(
        cls, counts: CorpusCounts, settings: Settings, learnt: Learnt, pool: UnlabelledDocuments
    ) -> Self:
        """Begin with counts over the terms of the pool too, without cells where no labelled document holds them."""
        kept = is_known(counts.table.vocabulary, pool.vocabulary)
        held = counts.table.held
        if not counts.is_closed:
            dropped = is_category(pool.vocabulary) | dropped_terms(
                pool.vocabulary, settings, learnt.choices
            )
            kept |= (pool.term_documents >= LEAST_DOCUMENTS) & ~dropped
        kept = with_ngram_parts(pool.vocabulary, kept)
        counts, mine, theirs = counts.widened(pool.vocabulary.restrict(kept))
        numbers = np.full(kept.size, -1)
        numbers[kept] = theirs
        matrix = pool.matrix.of_terms(kept)
        selected = np.ones(counts.table.n_terms, np.bool_)
        selected[mine[held]] = learnt.selected[held]
        selected &= ~dropped_terms(counts.table.vocabulary, settings, learnt.choices)
        learnt = replace(learnt, selected=selected, own=own_pseudo_counts(counts.table, settings))
        return cls(
            counts,
            settings,
            learnt,
            matrix._replace(terms=numbers.astype(matrix.terms.dtype)[matrix.terms]),
        )

    @cached_property
    def _known(self) -> DocumentTermMatrix:
        return self.pool.of_terms(self.learnt.selected)

    @cached_property
    def _labelled(self) -> ClassStatistics:
        return estimated(self.counts.table, self.learnt.weights)

    @cached_property
    def _counter(self) -> SoftCounter[ClassStatistics]:
        return SoftCounter(
            weighted(self._known, self.settings.weighting, self.counts.table),
            self._sums(self._labelled),
        )

    def learnt_with(
        self, weight: float, shares: Floats, figures: UnlabelledFigures, unseen: Unseen | None
    ) -> tuple[CorpusCounts, Learnt]:
        """Return the counts, and what follows from them and the unlabelled documents, calibrated on labelled ones left out, if there are any."""
        soft = SoftCounter(self._known, self.counts.table.counted).statistics(shares)
        counts = self.counts.with_layer(Layer(UNLABELLED, weight, WEIGHT_UNIT), soft)
        weights = self.learnt.weights
        choices = replace(self.learnt.choices, pseudo_count=None, smoothing=None)
        found = replace(
            terms_and_smoothing(
                estimated(counts.table, weights),
                counts.sample.documents,
                self.settings,
                choices=choices,
            ),
            unlabelled=figures,
        )
        if unseen is None:
            return counts, found
        fitted = classifier(estimated(counts.table, weights), found, self.settings)
        found = calibrated(found, fitted, unseen, unseen)
        return counts, replace(found, left_out=posteriors(fitted, found.calibration, unseen))

    def trial(self, weight: float) -> _Trial:
        """Run EM with all labelled documents, and then without each fold of the sample, with the same pseudo-counts."""
        smoothing = [self.learnt.smoothing]
        _, shares = self.fitted(weight, smoothing)
        sample = scored_sample(
            without_dropped(
                self.counts.sample.documents, self.counts.table, self.learnt, self.settings
            ),
            self.counts.table,
        )
        subsets = Subsets(self.counts.table, self.counts.sample.documents)
        folds = np.arange(len(sample)) % FOLDS
        parts = []
        for fold in range(FOLDS):
            rows = np.flatnonzero(folds == fold)
            model, _ = self.fitted(
                weight, smoothing, estimated(subsets.without(rows), self.learnt.weights)
            )
            documents = sample.rows(rows)
            known = documents.matrix.of_terms(model.known())
            scores, _ = model.joint_log_likelihood(
                weighted(known, self.settings.weighting, self.counts.table)
            )
            unknown = documents.matrix.tokens - known.lengths
            weights = documents.natural_weights(self._labelled)
            parts.append(
                Unseen(scores, known.lengths, unknown, documents.truth(scores.shape[1]), weights)
            )
        return _Trial(shares, Unseen.joined(parts))

    def fitted(
        self, weight: float, smoothing: list[float], labelled: ClassStatistics | None = None
    ) -> tuple[MultinomialNaiveBayes, Floats]:
        """Return the model after EM, and the shares of the unlabelled documents as in `_Trial`; without EM if the weight is 0.

        Without ``labelled`` learn from all labelled documents. ``smoothing`` holds the pseudo-counts of the models, the first at least; those that are missing are chosen and added.
        """
        labelled = self._sums(labelled or self._labelled)
        lengths = self._known.lengths
        model = self._model(labelled, smoothing[0])
        shares = np.zeros((self.pool.n_documents, labelled.n_classes))
        for step in range(1, 1 + ITERATIONS if weight else 1):
            scores = self._counter.scores(model.known(), _against_the_rest(model)) + model.log_prior
            shares = np.rint(
                WEIGHT_UNIT * np.exp(self.learnt.calibration.log_posterior(scores, lengths))
            )
            sums = added(labelled, self._counter.counts(shares), weight / WEIGHT_UNIT)
            if len(smoothing) == step:
                smoothing.append(self._smoothing(sums))
            model = self._model(sums, smoothing[step])
        return model, shares

    def _sums(self, labelled: ClassStatistics) -> ClassStatistics:
        """Return statistics with the sums of weights as their counts, which are all that EM needs."""
        return replace(
            training_of(labelled, self.learnt, self.settings).weighted_statistics(), cell_logs=None
        )

    def _smoothing(self, sums: ClassStatistics) -> float:
        """Return the pseudo-count that the user gave, else the one of greatest evidence."""
        if not isinstance(self.settings.smoothing, str):
            return self.learnt.smoothing
        sums = replace(
            sums, cell_counts=np.ceil(sums.cell_counts * 100) / 100
        )  # evidence takes time for each distinct sum
        return MultinomialNaiveBayes.smoothing(self._training(sums, np.nan))

    def _model(self, sums: ClassStatistics, smoothing: float) -> MultinomialNaiveBayes:
        """Return the model of sums of weights."""
        return MultinomialNaiveBayes(self._training(sums, smoothing), sums)

    def _training(self, sums: ClassStatistics, smoothing: float) -> Training:
        settings = replace(self.settings, weighting="counts")
        return Training(
            sums, self.learnt.selected & sums.held, smoothing, settings, own=self.learnt.own
        )
