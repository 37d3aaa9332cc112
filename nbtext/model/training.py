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
    compute_class_prior,
    compute_log_likelihood_per_token,
    load_classifier_class,
    select_classifier_class,
)
from nbtext.classifiers.held_out import (
    fit_classifier_calibration,
    make_textbook_calibration,
    score_held_out_sample,
)
from nbtext.compatibility import needs_documents, require_compatible_settings
from nbtext.counts.counting import Analysis
from nbtext.counts.statistics import build_count_weights, estimate_statistics
from nbtext.counts.vocabulary import is_category, make_category_term
from nbtext.document_fields import NO_TEXT, Attributes, normalise_field_name
from nbtext.errors import UsageError, format_quantity
from nbtext.fitted_model import (
    CalibrationQuality,
    Choices,
    FittedModel,
    FittedParameters,
    build_training,
    find_dropped_terms,
    find_own_pseudo_counts,
    require_trainable,
)
from nbtext.model.auto_settings import choose_auto_settings, has_auto_settings
from nbtext.prediction.calibration import Calibration, HeldOutPosteriors, HeldOutScores
from nbtext.prediction.posterior import (
    ClassPosterior,
    LabelPosterior,
    Posterior,
    look_up_kind,
    normalize_log_joint,
)
from nbtext.prediction.rule import predict_minimum_error
from nbtext.prediction.typicality import Profile, Typicality
from nbtext.settings import DEFAULT_TERM, KIND_BY_NAME, Reading, Settings, TermSmoothing
from nbtext.text.surface_forms import PAIRS
from nbtext.text.words import split_words

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nbtext.counts.corpus_counts import CorpusCounts
    from nbtext.counts.count_table import CellCounts
    from nbtext.counts.documents import CountedDocuments
    from nbtext.counts.statistics import ClassStatistics, SeedTerm, SeedTerms
    from nbtext.type_names import Floats, Mask


Term = tuple[str, ...]
"""A single term, or the terms of an n-gram."""


def require_words_or_categories(words: object, reading: Reading, option: str) -> None:
    """Raise `UsageError` if a word, a key of a mapping, is a number beside the text: what the option gives it would change nothing."""
    numbers = set(Attributes.from_settings(reading).number_columns)
    for word in words if isinstance(words, dict) else ():
        name, equals, _ = word.partition("=")
        if equals and name in numbers:
            raise UsageError(
                f"{option} names {word!r}, a number at {name!r}, and is for terms and for values "
                "of --categorical",
                hint="leave the line out",
            )


def resolve_smoothing_terms(analysis: Analysis) -> Settings:
    """Return the settings as `learn` takes them: with a `TermSmoothing` in place of pseudo-counts by word.

    Raises `UsageError` for a word that is no term, for two that are the same term and have different numbers, and for settings that exclude each other.
    """
    settings = analysis.settings
    require_compatible_settings(settings)
    if isinstance(settings.smoothing, dict):
        settings = replace(settings, smoothing=_smoothing_by_term(settings.smoothing, analysis))
    return settings


def _smoothing_by_term(numbers: Mapping[str, float], analysis: Analysis) -> TermSmoothing:
    """Return the pseudo-counts by term; raise `UsageError` for a word that is no term, and for two that are the same and have different numbers."""
    columns = set(Attributes.from_settings(analysis.settings.reading).categorical)
    named = [
        word
        for word in numbers
        if word != DEFAULT_TERM and not ("=" in word and word.partition("=")[0] in columns)
    ]
    own: dict[Term, float] = {}
    first: dict[Term, str] = {}
    for word, term in zip(named, resolve_terms(named, analysis, "--smoothing"), strict=True):
        if own.setdefault(term, numbers[word]) != numbers[word]:
            raise UsageError(
                f"--smoothing has two numbers for {' '.join(term)!r}, by {first[term]!r} and "
                f"{word!r}",
                hint="give one of them, or both the same",
            )
        first.setdefault(term, word)
    return TermSmoothing(numbers[DEFAULT_TERM], own, numbers)


def resolve_terms(named: list[str], analysis: Analysis, option: str) -> list[Term]:
    """Return the term of each word that an option names, as ``subject:offer`` in a field; raise `UsageError` if no document could hold it."""
    if analysis.settings.reading.is_counted:
        return [(word,) for word in named]
    known: dict[str, int] = {}
    analyzers = analysis.with_choices(keep_stop_words=True, segmentations=(PAIRS,)).build_analyzers(
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
            sequence = analyzer.analyse(texts, [name] * len(texts) if name else None)
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
        reading.tag_fields or reading.document in ("mail", KIND_BY_NAME) or reading.layout.is_mail
    ):
        return b""
    tagged = map(
        normalise_field_name, (reading.tag_fields or name).split(",")
    )  # mail has any field unless some are named
    return normalise_field_name(name) if normalise_field_name(name) in tagged else b""


