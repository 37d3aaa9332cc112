"""Fit the parameters of a model to counts: select terms, choose smoothing, calibrate probabilities.

`TextClassifier` calls `fit_parameters`. Options such as --smoothing name words, which become terms
as in a document: a pseudo-count for "printers" applies to the term "printer", and several words are
an n-gram. A counted feature, or a character n-gram such as "un*", is a term already.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nbtext.classifiers.base import (
    Classifier,
    Training,
    compute_class_prior,
    compute_label_log_prior_odds,
    compute_log_likelihood_per_token,
    load_classifier_class,
    select_classifier_class,
)
from nbtext.classifiers.held_out import (
    fit_classifier_calibration,
    make_neutral_calibration,
    score_held_out_sample,
)
from nbtext.compatibility import needs_documents, require_compatible_settings
from nbtext.counts.counting import Analysis
from nbtext.counts.statistics import build_count_weights, estimate_statistics
from nbtext.counts.vocabulary import make_category_term, mask_categories
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
    get_fixed_pseudo_count,
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
from nbtext.ragged import take_known
from nbtext.settings import DEFAULT_TERM, KIND_BY_NAME, Reading, Settings, TermSmoothing
from nbtext.text.surface_forms import PAIRS
from nbtext.text.words import split_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from nbtext.counts.corpus_counts import CorpusCounts
    from nbtext.counts.count_table import CellCounts
    from nbtext.counts.documents import CountedDocuments
    from nbtext.counts.statistics import ClassStatistics, SeedTerm, SeedTerms
    from nbtext.counts.vocabulary import Vocabulary
    from nbtext.type_names import Floats, Mask, ScoresAndTokens


Term = tuple[str, ...]
"""A single term, or the terms of an n-gram."""

MAX_NGRAMS = 10
"""Limit of the option --ngrams."""


def require_words_or_categories(words: object, reading: Reading, option: str) -> None:
    """Raise `UsageError` if a key of ``words`` is a value of a number attribute, as in ``age=30``.

    The value of ``option`` for that key would have no effect. Nothing is checked if ``words`` is
    not a dict, because the option then has one value for all terms.
    """
    if not isinstance(words, dict):
        return
    number_columns = Attributes.from_settings(reading).number_columns
    for word in words:
        name, equals, _ = word.partition("=")
        if equals and name in number_columns:
            raise UsageError(
                f"{option} names {word!r}, a number at {name!r}, and is for terms and for values "
                "of --categorical",
                hint="remove the line",
            )


def resolve_smoothing_terms(analysis: Analysis) -> Settings:
    """Return the settings with a `TermSmoothing` instead of pseudo-counts by word.

    Raise `UsageError` for a word that is not a term, for two words that are the same term but have
    different numbers, and for settings that cannot be combined.
    """
    settings = analysis.settings
    require_compatible_settings(settings)
    if isinstance(settings.smoothing, dict):
        settings = replace(settings, smoothing=_resolve_smoothing(settings.smoothing, analysis))
    return settings


def _resolve_smoothing(numbers: Mapping[str, float], analysis: Analysis) -> TermSmoothing:
    """Return pseudo-counts by term instead of by word, without those of ``column=value``."""
    columns = Attributes.from_settings(analysis.settings.reading).categorical
    words = []
    for word in numbers:
        name, equals, _ = word.partition("=")
        is_category_value = equals != "" and name in columns
        if word != DEFAULT_TERM and not is_category_value:
            words.append(word)
    first_words: dict[Term, str] = {}
    for word, term in zip(words, resolve_terms(words, analysis, "--smoothing"), strict=True):
        first_word = first_words.setdefault(term, word)
        if numbers[first_word] != numbers[word]:
            raise UsageError(
                f"--smoothing has two numbers for {' '.join(term)!r}, by {first_word!r} and "
                f"{word!r}",
                hint="use one of them, or the same number for both",
            )
    term_values = {term: numbers[word] for term, word in first_words.items()}
    return TermSmoothing(numbers[DEFAULT_TERM], term_values, numbers)


def resolve_terms(words: list[str], analysis: Analysis, option: str) -> list[Term]:
    """Return the term of each word that an option names.

    A word in a field is written as ``subject:offer``. Raise `UsageError` for a word that is not a
    term in any document.
    """
    settings = analysis.settings
    if settings.reading.is_counted:
        return [(word,) for word in words]
    terms = _analyze_words(words, analysis)
    return [
        _check_term(word, term, settings, option) for word, term in zip(words, terms, strict=True)
    ]


def _analyze_words(words: list[str], analysis: Analysis) -> list[Term]:
    """Return the terms of each word as in a document, or () for a word without a term."""
    id_of_term: dict[str, int] = {}

    def intern_terms(terms: Iterable[str]) -> list[int]:
        """Return the ids of terms, with new ids for new terms."""
        return [id_of_term.setdefault(term, len(id_of_term)) for term in terms]

    word_analysis = analysis.with_choices(keep_stop_words=True, segmentations=(PAIRS,))
    analyzers = word_analysis.build_analyzers(intern_terms)
    field_of_word = [_find_field(word, analysis.settings.reading) for word in words]
    terms_of_words: list[list[str]] = [[] for _ in words]
    for field in sorted(set(field_of_word)):
        # Each word in this field is analysed like a document.
        word_indices = [index for index, name in enumerate(field_of_word) if name == field]
        texts = [words[index] for index in word_indices]
        fields = None
        if field:
            texts = [text.partition(":")[2] for text in texts]
            fields = [field for _ in texts]
        encoded_texts = [text.encode() for text in texts]
        for analyzer in analyzers:
            sequence = analyzer.analyse(encoded_texts, fields)
            term_names = list(id_of_term)
            documents = sequence.documents.tolist()
            for document, term_id in zip(documents, sequence.terms.tolist(), strict=True):
                terms_of_words[word_indices[document]].append(term_names[term_id])
    return [tuple(terms) for terms in terms_of_words]


def _find_field(word: str, reading: Reading) -> bytes:
    """Return the name of the field before a word, or b"" if documents have no such field."""
    name, colon, _ = word.partition(":")
    if not colon:
        return b""
    field = normalise_field_name(name)
    if reading.tag_fields:
        fields = map(normalise_field_name, reading.tag_fields.split(","))
        return field if field in fields else b""
    # By default mail can have any field. No name of a field has a comma.
    may_be_mail = reading.document in ("mail", KIND_BY_NAME) or reading.layout.is_mail
    return field if may_be_mail and "," not in name else b""


def resolve_seed_terms(seeds: SeedTerms, analysis: Analysis) -> list[SeedTerm]:
    """Return seeds with terms instead of words or ``column=value``, sorted.

    Raise `UsageError` for a word that is not a term in any document.
    """
    words = dict.fromkeys(seed.term[0] for seed in seeds)
    reading = analysis.settings.reading
    require_words_or_categories(words, reading, "--seeds")
    prefixes = tuple(f"{name}=" for name in Attributes.from_settings(reading).categorical)
    # A prefix alone has no value, so it is a word.
    text_words = [word for word in words if not word.startswith(prefixes) or word in prefixes]
    if text_words and reading.text_column == NO_TEXT:
        raise UsageError(
            f"--seeds names {text_words[0]!r}, which is not a value of --categorical, and no text "
            "is read",
            hint="write column=value",
        )

    terms: dict[str, Term] = {}
    for word in words:
        if word not in text_words:
            column, _, value = word.partition("=")
            terms[word] = (make_category_term(column, value),)
    terms.update(zip(text_words, resolve_terms(text_words, analysis, "--seeds"), strict=True))
    return sorted(seed._replace(term=terms[seed.term[0]]) for seed in seeds)


def _check_term(word: str, term: Term, settings: Settings, option: str) -> Term:
    """Return the term of a word; raise `UsageError` if it is not a term in any document."""
    from nbtext.text.ngrams import WILDCARD

    if WILDCARD in word:
        if settings.char_ngrams is None:
            raise UsageError(
                f"{option} names {word!r}, and no term has an asterisk",
                hint="only a line * means all other terms",
            )
        return (word,)
    if not term:
        cause = "it is a stop word" if split_words(word) else "it contains no word"
        raise UsageError(f"{option} names {word!r}, which is not a term: {cause}", hint="remove it")
    if len(term) > settings.ngrams:
        hint = "remove it"
        if len(term) <= MAX_NGRAMS:
            hint = f"train with --ngrams {len(term)}"
        raise UsageError(
            f"{option} names {word!r}, which is {format_quantity(len(term), 'term')}", hint=hint
        )
    return term


MAX_CALIBRATION_SCORES: dict[type[Posterior], int] = {
    ClassPosterior: 1 << 22,
    LabelPosterior: 1 << 20,
}
"""Limit of held-out documents times classes to calibrate on, by kind of posterior.

