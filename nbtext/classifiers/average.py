"""Average: the calibrated posteriors of two or more classifiers, combined by a weighted geometric mean.

p(C_k | d) ∝ Π_m p_m(C_k | d)^w_m, the logarithmic opinion pool (C. Genest, J. Zidek, Combining probability distributions, 1986; with weights
that are learnt, G. Hinton, Training products of experts by minimizing contrastive divergence, 2002). Each p_m is calibrated by a temperature
that depends on the length n of the document, T_m = a_m n^b_m, as in `nbtext.prediction.calibration`; so what a member's normalisation divides by is the
same in every class, and only u_m = w_m / T_m matters: the scores are s_k(d) = Σ_m u_m(n_d) s_mk(d), s_mk those of the members. u_m = c_m n^β_m is
fitted for all members at once, to documents that each was scored without: by the least Σ_d −log softmax(s(d))_truth + ½|θ − θ_0|², θ being log c_m
at the middle length and β_m; θ_0 is 1 / M for each of the M members and no part of the length. All members count alike and are in one file.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Self

import numpy as np

from nbtext.classifiers.base import (
    AdditiveClassifier,
    Classifier,
    Training,
    collect_fit_warnings,
    compute_component_fits,
    get_additive_classifier,
    get_classifier_parameters,
    iter_attribute_scores,
    load_classifier_class,
    select_classifier_class,
    unwrap_text_classifier,
)
from nbtext.classifiers.held_out import (
    HELD_OUT_FOLDS,
    score_by_folds,
    score_held_out_documents,
    score_held_out_sample,
    sort_by_content,
    split_held_out,
)
from nbtext.counts.corpus_counts import Subsets
from nbtext.counts.statistics import estimate_statistics
from nbtext.errors import require_valid_model
from nbtext.fast_dataclasses import dataclass
from nbtext.prediction.calibration import (
    MAX_ABS_LOG,
    HeldOutScores,
    make_temperature_loss,
    minimize_by_newton,
)
from nbtext.prediction.labels import DocumentLabels, single_label_table
from nbtext.prediction.posterior import normalize_log_joint
from nbtext.settings import MAX_PSEUDO_COUNT
from nbtext.text.hashing import pair

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nbtext.classifiers.inspection import ClassifierParameters
    from nbtext.counts.documents import CountedDocuments
    from nbtext.counts.matrix import DocumentTermMatrix
    from nbtext.type_names import Arrays, Floats, Ints, Mask, Numbers, ScoresAndTokens

LEAST_GAIN = 1e-9
"""Nats over all documents, twice the gain of a Newton step that is not worth taking."""

MOST_SCORES = 1 << 21
"""Most scores of a member, documents by classes, that weights are fitted to: 16 MiB."""

POOL_FOLDS = 5
"""Parts of the left-out documents; each is scored with weights fitted to the others, since calibration and promises take them for new ones."""

LEAST_WEIGHT = 1e-300
"""Of a member by its evidence: its logarithm is finite."""

POOL = "pool"
SMOOTHING = "smoothing"
"""Arrays in the model file: c and β, and the pseudo-counts of the members."""


class EnsembleWeights(NamedTuple):
    """The weights of the members: u_m(n) = scale_m · n^exponent_m in a document of n tokens that count."""

    scale: Floats
    """c_m, shape (n_members,)."""
    exponent: Floats
    """β_m, shape (n_members,)."""

    @classmethod
    def from_equal_weights(cls, n_members: int) -> EnsembleWeights:
        """Return equal weights that sum to 1 at any length."""
        return cls(np.full(n_members, 1 / n_members), np.zeros(n_members))

    def compute_member_weights(self, lengths: Ints) -> Floats:
        """Return u, shape (n_docs, n_members), log u within ±`MAX_ABS_LOG`; equal weights for a document without tokens that count."""
        with np.errstate(over="ignore"):
            logs = (
                np.log(self.scale) + self.exponent * np.log(np.maximum(lengths, 1))[:, np.newaxis]
            )
        found: Floats = np.exp(np.clip(logs, -MAX_ABS_LOG, MAX_ABS_LOG))
        return np.where((lengths > 0)[:, np.newaxis], found, 1 / self.scale.size)


def fit_ensemble_weights(
    scores: Floats, truth: Ints, lengths: Ints, weights: Floats
) -> EnsembleWeights:
    """Return the weights under which documents are most probable in their own class.

    ``scores`` have the shape (n_docs, n_members, n_classes), in nats, ``truth`` are classes, ``lengths`` tokens that count, and ``weights`` those of
    the documents, shape (n_docs,).
    """
    n_members = scores.shape[1]
    here = lengths > 0  # documents without tokens that count have equal weights
    if not here.any():
        return EnsembleWeights.from_equal_weights(n_members)
    log_lengths = np.log(lengths[here])
    weights = weights[here]
    centre = np.average(log_lengths, weights=weights)
    middle = np.array([[-np.log(n_members), 0.0]] * n_members)
    loss = make_temperature_loss(scores[here], truth[here], log_lengths - centre, weights, middle)
    found: Floats = minimize_by_newton(
        loss, middle.ravel(), LEAST_GAIN, lambda step: np.abs(step).max()
    ).reshape(middle.shape)
    pairs = [
        (float(f"{np.exp(log - exponent * centre):.9g}"), float(f"{exponent:.9g}"))
        for log, exponent in found.tolist()
    ]
    return EnsembleWeights(*np.array(pairs).T)


@dataclass(frozen=True, eq=False)
class EnsembleClassifier(AdditiveClassifier):
    """Classifiers over the same terms and columns, and the weights of their scores."""

    NEEDS_SAMPLE: ClassVar[bool] = True
    HAS_COLUMN_FEATURES: ClassVar[bool] = True

    members: tuple[Classifier, ...]
    ensemble_weights: EnsembleWeights
    held_out: HeldOutScores | None = None
    """The documents that the weights were fitted to, each scored by members and weights that were fitted without it; None if there were none."""

    @classmethod
    def choose_smoothing(cls, training: Training) -> float:
        """Return the pseudo-count of the first member, which its language models have too."""
        first = training.settings.member_settings[0]
        return load_classifier_class(first.classifier).choose_smoothing(
            replace(training, settings=first)
        )

    @classmethod
    def estimate(cls, training: Training) -> Self:
        """Estimate the members, then the weights, from documents left out of them.

        These are every fifth document, or if all members follow from counts all documents of the sample, by folds. Raise `UsageError` if a member cannot
        be estimated.
        """
        documents = (
            sort_by_content(training.documents)
            if training.documents is not None
            else training.sample
        )
        if training.documents is not None:
            training = replace(training, documents=documents)
        trainings = _trainings(training, _member_smoothing(training))
        members = tuple(
            select_classifier_class(each.statistics, each.settings).estimate(each)
            for each in trainings
        )
        if training.settings.is_mixture:
            return cls(
                training,
                members,
                EnsembleWeights(compute_evidence_weights(members), np.zeros(len(members))),
            )
        model = cls(training, members, EnsembleWeights.from_equal_weights(len(members)))
        return model if documents is None or not len(documents) else model._with_weights(documents)

    def _with_weights(self, documents: CountedDocuments) -> Self:
        """Return the model with weights fitted to these documents, by folds of them."""
        training = self.training
        by_folds = self.training.documents is None
        folds = (
            [np.arange(len(documents))[fold::HELD_OUT_FOLDS] for fold in range(HELD_OUT_FOLDS)]
            if by_folds
            else [split_held_out(documents)[1]]
        )
        most = max(MOST_SCORES // training.statistics.n_classes, 1)
        subsets = Subsets(training.statistics.table, documents)
        parts = []
        for rows in folds:
            if not rows.size:
                continue
            rest = None if by_folds else documents.take(np.delete(np.arange(len(documents)), rows))
            left_out = documents.take(rows)
            statistics = estimate_statistics(
                subsets.subtract_rows(rows), training.statistics.weights
            )
            unseen = [
                score_held_out_documents(member, member.training, left_out, statistics, rest)
                for member in self.members
            ]
            first = unseen[0]
            columns = (first.lengths, first.unknown_lengths, first.truth.indices, first.weights)
            parts.append(
                [
                    np.stack([each.scores[:most] for each in unseen], axis=1),
                    *(column[:most] for column in columns),
                ]
            )
        if not parts:
            return self
        scores, lengths, unknown, classes, weights = (
            np.concatenate(column)[:most] for column in zip(*parts, strict=True)
        )
        usable = np.isfinite(scores[np.arange(classes.size), :, classes]).all(
            axis=1
        )  # not where the class went with its only document

        def pool_without(is_out: Mask) -> EnsembleWeights:
            rest = usable & ~is_out
            return fit_ensemble_weights(scores[rest], classes[rest], lengths[rest], weights[rest])

        pooled = np.empty((classes.size, training.statistics.n_classes))
        for fold in range(POOL_FOLDS):
            is_out = np.arange(classes.size) % POOL_FOLDS == fold
            pooled[is_out] = _pooled(
                scores[is_out], pool_without(is_out).compute_member_weights(lengths[is_out])
            )
        truth = DocumentLabels(classes, single_label_table(training.statistics.n_classes))
        return replace(
            self,
            ensemble_weights=pool_without(np.zeros_like(usable)),
            held_out=HeldOutScores(pooled, lengths, unknown, truth, weights),
        )

    def refit(self, training: Training) -> Self:
        """Return the model of fewer documents with the same weights."""
        trainings = _trainings(training, [member.training.smoothing for member in self.members])
        members = tuple(
            member.refit(each) for member, each in zip(self.members, trainings, strict=True)
        )
        return replace(self, training=training, members=members, held_out=None)

    def to_arrays(self) -> Arrays:
        """Return the weights, the pseudo-counts of the members, and the arrays of each member with its place before their names."""
        smoothing = np.array([member.training.smoothing for member in self.members])
        of_members = {
            f"{place}_{name}": array
            for place, member in enumerate(self.members)
            for name, array in member.to_arrays().items()
        }
        return {POOL: np.concatenate(self.ensemble_weights), SMOOTHING: smoothing, **of_members}

    @classmethod
    def from_arrays(cls, training: Training, arrays: Arrays) -> Self:
        """Return the model that had these `arrays`; raise `ModelError` if no model can have had them."""
        n_members = len(training.settings.member_settings)
        pool, smoothing = (
            arrays.get(name, np.empty(0)).astype(np.float64) for name in (POOL, SMOOTHING)
        )
        of_members: list[dict[str, Numbers]] = [{} for _ in range(n_members)]
        for name, array in arrays.items():
            place, underscore, own = name.partition("_")
            if underscore and place in map(str, range(n_members)):
                of_members[int(place)][own] = array
            else:
                require_valid_model(
                    name in (POOL, SMOOTHING),
                    "its classifier keeps an array that belongs to no member",
                )
        of_pool = (
            pool.shape == (2 * n_members,)
            and np.all(pool[:n_members] > 0)
            and np.isfinite(pool).all()
        )
        require_valid_model(of_pool, "its weights do not fit its members")
        possible = (
            smoothing.shape == (n_members,)
            and smoothing.min() >= 0
            and smoothing.max() <= MAX_PSEUDO_COUNT
        )
        as_given = possible and all(
            given in {None, own}
            for given, own in zip(_given_smoothing(training), smoothing.tolist(), strict=True)
        )
        require_valid_model(as_given, "the smoothing of its members is impossible")
        trainings = _trainings(training, smoothing.tolist())
        members = [
            select_classifier_class(each.statistics, each.settings).from_arrays(each, own)
            for each, own in zip(trainings, of_members, strict=True)
        ]
        return cls(training, tuple(members), EnsembleWeights(pool[:n_members], pool[n_members:]))

    def joint_log_likelihood(self, matrix: DocumentTermMatrix) -> ScoresAndTokens:
        """Return Σ_m u_m s_mk of each document, shape (n_docs, n_classes), in nats, and the tokens that count, shape (n_docs,).

        Of a mixture log Σ_m p(m | data) p_m(C_k | d).
        """
        found = [member.joint_log_likelihood(matrix) for member in self.members]
        lengths = found[0][1]
        if self.training.settings.is_mixture:
            shares = zip(np.log(self.ensemble_weights.scale).tolist(), found, strict=True)
            return np.logaddexp.reduce(
                [log_share + normalize_log_joint(of_member) for log_share, (of_member, _) in shares]
            ), lengths
        return _pooled(
            np.stack([scores for scores, _ in found], axis=1),
            self.ensemble_weights.compute_member_weights(lengths),
        ), lengths

    @property
    def additive_members(self) -> list[AdditiveClassifier]:
        """The classifiers of texts of the members whose scores are sums over terms."""
        summed = [
            get_additive_classifier(unwrap_text_classifier(member)) for member in self.members
        ]
        return [member for member in summed if member is not None]

    def get_scored_terms(self) -> Mask:
        """Return the terms of texts that count, and the categories, shape (n_terms,): a document's length has both."""
        return self.training.column_features.scored_terms

    def weights_in(self, matrix: DocumentTermMatrix) -> Floats:
        """Return u of documents, shape (n_docs, n_members)."""
        return self.ensemble_weights.compute_member_weights(
            self.members[0].joint_log_likelihood(matrix)[1]
        )

    @property
    def bias(self) -> Floats:
        """The scores of a document without terms that count, shape (n_classes,): the mean of the members' biases."""
        return np.mean([member.bias for member in self.additive_members], axis=0)

    def compute_document_biases(self, matrix: DocumentTermMatrix) -> Floats:
        """Return Σ_m u_m times the bias of each member, shape (n_docs, n_classes), in nats."""
        of_members = np.stack([member.bias for member in self.additive_members])
        return _pooled(of_members[np.newaxis], self.weights_in(matrix))

    def compute_features(self, matrix: DocumentTermMatrix) -> DocumentTermMatrix:
        """Return for each entry of a text the features of the members, then their weights in its document: ``counts`` of shape (n_entries, 2 n_members)."""
        of_documents = self.weights_in(matrix)
        matrix = matrix.select_terms(self.training.selected)
        keys = pair(matrix.entry_documents, matrix.terms)
        columns = []
        for member in self.additive_members:
            found = member.compute_features(matrix)
            column = np.zeros(keys.size)
            column[np.isin(keys, pair(found.entry_documents, found.terms))] = (
                found.counts
            )  # a term of weight 0 is left out
            columns.append(column)
        weights = of_documents[matrix.entry_documents]
        return matrix._replace(counts=np.column_stack((*columns, weights)))

    def score_terms(self, terms: Ints, amounts: Numbers) -> Floats:
        """Return what terms with these `features` add to the scores, shape (n, n_classes), in nats; ``amounts`` of shape (n,) are those of all members."""
        if amounts.ndim == 1:
            amounts = np.column_stack(
                [amounts] * len(self.members) + [np.ones(amounts.size)] * len(self.members)
            )
        total = np.zeros((terms.size, self.training.statistics.n_classes))
        for place, member in enumerate(self.additive_members):
            here = np.flatnonzero(amounts[:, place] > 0)
            total[here] += amounts[
                here, len(self.members) + place, np.newaxis
            ] * member.score_terms(terms[here], amounts[here, place])
        return total

    def compute_score_differences(
        self, features: DocumentTermMatrix, answers: Ints, rivals: Ints
    ) -> Floats:
        """Return Σ_m u_m times what the feature of each entry adds to the member's score of its answer less that of its rival."""
        total = np.zeros(features.terms.size)
        for place, member in enumerate(self.additive_members):
            has = features.counts[:, place] > 0
            own = features.select_entries(has)
            weights = own.counts[:, len(self.members) + place]
            total[has] += weights * member.compute_score_differences(
                own._replace(counts=own.counts[:, place]), answers[has], rivals[has]
            )
        return total


