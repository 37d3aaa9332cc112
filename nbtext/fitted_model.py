"""A trained model: what was learnt from counts, and what follows: the sum of layers, the classifier, scores."""

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
    has_segmentation,
    is_category,
    is_stop_word,
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
"""With fewer left-out documents nothing but stop words is compared."""

ROUNDING_NATS = 1e-9
"""Differences of mean losses, in nats, that rounding may make."""

MIN_COMPARED_DOCUMENTS = 10
"""With fewer nothing is compared."""


@dataclass(frozen=True)
class PairedTest:
    """How much better left-out documents are answered with an alternative."""

    gain: float
    """By how much the mean log loss is lower, in nats per document."""
    error: float
    """Standard error of the gain."""
    documents: int

    @classmethod
    def from_losses(cls, losses: Floats, alternative: Floats) -> PairedTest:
        """Compare the losses of the same documents, shape (n_docs,); nan where a document cannot be judged."""
        gains = losses - alternative
        gains = gains[~np.isnan(gains)]
        if gains.size < MIN_COMPARED_DOCUMENTS:
            return cls(0.0, 0.0, int(gains.size))
        return cls(
            float(f"{gains.mean():.6g}"),
            float(f"{gains.std(ddof=1) / np.sqrt(gains.size):.6g}"),
            int(gains.size),
        )

    @property
    def is_clear(self) -> bool:
        """True if the alternative is better by `CLEAR_WIN_STD_ERRORS`, on `LEAST_DOCUMENTS` or more."""
        return (
            self.documents >= MIN_CLEAR_DOCUMENTS and self.gain > CLEAR_WIN_STD_ERRORS * self.error
        )

    @property
    def keeps_stop_words(self) -> bool:
        """True if stop words stay, with them as the alternative: if it is clear, or on few documents unless they are worse by their standard error.

        On few documents nothing is clear, so words stay unless it is shown that dropping them helps. To lose the words that tell the classes costs more than to
        keep noise. Measured on halves of training parts, by draws with 10 to 49 left-out documents, with this rule and without stop words: of questions that
        question words tell .67 and .36 are answered right, of text messages, tweets, news of ten topics and bank questions .92 and .93, .63 and .64, .79 and
        .79, .80 and .81. To keep only words that help by the standard error would drop words that nothing speaks against, for .763 in place of .755 on average.
        """
        if not MIN_COMPARED_DOCUMENTS <= self.documents < MIN_CLEAR_DOCUMENTS:
            return self.is_clear
        is_different = abs(self.gain) > ROUNDING_NATS
        return is_different and self.gain > -self.error

    def __str__(self) -> str:
        lower = "lower" if self.gain >= 0 else "higher"
        return f"left-out log loss {abs(self.gain):.3g} ± {self.error:.2g} {lower}"

    @property
    def needs_more_documents(self) -> bool:
        """True if more documents might show that the alternative is clearly better; one that is worse on the first is given up."""
        return 0 < self.gain < 1.5 * CLEAR_WIN_STD_ERRORS * self.error


