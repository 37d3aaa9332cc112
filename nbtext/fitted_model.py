"""A trained model: its counts, the parameters fitted to them, and its classifier."""

from __future__ import annotations

from dataclasses import field, fields
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict

import numpy as np

from nbtext.classifiers.base import (
    Classifier,
    Training,
    compute_class_prior,
    get_attribute_likelihoods,
    select_classifier_class,
    unwrap_text_classifier,
)
from nbtext.compatibility import (
    DOCUMENT_WEIGHTS,
    EXACT_CHANGE,
    SEED_WORDS,
    UNLABELLED_TRAINING,
    list_label_requests,
    require_compatible_settings,
)
from nbtext.counts.count_table import to_int_or_float
from nbtext.counts.counting import Analysis, DocumentCounter, LockedCounter
from nbtext.counts.matrix import MAX_BLOCK_TERM_WEIGHTS, DocumentTermMatrix
from nbtext.counts.statistics import (
    UNWEIGHTED,
    ClassStatistics,
    CountWeights,
    SeedTerms,
    estimate_statistics,
)
from nbtext.counts.vocabulary import (
    SEGMENTATION_MARKS,
    Vocabulary,
    mask_categories,
    mask_segmentation,
    mask_stop_words,
)
from nbtext.fast_dataclasses import dataclass
from nbtext.language_model.dirichlet import (
    NO_TERM_PSEUDO_COUNTS,
    LanguageModels,
    TermPseudoCounts,
    is_valid_auto_smoothing,
)
from nbtext.prediction.calibration import UNCALIBRATED, Calibration, HeldOutPosteriors
from nbtext.prediction.rule import expand_class_values
from nbtext.ragged import BLOCK_DOCUMENTS
from nbtext.settings import DEFAULT_TERM, Settings, TermSmoothing
from nbtext.text.analyzer import UNKNOWN_TERM
from nbtext.text.surface_forms import PAIRS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from nbtext.classifiers.attribute_likelihoods import AttributeLikelihoods
    from nbtext.counts.corpus_counts import CorpusCounts
    from nbtext.counts.count_table import CellCounts
    from nbtext.counts.documents import CountedDocuments
    from nbtext.prediction.posterior import Posterior
    from nbtext.prediction.typicality import Profile, Typicality
    from nbtext.type_names import Arrays, AttributeValues, Fields, Floats, Ints, Mask, Numbers

CLEAR_WIN_STD_ERRORS = 2.0
"""Standard errors by which an alternative must be better."""

MIN_CLEAR_DOCUMENTS = 50
"""With fewer held-out documents no alternative is clearly better."""

ROUNDING_NATS = 1e-9
"""Differences of mean losses that rounding can cause."""

MIN_COMPARED_DOCUMENTS = 10
"""With fewer held-out documents nothing is compared."""


@dataclass(frozen=True)
class PairedTest:
    """Difference of the log losses of the same held-out documents between two settings."""

    gain: float
    """Decrease of the mean log loss by the alternative, in nats per document."""
    error: float
    """Standard error of the gain."""
    documents: int

    @classmethod
    def from_losses(cls, losses: Floats, alternative_losses: Floats) -> PairedTest:
        """Compare the losses of the same documents, both shape (n_docs,).

        Documents whose loss is nan are skipped.
        """
        gains = losses - alternative_losses
        gains = gains[~np.isnan(gains)]
        if gains.size < MIN_COMPARED_DOCUMENTS:
            return cls(0.0, 0.0, int(gains.size))
        gain = gains.mean()
        error = gains.std(ddof=1) / np.sqrt(gains.size)
        return cls(float(f"{gain:.6g}"), float(f"{error:.6g}"), int(gains.size))

    @property
    def is_clear(self) -> bool:
        """True if the alternative is clearly better on enough documents."""
        has_enough_documents = self.documents >= MIN_CLEAR_DOCUMENTS
        return has_enough_documents and self.gain > CLEAR_WIN_STD_ERRORS * self.error

    @property
    def keeps_stop_words(self) -> bool:
        """True if the model keeps stop words, if they are the alternative.

        On enough documents they must be clearly better. On few documents no difference is clear,
        so they only must not be worse by their standard error: dropping words that separate the
        classes costs more than keeping noise.
        """
        if not MIN_COMPARED_DOCUMENTS <= self.documents < MIN_CLEAR_DOCUMENTS:
            return self.is_clear
        is_different = abs(self.gain) > ROUNDING_NATS
        return is_different and self.gain > -self.error

    def __str__(self) -> str:
        direction = "lower" if self.gain >= 0 else "higher"
        return f"left-out log loss {abs(self.gain):.3g} ± {self.error:.2g} {direction}"

    @property
    def needs_more_documents(self) -> bool:
        """True if more documents might show that the alternative is clearly better.

        An alternative that is worse on the first documents is not tested further.
        """
        return 0 < self.gain < 1.5 * CLEAR_WIN_STD_ERRORS * self.error