@get_additive_classifier.register(EnsembleClassifier)
def additive_pool(classifier: EnsembleClassifier) -> EnsembleClassifier | None:
    """Return the classifier if its scores and those of all members are sums over terms, else None."""
    if classifier.training.settings.is_mixture:
        return None
    n_additive = len(classifier.additive_members)
    return classifier if n_additive == len(classifier.members) else None


@score_held_out_sample.register(EnsembleClassifier)
def pool_scores(
    classifier: EnsembleClassifier,
    training: Training,
    sample: CountedDocuments,
) -> HeldOutScores:
    """Score the documents that the weights were fitted to, or if there were none the sample, by folds."""
    if classifier.held_out is not None:
        return classifier.held_out
    return score_by_folds(classifier, training, sample)


@iter_attribute_scores.register(EnsembleClassifier)
def pooled_summands(classifier: EnsembleClassifier, matrix: DocumentTermMatrix) -> Iterator[Floats]:
    """Yield Σ_m u_m times the summands of each attribute in the members, shape (n_classes,).

    By evidence p(m | data) is u_m.
    """
    weights = classifier.weights_in(matrix)[0]
    summands = [iter_attribute_scores(member, matrix) for member in classifier.members]
    for attribute in zip(*summands, strict=True):
        yield weights @ np.stack(attribute)


