"""Pseudo-counts given word by word: how they are read, and which terms of a model the words are.

A word becomes a term as it would in a document, so the line of "printers" is that of the term "printer"; one of several words is that of
the n-gram. A name of counted features, or of a character n-gram such as "un*", is the term as it stands.


From statistics to a classifier: which terms count, how strongly counts are smoothed, how probabilities are calibrated.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from nbtext.calibration import METHODS, UNCALIBRATED, Calibration
from nbtext.classifiers.base import Training, class_prior
from nbtext.classifiers.registry import classifier_class
from nbtext.corpus.lines import read_named_numbers
from nbtext.counts.vocabulary import has_categories, is_category
from nbtext.decision import log_posterior, minimum_error
from nbtext.errors import PathError, UsageError, quantity
from nbtext.language_model.dirichlet import NO_OWN, LanguageModels, OwnPseudoCounts
from nbtext.language_model.smoothing import could_be_chosen
from nbtext.settings import ALL_OTHERS
from nbtext.text.analyzer import UNKNOWN, Analyzer
from nbtext.text.ngrams import WILDCARD
from nbtext.text.stemming import stemmer
from nbtext.text.words import words
from nbtext.typicality import Profile, Typicality

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from nbtext.classifiers.base import Classifier, Unseen
    from nbtext.counts.corpus_counts import CorpusCounts
    from nbtext.counts.documents import CountedDocuments
    from nbtext.counts.statistics import ClassStatistics
    from nbtext.counts.vocabulary import Vocabulary


Term = tuple[str, ...]
"""A single term, or the terms of an n-gram."""


def read_smoothing(value: str | None) -> Any:  # noqa: ANN401 - what the parameter table takes
    """What an option says: a name or a number as it is, or the pseudo-counts by word of a file with lines of a word, a tab and a number.

    Raises `UsageError` if there is no such name or file, `PathError` for a file that cannot be read or does not say what all others have.
    """
    if value is None or value in ("auto", "leave-one-out") or _is_number(value):
        return value
    numbers = read_named_numbers(value, "a term")
    if numbers is None:
        raise UsageError(f"--smoothing knows no {value!r}", hint="use auto, leave-one-out, a number or a file")
    if ALL_OTHERS not in numbers:
        raise PathError(f"no line says what all other terms have, {ALL_OTHERS!r}", where=value, hint="add one: *, a tab and a number")
    return numbers


@dataclass(frozen=True)
class GivenSmoothing:
    """Pseudo-counts of some terms, whether a vocabulary holds them or not, and that of all others."""

    others: float
    own: Mapping[Term, float]

    def over(self, vocabulary: Vocabulary) -> OwnPseudoCounts:
        """Those of the terms that there are."""
        return OwnPseudoCounts.of_terms(
            {
                number: pseudo_count
                for number, pseudo_count in zip(vocabulary.find_terms(list(self.own)).tolist(), self.own.values(), strict=True)
                if number != UNKNOWN
            },
            self.others,
        )


def looked_up(parameters: Mapping[str, Any], stop_list: Sequence[str], reading: Mapping[str, Any]) -> Mapping[str, Any]:
    """The parameters as `nbtext.model.training` takes them: with a `GivenSmoothing` where they have pseudo-counts by word.

    Raises `UsageError` for a word that is no term, for two that are the same one and have different numbers, and for a classifier or a shape of
    the prior that does not go with them.
    """
    numbers = parameters["smoothing"]
    if not isinstance(numbers, dict):
        return parameters
    if not classifier_class(parameters["classifier"]).TAKES_OWN_PSEUDO_COUNTS:
        hint = "give --smoothing one number"
        raise UsageError(f"--classifier {parameters['classifier']} does not take pseudo-counts by term", hint=hint)
    if parameters["prior_shape"] != "symmetric":
        setting = f"--prior-shape {parameters['prior_shape']}"
        raise UsageError(f"{setting} and pseudo-counts by term exclude each other", hint="the numbers themselves are the shape")
    named = [word for word in numbers if word != ALL_OTHERS]
    own: dict[Term, float] = {}
    first: dict[Term, str] = {}
    for word, term in zip(named, _terms(named, parameters, stop_list, reading), strict=True):
        if own.setdefault(term, numbers[word]) != numbers[word]:
            hint = "give one of them, or both the same"
            raise UsageError(f"--smoothing has two numbers for {' '.join(term)!r}, by {first[term]!r} and {word!r}", hint=hint)
        first.setdefault(term, word)
    return {**parameters, "smoothing": GivenSmoothing(numbers[ALL_OTHERS], own)}


def _terms(named: list[str], parameters: Mapping[str, Any], stop_list: Sequence[str], reading: Mapping[str, Any]) -> list[Term]:
    if reading["format"] == "svmlight":
        return [(word,) for word in named]
    known: dict[str, int] = {}
    stem = stemmer(parameters["stemmer"], parameters["language"])
    analyzer = Analyzer(stop_list, stem, lambda terms: [known.setdefault(term, len(known)) for term in terms])
    sequence = analyzer.sequence([word.encode() for word in named])
    names = list(known)
    found: list[list[str]] = [[] for _ in named]
    for place, term in zip(sequence.documents.tolist(), sequence.terms.tolist(), strict=True):
        found[place].append(names[term])
    return [_checked(word, tuple(terms), parameters) for word, terms in zip(named, found, strict=True)]


def _checked(word: str, term: Term, parameters: Mapping[str, Any]) -> Term:
    """The term of a word; raises `UsageError` if no document could hold it."""
    if WILDCARD in word:
        if parameters["char_ngrams"] is None:
            raise UsageError(f"--smoothing names {word!r}, and no term has an asterisk", hint="only * alone stands for all other terms")
        return (word,)
    if not term:
        why = "it is a stop word" if words(word) else "there is no word in it"
        raise UsageError(f"--smoothing names {word!r}, which is no term: {why}", hint="leave it out")
    if len(term) > parameters["ngrams"]:
        hint = f"train with --ngrams {len(term)}" if len(term) <= 10 else "leave it out"
        raise UsageError(f"--smoothing names {word!r}, which is {quantity(len(term), 'term')}", hint=hint)
    return term


def _is_number(value: str) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True


MOST_SCORES = 1 << 22
"""Scores of left-out documents by class that are calibrated from at most: 32 MiB. With very many classes that is less than the sample."""


@dataclass(frozen=True, eq=False)
class Learnt:
    """What estimation chose on top of the counts."""

    selected: NDArray[np.bool_]
    """The terms that count, shape (n_terms,)."""
    smoothing: float
    calibration: Calibration = UNCALIBRATED
    judgement: Mapping[str, Any] | None = None
    """How good the posteriors of left-out documents of the sample were: `documents`, and `before` and `after` calibration log loss, Brier
    score and calibration error; None where it was not calibrated."""
    typicality: Typicality | None = None
    profile: Profile | None = None
    """What left-out documents of the sample looked like; None where it was not calibrated."""
    fitted: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    """What the classifier keeps beside the statistics, by name."""
    own: OwnPseudoCounts = NO_OWN
    """The pseudo-counts of terms that do not have ``smoothing``, as they were given."""


def learn(counts: CorpusCounts, parameters: Mapping[str, Any], documents: CountedDocuments | None = None) -> Learnt:
    """Choose terms, smoothing and calibration, and fit what the statistics alone do not give.

    The parameters are as `nbtext.model.training.looked_up` gives them. ``documents`` are all there are, for a classifier that needs
    them. Raises `UsageError` if the limits leave no term of those there are.
    """
    learnt = terms_and_smoothing(counts, parameters)
    choose = _chooser(counts.statistics, learnt, parameters)
    training = Training(
        counts.statistics, learnt.selected, learnt.smoothing, parameters, documents, counts.sample.documents, learnt.own, choose
    )
    fitted = class_for(counts.statistics, parameters).estimate(training)
    learnt = replace(learnt, fitted=fitted.arrays())
    method = calibration_method(parameters)
    sample = counts.sample.documents
    sample = sample.rows(np.arange(min(len(sample), max(MOST_SCORES // counts.statistics.n_classes, 1))))
    if method == "none" or not len(sample):
        return learnt
    unseen = fitted.unseen(training, sample)
    by_its_terms = unseen
    if choose is not None and fitted.likelihood_per_token(unseen.scores, unseen.lengths, unseen.unknown) is not None:
        by_its_terms = fitted.unseen(replace(training, choose=None), sample)  # likelihoods over other terms cannot be compared
    return _calibrated(_with_profile(learnt, fitted, by_its_terms), method, fitted, unseen)


def _with_profile(learnt: Learnt, fitted: Classifier, unseen: Unseen) -> Learnt:
    """With what documents look like to the model that it did not learn."""
    per_token = fitted.likelihood_per_token(unseen.scores, unseen.lengths, unseen.unknown)
    tokens, answers = unseen.lengths + unseen.unknown, minimum_error(log_posterior(unseen.scores))
    profile = Profile.of(tokens, unseen.unknown, None if per_token is None else per_token[0], answers, unseen.scores.shape[1])
    return replace(learnt, typicality=None if per_token is None else Typicality.of(*per_token), profile=profile)


def _calibrated(learnt: Learnt, method: str, fitted: Classifier, unseen: Unseen) -> Learnt:
    from nbtext.metrics.evaluation import proper_scores
    from nbtext.metrics.outcomes import judge_documents

    usable = np.isfinite(unseen.scores[np.arange(len(unseen.classes)), unseen.classes])  # not where the class went with its only document
    if not usable.any():
        return learnt
    scores, lengths, truth = unseen.scores[usable], unseen.lengths[usable], unseen.classes[usable]

    def figures(calibration: Calibration, scores: NDArray[np.float64]) -> dict[str, float]:
        posterior = calibration.log_posterior(scores, lengths)
        found = proper_scores(judge_documents(truth, posterior.argmax(axis=1), posterior))
        return {figure: float(f"{value:.6g}") for figure, value in found.items()}

    calibrated = []
    for variant in fitted.variants():
        on_log_scale = variant.log_scale(scores, lengths)
        calibration = METHODS[method](on_log_scale, truth, lengths)
        calibrated.append((figures(calibration, on_log_scale), calibration, variant))
    after, calibration, chosen = min(calibrated, key=lambda one: one[0]["log_loss"])
    judgement = {"documents": len(truth), "before": figures(UNCALIBRATED, scores), "after": after}
    return replace(learnt, calibration=calibration, judgement=judgement, fitted=chosen.arrays())


def needs_documents(parameters: Mapping[str, Any]) -> bool:
    """Whether the classifier needs all documents; raises `UsageError` if it does not take the weighting, the shape of the prior or a class prior."""
    chosen = classifier_class(parameters["classifier"])
    for name, taken in (("weighting", chosen.WEIGHTINGS), ("prior_shape", chosen.PRIOR_SHAPES)):
        if parameters[name] not in taken:
            setting = f"--{name.replace('_', '-')} {parameters[name]}"
            raise UsageError(f"--classifier {parameters['classifier']} does not take {setting}", hint=f"it takes {', '.join(taken)}")
    if not chosen.HAS_CLASS_PRIOR and parameters["class_prior"] not in ("empirical", "uniform"):
        message = f"--classifier {parameters['classifier']} has no class prior, so --class-prior would change nothing"
        raise UsageError(message, hint="leave it out, or take another classifier")
    if parameters["max_terms"] is not None and parameters["surface_forms"]:
        raise UsageError("--max-terms and --surface-forms exclude each other", hint="inflected words are without bound")
    if parameters["max_terms"] is not None and chosen.needs_documents(parameters):
        raise UsageError(
            "--max-terms is for models of counts alone", hint=f"use --top or --min-df with --classifier {parameters['classifier']}"
        )
    return chosen.needs_documents(parameters)


def require_additive(parameters: Mapping[str, Any]) -> None:
    """Raise `UsageError` for a classifier that needs all documents at once: counts of its documents are not all that it was made from."""
    if needs_documents(parameters):
        kind = "--classifier {classifier} --weighting {weighting}".format_map(parameters)
        raise UsageError(f"a model of {kind} cannot be changed exactly", hint="train it again on all documents")


def needs_sample(parameters: Mapping[str, Any]) -> bool:
    """Whether anything is learnt from the sample."""
    from_sample = classifier_class(parameters["classifier"]).LEARNS_FROM_SAMPLE or parameters["smoothing"] == "leave-one-out"
    return from_sample or calibration_method(parameters) != "none"


def calibration_method(parameters: Mapping[str, Any]) -> str:
    """A name of `nbtext.calibration.METHODS`, or ``none``."""
    if parameters["calibration"] != "auto":
        return str(parameters["calibration"])
    return "none" if parameters["estimate"] == "ml" else "length"


def terms_and_smoothing(counts: CorpusCounts, parameters: Mapping[str, Any]) -> Learnt:
    """What is chosen before anything is fitted; raises as `learn` does."""
    statistics = counts.statistics
    selected = _within_document_limits(statistics, parameters["min_df"], parameters["max_df"])
    smoothing, own = _smoothing(counts, selected, parameters), own_pseudo_counts(statistics, parameters)
    if parameters["top"] is not None:
        selected = _top(statistics, Learnt(selected, smoothing, own=own), parameters)
        smoothing = _smoothing(counts, selected, parameters)
    return Learnt(selected, smoothing, own=own)


def _top(statistics: ClassStatistics, learnt: Learnt, parameters: Mapping[str, Any]) -> NDArray[np.bool_]:
    from nbtext.selection import rank

    models = language_models(statistics, learnt, parameters)
    best = rank(models, class_prior(parameters["class_prior"], statistics), parameters["by"], parameters["top"]).terms
    selected = np.zeros_like(learnt.selected)
    selected[best] = True
    return selected


def _chooser(
    statistics: ClassStatistics, learnt: Learnt, parameters: Mapping[str, Any]
) -> Callable[[ClassStatistics], NDArray[np.bool_]] | None:
    """Selects terms as training does, from fewer documents with the same limits and smoothing; None where labels have no part in it."""
    if parameters["top"] is None:
        return None
    within = _within_document_limits(statistics, parameters["min_df"], parameters["max_df"])

    def choose(fewer: ClassStatistics) -> NDArray[np.bool_]:
        return _top(fewer, replace(learnt, selected=within & (np.diff(fewer.term_offsets) > 0)), parameters)

    return choose


def own_pseudo_counts(statistics: ClassStatistics, parameters: Mapping[str, Any]) -> OwnPseudoCounts:
    """Those of terms of the vocabulary that were given them; parameters as `learn` takes them."""
    given = parameters["smoothing"]
    return given.over(statistics.vocabulary) if isinstance(given, GivenSmoothing) and parameters["estimate"] != "ml" else NO_OWN


def language_models(statistics: ClassStatistics, learnt: Learnt, parameters: Mapping[str, Any]) -> LanguageModels:
    """The class language models that follow."""
    return LanguageModels(statistics, learnt.selected, learnt.smoothing, parameters["prior_shape"], parameters["estimate"], learnt.own)


def classifier(statistics: ClassStatistics, learnt: Learnt, parameters: Mapping[str, Any]) -> Classifier:
    """The classifier that follows; raises `ModelError` if what was fitted cannot be its."""
    training = Training(statistics, learnt.selected, learnt.smoothing, parameters, own=learnt.own)
    return class_for(statistics, parameters).restored(training, learnt.fitted)


def class_for(statistics: ClassStatistics, parameters: Mapping[str, Any]) -> type[Classifier]:
    """The kind of classifier for such documents: that of the parameters, or with attributes one around it."""
    if not statistics.attributes.names:
        return classifier_class(parameters["classifier"])
    from nbtext.classifiers.attributed import AttributedClassifier

    return AttributedClassifier


def _within_document_limits(statistics: ClassStatistics, min_df: int, max_df: float) -> NDArray[np.bool_]:
    here, n_terms = np.diff(statistics.term_offsets) > 0, statistics.n_terms  # in a part of a corpus some terms may have no cells
    if has_categories(statistics.vocabulary):
        categories = is_category(statistics.vocabulary)
        here &= ~categories
        n_terms -= int(np.count_nonzero(categories))
    if min_df == 1 and max_df == 1:
        return here
    documents = statistics.term_documents
    selected: NDArray[np.bool_] = here & (documents >= min_df) & (documents <= max_df * statistics.n_documents)
    if n_terms and not selected.any():
        raise UsageError(f"none of the {quantity(n_terms, 'term')} is left", hint="lower --min-df or raise --max-df")
    return selected


def is_possible_smoothing(smoothing: float, n_terms: int, parameters: Mapping[str, Any]) -> bool:
    """Return whether training with these parameters, as a model file has them, can make this pseudo-count."""
    given = parameters["smoothing"]
    if parameters["estimate"] == "ml":
        return smoothing == 0
    if isinstance(given, str):
        return could_be_chosen(smoothing, n_terms)
    return bool(smoothing == (given[ALL_OTHERS] if isinstance(given, dict) else given))


def _smoothing(counts: CorpusCounts, selected: NDArray[np.bool_], parameters: Mapping[str, Any]) -> float:
    statistics, sample = counts.statistics, counts.sample.documents
    if parameters["estimate"] == "ml":
        return 0.0
    if parameters["smoothing"] == "leave-one-out":
        from nbtext.language_model.smoothing import smoothing_by_leave_one_out

        if parameters["classifier"] != "multinomial" or parameters["weighting"] != "counts":
            raise UsageError("--smoothing leave-one-out is for --classifier multinomial on counts only", hint="use auto or a number")
        if not len(sample):
            raise UsageError("--smoothing leave-one-out needs documents, and the model keeps none", hint="train with a --sample above 0")
        return smoothing_by_leave_one_out(statistics, selected, parameters["prior_shape"], sample)
    if isinstance(parameters["smoothing"], GivenSmoothing):
        return parameters["smoothing"].others
    if parameters["smoothing"] != "auto":
        return float(parameters["smoothing"])
    return classifier_class(parameters["classifier"]).smoothing(statistics, selected, parameters)
