"""Train on unlabelled documents too, by expectation maximisation (EM) with multinomial naive Bayes.

E step: each unlabelled document belongs to each class with a proportion, the calibrated posterior
of the counts so far. M step: its counts, times these proportions and a weight λ, are added to the
counts of the labelled documents. The posterior compares each class with all other classes, which is
more accurate with many classes (see `_score_vs_rest`). Without calibration, proportions would be so
near 0 and 1 that the first guess would never change. λ is the value of `UNLABELLED_WEIGHTS`, or 0,
with the lowest log loss of held-out labelled documents: EM also runs without each fold of them.

Sources: K. Nigam, A. McCallum, S. Thrun, T. Mitchell, Text classification from labeled and
unlabeled documents using EM (2000), sections 4 and 5.1; J. Rennie, L. Shih, J. Teevan, D. Karger,
Tackling the poor assumptions of naive Bayes text classifiers (2003), section 3.1, for the E step.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np

from nbtext.classifiers.base import Training
from nbtext.classifiers.complement import ComplementNaiveBayes
from nbtext.classifiers.multinomial import MultinomialNaiveBayes
from nbtext.compatibility import (
    UNLABELLED_POOL,
    list_label_requests,
    require_compatible_settings,
)
from nbtext.counts.corpus_counts import (
    CorpusCounts,
    Subsets,
    include_ngram_parts,
    is_in_vocabulary,
)
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
from nbtext.counts.vocabulary import Vocabulary, mask_categories
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
"""Values of λ to try in addition to 0, in this order, until the log loss increases."""

EM_ITERATIONS = 5
"""Further iterations change less than one prediction in a hundred."""

EM_FOLDS = 4
"""Folds of the sample of labelled documents, each held out once."""

MIN_LABELLED_DOCUMENTS = 10
"""With fewer held-out documents weights cannot be compared."""

MIN_TERM_DOCUMENTS = 2
"""Terms of unlabelled documents only are used if at least this many documents contain them."""


class UnlabelledDocuments(NamedTuple):
    """Unlabelled documents as counts.

    The documents are sorted by a hash of their content, so that results do not depend on their
    original order.
    """

    vocabulary: Vocabulary
    term_documents: Ints
    """Number of documents with each term, shape (n_terms,)."""
    matrix: DocumentTermMatrix

    @classmethod
    def from_documents(
        cls, analysis: Analysis, documents: Iterable[Document]
    ) -> UnlabelledDocuments:
        """Count documents; raise `NoDocumentsError` if there are none."""
        # Only labelled documents can be counted. The label is not used.
        labelled_documents = (document._replace(label=".") for document in documents)
        counts = count_labelled_documents(labelled_documents, analysis, keep_all=True)
        order = np.argsort(counts.documents.hashes, kind="stable")
        return cls(
            counts.table.vocabulary,
            counts.table.term_documents,
            counts.documents.matrix.take(order),
        )


def fit_unlabelled(
    counts: CorpusCounts,
    settings: Settings,
    parameters: FittedParameters,
    pool: UnlabelledDocuments,
) -> tuple[CorpusCounts, FittedParameters]:
    """Return the counts and parameters of a model that is also trained on unlabelled documents.

    ``counts`` and ``parameters`` belong to a model without a layer of unlabelled documents.
    ``settings`` are the result of `nbtext.model.training.resolve_smoothing_terms`. The returned
    counts have more terms and a layer of the unlabelled documents, unless the best weight is 0. If
    there are only seed words and no labelled documents, the weight is 1.

    Raise `UsageError` for settings that do not support unlabelled documents, for too few labelled
    documents, and for seed words of other classes.
    """
    require_compatible_settings(
        settings, UNLABELLED_POOL, *list_label_requests(counts.table.posterior_type)
    )
    require_seeded_classes(parameters.weights.seeds, counts.table.classes)
    n_sampled = len(counts.sample.documents)
    has_labelled_documents = bool(counts.table.n_documents)
    if has_labelled_documents and n_sampled < MIN_LABELLED_DOCUMENTS:
        raise UsageError(
            f"{format_quantity(n_sampled, 'labelled document')} cannot show how much unlabelled "
            "ones help",
            hint=f"label {MIN_LABELLED_DOCUMENTS} or more",
        )

    em = _ExpectationMaximisation.from_pool(counts, settings, parameters, pool)
    n_unlabelled = em.pool.n_documents
    if not has_labelled_documents:
        weight = 1.0
        summary = UnlabelledSummary(n_unlabelled, losses={})
        return em.build_result(weight, em.run(weight).proportions, summary, held_out=None)

    runs = _compare_weights(em)
    best_weight = min(runs, key=lambda weight: runs[weight].loss)
    rounded_losses = {f"{weight:g}": float(f"{runs[weight].loss:.6g}") for weight in sorted(runs)}
    summary = UnlabelledSummary(n_unlabelled, rounded_losses)
    if best_weight == 0:
        return counts, replace(parameters, unlabelled_summary=summary)
    best_run = runs[best_weight]
    return em.build_result(best_weight, best_run.proportions, summary, best_run.held_out)


def _compare_weights(em: _ExpectationMaximisation) -> dict[float, _EvaluatedRun]:
    """Run EM with weight 0 and the weights of `UNLABELLED_WEIGHTS`, until the loss increases.

    Return the runs by weight. The loss with weight 0 does not end the search.
    """
    runs = {0.0: em.run_with_folds(0.0)}
    previous_loss = np.inf
    for weight in track_progress(UNLABELLED_WEIGHTS, "weight"):
        run = em.run_with_folds(weight)
        runs[weight] = run
        if run.loss > previous_loss:
            break
        previous_loss = run.loss
    return runs


def fit_seeds_only(seeds: SeedTerms, settings: Settings) -> tuple[CorpusCounts, FittedParameters]:
    """Return the counts and parameters of a model of seed words, without any documents.

    The counts have the classes and terms of the seeds.
    """
    classes = tuple(sorted({seed.label for seed in seeds}))
    table = CountTable.empty(Vocabulary.from_terms([]), classes)
    if settings.needs_log_sums:
        table = replace(table, cell_logs=np.empty(0, np.int64))
    empty_counts = CorpusCounts(
        table, DocumentSample.from_documents(NO_DOCUMENTS, settings.keep_documents)
    )
    counts, _, _ = empty_counts.widen(build_seed_vocabulary(seeds))
    smoothing = MultinomialNaiveBayes.DEFAULT_PSEUDO_COUNT
    if isinstance(settings.smoothing, float):
        smoothing = settings.smoothing
    no_terms = np.zeros(counts.table.n_terms, np.bool_)
    return counts, FittedParameters(no_terms, smoothing, weights=CountWeights(seeds=seeds))


def remove_unlabelled_layers(counts: CorpusCounts) -> CorpusCounts:
    """Return the counts of the labelled documents, with only the terms of these documents.

    Raise `UsageError` if there are no labelled documents.
    """
    counts = counts.drop_derived_layers()
    if not counts.table.n_documents:
        raise UsageError(
            "the model was trained only on seed words and unlabelled documents, so nothing would "
            "remain",
            hint="train it again, with labelled documents or others without labels",
        )
    return counts.restrict_terms(counts.table.term_occurs)


def _score_vs_rest(model: MultinomialNaiveBayes) -> TermFunction:
    """Return a function of terms j that returns (1 − 1/K) (log φ_jk − log θ_jk) for each class k.

    K is the number of classes, φ_k the language model of class k, and θ_k the language model of all
    other classes. The factor keeps the scale of log φ, for which the calibration was fitted: if
    classes differ little, the difference of −log θ between two classes is 1 / (K − 1) times the
    difference of log φ. With two classes posteriors do not change.
    """
    complement = ComplementNaiveBayes(model.training, model.counts)  # its weights are −log θ
    factor = 1 - 1 / model.counts.n_classes
    return lambda terms: factor * (model.compute_weights(terms) + complement.compute_weights(terms))


class _EmRun(NamedTuple):
    """Results of EM with one weight on certain labelled documents."""

    model: MultinomialNaiveBayes
    """The final model."""
    proportions: Floats
    """Class proportions of the unlabelled documents, in thousandths, shape (n_docs, n_classes)."""
    pseudo_counts: list[float]
    """Pseudo-count of the first model, and of the model after each iteration."""


class _EvaluatedRun(NamedTuple):
    """Results of EM with one weight, with and without each fold of the sample."""

    proportions: Floats
    """As in `_EmRun`, by all labelled documents."""
    held_out: HeldOutScores
    """Scores of sampled documents by models that were trained without them."""
    loss: float
    """Calibrated log loss of the sampled documents, in nats."""


@dataclass(frozen=True, eq=False)
class _ExpectationMaximisation:
    """EM with different weights, on all labelled documents or on subsets of them."""

    counts: CorpusCounts
    """Counts over the terms of labelled and unlabelled documents."""
    settings: Settings
    parameters: FittedParameters
    """Parameters that were fitted to the labelled documents, with the new terms selected."""
    pool: DocumentTermMatrix
    """Unlabelled documents over the terms of the counts."""

    @classmethod
    def from_pool(
        cls,
        counts: CorpusCounts,
        settings: Settings,
        parameters: FittedParameters,
        pool: UnlabelledDocuments,
    ) -> Self:
        """Return EM over the terms of the counts and the frequent terms of the pool.

        The vocabulary of a pruned model, whose counts are closed, does not change.
        """
        term_occurs = counts.table.term_occurs
        is_used = is_in_vocabulary(counts.table.vocabulary, pool.vocabulary)
        if not counts.is_closed:
            is_frequent = pool.term_documents >= MIN_TERM_DOCUMENTS
            is_dropped = find_dropped_terms(pool.vocabulary, settings, parameters.choices)
            is_used |= is_frequent & ~is_dropped & ~mask_categories(pool.vocabulary)
        is_used = include_ngram_parts(pool.vocabulary, is_used)
        counts, new_ids, new_pool_ids = counts.widen(pool.vocabulary.restrict(is_used))

        # New terms are selected, and old terms if they were selected before.
        selected = np.ones(counts.table.n_terms, np.bool_)
        old_terms = new_ids[term_occurs]
        selected[old_terms] = parameters.selected_terms[term_occurs]
        selected &= ~find_dropped_terms(counts.table.vocabulary, settings, parameters.choices)
        parameters = replace(
            parameters,
            selected_terms=selected,
            own_pseudo_counts=find_own_pseudo_counts(counts.table, settings),
        )

        matrix = pool.matrix.select_terms(is_used)
        id_of_pool_term = np.full(is_used.size, -1, matrix.terms.dtype)
        id_of_pool_term[is_used] = new_pool_ids
        matrix = matrix._replace(terms=id_of_pool_term[matrix.terms])
        return cls(counts, settings, parameters, matrix)

    @cached_property
    def _selected_pool(self) -> DocumentTermMatrix:
        """The unlabelled documents over the selected terms."""
        return self.pool.select_terms(self.parameters.selected_terms)

    @cached_property
    def _labelled_statistics(self) -> ClassStatistics:
        return estimate_statistics(self.counts.table, self.parameters.weights)

    @cached_property
    def _counter(self) -> SoftCounter[ClassStatistics]:
        """Sums the term weights of the unlabelled documents by class proportions."""
        return SoftCounter(
            weigh_matrix(self._selected_pool, self.settings.weighting, self.counts.table),
            self._sum_weights(self._labelled_statistics),
        )

    def build_result(
        self,
        weight: float,
        proportions: Floats,
        summary: UnlabelledSummary,
        held_out: HeldOutScores | None,
    ) -> tuple[CorpusCounts, FittedParameters]:
        """Return the counts with a layer of the unlabelled documents, and the parameters.

        The parameters are calibrated on ``held_out``, the scores of held-out labelled documents. It
        is None if there are no labelled documents.
        """
        soft_counts = SoftCounter(
            self._selected_pool, self.counts.table.labelled_table
        ).sum_statistics(proportions)
        layer = Layer(UNLABELLED_LAYER, weight, WEIGHT_UNIT)
        counts = self.counts.with_layer(layer, soft_counts)
        statistics = estimate_statistics(counts.table, self.parameters.weights)
        # The pseudo-count is chosen again.
        choices = replace(self.parameters.choices, pseudo_count=None, smoothing=None)
        parameters = choose_terms_and_smoothing(
            statistics, counts.sample.documents, self.settings, choices=choices
        )
        parameters = replace(parameters, unlabelled_summary=summary)
        if held_out is None:
            return counts, parameters
        classifier = restore_classifier(statistics, parameters, self.settings)
        parameters = add_calibration(parameters, classifier, held_out, comparable_scores=held_out)
        posteriors = calibrate_posteriors(classifier, parameters.calibration, held_out)
        return counts, replace(parameters, held_out_posteriors=posteriors)

    def run_with_folds(self, weight: float) -> _EvaluatedRun:
        """Run EM with all labelled documents, and without each fold of the sample.

        The first run chooses the pseudo-counts for all runs.
        """
        overall_run = self.run(weight)
        subsets = Subsets(self.counts.table, self.counts.sample.documents)
        sample = remove_dropped_terms(
            self.counts.sample.documents, self.counts.table, self.parameters, self.settings
        )
        # Row k is document k of `subsets` too, because the limited sample is its start.
        sample = limit_sample(sample, self.counts.table)
        fold_indices = np.arange(len(sample)) % EM_FOLDS
        held_out_scores = []
        for fold in range(EM_FOLDS):
            rows = np.flatnonzero(fold_indices == fold)
            statistics = estimate_statistics(
                subsets.exclude_documents(rows), self.parameters.weights
            )
            model = self.run(weight, statistics, overall_run.pseudo_counts).model
            documents = sample.take(rows)
            matrix = documents.matrix.select_terms(model.get_scored_terms())
            scores, _ = model.joint_log_likelihood(
                weigh_matrix(matrix, self.settings.weighting, self.counts.table)
            )
            held_out_scores.append(
                HeldOutScores(
                    scores,
                    matrix.known_tokens,
                    documents.matrix.tokens - matrix.known_tokens,
                    documents.to_document_labels(scores.shape[1]),
                    documents.compute_weights(self._labelled_statistics),
                )
            )
        held_out = HeldOutScores.concatenate(held_out_scores)
        loss = compute_calibrated_log_loss(held_out, COUNT_TEMPERATURE_EXPONENT)
        return _EvaluatedRun(overall_run.proportions, held_out, loss)

    def run(
        self,
        weight: float,
        labelled_statistics: ClassStatistics | None = None,
        pseudo_counts: list[float] | None = None,
    ) -> _EmRun:
        """Run EM, by default with the statistics of all labelled documents.

        If the weight is 0, the final model is the model of the labelled documents, and the
        proportions are 0. By default the pseudo-count of each iteration is chosen. Otherwise
        ``pseudo_counts`` are the pseudo-counts of another run.
        """
        if labelled_statistics is None:
            labelled_statistics = self._labelled_statistics
        labelled_sums = self._sum_weights(labelled_statistics)
        used_pseudo_counts = [self.parameters.smoothing]
        model = self._estimate(labelled_sums, self.parameters.smoothing)
        lengths = self._selected_pool.known_tokens
        proportions = np.zeros((self.pool.n_documents, labelled_sums.n_classes))
        n_iterations = EM_ITERATIONS if weight else 0
        for step in range(1, n_iterations + 1):
            term_scores = self._counter.score(model.get_scored_terms(), _score_vs_rest(model))
            log_posterior = self.parameters.calibration.compute_log_posterior(
                term_scores + model.log_prior, lengths
            )
            proportions = np.rint(WEIGHT_UNIT * np.exp(log_posterior))
            sums = add_counts(
                labelled_sums, self._counter.sum_counts(proportions), weight / WEIGHT_UNIT
            )
            if pseudo_counts is None:
                smoothing = self._choose_smoothing(sums)
            else:
                smoothing = pseudo_counts[step]
            used_pseudo_counts.append(smoothing)
            model = self._estimate(sums, smoothing)
        return _EmRun(model, proportions, used_pseudo_counts)

    def _sum_weights(self, statistics: ClassStatistics) -> ClassStatistics:
        """Return statistics whose counts are the sums of term weights."""
        training = build_training(statistics, self.parameters, self.settings)
        return replace(training.compute_weighted_statistics(), cell_logs=None)

    def _choose_smoothing(self, sums: ClassStatistics) -> float:
        """Return the pseudo-count that the user set, else the pseudo-count of greatest evidence."""
        is_set = not isinstance(self.settings.smoothing, str)
        if is_set:
            return self.parameters.smoothing
        # Computing the evidence takes time for each distinct sum, so the sums are rounded up to
        # hundredths.
        rounded_counts = np.ceil(sums.cell_counts * 100) / 100
        rounded_sums = replace(sums, cell_counts=rounded_counts)
        training = self._build_training_from_sums(rounded_sums, smoothing=np.nan)
        return MultinomialNaiveBayes.choose_smoothing(training)

    def _estimate(self, sums: ClassStatistics, smoothing: float) -> MultinomialNaiveBayes:
        """Return the model of sums of term weights."""
        return MultinomialNaiveBayes(self._build_training_from_sums(sums, smoothing), sums)

    def _build_training_from_sums(self, sums: ClassStatistics, smoothing: float) -> Training:
        """Return the input of a multinomial model whose counts are weighted already."""
        return Training(
            sums,
            self.parameters.selected_terms & sums.term_occurs,
            smoothing,
            replace(self.settings, weighting="counts"),
            term_pseudo_counts=self.parameters.own_pseudo_counts,
        )