@dataclass(frozen=True)
class Choices:
    """The settings that training chose for ``auto``, and the comparisons behind them."""

    stop_words_kept: bool = False
    stop_words: PairedTest | None = None
    """Gain of keeping stop words over dropping them; None if they were not compared."""
    pseudo_count: float | None = None
    """The chosen pseudo-count; None for the default choice, usually the greatest evidence."""
    smoothing: PairedTest | None = None
    """Gain of the best alternative over the greatest evidence; None if nothing was compared."""
    sides: tuple[str, ...] = (PAIRS,)
    """Segmentations that are kept of scripts without spaces: pairs, words, or both."""
    unspaced: PairedTest | None = None
    """Gain of words, or of both, over pairs; None if they were not compared."""

    @property
    def stop_words_description(self) -> str:
        """The choice for stop words and its gain; "" if they were not compared.

        >>> choices = Choices(stop_words_kept=True, stop_words=PairedTest(0.0967, 0.0114, 4096))
        >>> choices.stop_words_description
        'kept: left-out log loss 0.0967 ± 0.011 lower with them'
        """
        if not self.stop_words:
            return ""
        action = "kept" if self.stop_words_kept else "dropped"
        return f"{action}: {self.stop_words} with them"

    @property
    def unspaced_description(self) -> str:
        """The choice for scripts without spaces and its gain; "" if it is only pairs.

        >>> choices = Choices(sides=("words",), unspaced=PairedTest(0.05, 0.01, 400))
        >>> choices.unspaced_description
        'words: left-out log loss 0.05 ± 0.01 lower than with pairs'
        """
        if not self.unspaced or self.sides == (PAIRS,):
            return ""
        return f"{' and '.join(self.sides)}: {self.unspaced} than with pairs"

    @property
    def smoothing_description(self) -> str:
        """The gain of the chosen pseudo-count; "" if it is that of the greatest evidence."""
        if self.pseudo_count is None or self.smoothing is None:
            return ""
        return f"{self.smoothing} than by evidence"


NO_CHOICES = Choices()
"""Choices without a comparison: drop stop words, use the pseudo-count of greatest evidence."""


def find_dropped_terms(vocabulary: Vocabulary, settings: Settings, choices: Choices) -> Mask:
    """Return a mask of the terms that were counted for ``auto`` but are not used, (n_terms,)."""
    is_dropped = np.zeros(len(vocabulary), np.bool_)
    if settings.counts_stop_words and not choices.stop_words_kept:
        is_dropped |= mask_stop_words(vocabulary)
    if settings.counts_pairs_and_words:
        for segmentation in set(SEGMENTATION_MARKS).difference(choices.sides):
            is_dropped |= mask_segmentation(vocabulary, segmentation)
    return is_dropped


class CalibrationQuality(TypedDict):
    """Quality of the posteriors of held-out documents of the sample.

    The metrics are log loss (log_loss), Brier score (brier) and calibration error (ece).
    """

    documents: int
    before: dict[str, float]
    """Metrics before calibration, by name."""
    after: dict[str, float]
    """Metrics after calibration, by name."""


class UnlabelledSummary(NamedTuple):
    """Results of training on unlabelled documents. Their counts are a layer of the statistics."""

    documents: int
    """Unlabelled documents that were read."""
    losses: Mapping[str, float]
    """Mean log loss of held-out labelled documents, in nats, by weight; the lowest was chosen."""


@dataclass(frozen=True, eq=False)
class FittedParameters:
    """The parameters that training fits to the counts."""

    selected_terms: Mask
    """The terms that the classifier uses, shape (n_terms,)."""
    smoothing: float
    """Pseudo-count of terms without one of their own."""
    calibration: Calibration = UNCALIBRATED
    calibration_quality: CalibrationQuality | None = None
    """None without calibration."""
    typicality: Typicality | None = None
    """None if the classifier has no comparable likelihoods of documents."""
    profile: Profile | None = None
    """Mean statistics of held-out documents of the sample; None without calibration."""
    classifier_arrays: Arrays = field(default_factory=dict)
    """The arrays that the classifier stores in addition to the statistics, by name."""
    own_pseudo_counts: TermPseudoCounts = NO_TERM_PSEUDO_COUNTS
    """The pseudo-counts of terms that have their own instead of ``smoothing``."""
    choices: Choices = NO_CHOICES
    weights: CountWeights = UNWEIGHTED
    unlabelled_summary: UnlabelledSummary | None = None
    """None if the model was trained without unlabelled documents."""
    held_out_posteriors: HeldOutPosteriors | None = None
    """Stored if the classifier needs all documents or the model has derived layers.

    For other models, `compute_held_out_posteriors` computes them when they are needed.
    """


