"""The interface that all classifiers implement, what they are estimated from, and the class prior.

A classifier is a module of this room and a line of `nbtext.settings.CLASSIFIERS`. It is estimated from a `Training`, and what sets it apart
from the others is in class attributes and in methods that return None or nothing by default: no code outside this room asks for its type.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from functools import cached_property, partial
from importlib import import_module
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Self

import numpy as np

from nbtext.counts.corpus_counts import Subsets
from nbtext.counts.matrix import TERM_WEIGHTS_AT_ONCE, DocumentTermMatrix, add_weighted_sums, in_blocks
from nbtext.counts.statistics import estimated
from nbtext.errors import UsageError, require
from nbtext.exclusions import needs_documents
from nbtext.language_model.dirichlet import NO_OWN, LanguageModels, OwnPseudoCounts, beta_posteriors, log
from nbtext.prediction.calibration import UNCALIBRATED, Calibration, by_length
from nbtext.prediction.labels import DocumentLabels
from nbtext.records import dataclass
from nbtext.settings import CLASSIFIERS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from nbtext.classifiers.attribute_likelihoods import AttributeLikelihoods, ColumnFeatures
    from nbtext.counts.count_table import CellCounts
    from nbtext.counts.documents import CountedDocuments
    from nbtext.counts.statistics import ClassStatistics
    from nbtext.language_model.measures import PartFit
    from nbtext.language_model.sampling import DrawValues
    from nbtext.language_model.smoothing import CountHistogram
    from nbtext.prediction.posterior import Posterior
    from nbtext.settings import ClassifierName, ClassPrior, Settings
    from nbtext.type_names import Arrays, Floats, Mask, Numbers, OfTerms, ScoresAndTokens, Whole


def classifier_class(name: ClassifierName) -> type[Classifier]:
    """Return the class of a name of `CLASSIFIERS`, and import its module: ``nearest-centroid`` would be in `nearest_centroid.py`."""
    module = import_module(f"nbtext.classifiers.{name.replace('-', '_')}")
    return getattr(module, CLASSIFIERS[name])


def class_for(statistics: CellCounts, settings: Settings) -> type[Classifier]:
    """Return the class of the classifier: that of the settings, for attributes that are no features of it one around it, or the one for several labels."""
    kind = classifier_class(settings.classifier)
    if not statistics.kind.is_exclusive:
        module, several = kind.FOR_LABELS
        return getattr(import_module(f"nbtext.classifiers.{module}"), several)
    if kind.TAKES_COLUMNS or not statistics.attributes.names:
        return kind
    return import_module("nbtext.classifiers.attributed").AttributedClassifier


def class_prior(kind: ClassPrior, statistics: ClassStatistics) -> Floats:
    """Return π_k, shape (n_classes,): ``empirical`` D_k / D, ``smoothed:A`` (D_k + A) / (D + A·K), ``uniform`` 1 / K, or weights by label.

    Weights are divided by their sum. A class without documents has the prior 0. Where documents have several labels, π_k is as in `log_prior_odds`. Raises
    `UsageError` if a class has no weight, or none a weight above 0. Source: Gambosi's notes; IIR eq. 13.5.
    """
    missing = [] if isinstance(kind, str) else [label for label in statistics.classes if label not in kind]
    if missing:
        raise UsageError(f"the class prior has no number for class {missing[0]!r}", hint="give one for every class")
    weights = prior_weights(kind, statistics)
    if not weights.any():
        raise UsageError("the class prior leaves no class possible", hint="give a class of the corpus a weight above 0")
    prior: Floats = weights / weights.sum()
    if not statistics.kind.is_exclusive and isinstance(kind, str):
        prior = 1 / (1 + np.exp(-log_prior_odds(kind, statistics.class_documents, statistics.n_documents)))
    return prior


def declared_prior(settings: Settings, statistics: ClassStatistics) -> Floats | None:
    """Return π_k where it is not the shares of the training documents, shape (n_classes,), else None. ``statistics`` are weighed as training weighs them."""
    is_of_shares = settings.class_prior == "empirical" and settings.class_weight is None
    return None if is_of_shares else class_prior(settings.class_prior, statistics)


def class_prior_without(kind: ClassPrior, statistics: ClassStatistics, number: int, weight: float) -> Floats:
    """Return π_k without one document of class ``number``, shape (n_classes,); all zeros if that leaves no class possible."""
    others = statistics.class_documents - weight * (np.arange(statistics.n_classes) == number)
    weights = prior_weights(kind, statistics, others)
    return weights / (weights.sum() or 1.0)


def prior_weights(kind: ClassPrior, statistics: ClassStatistics, documents: Numbers | None = None) -> Floats:
    """Return numbers in proportion to π_k, shape (n_classes,), 0 without documents: of those of the statistics, or of so many by class."""
    documents = statistics.class_documents if documents is None else documents
    if not isinstance(kind, str):
        weights = np.array([kind[label] for label in statistics.classes])
    elif kind == "uniform":
        weights = np.ones(len(documents))
    else:
        weights = documents + (0.0 if kind == "empirical" else float(kind.partition(":")[2]))
    return np.where(documents > 0, weights, 0.0)


AT_LEAST = 0.5
"""Documents added to those with a label and to those without: no label is certain, or impossible, before the text is read."""


def log_prior_odds(kind: ClassPrior, documents: Numbers, n_documents: Numbers | float) -> Floats:
    """Return log π_k/(1 − π_k) of labels that so many of the documents have, of any shape that broadcasts."""
    if kind == "uniform":
        return np.zeros(np.broadcast_shapes(np.shape(documents), np.shape(n_documents)))
    more = AT_LEAST if kind == "empirical" else float(str(kind).partition(":")[2])
    return np.log(documents + more) - np.log(n_documents - documents + more)


OF_TOKENS = "that a token of the class is the term"


@dataclass(frozen=True, eq=False)
class TermProbabilities:
    """Estimated probabilities of terms in each class, which `inspect` shows.

    The terms of a class share one distribution and their probabilities sum to 1, unless there is an ``absence``.
    """

    symbol: str
    """As in `docs/mathematics.md`."""
    meaning: str
    """What it is the probability of, such as `OF_TOKENS`."""
    selected: Mask
    """The terms that have one, shape (n_terms,)."""
    probability: OfTerms
    """Returns those of selected terms, shape (n, n_classes)."""
    posteriors: Callable[[Whole], tuple[Floats, Floats]] | None = None
    """Returns a and b of the posterior Beta(a, b), both of shape (n, n_classes), nan where there is none; None if the counts are not whole."""
    absence: OfTerms | None = None
    """Returns 1 less each probability, if every term has a distribution of its own."""
    corpus: OfTerms | None = None
    """Returns those in all documents, shape (n, 1); None if that is the sum over classes by their priors."""

    @classmethod
    def of_models(cls, models: LanguageModels, meaning: str = OF_TOKENS, own: Floats | None = None) -> TermProbabilities:
        """Return those of language models, or that of an outcome that no document has, with its ``own`` pseudo-count, shape (1, 1), as any term."""
        statistics, table = models.statistics, models.statistics.table
        whole = statistics.weight_unit == 1 and table.n_counted == len(table.layers) and not np.any(statistics.observed.cell_counts % 1)
        posteriors = partial(beta_posteriors, models, own=own) if whole else None
        if own is not None:
            return cls("φ", meaning, np.ones(1, np.bool_), lambda _: models.probability_of_unseen(own), posteriors)
        return cls("φ", meaning, models.selected, models.probability, posteriors)


@dataclass(frozen=True, eq=False)
class Training:
    """Counts and settings that a classifier is estimated from."""

    statistics: ClassStatistics
    selected: Mask
    """The terms that count, shape (n_terms,)."""
    smoothing: float
    """Without a meaning while it is to be chosen."""
    settings: Settings
    documents: CountedDocuments | None = None
    """All documents, for classifiers that need them."""
    sample: CountedDocuments | None = None
    """The documents that the model keeps, for classifiers that learn from them."""
    own: OwnPseudoCounts = NO_OWN
    """The pseudo-counts of terms that do not have ``smoothing``."""
    choose: Callable[[ClassStatistics], Mask] | None = None
    """Selects terms from fewer documents; None if the selection does not depend on labels."""

    @cached_property
    def features(self) -> ColumnFeatures:
        """The features of a classifier that takes columns."""
        from nbtext.classifiers.attribute_likelihoods import ColumnFeatures

        return ColumnFeatures.of(self.statistics, self.selected)

    def selected_in(self, statistics: ClassStatistics) -> Mask:
        """Return the terms that count if only these documents are known, shape (n_terms,)."""
        return self.selected & statistics.held if self.choose is None else self.choose(statistics)

    def all_documents(self) -> CountedDocuments:
        """Return all documents; raise `UsageError` if there is only a sample of them."""
        if self.documents is None:
            raise UsageError(
                "AIC and BIC need all documents, and the model keeps a sample of them",
                hint="train with a larger --set sample=N, or use nbtext tune",
            )
        return self.documents

    def language_models(self, statistics: ClassStatistics) -> LanguageModels:
        """Return the language models of these counts under the settings."""
        return LanguageModels(statistics, self.selected, self.smoothing, self.settings.prior_shape, self.settings.estimate, self.own)


class Unseen(NamedTuple):
    """Scores of documents by models that were estimated without them."""

    scores: Floats
    """Shape (n_docs, n_classes), in nats."""
    lengths: Whole
    """Tokens of terms that count, shape (n_docs,)."""
    unknown: Whole
    """Other tokens, shape (n_docs,)."""
    truth: DocumentLabels
    weights: Floats
    """The weights of the documents, shape (n_docs,); 1 if they have none."""

    @classmethod
    def joined(cls, parts: Sequence[Unseen]) -> Unseen:
        """Return the documents of all parts, in order."""
        return cls(
            scores=np.concatenate([part.scores for part in parts]),
            lengths=np.concatenate([part.lengths for part in parts]),
            unknown=np.concatenate([part.unknown for part in parts]),
            truth=DocumentLabels.joined([part.truth for part in parts]),
            weights=np.concatenate([part.weights for part in parts]),
        )

    @property
    def is_known(self) -> Mask:
        """Which documents have labels that the models know, shape (n_docs,): not those whose label went with its only document."""
        documents, labels = self.truth.pairs()
        is_known = np.ones(len(self.scores), np.bool_)
        is_known[documents[~np.greater(self.scores[documents, labels], -np.inf)]] = False
        return is_known

    def of_known_classes(self) -> Unseen:
        """Return the documents of known classes."""
        return Unseen._make(column[self.is_known] for column in self)


def loss_after_calibration(unseen: Unseen, usual: float = 0.0) -> float:
    """Return the mean of −log p(truth | d), in nats, of the documents whose class the model knows, calibrated by length on the same documents.

    It does not follow ``--calibration``, which is to change probabilities and no answers. ``usual`` as in `by_length`.
    """
    scores, lengths, _, labels, of_known = unseen.of_known_classes()
    truth = labels.numbers
    weights = None if np.all(unseen.weights == 1) else of_known
    posterior = by_length(scores, truth, lengths, weights, usual).log_posterior(scores, lengths)
    return -float(np.average(posterior[np.arange(len(truth)), truth], weights=weights))


class Boundary(NamedTuple):
    """Boundaries: class k is preferred to l where xᵀ(W_k − W_l)x + (w_k − w_l)ᵀx + w_k0 − w_l0 > 0, without W where they are linear."""

    weights: Floats
    """w_k, shape (n_classes, n_features)."""
    bias: Floats
    """w_k0, shape (n_classes,), in nats."""
    matrices: Floats | None = None
    """W_k, shape (n_classes, n_features, n_features); None where boundaries are linear."""
    means: Floats | None = None
    """μ_k, shape (n_classes, n_features); None for latent features, and so is the next."""
    covariances: Floats | None = None
    """Σ, shape (1, n_features, n_features), or one for each class."""


HELD_OUT = 5
"""One document in so many is held out by `split`."""


def sorted_by_content(documents: CountedDocuments) -> CountedDocuments:
    """Sort documents by class and content, so that nothing depends on the order in which they came."""
    order = np.lexsort((documents.hashes, documents.classes))
    return documents if np.array_equal(order, np.arange(order.size)) else documents.rows(order)


def split(documents: CountedDocuments) -> tuple[Whole, Whole]:
    """Return the numbers of documents `sorted_by_content` to fit to, and of every fifth, which is random because a class is in the order of hashes."""
    numbers = np.arange(len(documents))
    is_out = numbers % HELD_OUT == HELD_OUT // 2
    return numbers[~is_out], numbers[is_out]


HELD_OUT_FOLDS = 10
HELD_OUT_FOLDS_OF_DOCUMENTS = 5
"""Fewer folds if each costs a pass over all documents."""


@dataclass(frozen=True, eq=False)
class Classifier(ABC):
    """A model estimated from counts that scores documents."""

    LEARNS_FROM_SAMPLE: ClassVar[bool] = False
    """True if `estimate` needs the sample."""
    PSEUDO_COUNT: ClassVar[float] = 0.1
    """The smoothing for ``auto`` where `histogram` returns None."""
    TAKES_NUMBERS: ClassVar[bool] = False
    """True if numeric attributes are among its own features."""
    TAKES_COLUMNS: ClassVar[bool] = False
    """True if all attributes are, so that their likelihoods have no part in its scores."""

    FOR_LABELS: ClassVar[tuple[str, str]] = ("many_labels", "LabelsAgainstRest")
    """Module and class of the model for documents that may have several labels."""

    training: Training

    @classmethod
    def counted(cls, training: Training) -> ClassStatistics:
        """Return the statistics with the counts that pseudo-counts are added to."""
        return training.statistics

    @classmethod
    def histogram(cls, training: Training) -> CountHistogram | None:
        """Return what the evidence of the smoothing follows from; None if smoothing goes without."""
        from nbtext.language_model.smoothing import count_histogram

        return count_histogram(cls.counted(training), training.selected, training.settings.prior_shape)

    @classmethod
    def smoothing(cls, training: Training) -> float:
        """Return the pseudo-count, or with the prior shape ``background`` μ, of the greatest evidence; `PSEUDO_COUNT` per term without evidence."""
        histogram, prior_shape = cls.histogram(training), training.settings.prior_shape
        if histogram is not None:
            from nbtext.language_model.smoothing import smoothing_by_evidence

            return smoothing_by_evidence(histogram, prior_shape)
        return cls.PSEUDO_COUNT * (1 if prior_shape == "symmetric" else max(int(np.count_nonzero(training.selected)), 1))

    @classmethod
    @abstractmethod
    def estimate(cls, training: Training) -> Self:
        """Return the model that follows from the counts."""

    def estimate_again(self, training: Training) -> Self:
        """Return the model of fewer documents; whatever this one chose from all documents stays as it is."""
        return self.estimate(training)

    def arrays(self) -> Arrays:
        """Return the flat arrays that the model file keeps beside the statistics, by name."""
        return {}

    @classmethod
    def restored(cls, training: Training, arrays: Arrays) -> Self:
        """Return the model that had these `arrays`, from statistics without documents; raise `ModelError` if no model can have had them."""
        require(not arrays, "its classifier keeps nothing beside the statistics")
        return cls.estimate(training)

    @cached_property
    def prior(self) -> Floats:
        """π_k, shape (n_classes,)."""
        return class_prior(self.training.settings.class_prior, self.training.statistics)

    @cached_property
    def log_prior(self) -> Floats:
        """log π_k, shape (n_classes,); −inf for a class that the prior rules out."""
        return log(self.prior)

    @abstractmethod
    def joint_log_likelihood(self, matrix: DocumentTermMatrix) -> ScoresAndTokens:
        """Return log p(d, C_k) of each document, shape (n_docs, n_classes), in nats, and the tokens that count, shape (n_docs,).

        A classifier that is not generative returns its scores.
        """

    def known(self) -> Mask:
        """Return the terms that count in a score, shape (n_terms,)."""
        return self.training.selected

    @property
    def of_texts(self) -> Classifier:
        """The classifier of the texts alone, without attributes."""
        return self

    @property
    def attributes(self) -> AttributeLikelihoods | None:
        """The distributions of the attributes in each class, which have a part in the scores or not; None for a model of texts alone."""
        statistics = self.training.statistics
        if not statistics.attributes.names:
            return None
        from nbtext.classifiers.attribute_likelihoods import AttributeLikelihoods

        return AttributeLikelihoods.estimate(statistics, self.training.settings, None, with_numbers=True)

    def attribute_scores(self, matrix: DocumentTermMatrix) -> Iterable[Floats]:
        """Return what each attribute of one document adds to the scores, each of shape (n_classes,), in nats."""
        return ()

    def drawing(self, label: int) -> DrawValues:
        """Return a function that draws the attributes of a document of a class, in the order of their names; None stands for a value without a distribution."""
        parts = [] if self.attributes is None else list(self.attributes.drawings(label))
        return lambda random: [value for draw in parts for value in draw(random)]

    @property
    def additive(self) -> AdditiveClassifier | None:
        """The classifier itself if its scores are sums over terms, else None."""
        return self if isinstance(self, AdditiveClassifier) else None

    @property
    def linear(self) -> LinearClassifier | None:
        """The classifier itself if its scores are linear in the features of a document, else None."""
        return self if isinstance(self, LinearClassifier) else None

    def penalty(self) -> float | None:
        """Return the strength of the penalty on large weights; None for a classifier that has none."""
        return None

    @property
    def number_weights(self) -> Floats | None:
        """The weights of all counts and numbers, in nats for a standard deviation, shape (n_numbers, n_classes); None if they have none."""
        return None

    def boundary(self) -> Boundary | None:
        """Return the boundaries between classes in features that are not terms; None if there are none."""
        return None

    def two_class_weights(self) -> tuple[Whole, Floats, float] | None:
        """Return terms, w_j and b of two classes, the first preferred where wᵀx + b > 0; None where the score is no such sum over present terms."""
        return None

    def member_weights(self) -> dict[str, tuple[float, float]]:
        """Return scale c and exponent β of the weight c · n^β of each member of an average, by its name; empty for other classifiers."""
        return {}

    def term_probabilities(self) -> TermProbabilities | None:
        """Return the probabilities of terms in each class that scores are made of; None for a model that has none of the class itself."""
        return None

    def fits(self) -> list[PartFit]:
        """Return how well each part of the model but the class prior fits its counts; raise `UsageError` where that is not defined.

        Empty for a model that is not generative.
        """
        return []

    def warnings(self) -> list[str]:
        """Return warnings for the user, such as a fit that did not converge."""
        return []

    def unseen(self, training: Training, sample: CountedDocuments) -> Unseen:
        """Score the sample by models that have not seen it: each document left out, or if that is not exact or labels select the terms by folds.

        Folds are left out of the statistics and of the documents. Terms that labels do not select and smoothing are those chosen from all documents.
        """
        if self.subtracts_exactly(training.settings, training.statistics.weight_unit) and training.choose is None:
            return self.leave_one_out(sample)
        documents = training.documents if needs_documents(training.settings) else None
        n_folds = HELD_OUT_FOLDS if documents is None else HELD_OUT_FOLDS_OF_DOCUMENTS
        folds = np.arange(len(sample)) % n_folds  # the sample is in the order of hashes, so this is random
        subsets = Subsets(training.statistics.table, sample)
        places = None if documents is None else documents.places(sample)
        parts = []
        for fold in range(min(n_folds, len(sample))):
            rows = np.flatnonzero(folds == fold)
            rest = None
            if documents is not None and places is not None:
                rest = documents.rows(np.delete(np.arange(len(documents)), places[rows]))
            others = estimated(subsets.without(rows), training.statistics.weights)
            parts.append(self.left_out(training, sample.rows(rows), others, rest))
        return Unseen.joined(parts)

    def left_out(
        self, training: Training, left_out: CountedDocuments, statistics: ClassStatistics, rest: CountedDocuments | None
    ) -> Unseen:
        """Score documents by a model of the others, given by their statistics and, for a classifier that needs them, the documents themselves.

        Where the others leave no class possible, all scores are −inf.
        """
        matrix = left_out.matrix
        if prior_weights(training.settings.class_prior, statistics).any():
            others = replace(training, statistics=statistics, selected=training.selected_in(statistics), documents=rest, sample=None)
            scores, lengths = self.estimate_again(others).joint_log_likelihood(matrix)
        else:
            scores, lengths = np.full((len(left_out), statistics.n_classes), -np.inf), np.zeros(len(left_out), np.int64)
        truth, weights = left_out.truth(statistics.n_classes), left_out.natural_weights(training.statistics)
        return Unseen(scores, lengths, matrix.tokens - lengths, truth, weights)

    @property
    def kind(self) -> type[Posterior]:
        """Whether the labels of a document exclude each other."""
        return self.training.statistics.kind

    @classmethod
    def subtracts_exactly(cls, settings: Settings, unit: int) -> bool:
        """Return whether `leave_one_out` works on counts of this unit, weighed by class if settings say so."""
        return False

    def leave_one_out(self, documents: CountedDocuments) -> Unseen:
        """Score documents that the model was estimated from, each by the model of all others, exactly; raise `UsageError` if it cannot."""
        raise UsageError("this model cannot leave out single documents exactly", hint="cross-validate with folds")

    def variants(self) -> Sequence[Self]:
        """Return models with the same scores but another `log_scale`; calibration takes the one that makes unseen documents most probable."""
        return (self,)

    def log_scale(self, scores: Floats, lengths: Whole) -> Floats:
        """Return the scores on the scale of log-probabilities, in the same order, shape (n_docs, n_classes), for calibration.

        ``lengths``: tokens of terms that count, shape (n_docs,). Scores of a generative model are on that scale already.
        """
        return scores

    @property
    def usual_exponent(self) -> float:
        """The exponent of the length in the usual temperature: 0 if scores are about as sure as they should be."""
        return 0.0

    def uncalibrated(self) -> Calibration:
        """Return how scores become probabilities by the textbook."""
        return UNCALIBRATED

    def fitted_calibration(self, scores: Floats, truth: DocumentLabels, lengths: Whole, weights: Floats | None) -> Calibration:
        """Fit a calibration to left-out documents, given on the scale of log-probabilities, with shapes as in `nbtext.prediction.calibration.by_length`."""
        return by_length(scores, truth.numbers, lengths, weights, self.usual_exponent)

    def likelihood_per_token(self, scores: Floats, lengths: Whole, unknown: Whole) -> ScoresAndTokens | None:
        """Return the log-likelihood per token of scored documents under their best class, in nats, and their tokens; both of shape (n_docs,).

        Unknown tokens count; 0 for a document without tokens. None for a model that gives tokens no probability.
        """
        return None


class AdditiveClassifier(Classifier):
    """A classifier whose scores are a bias and a sum over the terms of a document."""

    @property
    @abstractmethod
    def bias(self) -> Floats:
        """The part of the scores that is the same for every document, shape (n_classes,), in nats: for most the log class prior."""

    def biases(self, matrix: DocumentTermMatrix) -> Floats:
        """Return what documents of known terms get beside their terms, shape (n_docs, n_classes), in nats: by default `bias`."""
        return np.tile(self.bias, (matrix.n_documents, 1))

    def features(self, matrix: DocumentTermMatrix) -> DocumentTermMatrix:
        """Return the features of documents, made of the counts of known terms: by default the counts."""
        return matrix

    @abstractmethod
    def term_scores(self, terms: Whole, amounts: Numbers) -> Floats:
        """Return what terms with these features, shapes (n,), add to the scores, shape (n, n_classes), in nats."""

    def advantages(self, features: DocumentTermMatrix, answers: Whole, rivals: Whole) -> Floats:
        """Return what each feature adds to the score of its answer less that of its rival, shape (n_entries,), in nats.

        ``answers`` and ``rivals`` are class numbers, shape (n_entries,), −1 for a score of 0. nan where a term rules out both. At most `TERM_WEIGHTS_AT_ONCE`
        scores are in memory.
        """
        nats = np.empty(features.terms.size)
        for part in in_blocks(np.arange(nats.size), self.bias.size, TERM_WEIGHTS_AT_ONCE):
            rows = np.arange(part.size)
            scores = np.column_stack((self.term_scores(features.terms[part], features.counts[part]), np.zeros(part.size)))
            nats[part] = difference(scores[rows, answers[part]], scores[rows, rivals[part]])
        return nats


class LinearClassifier(AdditiveClassifier):
    """A classifier whose scores are a bias and weights times features."""

    @abstractmethod
    def weights(self, terms: Whole) -> Floats:
        """Return the weights of terms, shape (n, n_classes), in nats."""

    def against(self, everything: Self, terms: Whole) -> Floats:
        """Return the weights of terms for each class less those for all documents without it, shape (n, n_classes), in nats.

        ``everything`` is the model of all documents, of one class.
        """
        raise NotImplementedError

    def bias_against(self, everything: Self) -> Floats:
        """Return what is the same for every document beside the prior, for each class less that for all documents without it, shape (n_classes,)."""
        return np.zeros(self.training.statistics.n_classes)

    def joint_log_likelihood(self, matrix: DocumentTermMatrix) -> ScoresAndTokens:
        """Return bias and weights times features, summed over the terms of each document."""
        known = self.known()
        matrix = matrix if known.all() else matrix.of_terms(known)
        scores = np.tile(self.bias, (matrix.n_documents, 1))
        self.add_term_scores(scores, self.features(matrix))
        return scores, matrix.lengths

    def add_term_scores(self, scores: Floats, features: DocumentTermMatrix) -> None:
        """Add weights times features to the scores, shape (n_docs, n_classes)."""
        add_weighted_sums(scores, features, self.training.statistics.n_terms, self.weights)

    def term_scores(self, terms: Whole, amounts: Numbers) -> Floats:
        """Return weights times features, shape (n, n_classes), in nats."""
        return amounts[:, np.newaxis] * self.weights(terms)

    def advantages(self, features: DocumentTermMatrix, answers: Whole, rivals: Whole) -> Floats:
        """Return x_jd (w_j,answer − w_j,rival) of each entry."""
        once = features._replace(counts=np.ones_like(features.counts))
        return features.counts * super().advantages(once, answers, rivals)


def difference(of_answers: Floats, of_rivals: Floats) -> Floats:
    """Return the one less the other, nan without a warning where both are infinite."""
    with np.errstate(invalid="ignore"):
        found: Floats = of_answers - of_rivals
    return found
