"""A trained model: its counts, the parameters fitted to them, and its classifier.

Training makes a `FittedModel`, which a model file contains. All commands score documents with it.
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
"""A setting is clearly better than another if its gain is more than this many standard errors."""

UNCERTAIN_WIN_STD_ERRORS = 3.0
"""A positive gain of fewer standard errors is measured again on more documents."""

MIN_CLEAR_DOCUMENTS = 50
"""With fewer held-out documents no setting counts as clearly better."""

MAX_ROUNDING_NATS = 1e-9
"""Equal mean losses differ by at most this because of rounding."""

MIN_COMPARED_DOCUMENTS = 10
"""With fewer held-out documents settings are not compared."""


@dataclass(frozen=True)
class PairedTest:
    """Comparison of the log losses of the same held-out documents under two settings.

    The second setting is the alternative to the first. The fields have these names in model files.
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
            return cls(gain=0.0, error=0.0, documents=int(gains.size))
        gain = gains.mean()
        error = gains.std(ddof=1) / np.sqrt(gains.size)
        # Rounded here to the six digits of a model file, so that a loaded model is equal.
        return cls(float(f"{gain:.6g}"), float(f"{error:.6g}"), int(gains.size))

    @property
    def is_clear(self) -> bool:
        """True if the alternative is clearly better on enough documents."""
        has_enough_documents = self.documents >= MIN_CLEAR_DOCUMENTS
        return has_enough_documents and self.gain > CLEAR_WIN_STD_ERRORS * self.error

    @property
    def is_within_error(self) -> bool:
        """True if neither the alternative nor the other model is clearly better."""
        return abs(self.gain) <= CLEAR_WIN_STD_ERRORS * self.error

    @property
    def keeps_stop_words(self) -> bool:
        """True if the test decides to keep stop words. Its alternative is a model with stop words.

        With enough documents this model must be clearly better. With few documents no difference
        is clear, so it is enough that this model is not worse by more than the standard error:
        dropping words that separate the classes costs more than keeping noise.
        """
        has_few_documents = MIN_COMPARED_DOCUMENTS <= self.documents < MIN_CLEAR_DOCUMENTS
        if not has_few_documents:
            return self.is_clear
        # Without a difference stop words are dropped.
        is_different = abs(self.gain) > MAX_ROUNDING_NATS
        return is_different and self.gain > -self.error

    def __str__(self) -> str:
        direction = "lower" if self.gain >= 0 else "higher"
        return f"{abs(self.gain):.3g} ± {self.error:.2g} {direction}"

    @property
    def needs_more_documents(self) -> bool:
        """True if the gain is uncertain, so that more documents might change the decision.

        An alternative that is worse on the first documents is not tested on more documents.
        """
        return 0 < self.gain < UNCERTAIN_WIN_STD_ERRORS * self.error


@dataclass(frozen=True)
class Choices:
    """The settings that training chose for ``auto``, and the tests by which it chose them.

    The fields have these names in model files.
    """

    stop_words_kept: bool = False
    """Whether the model uses stop words."""
    stop_words: PairedTest | None = None
    """Test of keeping stop words instead of dropping them. None if training made no such test."""
    pseudo_count: float | None = None
    """The chosen pseudo-count. None if the settings or the classifier determine it, not a test."""
    smoothing: PairedTest | None = None
    """Test of the best other pseudo-count instead of the pseudo-count of greatest evidence.

    None if training made no such test.
    """
    sides: tuple[str, ...] = (PAIRS,)
    """Segmentations of scripts without spaces that the model uses: ``pairs``, ``words`` or both."""
    unspaced: PairedTest | None = None
    """Test of the best other segmentation instead of pairs. None if training made no such test."""

    @property
    def stop_words_description(self) -> str:
        """The choice for stop words and the gain of keeping them, or "" without a test.

        >>> choices = Choices(stop_words_kept=True, stop_words=PairedTest(0.0967, 0.0114, 4096))
        >>> choices.stop_words_description
        'kept, because held-out log loss is 0.0967 ± 0.011 lower with stop words'
        >>> Choices(stop_words=PairedTest(-0.0226, 0.03, 222)).stop_words_description
        'dropped: held-out log loss is 0.0226 ± 0.03 higher with stop words, no clear difference'
        """
        if not self.stop_words:
            return ""
        action = "kept" if self.stop_words_kept else "dropped"
        difference = f"held-out log loss is {self.stop_words} with stop words"
        if self.stop_words.is_within_error:
            return f"{action}: {difference}, no clear difference"
        return f"{action}, because {difference}"

    @property
    def unspaced_description(self) -> str:
        """The segmentations and their gain, or "" if the model uses only pairs.

        >>> choices = Choices(sides=("words",), unspaced=PairedTest(0.05, 0.01, 400))
        >>> choices.unspaced_description
        'words, because held-out log loss is 0.05 ± 0.01 lower than with pairs'
        """
        if not self.unspaced or self.sides == (PAIRS,):
            return ""
        segmentations = " and ".join(self.sides)
        return f"{segmentations}, because held-out log loss is {self.unspaced} than with pairs"

    @property
    def smoothing_description(self) -> str:
        """The gain of the chosen pseudo-count, or "" if no test decided."""
        if self.pseudo_count is None or self.smoothing is None:
            return ""
        return f"because held-out log loss is {self.smoothing} than with --smoothing evidence"