def find_own_pseudo_counts(statistics: CellCounts, settings: Settings) -> TermPseudoCounts:
    """Return the pseudo-counts that the user set for single terms of the vocabulary.

    ``settings`` are the result of `nbtext.model.training.resolve_smoothing_terms`.
    """
    smoothing = settings.smoothing
    if not isinstance(smoothing, TermSmoothing) or settings.estimate == "ml":
        return NO_TERM_PSEUDO_COUNTS
    term_ids = statistics.vocabulary.find_terms(list(smoothing.term_values)).tolist()
    pseudo_counts = {
        term_id: pseudo_count
        for term_id, pseudo_count in zip(term_ids, smoothing.term_values.values(), strict=True)
        if term_id != UNKNOWN_TERM
    }
    return TermPseudoCounts.from_mapping(pseudo_counts, smoothing.default)


def build_training(
    statistics: ClassStatistics,
    parameters: FittedParameters,
    settings: Settings,
    documents: CountedDocuments | None = None,
    sample: CountedDocuments | None = None,
) -> Training:
    """Return the input from which a classifier is estimated."""
    return Training(
        statistics,
        parameters.selected_terms,
        parameters.smoothing,
        settings,
        documents,
        sample,
        parameters.own_pseudo_counts,
    )


def restore_classifier(
    statistics: ClassStatistics,
    parameters: FittedParameters,
    settings: Settings,
    documents: CountedDocuments | None = None,
) -> Classifier:
    """Return the classifier that fitted parameters define.

    Raise `ModelError` if its arrays are invalid.
    """
    classifier_class = select_classifier_class(statistics, settings)
    training = build_training(statistics, parameters, settings, documents)
    return classifier_class.from_arrays(training, parameters.classifier_arrays)


def is_possible_smoothing(smoothing: float, n_terms: int, settings: Settings) -> bool:
    """Return whether training with the settings of a model file can choose this pseudo-count."""
    if settings.estimate == "ml":
        return smoothing == 0
    setting = settings.smoothing
    if isinstance(setting, str):
        return is_valid_auto_smoothing(smoothing, n_terms)
    if isinstance(setting, dict):
        return bool(smoothing == setting[DEFAULT_TERM])
    if isinstance(setting, tuple):
        return bool(smoothing == setting[0])
    return bool(smoothing == setting)


def require_trainable(
    settings: Settings, statistics: ClassStatistics, seeds: SeedTerms = ()
) -> None:
    """Raise `UsageError` if the settings do not support the counts.

    They may not support seed words, weights of documents, or several labels, or they may name
    classes that the counts do not have.
    """
    requests = []
    if seeds:
        requests.append(SEED_WORDS)
    if statistics.weight_unit != 1:
        requests.append(DOCUMENT_WEIGHTS)
    require_compatible_settings(
        settings, *requests, *list_label_requests(statistics.posterior_type)
    )
    compute_class_prior(settings.class_prior, statistics)
    if isinstance(settings.class_weight, dict):
        expand_class_values(settings.class_weight, statistics.classes, "--class-weight", None)


def require_additive(settings: Settings, counts: CorpusCounts | None = None) -> None:
    """Raise `UsageError` for a model that cannot be changed exactly through its counts."""
    requests = [EXACT_CHANGE]
    if counts is not None and counts.uses_unlabelled:
        requests.append(UNLABELLED_TRAINING)
    require_compatible_settings(settings, *requests)


class ScoredTexts(NamedTuple):
    """Scores and posterior of texts."""

    scores: Floats
    """log p(d, C_k), in nats, shape (n_docs, n_classes)."""
    posterior: Posterior
    """Calibrated."""
    lengths: Ints
    """Tokens of terms that the classifier uses, shape (n_docs,)."""
    unknown_tokens: Ints
    """Other tokens, shape (n_docs,)."""

    @property
    def log_posterior(self) -> Floats:
        """Return log p(C_k | d), in nats, shape (n_docs, n_classes)."""
        return self.posterior.log_p


