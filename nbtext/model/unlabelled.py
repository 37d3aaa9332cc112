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
from nbtext.compatibility import UNLABELLED_POOL, list_label_requests, require_compatible_settings
from nbtext.counts.corpus_counts import CorpusCounts, Subsets, include_ngram_parts, is_in_vocabulary
from nbtext.counts.count_table import UNLABELLED_LAYER, CountTable, Layer
from nbtext.counts.counting import Analysis, count_labelled_documents
from nbtext.counts.documents import NO_DOCUMENTS, DocumentSample
from nbtext.counts.soft_counts import SoftCounter
from nbtext.counts.statistics import (
    ClassStatistics,
    CountWeights,
    SeedTerms,
    add_counts,
    build_seed_vocabulary,
    estimate_statistics,
    require_seeded_classes,
)
from nbtext.counts.vocabulary import Vocabulary, is_category
from nbtext.counts.weighting import weigh_matrix
from nbtext.document_fields import WEIGHT_UNIT
from nbtext.errors import UsageError, format_quantity
from nbtext.fitted_model import (
    FittedParameters,
    UnlabelledSummary,
    build_training,
    find_dropped_terms,
    find_own_pseudo_counts,
    restore_classifier,
)
from nbtext.model.training import (
    add_calibration,
    calibrate_posteriors,
    choose_terms_and_smoothing,
    limit_sample,
    remove_dropped_terms,
)
from nbtext.prediction.calibration import (
    COUNT_TEMPERATURE_EXPONENT,
    HeldOutScores,
    compute_calibrated_log_loss,
)
from nbtext.progress import track_progress

if TYPE_CHECKING:
    from collections.abc import Iterable

    from nbtext.corpus.document import Document
    from nbtext.counts.matrix import DocumentTermMatrix
    from nbtext.settings import Settings
    from nbtext.type_names import Floats, Ints, TermFunction

UNLABELLED_WEIGHTS = (1.0, 0.3, 0.1, 0.03)
"""λ, tried downwards as long as left-out documents become more probable; 0 is tried too."""

EM_ITERATIONS = 5
"""Of EM. On 20 Newsgroups more change less than a hundredth of the answers."""

EM_FOLDS = 4
"""Parts of the sample of labelled documents, each left out once."""

MIN_LABELLED_DOCUMENTS = 10
"""With fewer left-out documents no weight is better than another."""

MIN_TERM_DOCUMENTS = 2
"""A term that no labelled document holds is learnt if so many others hold it: in a single one it says nothing of others."""


class UnlabelledDocuments(NamedTuple):
    """Unlabelled documents as counts, in the order of the hashes of their content, so that nothing depends on how they came."""

    vocabulary: Vocabulary
    term_documents: Ints
    """Documents with each term, shape (n_terms,)."""
    matrix: DocumentTermMatrix

    @classmethod
    def from_documents(
        cls, analysis: Analysis, documents: Iterable[Document]
    ) -> UnlabelledDocuments:
        """Count documents; raise `UsageError` if there is not one."""
        counts = count_labelled_documents(
            (document._replace(label=".") for document in documents), analysis, keep_all=True
        )
        table = counts.table
        counted = counts.documents
        return cls(
            table.vocabulary,
            table.term_documents,
            counted.matrix.take(np.argsort(counted.hashes, kind="stable")),
        )