@dataclass(frozen=True)
class Choices:
    """What ``auto`` stands for in a model."""

    stop_words_kept: bool = False
    stop_words: PairedTest | None = None
    """Keeping stop words against dropping them; None if nothing was compared."""
    pseudo_count: float | None = None
    """None for the one of greatest evidence, or for complement on tf-idf its own."""
    smoothing: PairedTest | None = None
    """The best alternative against the pseudo-count of greatest evidence; None if nothing was compared."""
    sides: tuple[str, ...] = (PAIRS,)
    """What is kept of scripts without spaces, of `SEGMENTATION_MARKS`."""
    unspaced: PairedTest | None = None
    """The better of words and both against pairs; None if nothing was compared."""

    @property
    def stop_words_description(self) -> str:
        """Whether stop words are kept, and by how much that changes the log loss of left-out documents; empty if that was not compared.

        >>> Choices(stop_words_kept=True, stop_words=PairedTest(0.0967, 0.0114, 4096)).of_stop_words
        'kept: left-out log loss 0.0967 ± 0.011 lower with them'
        """
        return (
            f"{'kept' if self.stop_words_kept else 'dropped'}: {self.stop_words} with them"
            if self.stop_words
            else ""
        )

    @property
    def unspaced_description(self) -> str:
        """What is kept of scripts without spaces, and by how much that changes the log loss; empty if that is pairs alone.

        >>> Choices(sides=("words",), unspaced=PairedTest(0.05, 0.01, 400)).of_unspaced
        'words: left-out log loss 0.05 ± 0.01 lower than with pairs'
        """
        return (
            f"{' and '.join(self.sides)}: {self.unspaced} than with pairs"
            if self.unspaced and self.sides != (PAIRS,)
            else ""
        )

    @property
    def smoothing_description(self) -> str:
        """By how much a pseudo-count other than that of greatest evidence changes the log loss; empty if it is that of evidence."""
        return (
            f"{self.smoothing} than by evidence"
            if self.pseudo_count is not None and self.smoothing is not None
            else ""
        )


NO_CHOICES = Choices()
"""Nothing was compared: stop words are dropped, and the pseudo-count is the one of greatest evidence."""


def find_dropped_terms(vocabulary: Vocabulary, settings: Settings, choices: Choices) -> Mask:
    """Return a mask of the terms that were counted for ``auto`` to choose and are not kept, shape (n_terms,)."""
    dropped = np.zeros(len(vocabulary), np.bool_)
    if settings.counts_stop_words and not choices.stop_words_kept:
        dropped |= is_stop_word(vocabulary)
    for side in (
        set(SEGMENTATION_MARKS).difference(choices.sides) if settings.counts_pairs_and_words else ()
    ):
        dropped |= has_segmentation(vocabulary, side)
    return dropped


class CalibrationQuality(TypedDict):
    """Quality of the posteriors of held-out documents of the sample: log loss, Brier score (brier) and calibration error (ece)."""

    documents: int
    before: dict[str, float]
    """Calibration."""
    after: dict[str, float]


class UnlabelledSummary(NamedTuple):
    """Figures of unlabelled documents; what they add to the counts is a layer."""

    documents: int
    """Unlabelled documents that were read."""
    losses: Mapping[str, float]
    """Mean log loss of left-out labelled documents, in nats, by the weight that was tried; that of the weight taken is the least."""


@dataclass(frozen=True, eq=False)
class FittedParameters:
    """What was estimated from the counts."""

    selected_terms: Mask
    """The terms that count, shape (n_terms,)."""
    smoothing: float
    calibration: Calibration = UNCALIBRATED
    calibration_quality: CalibrationQuality | None = None
    """None without calibration."""
    typicality: Typicality | None = None
    profile: Profile | None = None
    """Figures of held-out documents of the sample; None without calibration."""
    classifier_arrays: Arrays = field(default_factory=dict)
    """The arrays that the classifier keeps beside the statistics, by name."""
    own_pseudo_counts: TermPseudoCounts = NO_TERM_PSEUDO_COUNTS
    """The pseudo-counts of terms that were given their own instead of ``smoothing``."""
    choices: Choices = NO_CHOICES
    weights: CountWeights = UNWEIGHTED
    unlabelled_summary: UnlabelledSummary | None = None
    """None if it was trained without unlabelled documents."""
    held_out_posteriors: HeldOutPosteriors | None = None
    """Of a calibrated classifier that needs all documents, or of a model with a layer; for the others `compute_held_out_posteriors` computes them."""


def find_own_pseudo_counts(statistics: CellCounts, settings: Settings) -> TermPseudoCounts:
    """Return the given pseudo-counts of the terms in the vocabulary; settings as `learn` takes them."""
    given = settings.smoothing
    if not isinstance(given, TermSmoothing) or settings.estimate == "ml":
        return NO_TERM_PSEUDO_COUNTS
    places = zip(
        statistics.vocabulary.find_terms(list(given.term_values)).tolist(),
        given.term_values.values(),
        strict=True,
    )
    return TermPseudoCounts.from_mapping(
        {number: pseudo_count for number, pseudo_count in places if number != UNKNOWN_TERM},
        given.default,
    )