Their scores take 32 and 8 MiB. With very many classes the limit is below the size of the sample.
"""


def fit_parameters(
    counts: CorpusCounts,
    settings: Settings,
    documents: CountedDocuments | None = None,
    choices: Choices | None = None,
    seeds: SeedTerms = (),
) -> FittedParameters:
    """Select terms, choose smoothing, and fit the arrays of the classifier and its calibration.

    ``settings`` are the result of `resolve_smoothing_terms`. ``documents`` are all documents, for a
    classifier that needs them. By default training makes the ``choices`` for ``auto``.

    Raise `UsageError` if the limits of document frequency remove all terms, and if the settings do
    not support seed words or weights of documents.
    """
    weights = build_count_weights(counts.table, settings, seeds)
    statistics = estimate_statistics(counts.table, weights)
    require_trainable(settings, statistics, seeds)
    sample = counts.sample.documents
    parameters = choose_terms_and_smoothing(statistics, sample, settings, documents, choices)
    sample = remove_dropped_terms(sample, statistics, parameters, settings)
    if documents is not None:
        documents = remove_dropped_terms(documents, statistics, parameters, settings)
    training = _build_selecting_training(statistics, parameters, settings, sample, documents)
    classifier_class = select_classifier_class(statistics, settings)
    classifier = classifier_class.estimate(training)
    parameters = replace(
        parameters,
        classifier_arrays=classifier.to_arrays(),
        calibration=make_neutral_calibration(classifier),
    )
    sample = limit_sample(sample, statistics)
    if not is_calibrated(settings) or not len(sample):
        return parameters

    held_out = score_held_out_sample(classifier, training, sample)
    comparable_scores = held_out
    selects_terms_again = training.term_selector is not None
    if selects_terms_again and _measure_likelihoods(classifier, held_out) is not None:
        # Likelihoods by models with different selected terms cannot be compared.
        training = replace(training, term_selector=None)
        comparable_scores = score_held_out_sample(classifier, training, sample)
    return add_calibration(parameters, classifier, held_out, comparable_scores)


def _measure_likelihoods(classifier: Classifier, held_out: HeldOutScores) -> ScoresAndTokens | None:
    """Return the log-likelihood per token and the tokens of each held-out document.

    Return None if the model does not define probabilities of tokens.
    """
    return compute_log_likelihood_per_token(
        classifier, held_out.scores, held_out.lengths, held_out.unknown_lengths
    )


def compute_held_out_posteriors(model: FittedModel) -> HeldOutPosteriors:
    """Return the posteriors of the sampled documents by models that were trained without them.

    The document is subtracted from the counts, or its fold if subtracting one document is not
    exact. These models have the smoothing, the calibration and the terms of ``model``, but if --top
    is set, each model selects its own terms.

    Raise `UsageError` if the model has no sample, or if its classifier needs all documents and no
    posteriors were stored.
    """
    parameters = model.parameters
    if parameters.held_out_posteriors is not None:
        return parameters.held_out_posteriors
    statistics = model.statistics
    settings = resolve_smoothing_terms(Analysis(model.settings, model.stop_list))
    if needs_documents(settings):
        raise UsageError(
            f"--classifier {settings.classifier} kept no predictions of held-out documents, so "
            "coverage and precision cannot be guaranteed",
            hint="train it again, with calibration and --set keep-documents=N above 0",
        )
    sample = remove_dropped_terms(model.counts.sample.documents, statistics, parameters, settings)
    sample = limit_sample(sample, statistics)
    if not len(sample):
        raise UsageError(
            "the model has no documents to hold out",
            hint="train with --set keep-documents=N above 0",
        )
    training = _build_selecting_training(statistics, parameters, settings, sample)
    classifier_class = select_classifier_class(statistics, settings)
    classifier = classifier_class.from_arrays(training, parameters.classifier_arrays)
    held_out = score_held_out_sample(classifier, training, sample)
    return calibrate_posteriors(classifier, parameters.calibration, held_out)


def calibrate_posteriors(
    classifier: Classifier, calibration: Calibration, held_out: HeldOutScores
) -> HeldOutPosteriors:
    """Return the calibrated posteriors of held-out documents.

    A calibration of labels is fitted again without each part of the documents.
    """
    lengths = held_out.lengths
    scores = classifier.to_log_scale(held_out.scores, lengths)
    if is_calibrated(classifier.training.settings):
        log_posterior = calibration.compute_held_out_log_posterior(
            scores, held_out.truth, lengths, held_out.weights
        )
    else:
        log_posterior = calibration.compute_log_posterior(scores, lengths)
    posterior = classifier.training.statistics.posterior_type(log_posterior)
    return HeldOutPosteriors.from_posterior(posterior, held_out.truth, held_out.weights)


def limit_sample(sample: CountedDocuments, statistics: CellCounts) -> CountedDocuments:
    """Return the first documents of a sample, at least one, within `MAX_CALIBRATION_SCORES`."""
    max_scores = look_up_kind(MAX_CALIBRATION_SCORES, statistics.posterior_type)
    max_documents = max(max_scores // statistics.n_classes, 1)
    return sample.take(np.arange(min(len(sample), max_documents)))


def add_calibration(
    parameters: FittedParameters,
    classifier: Classifier,
    held_out: HeldOutScores,
    comparable_scores: HeldOutScores,
) -> FittedParameters:
    """Return parameters with the calibration, typicality and profile of held-out documents.

    ``comparable_scores`` are the scores of the same documents by models that all have the same
    selected terms, so that likelihoods can be compared.
    """
    from nbtext.metrics.outcomes import proper_scores, score_posterior

    parameters = _add_profile(parameters, classifier, comparable_scores)
    scored = held_out.take_known_classes()
    if not len(scored.truth):
        return parameters
    weights = None if np.all(held_out.weights == 1) else scored.weights

    def measure(calibration: Calibration, scores: Floats) -> dict[str, float]:
        """Return the metrics of calibrated scores by name, with 6 significant digits."""
        log_posterior = calibration.compute_log_posterior(scores, scored.lengths)
        posterior = classifier.training.statistics.posterior_type(log_posterior)
        metrics = proper_scores(score_posterior(posterior, scored.truth), weights)
        return {name: float(f"{value:.6g}") for name, value in metrics.items()}

    variants = []
    for candidate in classifier.list_calibration_variants():
        log_scores = candidate.to_log_scale(scored.scores, scored.lengths)
        calibration = fit_classifier_calibration(
            classifier, log_scores, scored.truth, scored.lengths, weights
        )
        metrics = measure(calibration, log_scores)
        variants.append(_CalibratedVariant(candidate, calibration, metrics))
    best = min(variants, key=lambda variant: variant.metrics["log_loss"])
    quality: CalibrationQuality = {
        "documents": len(scored.truth),
        "before": measure(make_neutral_calibration(classifier), scored.scores),
        "after": best.metrics,
    }
    held_out_posteriors = None
    if needs_documents(best.classifier.training.settings):
        held_out_posteriors = calibrate_posteriors(best.classifier, best.calibration, held_out)
    return replace(
        parameters,
        calibration=best.calibration,
        calibration_quality=quality,
        classifier_arrays=best.classifier.to_arrays(),
        held_out_posteriors=held_out_posteriors,
    )


def keep_parameters(model: FittedModel, counts: CorpusCounts) -> FittedParameters:
    """Return the parameters of a model for other counts, without choosing them again.

    Values that training computes rather than chooses follow the counts: weights of classes, prior
    log odds of labels, and the used terms unless --top selects them. With --top, new terms are not
    used. Held-out documents have predicted no new class, and new labels are not calibrated.

    Raise `UsageError` if the choices do not apply to the counts.
    """
    settings = resolve_smoothing_terms(Analysis(model.settings, model.stop_list))
    weights = build_count_weights(counts.table, settings, model.parameters.weights.seeds)
    statistics = estimate_statistics(counts.table, weights)
    require_trainable(settings, statistics, weights.seeds)
    _require_kept_choices(model, statistics)
    if settings.top is None:
        selected = _select_candidates(statistics, settings)
        selected &= ~find_dropped_terms(statistics.vocabulary, settings, model.parameters.choices)
    else:
        selected = _find_selected_terms(model, statistics.vocabulary)
    parameters = replace(
        model.parameters,
        selected_terms=selected,
        own_pseudo_counts=find_own_pseudo_counts(statistics, settings),
        weights=weights,
    )
    return _keep_calibration(parameters, build_training(statistics, parameters, settings), model)


def _require_kept_choices(model: FittedModel, statistics: ClassStatistics) -> None:
    """Raise `UsageError` if the choices of a model do not apply to the statistics."""
    if model.parameters.unlabelled_summary is not None:
        raise UsageError(
            "unlabelled documents were tried, and --quick does not try them again",
            hint="remove --quick",
        )
    if statistics.posterior_type is not model.posterior_type:
        raise UsageError(
            "these are the first documents with several labels, and --quick calibrates no labels",
            hint="remove --quick",
        )


def _find_selected_terms(model: FittedModel, vocabulary: Vocabulary) -> Mask:
    """Return a mask of the terms of ``vocabulary`` that the model uses, shape (n_terms,)."""
    union, old_ids, new_ids = model.statistics.vocabulary.union(vocabulary)
    is_selected = np.zeros(len(union), np.bool_)
    is_selected[old_ids] = model.parameters.selected_terms
    return is_selected[new_ids]


def _keep_calibration(
    parameters: FittedParameters, training: Training, model: FittedModel
) -> FittedParameters:
    """Return parameters with the calibration and the profile of a model for other classes."""
    old_indices = {label: index for index, label in enumerate(model.classes)}
    classes = training.statistics.classes
    indices = np.array([old_indices.get(label, -1) for label in classes], np.int64)
    profile = parameters.profile
    if profile is not None:
        no_predictions = np.zeros(indices.size, np.int64)
        predictions = take_known(profile.predictions, indices, no_predictions)
        profile = replace(profile, predictions=predictions)
    calibration = parameters.calibration
    if not model.posterior_type.is_exclusive:
        if parameters.calibration_quality is None:  # the calibration is neutral, and remains so
            indices = np.full_like(indices, -1)
        calibration = calibration.select_labels(indices, compute_label_log_prior_odds(training))
    return replace(parameters, calibration=calibration, profile=profile)


class _CalibratedVariant(NamedTuple):
    """A variant of a classifier with its calibration."""

    classifier: Classifier
    calibration: Calibration
    metrics: dict[str, float]
    """Metrics of held-out documents, by name."""


def _add_profile(
    parameters: FittedParameters, classifier: Classifier, held_out: HeldOutScores
) -> FittedParameters:
    """Return parameters with the typicality and the profile of held-out documents."""
    likelihoods = None
    typicality = None
    per_token = _measure_likelihoods(classifier, held_out)
    if per_token is not None:
        likelihoods, n_tokens = per_token
        typicality = Typicality.from_likelihoods(likelihoods, n_tokens)
    profile = Profile.from_documents(
        held_out.lengths + held_out.unknown_lengths,
        held_out.unknown_lengths,
        likelihoods,
        predict_minimum_error(normalize_log_joint(held_out.scores)),
        n_classes=held_out.scores.shape[1],
    )
    return replace(parameters, typicality=typicality, profile=profile)


def needs_sample(settings: Settings, choices: Choices | None = None) -> bool:
    """Return whether training uses the sample.

    With ``choices``, training does not need the sample to make choices for ``auto``.
    """
    return (
        load_classifier_class(settings.classifier).NEEDS_SAMPLE
        or settings.smoothing == "leave-one-out"
        or is_calibrated(settings)
        or (choices is None and has_auto_settings(settings))
    )


def is_calibrated(settings: Settings) -> bool:
    """Return whether training fits a calibration. For maximum likelihood ``auto`` means none."""
    return settings.calibration == "auto" and settings.estimate != "ml"


def choose_terms_and_smoothing(
    statistics: ClassStatistics,
    sample: CountedDocuments,
    settings: Settings,
    documents: CountedDocuments | None = None,
    choices: Choices | None = None,
) -> FittedParameters:
    """Return parameters with selected terms and smoothing, and defaults for all others.

    The arguments are as in `fit_parameters`. The limits of document frequency do not apply to the
    terms of seeds. Raise `UsageError` if the limits remove all terms.
    """
    selected = _select_candidates(statistics, settings)
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
    parameters = FittedParameters(
        selected,
        smoothing=np.nan,  # not chosen yet
        own_pseudo_counts=find_own_pseudo_counts(statistics, settings),
        choices=choices,
        weights=statistics.weights,
    )
    training = build_training(statistics, parameters, settings, documents, sample)
    smoothing = _choose_smoothing(training, choices)
    if settings.top is not None:
        selected = _select_top_terms(replace(training, smoothing=smoothing))
        # Fewer terms have another best pseudo-count.
        smoothing = _choose_smoothing(replace(training, selected=selected), choices)
    return replace(parameters, selected_terms=selected, smoothing=smoothing)


def _select_candidates(statistics: ClassStatistics, settings: Settings) -> Mask:
    """Return a mask of the terms within the limits of document frequency, and of seeds, (n_terms,).

    Raise `UsageError` if the limits remove all terms.
    """
    selected = _select_by_frequency(statistics.observed_counts, settings.min_df, settings.max_df)
    if statistics.weights.seeds:
        selected |= statistics.seeds.term_occurs & ~mask_categories(statistics.vocabulary)
    return selected


def resolve_auto_settings(
    counts: CorpusCounts, settings: Settings, documents: CountedDocuments | None = None
) -> Choices:
    """Return the choices for ``auto`` that training on this corpus would make.

    They do not depend on --top. The arguments and errors are as in `fit_parameters`.
    """
    weights = build_count_weights(counts.table, settings)
    statistics = estimate_statistics(counts.table, weights)
    parameters = choose_terms_and_smoothing(
        statistics, counts.sample.documents, replace(settings, top=None), documents
    )
    return parameters.choices


def remove_dropped_terms(
    documents: CountedDocuments,
    statistics: CellCounts,
    parameters: FittedParameters,
    settings: Settings,
) -> CountedDocuments:
    """Return documents without the terms that training dropped, as new documents are counted."""
    is_dropped = find_dropped_terms(statistics.vocabulary, settings, parameters.choices)
    is_dropped &= ~parameters.selected_terms
    if not is_dropped.any():
        return documents
    return replace(documents, matrix=documents.matrix.select_terms(~is_dropped))


def _select_top_terms(training: Training) -> Mask:
    """Return a mask of the terms that --top selects, shape (n_terms,)."""
    from nbtext.selection import rank_terms

    statistics = training.statistics
    settings = training.settings
    ranking = rank_terms(
        training.estimate_language_models(statistics),
        compute_class_prior(settings.class_prior, statistics),
        settings.criterion,
        settings.top,
    )
    selected = np.zeros_like(training.selected)
    selected[ranking.terms] = True
    return selected


def _build_selecting_training(
    statistics: ClassStatistics,
    parameters: FittedParameters,
    settings: Settings,
    sample: CountedDocuments,
    documents: CountedDocuments | None = None,
) -> Training:
    """Return the input of a classifier, with a term selector if --top is set.

    The selector returns the top terms by the statistics of fewer documents. The smoothing, and the
    limits of document frequency, remain as for all documents.
    """
    training = build_training(statistics, parameters, settings, documents, sample)
    if settings.top is None:
        return training
    is_eligible = _select_by_frequency(statistics, settings.min_df, settings.max_df)
    is_eligible &= ~find_dropped_terms(statistics.vocabulary, settings, parameters.choices)

    def select_terms(statistics: ClassStatistics) -> Mask:
        selected = is_eligible & statistics.term_occurs
        return _select_top_terms(replace(training, statistics=statistics, selected=selected))

    return replace(training, term_selector=select_terms)


def _select_by_frequency(statistics: ClassStatistics, min_df: int, max_df: float) -> Mask:
    """Return a mask of the terms of texts within the limits of document frequency, (n_terms,)."""
    is_text_term = ~mask_categories(statistics.vocabulary)
    is_candidate = statistics.term_occurs & is_text_term
    if min_df == 1 and max_df == 1:
        return is_candidate
    document_counts = statistics.term_documents
    selected: Mask = (
        is_candidate
        & (document_counts >= min_df)
        & (document_counts <= max_df * statistics.n_documents)
    )
    n_terms = int(np.count_nonzero(is_text_term))
    if n_terms and not selected.any():
        raise UsageError(
            f"none of the {format_quantity(n_terms, 'term')} is left",
            hint="lower --min-df or raise --max-df",
        )
    return selected


def _choose_smoothing(training: Training, choices: Choices) -> float:
    """Return the pseudo-count in ``choices`` or in the settings, or else choose one."""
    if choices.pseudo_count is not None:
        return choices.pseudo_count
    settings = training.settings
    if settings.estimate == "ml":
        return 0.0
    if settings.smoothing == "leave-one-out" and training.sample is not None:
        return _choose_smoothing_by_leave_one_out(training, training.sample)
    pseudo_count = get_fixed_pseudo_count(settings.smoothing)
    if pseudo_count is not None:
        return pseudo_count
    return load_classifier_class(settings.classifier).choose_smoothing(training)


def _choose_smoothing_by_leave_one_out(training: Training, sample: CountedDocuments) -> float:
    """Return the pseudo-count that makes the held-out documents of the sample most probable."""
    from nbtext.counts.weighting import apply_additive_weighting
    from nbtext.language_model.smoothing import choose_smoothing_by_leave_one_out

    settings = training.settings
    return choose_smoothing_by_leave_one_out(
        training.compute_weighted_statistics(),
        training.selected,
        settings.prior_shape,
        apply_additive_weighting(sample, settings.weighting),
    )