def fit_unlabelled(
    counts: CorpusCounts, settings: Settings, learnt: FittedParameters, pool: UnlabelledDocuments
) -> tuple[CorpusCounts, FittedParameters]:
    """Return what a model of labelled documents, which has no such layer, becomes by unlabelled ones: counts over more terms, and a layer.

    Settings are as `nbtext.model.training.learn` takes them. Without labelled documents, by seeds alone, the weight is 1. Raises `UsageError` for
    settings that exclude unlabelled documents, for too few labelled documents, and for seeds of other classes.
    """
    require_compatible_settings(
        settings, UNLABELLED_POOL, *list_label_requests(counts.table.posterior_type)
    )
    require_seeded_classes(learnt.weights.seeds, counts.table.classes)
    n_sampled = len(counts.sample.documents)
    if counts.table.n_documents and n_sampled < MIN_LABELLED_DOCUMENTS:
        found = format_quantity(n_sampled, "labelled document")
        raise UsageError(
            f"{found} cannot show how much unlabelled ones help",
            hint=f"label {MIN_LABELLED_DOCUMENTS} or more",
        )
    em = _ExpectationMaximisation.over_all_terms(counts, settings, learnt, pool)
    if not counts.table.n_documents:
        _, shares = em.fitted(1.0, [learnt.smoothing])
        return em.learnt_with(1.0, shares, UnlabelledSummary(em.pool.n_documents, {}), None)
    trials = {0.0: em.trial(0.0)}
    losses = {0.0: compute_calibrated_log_loss(trials[0.0].unseen, COUNT_TEMPERATURE_EXPONENT)}
    before = np.inf
    for weight in track_progress(UNLABELLED_WEIGHTS, "weight"):
        trials[weight] = em.trial(weight)
        losses[weight] = compute_calibrated_log_loss(
            trials[weight].unseen, COUNT_TEMPERATURE_EXPONENT
        )
        if losses[weight] > before:
            break
        before = losses[weight]
    best = min(losses, key=losses.__getitem__)
    figures = UnlabelledSummary(
        em.pool.n_documents,
        {f"{weight:g}": float(f"{loss:.6g}") for weight, loss in sorted(losses.items())},
    )
    if not best:
        return counts, replace(learnt, unlabelled_summary=figures)
    return em.learnt_with(best, trials[best].shares, figures, trials[best].unseen)


def fit_seeds_only(seeds: SeedTerms, settings: Settings) -> tuple[CorpusCounts, FittedParameters]:
    """Return the counts of no documents, of the classes and terms of seeds, and what is learnt from them: nothing."""
    classes = tuple(sorted({seed.label for seed in seeds}))
    none = np.zeros(0, np.int64)
    logs = none if settings.needs_log_sums else None
    documents = np.zeros(len(classes), np.int64)
    table = CountTable(
        Vocabulary.from_terms([]), classes, documents, np.zeros(1, np.int64), none, none, none, logs
    )
    smoothing = (
        settings.smoothing
        if isinstance(settings.smoothing, float)
        else MultinomialNaiveBayes.DEFAULT_PSEUDO_COUNT
    )
    counts = CorpusCounts(
        table, DocumentSample.from_documents(NO_DOCUMENTS, settings.sample)
    ).widen(build_seed_vocabulary(seeds))[0]
    return counts, FittedParameters(
        np.zeros(counts.table.n_terms, np.bool_), smoothing, weights=CountWeights(seeds=seeds)
    )


def remove_unlabelled_layers(counts: CorpusCounts) -> CorpusCounts:
    """Return the counts with the terms of labelled documents alone; raise `UsageError` if there are no such documents."""
    counts = counts.drop_derived_layers()
    if not counts.table.n_documents:
        raise UsageError(
            "the model has learnt from seed words and unlabelled documents alone, so nothing would "
            "be left",
            hint="train it again, with labelled documents or others without labels",
        )
    return counts.restrict_terms(counts.table.term_occurs)


def _against_the_rest(model: MultinomialNaiveBayes) -> TermFunction:
    """Return a function of terms that returns (1 − 1/K) (log φ_jk − log θ_jk), θ_k the language model of all classes but k.

    The factor keeps the scale of log φ, for which calibration was learnt: where classes differ little, the difference of −log θ between two of them is
    1 / (K − 1) of that of log φ. With two classes posteriors stay as they are.
    """
    rest = ComplementNaiveBayes(model.training, model.counts)
    factor = 1 - 1 / model.counts.n_classes
    return lambda terms: factor * (model.compute_weights(terms) + rest.compute_weights(terms))