def build_training(
    statistics: ClassStatistics,
    learnt: FittedParameters,
    settings: Settings,
    documents: CountedDocuments | None = None,
    sample: CountedDocuments | None = None,
) -> Training:
    """Return what the classifier of a sum of layers is estimated from."""
    return Training(
        statistics,
        learnt.selected_terms,
        learnt.smoothing,
        settings,
        documents,
        sample,
        learnt.own_pseudo_counts,
    )


def restore_classifier(
    statistics: ClassStatistics,
    learnt: FittedParameters,
    settings: Settings,
    documents: CountedDocuments | None = None,
) -> Classifier:
    """Return the classifier of a sum of layers; raise `ModelError` if its fitted arrays cannot be its own."""
    return select_classifier_class(statistics, settings).from_arrays(
        build_training(statistics, learnt, settings, documents), learnt.classifier_arrays
    )


def is_possible_smoothing(smoothing: float, n_terms: int, settings: Settings) -> bool:
    """Return whether training with these settings, as a model file has them, can make this pseudo-count."""
    given = settings.smoothing
    if settings.estimate == "ml":
        return smoothing == 0
    if isinstance(given, str):
        return is_valid_auto_smoothing(smoothing, n_terms)
    if isinstance(given, dict):
        return bool(smoothing == given[DEFAULT_TERM])
    return bool(smoothing == (given[0] if isinstance(given, tuple) else given))


def require_trainable(
    settings: Settings, statistics: ClassStatistics, seeds: SeedTerms = ()
) -> None:
    """Raise `UsageError` if the settings exclude what a sum of layers has: seed words, weights of documents, several labels of a document, its classes."""
    rows = []
    if seeds:
        rows.append(SEED_WORDS)
    if statistics.weight_unit != 1:
        rows.append(DOCUMENT_WEIGHTS)
    require_compatible_settings(settings, *rows, *list_label_requests(statistics.posterior_type))
    compute_class_prior(settings.class_prior, statistics)
    if isinstance(settings.class_weight, dict):
        expand_class_values(settings.class_weight, statistics.classes, "--class-weight", None)


def require_additive(settings: Settings, counts: CorpusCounts | None = None) -> None:
    """Raise `UsageError` for a model that cannot be changed exactly through its counts."""
    rows = [EXACT_CHANGE]
    if counts is not None and counts.uses_unlabelled:
        rows.append(UNLABELLED_TRAINING)
    require_compatible_settings(settings, *rows)


class ScoredTexts(NamedTuple):
    """Scores of some texts, shape (n_docs, n_classes), their posterior, and numbers of tokens, shape (n_docs,)."""

    scores: Floats
    """log p(d, C_k), in nats."""
    posterior: Posterior
    """Calibrated."""
    lengths: Ints
    """Tokens of terms that count."""
    unknown_tokens: Ints
    """Other tokens: of terms that the model does not know or that do not count."""

    @property
    def log_posterior(self) -> Floats:
        """Return log p(C_k | d), in nats, shape (n_docs, n_classes)."""
        return self.posterior.logs