def resolve_seed_terms(seeds: SeedTerms, analysis: Analysis) -> list[SeedTerm]:
    """Return seeds with terms in place of words and of ``column=value``; raise `UsageError` for what no document could hold."""
    words = {seed.term[0]: None for seed in seeds}
    reading = analysis.settings.reading
    require_words_or_categories(words, reading, "--seeds")
    columns = tuple(f"{name}=" for name in Attributes.from_settings(reading).categorical)
    others = [word for word in words if not word.startswith(columns) or word in columns]
    if others and reading.text_column == NO_TEXT:
        raise UsageError(
            f"--seeds names {others[0]!r}, which is no value of --categorical, and there is no "
            "text",
            hint="write column=value",
        )
    terms: dict[str, Term] = {
        word: (make_category_term(*word.split("=", 1)),) for word in words if word not in others
    }
    terms |= zip(others, resolve_terms(others, analysis, "--seeds"), strict=True)
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
        why = "it is a stop word" if split_words(word) else "there is no word in it"
        raise UsageError(f"{option} names {word!r}, which is no term: {why}", hint="leave it out")
    if len(term) > settings.ngrams:
        hint = f"train with --ngrams {len(term)}" if len(term) <= 10 else "leave it out"
        raise UsageError(
            f"{option} names {word!r}, which is {format_quantity(len(term), 'term')}", hint=hint
        )
    return term


MAX_CALIBRATION_SCORES: dict[type[Posterior], int] = {
    ClassPosterior: 1 << 22,
    LabelPosterior: 1 << 20,
}
"""Most scores of held-out documents to calibrate from, by the kind of labels: 32 and 8 MiB. With very many classes that is less than the sample."""


def fit_parameters(
    counts: CorpusCounts,
    settings: Settings,
    documents: CountedDocuments | None = None,
    choices: Choices | None = None,
    seeds: SeedTerms = (),
) -> FittedParameters:
    """Choose terms, smoothing and calibration, and fit what the statistics alone do not give.

    The settings are as `resolve_smoothing_terms` returns them. ``documents`` are all there are, for a classifier that needs them. ``choices`` are made
    from the counts if they are not given. Raises `UsageError` if the limits leave no term of those there are, and for what excludes seeds or weights.
    """
    weights = build_count_weights(counts.table, settings, seeds)
    statistics = estimate_statistics(counts.table, weights)
    require_trainable(settings, statistics, seeds)
    learnt = choose_terms_and_smoothing(
        statistics, counts.sample.documents, settings, documents, choices
    )
    sample = remove_dropped_terms(counts.sample.documents, statistics, learnt, settings)
    documents = (
        None if documents is None else remove_dropped_terms(documents, statistics, learnt, settings)
    )
    training = _training(statistics, learnt, settings, sample, documents)
    fitted = select_classifier_class(statistics, settings).estimate(training)
    learnt = replace(
        learnt, classifier_arrays=fitted.to_arrays(), calibration=make_textbook_calibration(fitted)
    )
    sample = limit_sample(sample, statistics)
    if not is_calibrated(settings) or not len(sample):
        return learnt
    unseen = score_held_out_sample(fitted, training, sample)
    by_its_terms = unseen
    if training.term_selector is not None:
        per_token = compute_log_likelihood_per_token(
            fitted, unseen.scores, unseen.lengths, unseen.unknown_lengths
        )
        if per_token is not None:  # likelihoods over other terms cannot be compared
            by_its_terms = score_held_out_sample(
                fitted, replace(training, term_selector=None), sample
            )
    return add_calibration(learnt, fitted, unseen, by_its_terms)


def compute_held_out_posteriors(model: FittedModel) -> HeldOutPosteriors:
    """Return the posteriors of the sample by models without its documents: each left out of the counts, or where that is not exact by folds.

    Smoothing and calibration are those of all documents, as are terms unless labels choose them.
    Raise `UsageError` if the model keeps no documents, or needs all and kept no posteriors of them.
    """
    learnt = model.parameters
    statistics = model.statistics
    settings = resolve_smoothing_terms(Analysis(model.settings, model.stop_list))
    if learnt.held_out_posteriors is not None:
        return learnt.held_out_posteriors
    if needs_documents(settings):
        raise UsageError(
            f"--classifier {settings.classifier} kept no answers to left-out documents, so "
            "coverage and precision cannot be promised",
            hint="train it again, with calibration and --set sample=N above 0",
        )
    sample = limit_sample(
        remove_dropped_terms(model.counts.sample.documents, statistics, learnt, settings),
        statistics,
    )
    if not len(sample):
        raise UsageError(
            "the model keeps no documents to leave out", hint="train with --set sample=N above 0"
        )
    training = _training(statistics, learnt, settings, sample)
    fitted = select_classifier_class(statistics, settings).from_arrays(
        training, learnt.classifier_arrays
    )
    return calibrate_posteriors(
        fitted, learnt.calibration, score_held_out_sample(fitted, training, sample)
    )


