"""From statistics to a classifier: which terms count, how strongly counts are smoothed, how probabilities are calibrated.

Pseudo-counts given by word are for terms: a word becomes a term as it would in a document, so the line of "printers" is for the term "printer",
and several words are an n-gram. The name of a counted feature, or of a character n-gram such as "un*", is the term as it stands.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from nbtext.classifiers.base import (
    Classifier,
    Training,
    class_for,
    class_prior,
    classifier_class,
    likelihood_per_token,
)
from nbtext.classifiers.held_out import fitted_calibration, uncalibrated, unseen_scores
from nbtext.compatibility import needs_documents, require_fitting
from nbtext.counts.counting import Analysis
from nbtext.counts.statistics import estimated, weights_of
from nbtext.counts.vocabulary import category_term, is_category
from nbtext.document_fields import NO_TEXT, Attributes, field_name
from nbtext.errors import UsageError, quantity
from nbtext.fitted_model import (
    Choices,
    FittedModel,
    Judgement,
    Learnt,
    dropped_terms,
    own_pseudo_counts,
    require_learnable,
    training_of,
)
from nbtext.model.auto_settings import choose, has_choice
from nbtext.prediction.calibration import Calibration, LeftOutPosteriors, Unseen
from nbtext.prediction.posterior import (
    ClassPosterior,
    LabelPosterior,
    Posterior,
    log_posterior,
    of_kind,
)
from nbtext.prediction.rule import minimum_error
from nbtext.prediction.typicality import Profile, Typicality
from nbtext.settings import ALL_OTHERS, BY_NAME, GivenSmoothing, Reading, Settings
from nbtext.text.surface_forms import PAIRS
from nbtext.text.words import words

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nbtext.counts.corpus_counts import CorpusCounts
    from nbtext.counts.count_table import CellCounts
    from nbtext.counts.documents import CountedDocuments
    from nbtext.counts.statistics import ClassStatistics, Seed, Seeds
    from nbtext.type_names import Floats, Mask


Term = tuple[str, ...]
"""A single term, or the terms of an n-gram."""


def require_words_or_categories(words: object, reading: Reading, option: str) -> None:
    """Raise `UsageError` if a word, a key of a mapping, is a number beside the text: what the option gives it would change nothing."""
    numbers = set(Attributes.of(reading).numbers)
    for word in words if isinstance(words, dict) else ():
        name, equals, _ = word.partition("=")
        if equals and name in numbers:
            raise UsageError(
                f"{option} names {word!r}, a number at {name!r}, and is for terms and for values "
                "of --categorical",
                hint="leave the line out",
            )


def looked_up(analysis: Analysis) -> Settings:
    """Return the settings as `learn` takes them: with a `GivenSmoothing` in place of pseudo-counts by word.

    Raises `UsageError` for a word that is no term, for two that are the same term and have different numbers, and for settings that exclude each other.
    """
    settings = analysis.settings
    require_fitting(settings)
    if isinstance(settings.smoothing, dict):
        settings = replace(settings, smoothing=_smoothing_by_term(settings.smoothing, analysis))
    return settings


def _smoothing_by_term(numbers: Mapping[str, float], analysis: Analysis) -> GivenSmoothing:
    """Return the pseudo-counts by term; raise `UsageError` for a word that is no term, and for two that are the same and have different numbers."""
    columns = set(Attributes.of(analysis.settings.reading).categorical)
    named = [
        word
        for word in numbers
        if word != ALL_OTHERS and not ("=" in word and word.partition("=")[0] in columns)
    ]
    own: dict[Term, float] = {}
    first: dict[Term, str] = {}
    for word, term in zip(named, terms_of_words(named, analysis, "--smoothing"), strict=True):
        if own.setdefault(term, numbers[word]) != numbers[word]:
            raise UsageError(
                f"--smoothing has two numbers for {' '.join(term)!r}, by {first[term]!r} and "
                f"{word!r}",
                hint="give one of them, or both the same",
            )
        first.setdefault(term, word)
    return GivenSmoothing(numbers[ALL_OTHERS], own, numbers)


def terms_of_words(named: list[str], analysis: Analysis, option: str) -> list[Term]:
    """Return the term of each word that an option names, as ``subject:offer`` in a field; raise `UsageError` if no document could hold it."""
    if analysis.settings.reading.is_counted:
        return [(word,) for word in named]
    known: dict[str, int] = {}
    analyzers = analysis.as_chosen(stop_words_kept=True, sides=(PAIRS,)).words(
        lambda terms: [known.setdefault(term, len(known)) for term in terms]
    )
    of_fields = [_field_of(word, analysis.settings.reading) for word in named]
    found: list[list[str]] = [[] for _ in named]
    for name in sorted(set(of_fields)):
        places = [place for place, other in enumerate(of_fields) if other == name]
        texts = [
            (named[place].partition(":")[2] if name else named[place]).encode() for place in places
        ]
        for analyzer in analyzers:
            sequence = analyzer.sequence(texts, [name] * len(texts) if name else None)
            names = list(known)
            for place, term in zip(
                sequence.documents.tolist(), sequence.terms.tolist(), strict=True
            ):
                found[places[place]].append(names[term])
    return [
        _checked(word, tuple(terms), analysis.settings, option)
        for word, terms in zip(named, found, strict=True)
    ]


def _field_of(word: str, reading: Reading) -> bytes:
    """Return the name of the field that stands before a word; empty if documents have no such field."""
    name, colon, _ = word.partition(":")
    if not colon or not (
        reading.tag_fields or reading.document in ("mail", BY_NAME) or reading.layout.mail
    ):
        return b""
    tagged = map(
        field_name, (reading.tag_fields or name).split(",")
    )  # mail has any field unless some are named
    return field_name(name) if field_name(name) in tagged else b""


def seed_terms(seeds: Seeds, analysis: Analysis) -> list[Seed]:
    """Return seeds with terms in place of words and of ``column=value``; raise `UsageError` for what no document could hold."""
    words = {seed.term[0]: None for seed in seeds}
    reading = analysis.settings.reading
    require_words_or_categories(words, reading, "--seeds")
    columns = tuple(f"{name}=" for name in Attributes.of(reading).categorical)
    others = [word for word in words if not word.startswith(columns) or word in columns]
    if others and reading.text_column == NO_TEXT:
        raise UsageError(
            f"--seeds names {others[0]!r}, which is no value of --categorical, and there is no "
            "text",
            hint="write column=value",
        )
    terms: dict[str, Term] = {
        word: (category_term(*word.split("=", 1)),) for word in words if word not in others
    }
    terms |= zip(others, terms_of_words(others, analysis, "--seeds"), strict=True)
    return sorted(seed._replace(term=terms[seed.term[0]]) for seed in seeds)


def _checked(word: str, term: Term, settings: Settings, option: str) -> Term:
    """Return the term of a word; raise `UsageError` if no document could hold it."""
    from nbtext.text.ngrams import WILDCARD

    if WILDCARD in word:
        if settings.char_ngrams is None:
            raise UsageError(
                f"{option} names {word!r}, and no term has an asterisk",
                hint="only * alone stands for all other terms",
            )
        return (word,)
    if not term:
        why = "it is a stop word" if words(word) else "there is no word in it"
        raise UsageError(f"{option} names {word!r}, which is no term: {why}", hint="leave it out")
    if len(term) > settings.ngrams:
        hint = f"train with --ngrams {len(term)}" if len(term) <= 10 else "leave it out"
        raise UsageError(
            f"{option} names {word!r}, which is {quantity(len(term), 'term')}", hint=hint
        )
    return term


MOST_SCORES: dict[type[Posterior], int] = {ClassPosterior: 1 << 22, LabelPosterior: 1 << 20}
"""Most scores of held-out documents to calibrate from, by the kind of labels: 32 and 8 MiB. With very many classes that is less than the sample."""


def learn(
    counts: CorpusCounts,
    settings: Settings,
    documents: CountedDocuments | None = None,
    choices: Choices | None = None,
    seeds: Seeds = (),
) -> Learnt:
    """Choose terms, smoothing and calibration, and fit what the statistics alone do not give.

    The settings are as `looked_up` returns them. ``documents`` are all there are, for a classifier that needs them. ``choices`` are made
    from the counts if they are not given. Raises `UsageError` if the limits leave no term of those there are, and for what excludes seeds or weights.
    """
    weights = weights_of(counts.table, settings, seeds)
    statistics = estimated(counts.table, weights)
    require_learnable(settings, statistics, seeds)
    learnt = terms_and_smoothing(statistics, counts.sample.documents, settings, documents, choices)
    sample = without_dropped(counts.sample.documents, statistics, learnt, settings)
    documents = (
        None if documents is None else without_dropped(documents, statistics, learnt, settings)
    )
    training = _training(statistics, learnt, settings, sample, documents)
    fitted = class_for(statistics, settings).estimate(training)
    learnt = replace(learnt, fitted=fitted.arrays(), calibration=uncalibrated(fitted))
    sample = scored_sample(sample, statistics)
    if not is_calibrated(settings) or not len(sample):
        return learnt
    unseen = unseen_scores(fitted, training, sample)
    by_its_terms = unseen
    if training.choose is not None:
        per_token = likelihood_per_token(fitted, unseen.scores, unseen.lengths, unseen.unknown)
        if per_token is not None:  # likelihoods over other terms cannot be compared
            by_its_terms = unseen_scores(fitted, replace(training, choose=None), sample)
    return calibrated(learnt, fitted, unseen, by_its_terms)


def left_out_posteriors(model: FittedModel) -> LeftOutPosteriors:
    """Return the posteriors of the sample by models without its documents: each left out of the counts, or where that is not exact by folds.

    Smoothing and calibration are those of all documents, as are terms unless labels choose them.
    Raise `UsageError` if the model keeps no documents, or needs all and kept no posteriors of them.
    """
    learnt = model.learnt
    statistics = model.statistics
    settings = looked_up(Analysis(model.settings, model.stop_list))
    if learnt.left_out is not None:
        return learnt.left_out
    if needs_documents(settings):
        raise UsageError(
            f"--classifier {settings.classifier} kept no answers to left-out documents, so "
            "coverage and precision cannot be promised",
            hint="train it again, with calibration and --set sample=N above 0",
        )
    sample = scored_sample(
        without_dropped(model.counts.sample.documents, statistics, learnt, settings), statistics
    )
    if not len(sample):
        raise UsageError(
            "the model keeps no documents to leave out", hint="train with --set sample=N above 0"
        )
    training = _training(statistics, learnt, settings, sample)
    fitted = class_for(statistics, settings).restored(training, learnt.fitted)
    return posteriors(fitted, learnt.calibration, unseen_scores(fitted, training, sample))


def posteriors(fitted: Classifier, calibration: Calibration, unseen: Unseen) -> LeftOutPosteriors:
    """Return the calibrated posteriors of documents that were left out, as far as may be by a calibration that has not seen them either."""
    scores, lengths, _, truth, weights = unseen._replace(
        scores=fitted.log_scale(unseen.scores, unseen.lengths)
    )
    if is_calibrated(fitted.training.settings):
        log_posterior = calibration.log_posterior_of_left_out(scores, truth, lengths, weights)
    else:
        log_posterior = calibration.log_posterior(scores, lengths)
    return LeftOutPosteriors.of(fitted.training.statistics.kind(log_posterior), truth, weights)


def scored_sample(sample: CountedDocuments, statistics: CellCounts) -> CountedDocuments:
    """Return as many documents as there may be scores of."""
    most = of_kind(MOST_SCORES, statistics.kind)
    return sample.rows(np.arange(min(len(sample), max(most // statistics.n_classes, 1))))


def calibrated(learnt: Learnt, fitted: Classifier, unseen: Unseen, by_its_terms: Unseen) -> Learnt:
    """Add the calibration that documents left out ask for, and their figures, those of likelihoods by models of the same terms."""
    from nbtext.metrics.outcomes import judge_posterior, proper_scores

    scores, lengths, unknown, *_ = by_its_terms
    per_token = likelihood_per_token(fitted, scores, lengths, unknown)
    answers = minimum_error(log_posterior(scores))
    profile = Profile.of(
        lengths + unknown,
        unknown,
        None if per_token is None else per_token[0],
        answers,
        scores.shape[1],
    )
    learnt = replace(
        learnt, typicality=None if per_token is None else Typicality.of(*per_token), profile=profile
    )
    scores, lengths, _, truth, of_known = unseen.of_known_classes()
    if not len(truth):
        return learnt
    weights = None if np.all(unseen.weights == 1) else of_known
    kind = fitted.training.statistics.kind

    def figures(calibration: Calibration, scores: Floats) -> dict[str, float]:
        found = proper_scores(
            judge_posterior(kind(calibration.log_posterior(scores, lengths)), truth), weights
        )
        return {figure: float(f"{value:.6g}") for figure, value in found.items()}

    calibrated = []
    for variant in fitted.variants():
        on_log_scale = variant.log_scale(scores, lengths)
        calibration = fitted_calibration(fitted, on_log_scale, truth, lengths, weights)
        calibrated.append((figures(calibration, on_log_scale), calibration, variant))
    after, calibration, chosen = min(calibrated, key=lambda one: one[0]["log_loss"])
    judgement: Judgement = {
        "documents": len(truth),
        "before": figures(uncalibrated(fitted), scores),
        "after": after,
    }
    left_out = (
        posteriors(chosen, calibration, unseen)
        if needs_documents(chosen.training.settings)
        else None
    )
    return replace(
        learnt,
        calibration=calibration,
        judgement=judgement,
        fitted=chosen.arrays(),
        left_out=left_out,
    )


def needs_sample(settings: Settings, choices: Choices | None = None) -> bool:
    """Return whether anything is estimated from the sample; ``choices`` that are given need none."""
    from_sample = (
        classifier_class(settings.classifier).LEARNS_FROM_SAMPLE
        or settings.smoothing == "leave-one-out"
    )
    return from_sample or is_calibrated(settings) or (choices is None and has_choice(settings))


def is_calibrated(settings: Settings) -> bool:
    """Return whether training fits a calibration: not if ``auto`` is none, as with maximum likelihood."""
    return settings.calibration == "auto" and settings.estimate != "ml"


def terms_and_smoothing(
    statistics: ClassStatistics,
    sample: CountedDocuments,
    settings: Settings,
    documents: CountedDocuments | None = None,
    choices: Choices | None = None,
) -> Learnt:
    """Choose terms and smoothing, before anything is fitted; raises as `learn` does. Limits of documents do not bind the terms of seeds."""
    selected = _within_document_limits(statistics.observed, settings.min_df, settings.max_df)
    if statistics.weights.seeds:
        selected |= statistics.seeds.held & ~is_category(statistics.vocabulary)
    if choices is None:
        choices = choose(
            statistics,
            sample,
            settings,
            selected,
            documents,
            pairs_only=bool(statistics.weights.seeds),
        )
    selected &= ~dropped_terms(statistics.vocabulary, settings, choices)
    own = own_pseudo_counts(statistics, settings)
    training = Training(statistics, selected, np.nan, settings, documents, sample, own)
    smoothing = _smoothing(training, choices)
    if settings.top is not None:
        training = replace(training, selected=_top(replace(training, smoothing=smoothing)))
        smoothing = _smoothing(training, choices)
    return Learnt(
        training.selected, smoothing, own=own, choices=choices, weights=statistics.weights
    )


def choices_of(
    counts: CorpusCounts, settings: Settings, documents: CountedDocuments | None = None
) -> Choices:
    """Return what ``auto`` stands for in a model of this corpus, whose documents may be given; raises as `learn` does."""
    statistics = estimated(counts.table, weights_of(counts.table, settings))
    return terms_and_smoothing(
        statistics, counts.sample.documents, replace(settings, top=None), documents
    ).choices


def without_dropped(
    documents: CountedDocuments, statistics: CellCounts, learnt: Learnt, settings: Settings
) -> CountedDocuments:
    """Return documents as they are counted to be answered: without what `auto` does not keep."""
    dropped = dropped_terms(statistics.vocabulary, settings, learnt.choices) & ~learnt.selected
    return (
        replace(documents, matrix=documents.matrix.of_terms(~dropped))
        if dropped.any()
        else documents
    )


def _top(training: Training) -> Mask:
    from nbtext.selection import rank

    statistics = training.statistics
    settings = training.settings
    best = rank(
        training.language_models(statistics),
        class_prior(settings.class_prior, statistics),
        settings.by,
        settings.top,
    ).terms
    selected = np.zeros_like(training.selected)
    selected[best] = True
    return selected


def _training(
    statistics: ClassStatistics,
    learnt: Learnt,
    settings: Settings,
    sample: CountedDocuments,
    documents: CountedDocuments | None = None,
) -> Training:
    """Return what a classifier is estimated from; with ``--top`` it selects terms from fewer documents with the same limits and smoothing."""
    training = training_of(statistics, learnt, settings, documents, sample)
    if settings.top is None:
        return training
    within = _within_document_limits(statistics, settings.min_df, settings.max_df)
    within &= ~dropped_terms(statistics.vocabulary, settings, learnt.choices)
    return replace(
        training,
        choose=lambda fewer: _top(
            replace(training, statistics=fewer, selected=within & fewer.held)
        ),
    )


def _within_document_limits(statistics: ClassStatistics, min_df: int, max_df: float) -> Mask:
    of_texts = ~is_category(statistics.vocabulary)
    here = statistics.held & of_texts
    n_terms = int(np.count_nonzero(of_texts))
    if min_df == 1 and max_df == 1:
        return here
    documents = statistics.term_documents
    selected: Mask = here & (documents >= min_df) & (documents <= max_df * statistics.n_documents)
    if n_terms and not selected.any():
        raise UsageError(
            f"none of the {quantity(n_terms, 'term')} is left",
            hint="lower --min-df or raise --max-df",
        )
    return selected


def _smoothing(training: Training, choices: Choices) -> float:
    if choices.pseudo_count is not None:
        return choices.pseudo_count
    settings = training.settings
    sample = training.sample
    chosen = classifier_class(training.settings.classifier)
    given = settings.smoothing
    if settings.estimate == "ml":
        return 0.0
    if given == "leave-one-out" and sample is not None:
        from nbtext.counts.weighting import as_summed
        from nbtext.language_model.smoothing import smoothing_by_leave_one_out

        summed = as_summed(sample, settings.weighting)
        return smoothing_by_leave_one_out(
            training.weighted_statistics(), training.selected, settings.prior_shape, summed
        )
    if isinstance(given, GivenSmoothing):
        return given.others
    if isinstance(given, (int, float, tuple)):
        return float(given[0] if isinstance(given, tuple) else given)
    return chosen.smoothing(training)
