"""Average of classifiers: their posteriors, combined by a weighted geometric mean.

p(C_k | d) ∝ Π_m p_m(C_k | d)^w_m, the logarithmic opinion pool (C. Genest, J. Zidek, Combining
probability distributions, 1986; with fitted weights, G. Hinton, Training products of experts by
minimizing contrastive divergence, 2002). Each p_m has a temperature that depends on the length n
of the document, T_m = a_m n^b_m, as in `nbtext.prediction.calibration`. The normalisation of p_m
is the same in every class, so only u_m = w_m / T_m matters: with the scores s_mk of the members,
s_k(d) = Σ_m u_m(n_d) s_mk(d).

u_m = c_m n^β_m is fitted for all members together, to held-out documents: it minimises
Σ_d −log softmax(s(d))_truth + ½|θ − θ_0|², where θ are log c_m, at the mean log length, and β_m.
θ_0 are equal weights 1 / M of M members that do not depend on the length.

A mixture (``Settings.is_mixture``) has weights by evidence instead, p(m | data) ∝ p(m) p(data | m),
and averages probabilities: p(C_k | d) = Σ_m p(m | data) p_m(C_k | d).
"""

from __future__ import annotations

from dataclasses import replace
from math import log
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
    round_to_nine_digits,
)
from nbtext.prediction.posterior import normalize_log_joint
from nbtext.settings import MAX_PSEUDO_COUNT
from nbtext.text.hashing import pair

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nbtext.classifiers.inspection import ClassifierParameters
    from nbtext.counts.documents import CountedDocuments
    from nbtext.counts.matrix import DocumentTermMatrix
    from nbtext.type_names import AnyInts, Arrays, Floats, Ints, Mask, Numbers, ScoresAndTokens

MIN_SQUARED_DECREMENT = 1e-9
"""The fit stops if the squared Newton decrement, twice the gain of a step, is below this."""

MAX_MEMBER_SCORES = 1 << 21
"""Documents times classes to which weights are fitted, so that a member's scores take 16 MiB."""

WEIGHT_FOLDS = 5
"""Folds of the held-out documents. Each fold is scored with weights fitted to all other folds.

So calibration and guarantees can use these scores like scores of new documents.
"""

MIN_MEMBER_WEIGHT = 1e-300
"""Smallest weight of a member by its evidence, so that its logarithm is finite."""

ENSEMBLE_WEIGHTS_ARRAY = "pool"
"""Name in the model file of the array of c, then β, of all members."""

MEMBER_SMOOTHING_ARRAY = "smoothing"
"""Name in the model file of the array of pseudo-counts of all members."""


class EnsembleWeights(NamedTuple):
    """Weights of the members: u_m(n) = c_m n^β_m in a document of n used tokens."""

    scales: Floats
    """c_m, shape (n_members,)."""
    exponents: Floats
    """β_m, shape (n_members,)."""

    @classmethod
    def from_equal_weights(cls, n_members: int) -> EnsembleWeights:
        """Return equal weights that sum to 1 at any length."""
        return cls(np.full(n_members, 1 / n_members), np.zeros(n_members))

    def compute_member_weights(self, lengths: Ints) -> Floats:
        """Return u, shape (n_docs, n_members), from lengths, shape (n_docs,).

        |log u| is at most `MAX_ABS_LOG`. A document without used tokens has equal weights.
        """
        log_lengths = np.log(np.maximum(lengths, 1))[:, np.newaxis]
        with np.errstate(over="ignore"):
            logs = np.log(self.scales) + self.exponents * log_lengths
        weights: Floats = np.exp(np.clip(logs, -MAX_ABS_LOG, MAX_ABS_LOG))
        has_tokens = lengths[:, np.newaxis] > 0
        return np.where(has_tokens, weights, 1 / self.scales.size)