@dataclass(frozen=True, eq=False)
class FittedModel:
    """The content of a model file."""

    settings: Settings
    stop_list: Sequence[str]
    counts: CorpusCounts
    """Class statistics and sample."""
    parameters: FittedParameters
    written_by: Mapping[str, str]
    """The versions of the packages that made the model."""
    label_kind: str
    """One of `nbtext.model.schema.LABEL_KINDS`."""

    @cached_property
    def statistics(self) -> ClassStatistics:
        """The counts by class, with documents and classes weighted as in training."""
        return estimate_statistics(self.counts.table, self.parameters.weights)

    @property
    def posterior_type(self) -> type[Posterior]:
        """`ClassPosterior` if a document has one label, `LabelPosterior` for multi-label models."""
        return self.statistics.posterior_type

    @property
    def classes(self) -> list[str]:
        """The names of the classes, sorted: the order of all arrays by class."""
        return list(self.statistics.classes)

    @cached_property
    def classifier(self) -> Classifier:
        """The estimated classifier."""
        return restore_classifier(self.statistics, self.parameters, self.settings)

    @property
    def text_classifier(self) -> Classifier:
        """The classifier of the texts, without attributes."""
        return unwrap_text_classifier(self.classifier)

    @cached_property
    def attributes(self) -> AttributeLikelihoods | None:
        """The distributions of the attributes; None for a model of texts only."""
        return get_attribute_likelihoods(self.classifier)

    @cached_property
    def language_models(self) -> LanguageModels:
        """The language models of the classes, for any classifier."""
        training = build_training(self.statistics, self.parameters, self.settings)
        return training.estimate_language_models(self.statistics)

    @cached_property
    def text_terms(self) -> Mask:
        """The terms of texts, shape (n_terms,): all but categories and dropped terms."""
        vocabulary = self.statistics.vocabulary
        is_dropped = find_dropped_terms(vocabulary, self.settings, self.parameters.choices)
        return ~mask_categories(vocabulary) & ~is_dropped

    @cached_property
    def class_tokens(self) -> Numbers:
        """Tokens of `text_terms` in each class, without class weights, shape (n_classes,)."""
        return self.counts.labelled_statistics.count_tokens(self.text_terms)

    @property
    def n_tokens(self) -> float:
        """Tokens of `text_terms` in all documents, without class weights."""
        return to_int_or_float(self.counts.labelled_statistics.count_all_tokens(self.text_terms))

    @property
    def analysis(self) -> Analysis:
        """How documents to classify are counted: without the terms that ``auto`` drops."""
        choices = self.parameters.choices
        return Analysis(self.settings, self.stop_list).with_choices(
            keep_stop_words=choices.stop_words_kept, segmentations=choices.sides
        )

    @cached_property
    def counter(self) -> LockedCounter:
        """Counter of documents to classify."""
        return LockedCounter(partial(DocumentCounter, self.analysis, self.statistics.vocabulary))

    @property
    def max_block_documents(self) -> int:
        """Limit of documents to score together; with very many classes it is low."""
        return max(min(BLOCK_DOCUMENTS, MAX_BLOCK_TERM_WEIGHTS // self.statistics.n_classes), 1)

    def score(
        self, texts: Sequence[bytes], fields: Sequence[Fields] = (), values: AttributeValues = ()
    ) -> ScoredTexts:
        """Score documents, at most `max_block_documents`."""
        return self.score_counts(self.count_texts(texts, fields, values))

    def count_texts(
        self, texts: Sequence[bytes], fields: Sequence[Fields] = (), values: AttributeValues = ()
    ) -> DocumentTermMatrix:
        """Return the counts of documents, as many as fit into memory."""
        matrix = self.counter.count(texts, fields, values).to_matrix()
        if self.attributes is None:
            return matrix
        return matrix._replace(
            unseen_pseudo_counts=self.attributes.get_unseen_pseudo_counts(values)
        )

    def score_counts(self, matrix: DocumentTermMatrix) -> ScoredTexts:
        """Score the counts of documents, at most `max_block_documents`."""
        scores, lengths = self.classifier.joint_log_likelihood(matrix)
        log_scale_scores = self.classifier.to_log_scale(scores, lengths)
        log_posterior = self.parameters.calibration.compute_log_posterior(log_scale_scores, lengths)
        posterior = self.posterior_type(log_posterior)
        return ScoredTexts(scores, posterior, lengths, matrix.tokens - lengths)

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields for pickle, without cached properties: a stemmer cannot be pickled."""
        return {item.name: getattr(self, item.name) for item in fields(self)}
