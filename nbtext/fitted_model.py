"""A trained model: what was learnt from counts, and what follows: the sum of layers, the classifier, scores."""

from __future__ import annotations

from dataclasses import field, fields
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict

import numpy as np

from nbtext.classifiers.base import (
    Classifier,
    Training,
    attribute_distributions,
    class_for,
    class_prior,
    text_classifier,
)
from nbtext.compatibility import (
    DOCUMENT_WEIGHTS,
    EXACT_CHANGE,
    LEARNT_UNLABELLED,
    SEED_WORDS,
    require_fitting,
    rows_of,
)
from nbtext.counts.count_table import whole_or_float
from nbtext.counts.counting import Analysis, DocumentCounter, InTurn
from nbtext.counts.matrix import TERM_WEIGHTS_AT_ONCE, DocumentTermMatrix
from nbtext.counts.statistics import COUNTED_ALONE, ClassStatistics, Seeds, Weights, estimated
from nbtext.counts.vocabulary import SIDES, Vocabulary, is_category, is_of_side, is_stop_word
from nbtext.fast_dataclasses import dataclass
from nbtext.language_model.dirichlet import NO_OWN, LanguageModels, OwnPseudoCounts, could_be_chosen
from nbtext.prediction.calibration import UNCALIBRATED, Calibration, LeftOutPosteriors
from nbtext.prediction.rule import per_class
from nbtext.ragged import BLOCK_DOCUMENTS
from nbtext.settings import ALL_OTHERS, GivenSmoothing, Settings
from nbtext.text.analyzer import UNKNOWN
from nbtext.text.surface_forms import PAIRS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from nbtext.classifiers.attribute_likelihoods import AttributeLikelihoods
    from nbtext.counts.corpus_counts import CorpusCounts
    from nbtext.counts.count_table import CellCounts
    from nbtext.counts.documents import CountedDocuments
    from nbtext.prediction.posterior import Posterior
    from nbtext.prediction.typicality import Profile, Typicality
    from nbtext.type_names import Arrays, Fields, Floats, Mask, Numbers, Values, Whole

CLEARLY = 2.0
"""Standard errors by which an alternative must be better."""


LEAST_DOCUMENTS = 50
"""With fewer left-out documents nothing but stop words is compared."""

ROUNDING = 1e-9
"""Differences of mean losses, in nats, that rounding may make."""

FEWEST_DOCUMENTS = 10
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
    def of(cls, losses: Floats, alternative: Floats) -> PairedTest:
        """Compare the losses of the same documents, shape (n_docs,); nan where a document cannot be judged."""
        gains = losses - alternative
        gains = gains[~np.isnan(gains)]
        if gains.size < FEWEST_DOCUMENTS:
            return cls(0.0, 0.0, int(gains.size))
        return cls(
            float(f"{gains.mean():.6g}"),
            float(f"{gains.std(ddof=1) / np.sqrt(gains.size):.6g}"),
            int(gains.size),
        )

    @property
    def is_clear(self) -> bool:
        """True if the alternative is better by `CLEARLY`, on `LEAST_DOCUMENTS` or more."""
        return self.documents >= LEAST_DOCUMENTS and self.gain > CLEARLY * self.error

    @property
    def keeps_words(self) -> bool:
        """True if stop words stay, with them as the alternative: if it is clear, or on few documents unless they are worse by their standard error.

        On few documents nothing is clear, so words stay unless it is shown that dropping them helps. To lose the words that tell the classes costs more than to
        keep noise. Measured on halves of training parts, by draws with 10 to 49 left-out documents, with this rule and without stop words: of questions that
        question words tell .67 and .36 are answered right, of text messages, tweets, news of ten topics and bank questions .92 and .93, .63 and .64, .79 and
        .79, .80 and .81. To keep only words that help by the standard error would drop words that nothing speaks against, for .763 in place of .755 on average.
        """
        if not FEWEST_DOCUMENTS <= self.documents < LEAST_DOCUMENTS:
            return self.is_clear
        is_different = abs(self.gain) > ROUNDING
        return is_different and self.gain > -self.error

    def __str__(self) -> str:
        lower = "lower" if self.gain >= 0 else "higher"
        return f"left-out log loss {abs(self.gain):.3g} ± {self.error:.2g} {lower}"

    @property
    def needs_more(self) -> bool:
        """True if more documents might show that the alternative is clearly better; one that is worse on the first is given up."""
        return 0 < self.gain < 1.5 * CLEARLY * self.error


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
    """What is kept of scripts without spaces, of `SIDES`."""
    unspaced: PairedTest | None = None
    """The better of words and both against pairs; None if nothing was compared."""

    @property
    def of_stop_words(self) -> str:
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
    def of_unspaced(self) -> str:
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
    def of_smoothing(self) -> str:
        """By how much a pseudo-count other than that of greatest evidence changes the log loss; empty if it is that of evidence."""
        return (
            f"{self.smoothing} than by evidence"
            if self.pseudo_count is not None and self.smoothing is not None
            else ""
        )