@get_classifier_parameters.register(EnsembleClassifier)
def member_parameters(classifier: EnsembleClassifier) -> ClassifierParameters:
    """Return scale and exponent of the weight of each member, by its name as in ``--set members``."""
    from nbtext.classifiers.inspection import ClassifierParameters

    scales, exponents = (part.tolist() for part in classifier.ensemble_weights)
    names = classifier.training.settings.member_names
    weights = zip(scales, exponents, strict=True)
    return ClassifierParameters(member_weights=dict(zip(names, weights, strict=True)))


@collect_fit_warnings.register(EnsembleClassifier)
def warnings_of_members(classifier: EnsembleClassifier) -> list[str]:
    """Return those of the members."""
    return [warning for member in classifier.members for warning in collect_fit_warnings(member)]


def _pooled(scores: Floats, weights: Floats) -> Floats:
    """Return Σ_m u_m s_mk, shape (n_docs, n_classes), from scores of shape (n_docs, n_members, n_classes) and u, shape (n_docs, n_members)."""
    return (weights[:, :, np.newaxis] * scores).sum(axis=1)


def compute_evidence_weights(members: Sequence[Classifier]) -> Floats:
    """Return p(m | data) of models of the same data, shape (n_members,), equally probable before; at least `LEAST_WEIGHT`, so that none is 0."""
    from nbtext.language_model.measures import compute_model_posteriors

    evidences = []
    for member in members:
        of_parts = [part.evidence for part in compute_component_fits(member)]
        evidences.append(
            sum(float(evidence.sum()) for evidence in of_parts if evidence is not None)
        )
    return np.array(
        [max(each.probability, LEAST_WEIGHT) for each in compute_model_posteriors(evidences)]
    )


def _given_smoothing(training: Training) -> list[float | None]:
    """Return the pseudo-count of each member that is given, None where it is chosen."""
    if training.settings.estimate == "ml":
        return [training.smoothing] * len(training.settings.member_settings)
    return [
        each.smoothing if isinstance(each.smoothing, float) else None
        for each in training.settings.member_settings
    ]


def _member_smoothing(training: Training) -> list[float]:
    """Return the pseudo-count of each member: the given one, or what each chooses for itself."""
    given = _given_smoothing(training)
    numbers = []
    for place, member in enumerate(training.settings.member_settings):
        number = given[place]
        if number is not None:
            numbers.append(number)
        elif place == 0:
            numbers.append(training.smoothing)
        else:
            of_member = replace(training, settings=member)
            numbers.append(load_classifier_class(member.classifier).choose_smoothing(of_member))
    return numbers


def _trainings(training: Training, smoothing: Sequence[float]) -> list[Training]:
    """Return what each member is estimated from."""
    models = zip(training.settings.member_settings, smoothing, strict=True)
    return [
        replace(training, settings=settings, smoothing=pseudo_count)
        for settings, pseudo_count in models
    ]
