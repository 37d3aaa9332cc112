"""A trained model: its counts, the parameters fitted to them, and its classifier.

Training makes a `FittedModel`, a model file contains one, and all commands score documents with
one.
"""

from __future__ import annotations

from collections.abc import Mapping
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
    from collections.abc import Sequence

    from nbtext.classifiers.attribute_likelihoods import AttributeLikelihoods
    from nbtext.counts.corpus_counts import CorpusCounts
    from nbtext.counts.count_table import CellCounts
    from nbtext.counts.documents import CountedDocuments
    from nbtext.prediction.posterior import Posterior
    from nbtext.prediction.typicality import Profile, Typicality
    from nbtext.settings import Smoothing
    from nbtext.type_names import Arrays, AttributeValues, Fields, Floats, Ints, Mask, Numbers

CLEAR_WIN_STD_ERRORS = 2.0
"""An alternative is clearly better if its gain is more than this many standard errors."""

UNCERTAIN_WIN_STD_ERRORS = 3.0
"""A gain of fewer standard errors is measured again on more documents."""

MIN_CLEAR_DOCUMENTS = 50
"""With fewer held-out documents no alternative is clearly better."""

MAX_ROUNDING_NATS = 1e-9
"""Limit of the difference of mean losses that rounding can cause."""

MIN_COMPARED_DOCUMENTS = 10
"""With fewer held-out documents nothing is compared."""


@dataclass(frozen=True)
class PairedTest:
    """Comparison of the log losses of the same held-out documents under two settings.

    The second setting is the alternative to the first.
    """

    gain: float
    """Decrease of the mean log loss by the alternative, in nats per document."""
    error: float
    """Standard error of the gain, in nats."""
    documents: int
    """Number of compared documents."""

    @classmethod
    def from_losses(cls, losses: Floats, alternative_losses: Floats) -> PairedTest:
        """Compare the losses of the same documents, both shape (n_docs,).

        Documents whose loss is nan are skipped. Gain and error are 0 if there are fewer than
        `MIN_COMPARED_DOCUMENTS`.
        """
        gains = losses - alternative_losses
        gains = gains[~np.isnan(gains)]
        if gains.size < MIN_COMPARED_DOCUMENTS:
            return cls(0.0, 0.0, int(gains.size))
        gain = gains.mean()
        error = gains.std(ddof=1) / np.sqrt(gains.size)
        # A model file contains six significant digits.
        return cls(float(f"{gain:.6g}"), float(f"{error:.6g}"), int(gains.size))

    @property
    def is_clear(self) -> bool:
        """True if the alternative is clearly better on enough documents."""
        has_enough_documents = self.documents >= MIN_CLEAR_DOCUMENTS
        return has_enough_documents and self.gain > CLEAR_WIN_STD_ERRORS * self.error

    @property
    def keeps_stop_words(self) -> bool:
        """True if a test whose alternative is to keep stop words decides for them.

        With enough documents the alternative must be clearly better. With few documents no
        difference is clear, so a model with stop words only must not be worse by more than the
        standard error: dropping words that separate the classes costs more than keeping noise.
        """
        has_few_documents = MIN_COMPARED_DOCUMENTS <= self.documents < MIN_CLEAR_DOCUMENTS
        if not has_few_documents:
            return self.is_clear
        is_different = abs(self.gain) > MAX_ROUNDING_NATS
        return is_different and self.gain > -self.error

    def __str__(self) -> str:
        direction = "lower" if self.gain >= 0 else "higher"
        return f"left-out log loss {abs(self.gain):.3g} ± {self.error:.2g} {direction}"

    @property
    def needs_more_documents(self) -> bool:
        """True if the gain is uncertain, so that more documents might change the decision.

        An alternative that is worse on the first documents is not tested further.
        """
        return 0 < self.gain < UNCERTAIN_WIN_STD_ERRORS * self.error