NO_CHOICES = Choices()
"""Choices without a test: drop stop words, and count scripts without spaces by pairs."""


def find_dropped_terms(vocabulary: Vocabulary, settings: Settings, choices: Choices) -> Mask:
    """Return a mask of the terms that were counted for a test and not chosen, shape (n_terms,)."""
    is_dropped = np.zeros(len(vocabulary), np.bool_)
    if settings.counts_stop_words and not choices.stop_words_kept:
        is_dropped |= mask_stop_words(vocabulary)
    if settings.counts_pairs_and_words:
        for segmentation in set(SEGMENTATION_MARKS).difference(choices.sides):
            is_dropped |= mask_segmentation(vocabulary, segmentation)
    return is_dropped


class UnseenChanges(NamedTuple):
    """Changes of the documents after the parameters were chosen: by ``--quick``."""

    documents: float
    """Number of documents that were added or removed."""
    counts: str
    """Digest of the counts that the parameters were chosen from."""


class CalibrationQuality(TypedDict):
    """Metrics of the posteriors of held-out documents, before and after calibration.

    The names of the metrics are log_loss, brier (Brier score) and ece (calibration error).
    """

    documents: int
    """Number of held-out documents."""
    before: dict[str, float]
    after: dict[str, float]


class UnlabelledSummary(NamedTuple):
    """Results of training on unlabelled documents."""

    documents: int
    """Number of unlabelled documents that were read."""
    losses: Mapping[str, float]
    """Mean log loss of held-out labelled documents, in nats, by weight of unlabelled documents.

    The weight with the lowest loss was chosen. Empty if there were no labelled documents.
    """


@dataclass(frozen=True, eq=False)
class FittedParameters:
    """The parameters that training fits to the counts."""

    selected_terms: Mask
    """True for the terms that the classifier uses, shape (n_terms,)."""
    smoothing: float
    """Pseudo-count of the terms that `own_pseudo_counts` does not contain."""
    calibration: Calibration = UNCALIBRATED
    calibration_quality: CalibrationQuality | None = None
    """None if no calibration was fitted."""
    typicality: Typicality | None = None
    """None if likelihoods of documents under this classifier cannot be compared."""
    profile: Profile | None = None
    """Means over held-out documents, to detect drift. None if no calibration was fitted."""
    classifier_arrays: Arrays = field(default_factory=dict)
    """The arrays that the classifier stores in addition to the statistics, by name."""
    own_pseudo_counts: TermPseudoCounts = NO_TERM_PSEUDO_COUNTS
    """The pseudo-counts that the user set for certain terms."""
    choices: Choices = NO_CHOICES
    unseen: UnseenChanges | None = None
    """None if the parameters were chosen from the counts of the model."""
    weights: CountWeights = UNWEIGHTED
    """Weights of classes, and seed words."""
    unlabelled_summary: UnlabelledSummary | None = None
    """None if the model was trained without unlabelled documents."""
    held_out_posteriors: HeldOutPosteriors | None = None
    """None unless the classifier needs all documents, or unlabelled documents were used.

    For other models `nbtext.model.training.compute_held_out_posteriors` computes them.
    """


def find_own_pseudo_counts(statistics: CellCounts, settings: Settings) -> TermPseudoCounts:
    """Return the pseudo-counts that the user set for certain terms of the vocabulary.

    ``settings`` are the result of `nbtext.model.training.resolve_smoothing_terms`. Maximum
    likelihood ("ml") uses no pseudo-counts.
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
    """Return the input from which a classifier is estimated.

    ``documents`` are all training documents, and ``sample`` is the sample of them that the model
    stores. Pass None if the classifier does not need them.
    """
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

    ``documents`` are as in `build_training`. Raise `ModelError` if the arrays of the classifier are
    invalid.
    """
    classifier_class = select_classifier_class(statistics, settings)
    training = build_training(statistics, parameters, settings, documents)
    return classifier_class.from_arrays(training, parameters.classifier_arrays)