class _Trial(NamedTuple):
    """EM with one weight."""

    shares: Floats
    """Of the unlabelled documents in the classes, in thousandths, shape (n_docs, n_classes)."""
    unseen: HeldOutScores
    """Scores of the sample by models without its documents."""


@dataclass(frozen=True, eq=False)
class _ExpectationMaximisation:
    """EM with several weights, of all labelled documents and of parts of them."""

    counts: CorpusCounts
    settings: Settings
    learnt: FittedParameters
    """What was learnt from labelled documents, over the terms of the counts: new terms count unless they are dropped stop words."""
    pool: DocumentTermMatrix
    """Unlabelled documents over the terms of the counts."""

    @classmethod
    def over_all_terms(
        cls,
        counts: CorpusCounts,
        settings: Settings,
        learnt: FittedParameters,
        pool: UnlabelledDocuments,
    ) -> Self:
        """Begin with counts over the terms of the pool too, without cells where no labelled document holds them."""
        kept = is_in_vocabulary(counts.table.vocabulary, pool.vocabulary)
        held = counts.table.term_occurs
        if not counts.is_closed:
            dropped = is_category(pool.vocabulary) | find_dropped_terms(
                pool.vocabulary, settings, learnt.choices
            )
            kept |= (pool.term_documents >= MIN_TERM_DOCUMENTS) & ~dropped
        kept = include_ngram_parts(pool.vocabulary, kept)
        counts, mine, theirs = counts.widen(pool.vocabulary.restrict(kept))
        numbers = np.full(kept.size, -1)
        numbers[kept] = theirs
        matrix = pool.matrix.select_terms(kept)
        selected = np.ones(counts.table.n_terms, np.bool_)
        selected[mine[held]] = learnt.selected_terms[held]
        selected &= ~find_dropped_terms(counts.table.vocabulary, settings, learnt.choices)
        learnt = replace(
            learnt,
            selected_terms=selected,
            own_pseudo_counts=find_own_pseudo_counts(counts.table, settings),
        )
        return cls(
            counts,
            settings,
            learnt,
            matrix._replace(terms=numbers.astype(matrix.terms.dtype)[matrix.terms]),
        )

    @cached_property
    def _known(self) -> DocumentTermMatrix:
        return self.pool.select_terms(self.learnt.selected_terms)

    @cached_property
    def _labelled(self) -> ClassStatistics:
        return estimate_statistics(self.counts.table, self.learnt.weights)

    @cached_property
    def _counter(self) -> SoftCounter[ClassStatistics]:
        return SoftCounter(
            weigh_matrix(self._known, self.settings.weighting, self.counts.table),
            self._sums(self._labelled),
        )

    def learnt_with(
        self,
        weight: float,
        shares: Floats,
        figures: UnlabelledSummary,
        unseen: HeldOutScores | None,
    ) -> tuple[CorpusCounts, FittedParameters]:
        """Return the counts, and what follows from them and the unlabelled documents, calibrated on labelled ones left out, if there are any."""
        soft = SoftCounter(self._known, self.counts.table.labelled_table).sum_statistics(shares)
        counts = self.counts.with_layer(Layer(UNLABELLED_LAYER, weight, WEIGHT_UNIT), soft)
        weights = self.learnt.weights
        choices = replace(self.learnt.choices, pseudo_count=None, smoothing=None)
        found = replace(
            choose_terms_and_smoothing(
                estimate_statistics(counts.table, weights),
                counts.sample.documents,
                self.settings,
                choices=choices,
            ),
            unlabelled_summary=figures,
        )
        if unseen is None:
            return counts, found
        fitted = restore_classifier(
            estimate_statistics(counts.table, weights), found, self.settings
        )
        found = add_calibration(found, fitted, unseen, unseen)
        return counts, replace(
            found, held_out_posteriors=calibrate_posteriors(fitted, found.calibration, unseen)
        )

    def trial(self, weight: float) -> _Trial:
        """Run EM with all labelled documents, and then without each fold of the sample, with the same pseudo-counts."""
        smoothing = [self.learnt.smoothing]
        _, shares = self.fitted(weight, smoothing)
        sample = limit_sample(
            remove_dropped_terms(
                self.counts.sample.documents, self.counts.table, self.learnt, self.settings
            ),
            self.counts.table,
        )
        subsets = Subsets(self.counts.table, self.counts.sample.documents)
        folds = np.arange(len(sample)) % EM_FOLDS
        parts = []
        for fold in range(EM_FOLDS):
            rows = np.flatnonzero(folds == fold)
            model, _ = self.fitted(
                weight,
                smoothing,
                estimate_statistics(subsets.subtract_rows(rows), self.learnt.weights),
            )
            documents = sample.take(rows)
            known = documents.matrix.select_terms(model.get_scored_terms())
            scores, _ = model.joint_log_likelihood(
                weigh_matrix(known, self.settings.weighting, self.counts.table)
            )
            unknown = documents.matrix.tokens - known.known_tokens
            weights = documents.compute_weights(self._labelled)
            parts.append(
                HeldOutScores(
                    scores,
                    known.known_tokens,
                    unknown,
                    documents.to_document_labels(scores.shape[1]),
                    weights,
                )
            )
        return _Trial(shares, HeldOutScores.concatenate(parts))

    def fitted(
        self, weight: float, smoothing: list[float], labelled: ClassStatistics | None = None
    ) -> tuple[MultinomialNaiveBayes, Floats]:
        """Return the model after EM, and the shares of the unlabelled documents as in `_Trial`; without EM if the weight is 0.

        Without ``labelled`` learn from all labelled documents. ``smoothing`` holds the pseudo-counts of the models, the first at least; those that are missing are chosen and added.
        """
        labelled = self._sums(labelled or self._labelled)
        lengths = self._known.known_tokens
        model = self._model(labelled, smoothing[0])
        shares = np.zeros((self.pool.n_documents, labelled.n_classes))
        for step in range(1, 1 + EM_ITERATIONS if weight else 1):
            scores = (
                self._counter.score(model.get_scored_terms(), _against_the_rest(model))
                + model.log_prior
            )
            shares = np.rint(
                WEIGHT_UNIT * np.exp(self.learnt.calibration.compute_log_posterior(scores, lengths))
            )
            sums = add_counts(labelled, self._counter.sum_counts(shares), weight / WEIGHT_UNIT)
            if len(smoothing) == step:
                smoothing.append(self._smoothing(sums))
            model = self._model(sums, smoothing[step])
        return model, shares

    def _sums(self, labelled: ClassStatistics) -> ClassStatistics:
        """Return statistics with the sums of weights as their counts, which are all that EM needs."""
        return replace(
            build_training(labelled, self.learnt, self.settings).compute_weighted_statistics(),
            cell_logs=None,
        )

    def _smoothing(self, sums: ClassStatistics) -> float:
        """Return the pseudo-count that the user gave, else the one of greatest evidence."""
        if not isinstance(self.settings.smoothing, str):
            return self.learnt.smoothing
        sums = replace(
            sums, cell_counts=np.ceil(sums.cell_counts * 100) / 100
        )  # evidence takes time for each distinct sum
        return MultinomialNaiveBayes.choose_smoothing(self._training(sums, np.nan))

    def _model(self, sums: ClassStatistics, smoothing: float) -> MultinomialNaiveBayes:
        """Return the model of sums of weights."""
        return MultinomialNaiveBayes(self._training(sums, smoothing), sums)

    def _training(self, sums: ClassStatistics, smoothing: float) -> Training:
        settings = replace(self.settings, weighting="counts")
        return Training(
            sums,
            self.learnt.selected_terms & sums.term_occurs,
            smoothing,
            settings,
            term_pseudo_counts=self.learnt.own_pseudo_counts,
        )