NO_CHOICES = Choices()
"""Nothing was compared: stop words are dropped, and the pseudo-count is the one of greatest evidence."""


def dropped_terms(vocabulary: Vocabulary, settings: Settings, choices: Choices) -> Mask:
    """Return a mask of the terms that were counted for ``auto`` to choose and are not kept, shape (n_terms,)."""
    dropped = np.zeros(len(vocabulary), np.bool_)
    if settings.counts_stop_words and not choices.stop_words_kept:
        dropped |= is_stop_word(vocabulary)
    for side in set(SIDES).difference(choices.sides) if settings.counts_both else ():
        dropped |= is_of_side(vocabulary, side)
    return dropped


class Judgement(TypedDict):
    """Quality of the posteriors of held-out documents of the sample: log loss, Brier score (brier) and calibration error (ece)."""

    documents: int
    before: dict[str, float]
    """Calibration."""
    after: dict[str, float]


class UnlabelledFigures(NamedTuple):
    """Figures of unlabelled documents; what they add to the counts is a layer."""

    documents: int
    """Unlabelled documents that were read."""
    losses: Mapping[str, float]
    """Mean log loss of left-out labelled documents, in nats, by the weight that was tried; that of the weight taken is the least."""


@dataclass(frozen=True, eq=False)
class Learnt:
    """What was estimated from the counts."""

    selected: Mask
    """The terms that count, shape (n_terms,)."""
    smoothing: float
    calibration: Calibration = UNCALIBRATED
    judgement: Judgement | None = None
    """None without calibration."""
    typicality: Typicality | None = None
    profile: Profile | None = None
    """Figures of held-out documents of the sample; None without calibration."""
    fitted: Arrays = field(default_factory=dict)
    """The arrays that the classifier keeps beside the statistics, by name."""
    own: OwnPseudoCounts = NO_OWN
    """The pseudo-counts of terms that were given their own instead of ``smoothing``."""
    choices: Choices = NO_CHOICES
    weights: Weights = COUNTED_ALONE
    unlabelled: UnlabelledFigures | None = None
    """None if it was trained without unlabelled documents."""
    left_out: LeftOutPosteriors | None = None
    """Of a calibrated classifier that needs all documents, or of a model with a layer; for the others `left_out_posteriors` computes them."""


def own_pseudo_counts(statistics: CellCounts, settings: Settings) -> OwnPseudoCounts:
    """Return the given pseudo-counts of the terms in the vocabulary; settings as `learn` takes them."""
    given = settings.smoothing
    if not isinstance(given, GivenSmoothing) or settings.estimate == "ml":
        return NO_OWN
    places = zip(
        statistics.vocabulary.find_terms(list(given.own)).tolist(), given.own.values(), strict=True
    )
    return OwnPseudoCounts.of_terms(
        {number: pseudo_count for number, pseudo_count in places if number != UNKNOWN}, given.others
    )


def training_of(
    statistics: ClassStatistics,
    learnt: Learnt,
    settings: Settings,
    documents: CountedDocuments | None = None,
    sample: CountedDocuments | None = None,
) -> Training:
    """Return what the classifier of a sum of layers is estimated from."""
    return Training(
        statistics, learnt.selected, learnt.smoothing, settings, documents, sample, learnt.own
    )


def classifier(
    statistics: ClassStatistics,
    learnt: Learnt,
    settings: Settings,
    documents: CountedDocuments | None = None,
) -> Classifier:
    """Return the classifier of a sum of layers; raise `ModelError` if its fitted arrays cannot be its own."""
    return class_for(statistics, settings).restored(
        training_of(statistics, learnt, settings, documents), learnt.fitted
    )


def is_possible_smoothing(smoothing: float, n_terms: int, settings: Settings) -> bool:
    """Return whether training with these settings, as a model file has them, can make this pseudo-count."""
    given = settings.smoothing
    if settings.estimate == "ml":
        return smoothing == 0
    if isinstance(given, str):
        return could_be_chosen(smoothing, n_terms)
    if isinstance(given, dict):
        return bool(smoothing == given[ALL_OTHERS])
    return bool(smoothing == (given[0] if isinstance(given, tuple) else given))


def require_learnable(settings: Settings, statistics: ClassStatistics, seeds: Seeds = ()) -> None:
    """Raise `UsageError` if the settings exclude what a sum of layers has: seed words, weights of documents, several labels of a document, its classes."""
    rows = []
    if seeds:
        rows.append(SEED_WORDS)
    if statistics.weight_unit != 1:
        rows.append(DOCUMENT_WEIGHTS)
    require_fitting(settings, *rows, *rows_of(statistics.kind))
    class_prior(settings.class_prior, statistics)
    if isinstance(settings.class_weight, dict):
        per_class(settings.class_weight, statistics.classes, "--class-weight", None)