@dataclass(frozen=True)
class Choices:
    """The settings that training chose for ``auto``, and the comparisons behind them."""

    stop_words_kept: bool = False
    """Whether the model uses stop words."""
    stop_words: PairedTest | None = None
    """Test of keeping stop words instead of dropping them; None if they were not compared."""
    pseudo_count: float | None = None
    """The chosen pseudo-count; None for the default choice, usually that of greatest evidence."""
    smoothing: PairedTest | None = None
    """Test of the best pseudo-count instead of that of greatest evidence.

    None if no pseudo-counts were compared.
    """
    sides: tuple[str, ...] = (PAIRS,)
    """Segmentations of scripts without spaces that the model uses: pairs, words, or both."""
    unspaced: PairedTest | None = None
    """Test of the best other segmentation instead of pairs; None if they were not compared."""

    @property
    def stop_words_description(self) -> str:
        """The choice for stop words and its gain, or "" if they were not compared.

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
        """The choice for scripts without spaces and its gain, or "" if it is only pairs.

        >>> choices = Choices(sides=("words",), unspaced=PairedTest(0.05, 0.01, 400))
        >>> choices.unspaced_description
        'words: left-out log loss 0.05 ± 0.01 lower than with pairs'
        """
        if not self.unspaced or self.sides == (PAIRS,):
            return ""
        return f"{' and '.join(self.sides)}: {self.unspaced} than with pairs"

    @property
    def smoothing_description(self) -> str:
        """The gain of the chosen pseudo-count, or "" if it is that of greatest evidence."""
        if self.pseudo_count is None or self.smoothing is None:
            return ""
        return f"{self.smoothing} than by evidence"


NO_CHOICES = Choices()
"""Choices without a comparison: drop stop words, use the pseudo-count of greatest evidence."""


def find_dropped_terms(vocabulary: Vocabulary, settings: Settings, choices: Choices) -> Mask:
    """Return a mask of the terms that were counted to compare them, but not chosen, (n_terms,)."""
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
    """Number of these documents."""
    before: dict[str, float]
    """Metrics before calibration, by name."""
    after: dict[str, float]
    """Metrics after calibration, by name."""


class UnlabelledSummary(NamedTuple):
    """Results of training on unlabelled documents, whose counts are a layer of the statistics."""

    documents: int
    """Number of unlabelled documents that were read."""
    losses: Mapping[str, float]
    """Mean log loss of held-out labelled documents, in nats, by weight of unlabelled documents.

    The weight of the lowest loss was chosen. Empty if there were no labelled documents.
    """


@dataclass(frozen=True, eq=False)
class FittedParameters:
    """The parameters that training fits to the counts."""

    selected_terms: Mask
    """The terms that the classifier uses, shape (n_terms,)."""
    smoothing: float
    """Pseudo-count of the terms that `own_pseudo_counts` does not contain."""
    calibration: Calibration = UNCALIBRATED
    calibration_quality: CalibrationQuality | None = None
    """None if no calibration was fitted."""
    typicality: Typicality | None = None
    """None if the likelihoods of documents cannot be compared under this classifier."""
    profile: Profile | None = None
    """Mean statistics of held-out documents of the sample; None if no calibration was fitted."""
    classifier_arrays: Arrays = field(default_factory=dict)
    """The arrays that the classifier stores in addition to the statistics, by name."""
    own_pseudo_counts: TermPseudoCounts = NO_TERM_PSEUDO_COUNTS
    """The pseudo-counts that the user set for single terms."""
    choices: Choices = NO_CHOICES
    weights: CountWeights = UNWEIGHTED
    """Weights of classes, and seed words."""
    unlabelled_summary: UnlabelledSummary | None = None
    """None if the model was trained without unlabelled documents."""
    held_out_posteriors: HeldOutPosteriors | None = None
    """Stored only if the classifier needs all documents, or the model has derived layers.

    `nbtext.model.training.compute_held_out_posteriors` returns them for every model.
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
        documents=documents,
        sample=sample,
        term_pseudo_counts=parameters.own_pseudo_counts,
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


def get_fixed_pseudo_count(smoothing: Smoothing) -> float | None:
    """Return the pseudo-count that a setting has for all terms without their own.

    The first of two numbers is returned. Return None for the name of a method of training.
    """
    if isinstance(smoothing, str):
        return None
    if isinstance(smoothing, TermSmoothing):
        return smoothing.default
    if isinstance(smoothing, tuple):
        return smoothing[0]
    if isinstance(smoothing, Mapping):
        return smoothing[DEFAULT_TERM]
    return float(smoothing)


def is_possible_smoothing(smoothing: float, n_terms: int, settings: Settings) -> bool:
    """Return whether training with the settings of a model file can choose this pseudo-count."""
    if settings.estimate == "ml":
        return smoothing == 0
    pseudo_count = get_fixed_pseudo_count(settings.smoothing)
    if pseudo_count is None:
        return is_valid_auto_smoothing(smoothing, n_terms)
    return smoothing == pseudo_count


def require_trainable(
    settings: Settings, statistics: ClassStatistics, seeds: SeedTerms = ()
) -> None:
    """Raise `UsageError` if the settings do not support the counts.

    Settings may not support seed words, weights of documents, or several labels, or may name
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
    # The results are not needed: both raise an error for settings that do not fit the classes.
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
    """The calibrated posterior of each text."""
    lengths: Ints
    """Number of tokens of terms that the classifier uses, shape (n_docs,)."""
    unknown_tokens: Ints
    """Number of all other tokens, shape (n_docs,)."""

    @property
    def log_posterior(self) -> Floats:
        """Return log p(C_k | d), in nats, shape (n_docs, n_classes)."""
        return self.posterior.log_p


@dataclass(frozen=True, eq=False)
class FittedModel:
    """A trained model, the content of a model file."""

    settings: Settings
    stop_list: Sequence[str]
    """The stop words, whether training chose to use them or not."""
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
        """The classifier of documents, with their attributes if the model has any."""
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
        """Mask of the terms of texts, all terms but categories and dropped terms, (n_terms,)."""
        vocabulary = self.statistics.vocabulary
        is_dropped = find_dropped_terms(vocabulary, self.settings, self.parameters.choices)
        return ~mask_categories(vocabulary) & ~is_dropped

    @cached_property
    def class_tokens(self) -> Numbers:
        """Number of tokens of `text_terms` in each class, not weighted, shape (n_classes,)."""
        return self.counts.labelled_statistics.count_tokens(self.text_terms)

    @property
    def n_tokens(self) -> float:
        """Number of tokens of `text_terms` in all documents, not weighted by class."""
        return to_int_or_float(self.counts.labelled_statistics.count_all_tokens(self.text_terms))

    @property
    def analysis(self) -> Analysis:
        """How documents to classify are counted: without the terms that training dropped."""
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
        """Return the counts of documents, whose number is limited only by memory."""
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