@dataclass(frozen=True, eq=False)
class FittedModel:
    """Everything that a model file holds."""

    settings: Settings
    stop_list: Sequence[str]
    counts: CorpusCounts
    """Class statistics and sample."""
    parameters: FittedParameters
    """Selected terms, smoothing, calibration."""
    written_by: Mapping[str, str]
    """The versions of the packages that made it."""
    label_kind: str
    """One of `nbtext.model.schema.LABEL_KINDS`."""

    @cached_property
    def statistics(self) -> ClassStatistics:
        """The counts by class, documents and classes weighed as training weighs them."""
        return estimate_statistics(self.counts.table, self.parameters.weights)

    @property
    def posterior_type(self) -> type[Posterior]:
        """Whether the labels of a document exclude each other."""
        return self.statistics.posterior_type

    @property
    def classes(self) -> list[str]:
        """The names of the classes, sorted: the order of all arrays by class."""
        return list(self.statistics.classes)

    @cached_property
    def classifier(self) -> Classifier:
        """The estimated model."""
        return restore_classifier(self.statistics, self.parameters, self.settings)

    @property
    def text_classifier(self) -> Classifier:
        """The model of the texts alone, without attributes."""
        return unwrap_text_classifier(self.classifier)

    @cached_property
    def attributes(self) -> AttributeLikelihoods | None:
        """The distributions of the attributes, which have a part in the scores or not; None for a model of texts alone."""
        return get_attribute_likelihoods(self.classifier)

    @cached_property
    def language_models(self) -> LanguageModels:
        """The language models of the classes, whatever the classifier."""
        return build_training(
            self.statistics, self.parameters, self.settings
        ).estimate_language_models(self.statistics)

    @cached_property
    def text_terms(self) -> Mask:
        """The terms of texts, shape (n_terms,): all but categories, and those that `auto` does not keep."""
        vocabulary = self.statistics.vocabulary
        return ~is_category(vocabulary) & ~find_dropped_terms(
            vocabulary, self.settings, self.parameters.choices
        )

    @cached_property
    def class_tokens(self) -> Numbers:
        """Tokens of `text_terms` in each class, without class weights, shape (n_classes,)."""
        return self.counts.labelled_statistics.count_tokens(self.text_terms)

    @property
    def n_tokens(self) -> float:
        """Tokens of `text_terms` in all documents, without class weights."""
        labelled = self.counts.labelled_statistics
        return to_int_or_float(labelled.count_all_tokens(self.text_terms))

    @property
    def analysis(self) -> Analysis:
        """How documents are counted to be answered: without what `auto` does not keep."""
        choices = self.parameters.choices
        return Analysis(self.settings, self.stop_list).with_choices(
            keep_stop_words=choices.stop_words_kept, segmentations=choices.sides
        )

    @cached_property
    def counter(self) -> LockedCounter:
        """What counts documents to be answered."""
        return LockedCounter(partial(DocumentCounter, self.analysis, self.statistics.vocabulary))

    @property
    def max_block_documents(self) -> int:
        """The most documents to score together; few if there are very many classes."""
        return max(min(BLOCK_DOCUMENTS, MAX_BLOCK_TERM_WEIGHTS // self.statistics.n_classes), 1)

    def score(
        self, texts: Sequence[bytes], fields: Sequence[Fields] = (), values: AttributeValues = ()
    ) -> ScoredTexts:
        """Score some documents, at most `documents_at_once`."""
        return self.score_counts(self.count_texts(texts, fields, values))

    def count_texts(
        self, texts: Sequence[bytes], fields: Sequence[Fields] = (), values: AttributeValues = ()
    ) -> DocumentTermMatrix:
        """Return the counts of some documents, as many as fit into memory."""
        matrix = self.counter.count(texts, fields, values).to_matrix()
        return (
            matrix
            if self.attributes is None
            else matrix._replace(
                unseen_pseudo_counts=self.attributes.get_unseen_pseudo_counts(values)
            )
        )

    def score_counts(self, matrix: DocumentTermMatrix) -> ScoredTexts:
        """Score the counts of some texts, at most `documents_at_once`."""
        scores, lengths = self.classifier.joint_log_likelihood(matrix)
        posterior = self.posterior_type(
            self.parameters.calibration.compute_log_posterior(
                self.classifier.to_log_scale(scores, lengths), lengths
            )
        )
        return ScoredTexts(scores, posterior, lengths, matrix.tokens - lengths)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out for pickle what is computed again: a stemmer cannot be pickled."""
        return {each.name: getattr(self, each.name) for each in fields(self)}