def require_additive(settings: Settings, counts: CorpusCounts | None = None) -> None:
    """Raise `UsageError` for a model that cannot be changed exactly through its counts."""
    rows = [EXACT_CHANGE]
    if counts is not None and counts.uses_unlabelled:
        rows.append(LEARNT_UNLABELLED)
    require_fitting(settings, *rows)


class ScoredTexts(NamedTuple):
    """Scores of some texts, shape (n_docs, n_classes), their posterior, and numbers of tokens, shape (n_docs,)."""

    scores: Floats
    """log p(d, C_k), in nats."""
    posterior: Posterior
    """Calibrated."""
    lengths: Whole
    """Tokens of terms that count."""
    unknown: Whole
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
    learnt: Learnt
    """Selected terms, smoothing, calibration."""
    written_by: Mapping[str, str]
    """The versions of the packages that made it."""
    label_kind: str
    """One of `nbtext.model.schema.LABEL_KINDS`."""

    @cached_property
    def statistics(self) -> ClassStatistics:
        """The counts by class, documents and classes weighed as training weighs them."""
        return estimated(self.counts.table, self.learnt.weights)

    @property
    def kind(self) -> type[Posterior]:
        """Whether the labels of a document exclude each other."""
        return self.statistics.kind

    @property
    def classes(self) -> list[str]:
        """The names of the classes, sorted: the order of all arrays by class."""
        return list(self.statistics.classes)

    @cached_property
    def classifier(self) -> Classifier:
        """The estimated model."""
        return classifier(self.statistics, self.learnt, self.settings)

    @property
    def text_classifier(self) -> Classifier:
        """The model of the texts alone, without attributes."""
        return text_classifier(self.classifier)

    @cached_property
    def attributes(self) -> AttributeLikelihoods | None:
        """The distributions of the attributes, which have a part in the scores or not; None for a model of texts alone."""
        return attribute_distributions(self.classifier)

    @cached_property
    def language_models(self) -> LanguageModels:
        """The language models of the classes, whatever the classifier."""
        return training_of(self.statistics, self.learnt, self.settings).language_models(
            self.statistics
        )

    @cached_property
    def text_terms(self) -> Mask:
        """The terms of texts, shape (n_terms,): all but categories, and those that `auto` does not keep."""
        vocabulary = self.statistics.vocabulary
        return ~is_category(vocabulary) & ~dropped_terms(
            vocabulary, self.settings, self.learnt.choices
        )

    @cached_property
    def class_tokens(self) -> Numbers:
        """Tokens of `text_terms` in each class, without class weights, shape (n_classes,)."""
        return self.counts.labelled.tokens_of(self.text_terms)

    @property
    def n_tokens(self) -> float:
        """Tokens of `text_terms` in all documents, without class weights."""
        labelled = self.counts.labelled
        return whole_or_float(labelled.tokens_of_all(self.text_terms))

    @property
    def analysis(self) -> Analysis:
        """How documents are counted to be answered: without what `auto` does not keep."""
        choices = self.learnt.choices
        return Analysis(self.settings, self.stop_list).as_chosen(
            stop_words_kept=choices.stop_words_kept, sides=choices.sides
        )

    @cached_property
    def counter(self) -> InTurn:
        """What counts documents to be answered."""
        return InTurn(partial(DocumentCounter, self.analysis, self.statistics.vocabulary))

    @property
    def documents_at_once(self) -> int:
        """The most documents to score together; few if there are very many classes."""
        return max(min(BLOCK_DOCUMENTS, TERM_WEIGHTS_AT_ONCE // self.statistics.n_classes), 1)

    def score(
        self, texts: Sequence[bytes], fields: Sequence[Fields] = (), values: Values = ()
    ) -> ScoredTexts:
        """Score some documents, at most `documents_at_once`."""
        return self.score_counts(self.counted(texts, fields, values))

    def counted(
        self, texts: Sequence[bytes], fields: Sequence[Fields] = (), values: Values = ()
    ) -> DocumentTermMatrix:
        """Return the counts of some documents, as many as fit into memory."""
        matrix = self.counter.count(texts, fields, values).matrix()
        return (
            matrix
            if self.attributes is None
            else matrix._replace(never_seen=self.attributes.never_seen(values))
        )

    def score_counts(self, matrix: DocumentTermMatrix) -> ScoredTexts:
        """Score the counts of some texts, at most `documents_at_once`."""
        scores, lengths = self.classifier.joint_log_likelihood(matrix)
        posterior = self.kind(
            self.learnt.calibration.log_posterior(
                self.classifier.log_scale(scores, lengths), lengths
            )
        )
        return ScoredTexts(scores, posterior, lengths, matrix.tokens - lengths)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out for pickle what is computed again: a stemmer cannot be pickled."""
        return {each.name: getattr(self, each.name) for each in fields(self)}