def fit_ensemble_weights(
    scores: Floats, classes: AnyInts, lengths: Ints, weights: Floats
) -> EnsembleWeights:
    """Return the weights of members under which documents are most probable in their own class.

    ``scores`` have the shape (n_docs, n_members, n_classes), in nats. The true ``classes``, the
    ``lengths`` in used tokens, and the ``weights`` of the documents have the shape (n_docs,).
    """
    n_members = scores.shape[1]
    has_tokens = lengths > 0
    if not has_tokens.any():
        return EnsembleWeights.from_equal_weights(n_members)
    log_lengths = np.log(lengths[has_tokens])
    weights = weights[has_tokens]
    mean_log_length = np.average(log_lengths, weights=weights)
    # Each row is log c_m at the mean log length, and β_m, of a member.
    prior_centre = np.tile([-np.log(n_members), 0.0], (n_members, 1))
    loss = make_temperature_loss(
        scores[has_tokens],
        classes[has_tokens],
        x=log_lengths - mean_log_length,
        weights=weights,
        prior_centre=prior_centre,
    )

    def measure_step(step: Floats) -> float:
        return np.abs(step).max()  # the largest change of a parameter

    theta = minimize_by_newton(loss, prior_centre.ravel(), MIN_SQUARED_DECREMENT, measure_step)
    member_theta: Floats = theta.reshape(prior_centre.shape)
    scales = []
    exponents = []
    for log_mean_scale, exponent in member_theta.tolist():
        scale = np.exp(log_mean_scale - exponent * mean_log_length)
        scales.append(round_to_nine_digits(scale))
        exponents.append(round_to_nine_digits(exponent))
    return EnsembleWeights(np.array(scales), np.array(exponents))