def get_fixed_pseudo_count(smoothing: Smoothing) -> float | None:
    """Return the pseudo-count that the user set for all terms without a pseudo-count of their own.

    Of two numbers return the first. Return None if the setting is the name of a method by which
    training chooses the pseudo-count.
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


def is_possible_smoothing(smoothing: float, settings: Settings) -> bool:
    """Return whether training with the settings of a model file can choose this pseudo-count."""
    if settings.estimate == "ml":
        return smoothing == 0
    pseudo_count = get_fixed_pseudo_count(settings.smoothing)
    if pseudo_count is None:
        return is_valid_auto_smoothing(smoothing)
    return smoothing == pseudo_count


def require_trainable(
    settings: Settings, statistics: ClassStatistics, seeds: SeedTerms = ()
) -> None:
    """Raise `UsageError` if a model with the settings cannot be trained on the counts.

    Settings may not support seed words, weights of documents, or several labels, or may name
    classes that the counts do not have.
    """
    requests = []
    if seeds:
        requests.append(SEED_WORDS)
    has_weighted_documents = statistics.weight_unit != 1
    if has_weighted_documents:
        requests.append(DOCUMENT_WEIGHTS)
    requests.extend(list_label_requests(statistics.posterior_type))
    require_compatible_settings(settings, *requests)
    # The results are not needed: both functions raise an error for an unknown class.
    compute_class_prior(settings.class_prior, statistics)
    if isinstance(settings.class_weight, dict):
        expand_class_values(
            settings.class_weight, statistics.classes, option="--class-weight", default=None
        )


def require_additive(settings: Settings, counts: CorpusCounts | None = None) -> None:
    """Raise `UsageError` if adding and subtracting counts does not change a model exactly.

    Without ``counts``, check only the settings.
    """
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
    """Number of tokens that the classifier uses, shape (n_docs,)."""
    unknown_tokens: Ints
    """Number of all other tokens, shape (n_docs,)."""

    @property
    def log_posterior(self) -> Floats:
        """log p(C_k | d), in nats, shape (n_docs, n_classes)."""
        return self.posterior.log_p


@dataclass(frozen=True, eq=False)
class FittedModel:
    """A trained model, the content of a model file."""

    settings: Settings
    stop_list: Sequence[str]
    """The list of stop words. `Choices.stop_words_kept` shows whether the model uses them."""
    counts: CorpusCounts
    """Counts of the training documents by class, and the sample of these documents."""
    parameters: FittedParameters
    written_by: Mapping[str, str]
    """The versions of the packages that made the model, by name."""
    label_kind: str
    """One of `nbtext.model.schema.LABEL_KINDS`."""
    fingerprint: str | None = None
    """The fingerprint of the model file, 12 hexadecimal digits.

    None if the model was not loaded, or changed afterwards.
    """

    @cached_property
    def statistics(self) -> ClassStatistics:
        """The counts by class, weighted by ``class_weight``, with the counts of seed words."""
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
        """The classifier of documents: of their texts, and of attributes if the model has any."""
        return restore_classifier(self.statistics, self.parameters, self.settings)

    @property
    def text_classifier(self) -> Classifier:
        """The classifier of the texts, without attributes."""
        return unwrap_text_classifier(self.classifier)

    @cached_property
    def attributes(self) -> AttributeLikelihoods | None:
        """The distributions of the attributes in each class; None for a model of texts only."""
        return get_attribute_likelihoods(self.classifier)

    @cached_property
    def language_models(self) -> LanguageModels:
        """The language models of the classes, even if the classifier does not use them."""
        training = build_training(self.statistics, self.parameters, self.settings)
        return training.estimate_language_models(self.statistics)

    @cached_property
    def text_terms(self) -> Mask:
        """Mask of the terms of texts, shape (n_terms,).

        It excludes values of categorical attributes, and terms that training dropped.
        """
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
        """How to count new documents: like training documents, without dropped terms."""
        choices = self.parameters.choices
        return Analysis(self.settings, self.stop_list).with_choices(
            keep_stop_words=choices.stop_words_kept, segmentations=choices.sides
        )

    @cached_property
    def counter(self) -> LockedCounter:
        """Counter of new documents by `analysis`."""
        return LockedCounter(partial(DocumentCounter, self.analysis, self.statistics.vocabulary))

    @property
    def max_block_documents(self) -> int:
        """Limit of documents to score together, which is low with very many classes."""
        max_documents = MAX_BLOCK_TERM_WEIGHTS // self.statistics.n_classes
        return max(min(BLOCK_DOCUMENTS, max_documents), 1)

    def score(
        self, texts: Sequence[bytes], fields: Sequence[Fields] = (), values: AttributeValues = ()
    ) -> ScoredTexts:
        """Score at most `max_block_documents` documents."""
        return self.score_counts(self.count_texts(texts, fields, values))

    def count_texts(
        self, texts: Sequence[bytes], fields: Sequence[Fields] = (), values: AttributeValues = ()
    ) -> DocumentTermMatrix:
        """Return the counts of any number of documents."""
        matrix = self.counter.count(texts, fields, values).to_matrix()
        if self.attributes is None:
            return matrix
        pseudo_counts = self.attributes.get_unseen_pseudo_counts(values)
        return matrix._replace(unseen_pseudo_counts=pseudo_counts)

    def score_counts(self, matrix: DocumentTermMatrix) -> ScoredTexts:
        """Score the counts of at most `max_block_documents` documents."""
        scores, lengths = self.classifier.joint_log_likelihood(matrix)
        log_scale_scores = self.classifier.to_log_scale(scores, lengths)
        log_posterior = self.parameters.calibration.compute_log_posterior(log_scale_scores, lengths)
        posterior = self.posterior_type(log_posterior)
        return ScoredTexts(scores, posterior, lengths, matrix.tokens - lengths)

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields, which pickle stores, without the cached properties."""
        # A cached counter may have a stemmer, which cannot be pickled.
        return {item.name: getattr(self, item.name) for item in fields(self)}