def calibrate_posteriors(
    fitted: Classifier, calibration: Calibration, unseen: HeldOutScores
) -> HeldOutPosteriors:
    """Return the calibrated posteriors of documents that were left out, as far as may be by a calibration that has not seen them either."""
    scores, lengths, _, truth, weights = unseen._replace(
        scores=fitted.to_log_scale(unseen.scores, unseen.lengths)
    )
    if is_calibrated(fitted.training.settings):
        log_posterior = calibration.compute_held_out_log_posterior(scores, truth, lengths, weights)
    else:
        log_posterior = calibration.compute_log_posterior(scores, lengths)
    return HeldOutPosteriors.from_posterior(
        fitted.training.statistics.posterior_type(log_posterior), truth, weights
    )


def limit_sample(sample: CountedDocuments, statistics: CellCounts) -> CountedDocuments:
    """Return as many documents as there may be scores of."""
    most = look_up_kind(MAX_CALIBRATION_SCORES, statistics.posterior_type)
    return sample.take(np.arange(min(len(sample), max(most // statistics.n_classes, 1))))


def add_calibration(
    learnt: FittedParameters,
    fitted: Classifier,
    unseen: HeldOutScores,
    unselected_scores: HeldOutScores,
) -> FittedParameters:
    """Add the calibration that documents left out ask for, and their figures, those of likelihoods by models of the same terms."""
    from nbtext.metrics.outcomes import proper_scores, score_posterior

    scores, lengths, unknown, *_ = unselected_scores
    per_token = compute_log_likelihood_per_token(fitted, scores, lengths, unknown)
    answers = predict_minimum_error(normalize_log_joint(scores))
    profile = Profile.from_documents(
        lengths + unknown,
        unknown,
        None if per_token is None else per_token[0],
        answers,
        scores.shape[1],
    )
    learnt = replace(
        learnt,
        typicality=None if per_token is None else Typicality.from_likelihoods(*per_token),
        profile=profile,
    )
    scores, lengths, _, truth, of_known = unseen.take_known_classes()
    if not len(truth):
        return learnt
    weights = None if np.all(unseen.weights == 1) else of_known
    kind = fitted.training.statistics.posterior_type

    def figures(calibration: Calibration, scores: Floats) -> dict[str, float]:
        found = proper_scores(
            score_posterior(kind(calibration.compute_log_posterior(scores, lengths)), truth),
            weights,
        )
        return {figure: float(f"{value:.6g}") for figure, value in found.items()}

    calibrated = []
    for variant in fitted.list_calibration_variants():
        on_log_scale = variant.to_log_scale(scores, lengths)
        calibration = fit_classifier_calibration(fitted, on_log_scale, truth, lengths, weights)
        calibrated.append((figures(calibration, on_log_scale), calibration, variant))
    after, calibration, chosen = min(calibrated, key=lambda one: one[0]["log_loss"])
    judgement: CalibrationQuality = {
        "documents": len(truth),
        "before": figures(make_textbook_calibration(fitted), scores),
        "after": after,
    }
    left_out = (
        calibrate_posteriors(chosen, calibration, unseen)
        if needs_documents(chosen.training.settings)
        else None
    )
    return replace(
        learnt,
        calibration=calibration,
        calibration_quality=judgement,
        classifier_arrays=chosen.to_arrays(),
        held_out_posteriors=left_out,
    )


def needs_sample(settings: Settings, choices: Choices | None = None) -> bool:
    """Return whether anything is estimated from the sample; ``choices`` that are given need none."""
    from_sample = (
        load_classifier_class(settings.classifier).NEEDS_SAMPLE
        or settings.smoothing == "leave-one-out"
    )
    return (
        from_sample or is_calibrated(settings) or (choices is None and has_auto_settings(settings))
    )


def is_calibrated(settings: Settings) -> bool:
    """Return whether training fits a calibration: not if ``auto`` is none, as with maximum likelihood."""
    return settings.calibration == "auto" and settings.estimate != "ml"


def choose_terms_and_smoothing(
    statistics: ClassStatistics,
    sample: CountedDocuments,
    settings: Settings,
    documents: CountedDocuments | None = None,
    choices: Choices | None = None,
) -> FittedParameters:
    """Choose terms and smoothing, before anything is fitted; raises as `learn` does. Limits of documents do not bind the terms of seeds."""
    selected = _within_document_limits(statistics.observed_counts, settings.min_df, settings.max_df)
    if statistics.weights.seeds:
        selected |= statistics.seeds.term_occurs & ~is_category(statistics.vocabulary)
    if choices is None:
        choices = choose_auto_settings(
            statistics,
            sample,
            settings,
            selected,
            documents,
            pairs_only=bool(statistics.weights.seeds),
        )
    selected &= ~find_dropped_terms(statistics.vocabulary, settings, choices)
    own = find_own_pseudo_counts(statistics, settings)
    training = Training(statistics, selected, np.nan, settings, documents, sample, own)
    smoothing = _smoothing(training, choices)
    if settings.top is not None:
        training = replace(training, selected=_top(replace(training, smoothing=smoothing)))
        smoothing = _smoothing(training, choices)
    return FittedParameters(
        training.selected,
        smoothing,
        own_pseudo_counts=own,
        choices=choices,
        weights=statistics.weights,
    )


def resolve_auto_settings(
    counts: CorpusCounts, settings: Settings, documents: CountedDocuments | None = None
) -> Choices:
    """Return what ``auto`` stands for in a model of this corpus, whose documents may be given; raises as `learn` does."""
    statistics = estimate_statistics(counts.table, build_count_weights(counts.table, settings))
    return choose_terms_and_smoothing(
        statistics, counts.sample.documents, replace(settings, top=None), documents
    ).choices


def remove_dropped_terms(
    documents: CountedDocuments,
    statistics: CellCounts,
    learnt: FittedParameters,
    settings: Settings,
) -> CountedDocuments:
    """Return documents as they are counted to be answered: without what `auto` does not keep."""
    dropped = (
        find_dropped_terms(statistics.vocabulary, settings, learnt.choices) & ~learnt.selected_terms
    )
    return (
        replace(documents, matrix=documents.matrix.select_terms(~dropped))
        if dropped.any()
        else documents
    )


def _top(training: Training) -> Mask:
    from nbtext.selection import rank_terms

    statistics = training.statistics
    settings = training.settings
    best = rank_terms(
        training.estimate_language_models(statistics),
        compute_class_prior(settings.class_prior, statistics),
        settings.by,
        settings.top,
    ).terms
    selected = np.zeros_like(training.selected)
    selected[best] = True
    return selected


def _training(
    statistics: ClassStatistics,
    learnt: FittedParameters,
    settings: Settings,
    sample: CountedDocuments,
    documents: CountedDocuments | None = None,
) -> Training:
    """Return what a classifier is estimated from; with ``--top`` it selects terms from fewer documents with the same limits and smoothing."""
    training = build_training(statistics, learnt, settings, documents, sample)
    if settings.top is None:
        return training
    within = _within_document_limits(statistics, settings.min_df, settings.max_df)
    within &= ~find_dropped_terms(statistics.vocabulary, settings, learnt.choices)
    return replace(
        training,
        term_selector=lambda fewer: _top(
            replace(training, statistics=fewer, selected=within & fewer.term_occurs)
        ),
    )


def _within_document_limits(statistics: ClassStatistics, min_df: int, max_df: float) -> Mask:
    of_texts = ~is_category(statistics.vocabulary)
    here = statistics.term_occurs & of_texts
    n_terms = int(np.count_nonzero(of_texts))
    if min_df == 1 and max_df == 1:
        return here
    documents = statistics.term_documents
    selected: Mask = here & (documents >= min_df) & (documents <= max_df * statistics.n_documents)
    if n_terms and not selected.any():
        raise UsageError(
            f"none of the {format_quantity(n_terms, 'term')} is left",
            hint="lower --min-df or raise --max-df",
        )
    return selected


def _smoothing(training: Training, choices: Choices) -> float:
    if choices.pseudo_count is not None:
        return choices.pseudo_count
    settings = training.settings
    sample = training.sample
    chosen = load_classifier_class(training.settings.classifier)
    given = settings.smoothing
    if settings.estimate == "ml":
        return 0.0
    if given == "leave-one-out" and sample is not None:
        from nbtext.counts.weighting import apply_additive_weighting
        from nbtext.language_model.smoothing import choose_smoothing_by_leave_one_out

        summed = apply_additive_weighting(sample, settings.weighting)
        return choose_smoothing_by_leave_one_out(
            training.compute_weighted_statistics(), training.selected, settings.prior_shape, summed
        )
    if isinstance(given, TermSmoothing):
        return given.default
    if isinstance(given, (int, float, tuple)):
        return float(given[0] if isinstance(given, tuple) else given)
    return chosen.choose_smoothing(training)