@dataclass(frozen=True, eq=False)
class EnsembleClassifier(AdditiveClassifier):
    """Classifiers over the same terms and columns, and the weights of their scores."""

    NEEDS_SAMPLE: ClassVar[bool] = True
    HAS_COLUMN_FEATURES: ClassVar[bool] = True

    members: tuple[Classifier, ...]
    ensemble_weights: EnsembleWeights
    """For a mixture, the scales are p(m | data), and the exponents are 0."""
    held_out: HeldOutScores | None = None
    """The documents that the weights were fitted to, or None if the weights were not fitted.

    Each document is scored by members and weights that were fitted without it.
    """

    @classmethod
    def choose_smoothing(cls, training: Training) -> float:
        """Return the pseudo-count that the first member chooses."""
        settings = training.settings.member_settings[0]
        member_class = load_classifier_class(settings.classifier)
        return member_class.choose_smoothing(replace(training, settings=settings))

    @classmethod
    def estimate(cls, training: Training) -> Self:
        """Estimate the members, then their weights from held-out documents.

        Raise `UsageError` if a member cannot be estimated.
        """
        if training.documents is not None:
            # So the fit of the weights does not depend on the order of the documents.
            training = replace(training, documents=sort_by_content(training.documents))
        member_trainings = _make_member_trainings(training, _choose_member_smoothing(training))
        members = tuple(
            select_classifier_class(member.statistics, member.settings).estimate(member)
            for member in member_trainings
        )
        if training.settings.is_mixture:
            scales = compute_evidence_weights(members, training.settings.member_priors)
            return cls(training, members, EnsembleWeights(scales, np.zeros(len(members))))
        model = cls(training, members, EnsembleWeights.from_equal_weights(len(members)))
        held_out = model._score_held_out()
        if held_out is None:
            return model
        return model._fit_weights(held_out)

    def _fit_weights(self, held_out: HeldOutScores) -> Self:
        """Return the model with weights fitted to the result of `_score_held_out`.

        `held_out` of the model are the same documents with the scores of all members combined.
        """
        classes = held_out.truth.indices
        rows = np.arange(classes.size)
        true_scores = held_out.scores[rows, :, classes]
        # If the only document of a class was held out, its score is −inf.
        is_usable = np.asarray(np.isfinite(true_scores).all(axis=1))

        def fit_weights(is_fitted: Mask) -> EnsembleWeights:
            fitted = held_out.take(is_fitted)
            return fit_ensemble_weights(
                fitted.scores, fitted.truth.indices, fitted.lengths, fitted.weights
            )

        scores = np.empty((rows.size, self.training.statistics.n_classes))
        for fold in range(WEIGHT_FOLDS):
            is_in_fold = rows % WEIGHT_FOLDS == fold
            fold_weights = fit_weights(is_usable & ~is_in_fold)
            in_fold = held_out.take(is_in_fold)
            member_weights = fold_weights.compute_member_weights(in_fold.lengths)
            scores[is_in_fold] = _combine_scores(in_fold.scores, member_weights)
        return replace(
            self,
            ensemble_weights=fit_weights(is_usable),
            held_out=held_out._replace(scores=scores),
        )

    def _score_held_out(self) -> HeldOutScores | None:
        """Return the scores of held-out documents, shape (n_docs, n_members, n_classes).

        If training has all documents, every fifth document is held out. Otherwise the documents of
        the sample are held out by folds. Return None if there are too few documents.
        """
        training = self.training
        if training.documents is not None:
            documents = training.documents
            _, held_out_rows = split_held_out(documents)
            folds = [held_out_rows]
        elif training.sample is not None:
            documents = training.sample
            sample_rows = np.arange(len(documents))
            folds = [sample_rows[fold::HELD_OUT_FOLDS] for fold in range(HELD_OUT_FOLDS)]
        else:
            return None
        affordable_rows = slice(max(MAX_MEMBER_SCORES // training.statistics.n_classes, 1))
        subsets = Subsets(training.statistics.table, documents)
        fold_scores = []
        for rows in folds:
            if not rows.size:
                continue
            remaining_documents = None
            if training.documents is not None:
                remaining_documents = documents.take(np.delete(np.arange(len(documents)), rows))
            held_out = documents.take(rows)
            statistics = estimate_statistics(
                subsets.exclude_documents(rows), training.statistics.weights
            )
            member_scores = [
                score_held_out_documents(
                    member, member.training, held_out, statistics, remaining_documents
                ).take(affordable_rows)
                for member in self.members
            ]
            scores = np.stack([member.scores for member in member_scores], axis=1)
            # All fields except the scores are equal for all members.
            fold_scores.append(member_scores[0]._replace(scores=scores))
        if not fold_scores:
            return None
        return HeldOutScores.concatenate(fold_scores).take(affordable_rows)

    def refit(self, training: Training) -> Self:
        """Estimate the members from fewer documents, and keep the weights."""
        smoothing = [member.training.smoothing for member in self.members]
        trainings = _make_member_trainings(training, smoothing)
        members = tuple(
            member.refit(member_training)
            for member, member_training in zip(self.members, trainings, strict=True)
        )
        return replace(self, training=training, members=members, held_out=None)

    def to_arrays(self) -> Arrays:
        """Return the weights, the pseudo-counts, and the arrays of each member.

        The name of an array of a member begins with the index of the member.
        """
        smoothing = np.array([member.training.smoothing for member in self.members])
        arrays: dict[str, Numbers] = {
            ENSEMBLE_WEIGHTS_ARRAY: np.concatenate(self.ensemble_weights),
            MEMBER_SMOOTHING_ARRAY: smoothing,
        }
        for index, member in enumerate(self.members):
            for name, array in member.to_arrays().items():
                arrays[f"{index}_{name}"] = array
        return arrays

    @classmethod
    def from_arrays(cls, training: Training, arrays: Arrays) -> Self:
        """Restore the model from the result of `to_arrays`.

        Raise `ModelError` if the arrays cannot come from `to_arrays`.
        """
        all_member_arrays = _split_member_arrays(training, arrays)
        weights = arrays.get(ENSEMBLE_WEIGHTS_ARRAY, np.empty(0)).astype(np.float64)
        n_members = len(training.settings.member_settings)
        is_valid = (
            weights.shape == (2 * n_members,)
            and np.all(weights[:n_members] > 0)
            and np.isfinite(weights).all()
        )
        require_valid_model(is_valid, "its weights do not fit its members")

        smoothing = arrays.get(MEMBER_SMOOTHING_ARRAY, np.empty(0)).astype(np.float64)
        require_valid_model(
            _is_valid_smoothing(training, smoothing), "the smoothing of its members is impossible"
        )

        trainings = _make_member_trainings(training, smoothing.tolist())
        members = []
        for member, member_arrays in zip(trainings, all_member_arrays, strict=True):
            member_class = select_classifier_class(member.statistics, member.settings)
            members.append(member_class.from_arrays(member, member_arrays))
        ensemble_weights = EnsembleWeights(weights[:n_members], weights[n_members:])
        return cls(training, tuple(members), ensemble_weights)

    def joint_log_likelihood(self, matrix: DocumentTermMatrix) -> ScoresAndTokens:
        """Return Σ_m u_m s_mk of each document, shape (n_docs, n_classes), in nats.

        For a mixture return log Σ_m p(m | data) p_m(C_k | d). Also return the number of used
        tokens, shape (n_docs,).
        """
        results = [member.joint_log_likelihood(matrix) for member in self.members]
        member_scores = [scores for scores, _ in results]
        _, lengths = results[0]  # equal for all members
        if self.training.settings.is_mixture:
            log_weights = np.log(self.ensemble_weights.scales).tolist()
            log_joints = [
                log_weight + normalize_log_joint(scores)
                for log_weight, scores in zip(log_weights, member_scores, strict=True)
            ]
            return np.logaddexp.reduce(log_joints), lengths
        weights = self.ensemble_weights.compute_member_weights(lengths)
        return _combine_scores(np.stack(member_scores, axis=1), weights), lengths

    @property
    def additive_members(self) -> list[AdditiveClassifier]:
        """The text classifiers of the members whose scores are sums over terms."""
        classifiers = [
            get_additive_classifier(unwrap_text_classifier(member)) for member in self.members
        ]
        return [classifier for classifier in classifiers if classifier is not None]

    def compute_document_weights(self, matrix: DocumentTermMatrix) -> Floats:
        """Return u of documents, shape (n_docs, n_members)."""
        # The lengths are equal for all members.
        _, lengths = self.members[0].joint_log_likelihood(matrix)
        return self.ensemble_weights.compute_member_weights(lengths)

    @property
    def bias(self) -> Floats:
        """The mean of the biases of the members, shape (n_classes,).

        It is the score of a document without used terms.
        """
        return np.mean([member.bias for member in self.additive_members], axis=0)

    def compute_document_biases(self, matrix: DocumentTermMatrix) -> Floats:
        """Return Σ_m u_m times the bias of each member, shape (n_docs, n_classes), in nats."""
        member_biases = np.stack([member.bias for member in self.additive_members])
        return _combine_scores(member_biases[np.newaxis], self.compute_document_weights(matrix))

    def compute_features(self, matrix: DocumentTermMatrix) -> DocumentTermMatrix:
        """Return the features of all members and the weights u of all members in the document.

        ``counts`` of the result have the shape (n_entries, 2 n_members): the first n_members
        columns are features, all others are weights.
        """
        document_weights = self.compute_document_weights(matrix)
        matrix = matrix.select_terms(self.training.selected)
        # An entry is a term of a document. The keys identify document and term.
        entry_keys = pair(matrix.entry_documents, matrix.terms)
        columns = []
        for member in self.additive_members:
            features = member.compute_features(matrix)
            # Members omit terms of weight 0.
            feature_keys = pair(features.entry_documents, features.terms)
            has_feature = np.isin(entry_keys, feature_keys)
            column = np.zeros(entry_keys.size)
            column[has_feature] = features.counts
            columns.append(column)
        entry_weights = document_weights[matrix.entry_documents]
        return matrix._replace(counts=np.column_stack((*columns, entry_weights)))

    def score_terms(self, terms: Ints, features: Numbers) -> Floats:
        """Return the contributions of features to the scores, shape (n, n_classes), in nats.

        ``features`` come from `compute_features`, shape (n, 2 n_members). With the shape (n,),
        all members have these features, and all weights are 1. A feature of 0 contributes nothing.
        """
        n_members = len(self.members)
        if features.ndim == 1:
            member_features = np.tile(features[:, np.newaxis], n_members)
            features = np.hstack((member_features, np.ones((features.size, n_members))))
        scores = np.zeros((terms.size, self.training.statistics.n_classes))
        for index, member in enumerate(self.additive_members):
            rows = np.flatnonzero(features[:, index] > 0)
            weights = features[rows, n_members + index, np.newaxis]
            scores[rows] += weights * member.score_terms(terms[rows], features[rows, index])
        return scores

    def compute_score_differences(
        self, features: DocumentTermMatrix, classes: Ints, rivals: Ints
    ) -> Floats:
        """Return Σ_m u_m times the score differences of the members, (n_entries,), in nats."""
        differences = np.zeros(features.terms.size)
        for index, member in enumerate(self.additive_members):
            has_feature = features.counts[:, index] > 0
            entries = features.select_entries(has_feature)
            weights = entries.counts[:, len(self.members) + index]
            differences[has_feature] += weights * member.compute_score_differences(
                entries._replace(counts=entries.counts[:, index]),
                classes[has_feature],
                rivals[has_feature],
            )
        return differences


def _split_member_arrays(training: Training, arrays: Arrays) -> list[dict[str, Numbers]]:
    """Return the arrays of each member, by their names without the index of the member.

    Raise `ModelError` for an array that belongs neither to a member nor to the ensemble.
    """
    indices = [str(index) for index in range(len(training.settings.member_settings))]
    member_arrays: list[dict[str, Numbers]] = [{} for _ in indices]
    for name, array in arrays.items():
        prefix, underscore, member_name = name.partition("_")
        if underscore and prefix in indices:
            member_arrays[int(prefix)][member_name] = array
        else:
            require_valid_model(
                name in (ENSEMBLE_WEIGHTS_ARRAY, MEMBER_SMOOTHING_ARRAY),
                "its classifier keeps an array that belongs to no member",
            )
    return member_arrays


def _is_valid_smoothing(training: Training, smoothing: Floats) -> bool:
    """Return True if the members can have these pseudo-counts, shape (n_members,)."""
    fixed_values = _get_fixed_smoothing(training)
    if smoothing.shape != (len(fixed_values),):
        return False
    if not (smoothing.min() >= 0 and smoothing.max() <= MAX_PSEUDO_COUNT):
        return False
    return all(
        fixed is None or fixed == pseudo_count
        for fixed, pseudo_count in zip(fixed_values, smoothing.tolist(), strict=True)
    )


# The versions of generic functions of `nbtext.classifiers` for this class.


@get_additive_classifier.register(EnsembleClassifier)
def get_additive_ensemble(classifier: EnsembleClassifier) -> EnsembleClassifier | None:
    """Return the classifier if the scores of all members are sums over terms, else None."""
    if classifier.training.settings.is_mixture:
        return None
    if len(classifier.additive_members) < len(classifier.members):
        return None
    return classifier


@score_held_out_sample.register(EnsembleClassifier)
def score_ensemble_held_out(
    classifier: EnsembleClassifier,
    training: Training,
    sample: CountedDocuments,
) -> HeldOutScores:
    """Return the scores of the documents that the weights were fitted to.

    Without such documents, score the sample by folds.
    """
    if classifier.held_out is not None:
        return classifier.held_out
    return score_by_folds(classifier, training, sample)


@iter_attribute_scores.register(EnsembleClassifier)
def iter_ensemble_attribute_scores(
    classifier: EnsembleClassifier, matrix: DocumentTermMatrix
) -> Iterator[Floats]:
    """Yield Σ_m u_m times the scores of each attribute in the members, shape (n_classes,).

    ``matrix`` contains one document. For a mixture u_m is p(m | data).
    """
    [weights] = classifier.compute_document_weights(matrix)
    member_scores = [iter_attribute_scores(member, matrix) for member in classifier.members]
    for attribute_scores in zip(*member_scores, strict=True):
        yield weights @ np.stack(attribute_scores)


@get_classifier_parameters.register(EnsembleClassifier)
def get_ensemble_parameters(classifier: EnsembleClassifier) -> ClassifierParameters:
    """Return the pair (c_m, β_m) of each member, by its name as in ``--set members``."""
    from nbtext.classifiers.inspection import ClassifierParameters

    names = classifier.training.settings.member_names
    weights = classifier.ensemble_weights
    weight_pairs = zip(weights.scales.tolist(), weights.exponents.tolist(), strict=True)
    return ClassifierParameters(member_weights=dict(zip(names, weight_pairs, strict=True)))


@collect_fit_warnings.register(EnsembleClassifier)
def collect_member_fit_warnings(classifier: EnsembleClassifier) -> list[str]:
    """Return the warnings of all members."""
    warnings = []
    for member in classifier.members:
        warnings.extend(collect_fit_warnings(member))
    return warnings


def _combine_scores(scores: Floats, weights: Floats) -> Floats:
    """Return Σ_m u_m s_mk, shape (n_docs, n_classes).

    ``scores`` have the shape (n_docs, n_members, n_classes), ``weights`` u (n_docs, n_members).
    """
    return (weights[:, :, np.newaxis] * scores).sum(axis=1)


def compute_evidence_weights(members: Sequence[Classifier], priors: Sequence[float]) -> Floats:
    """Return p(m | data) ∝ p(m) p(data | m) of models of the same data.

    ``priors`` are p(m), and all are above 0. The result has the shape (n_members,), and each weight
    is at least `MIN_MEMBER_WEIGHT`.
    """
    from nbtext.language_model.measures import compute_model_posteriors

    log_joints = []
    for member, prior in zip(members, priors, strict=True):
        log_joint = log(prior)
        for component in compute_component_fits(member):
            if component.evidence is not None:
                log_joint += float(component.evidence.sum())
        log_joints.append(log_joint)
    posteriors = compute_model_posteriors(log_joints)
    return np.array([max(model.probability, MIN_MEMBER_WEIGHT) for model in posteriors])


def _get_fixed_smoothing(training: Training) -> list[float | None]:
    """Return the pseudo-count that the settings fix for each member.

    It is None if the classifier of the member chooses it.
    """
    fixed_values: list[float | None] = []
    for settings in training.settings.member_settings:
        if training.settings.estimate == "ml":
            fixed_values.append(training.smoothing)
        elif isinstance(settings.smoothing, float):
            fixed_values.append(settings.smoothing)
        else:
            fixed_values.append(None)
    return fixed_values


def _choose_member_smoothing(training: Training) -> list[float]:
    """Return the pseudo-count of each member: the fixed one, or the choice of its classifier."""
    pseudo_counts = []
    member_settings = training.settings.member_settings
    fixed_values = _get_fixed_smoothing(training)
    for index, (settings, fixed) in enumerate(zip(member_settings, fixed_values, strict=True)):
        if fixed is not None:
            pseudo_counts.append(fixed)
        elif index == 0:  # `EnsembleClassifier.choose_smoothing` chose it.
            pseudo_counts.append(training.smoothing)
        else:
            member_class = load_classifier_class(settings.classifier)
            member_training = replace(training, settings=settings)
            pseudo_counts.append(member_class.choose_smoothing(member_training))
    return pseudo_counts


def _make_member_trainings(training: Training, smoothing: Sequence[float]) -> list[Training]:
    """Return the `Training` of each member, with its settings and pseudo-count."""
    pairs = zip(training.settings.member_settings, smoothing, strict=True)
    return [
        replace(training, settings=settings, smoothing=pseudo_count)
        for settings, pseudo_count in pairs
    ]
