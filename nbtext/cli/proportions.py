"""Class proportions of new documents, corrected by the model's held-out predictions."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from nbtext.cli import messages
from nbtext.cli.parameters import ExplicitSettings
from nbtext.errors import UsageError
from nbtext.settings import Reading

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from nbtext.cli.shared_options import DocumentOptions
    from nbtext.guarantees.class_proportions import ProportionEstimator
    from nbtext.model import TextClassifier
    from nbtext.scoring import ScoredBlock


def choose_proportion_estimator(model: TextClassifier) -> ProportionEstimator:
    """Return the estimator of class proportions.

    Warn if the model has too few held-out predictions to correct the proportions. Raise
    `UsageError` if the model has too few labelled documents.
    """
    from nbtext.guarantees.class_proportions import (
        fit_proportion_estimator,
        make_uncorrected_estimator,
        require_labelled_documents,
    )

    require_labelled_documents(model)
    try:
        return fit_proportion_estimator(model)
    except UsageError as problem:
        messages.warn(
            "proportions are not corrected by held-out documents, and may be wrong: "
            f"{problem.message}"
        )
        return make_uncorrected_estimator(model)


def make_prior_adjustment(
    model: TextClassifier, documents: DocumentOptions, paths: tuple[str, ...], jobs: int
) -> Callable[[Iterable[ScoredBlock]], Iterator[ScoredBlock]]:
    """Return a function that changes posteriors to the class proportions of other documents.

    The other documents are in ``paths`` (the option ``--prior-from``). They are read with the same
    settings as the scored documents, before this function returns. ``documents`` are the options of
    the scored documents. Raise `UsageError` for a multi-label model and for standard input.
    """
    from nbtext.cli.corpus import open_documents
    from nbtext.compatibility import (
        PRIOR_FROM_DOCUMENTS,
        list_label_requests,
        require_compatible_settings,
    )
    from nbtext.guarantees.class_proportions import (
        ClassLikelihoods,
        estimate_prevalence,
        replace_prior,
    )
    from nbtext.model.parallel_corpus import score_corpus

    require_compatible_settings(
        model.settings, PRIOR_FROM_DOCUMENTS, *list_label_requests(model.fitted.posterior_type)
    )
    if "-" in paths:
        raise UsageError(
            "--prior-from is read first and cannot be standard input", hint="give files"
        )
    estimator = choose_proportion_estimator(model)
    # Only multi-label models, which are refused above, have another estimator.
    assert isinstance(estimator, ClassLikelihoods)  # noqa: S101
    reading = documents.reading
    if documents.text:
        # The options for reading apply to the texts of --text, not to the files of --prior-from.
        reading = ExplicitSettings(Reading)
    options = replace(documents, paths=paths, text=(), reading=reading, on_error="skip")
    corpus = open_documents(model, options, labelled=False)
    scored_blocks = score_corpus(model.fitted, corpus, jobs)
    proportions = estimate_prevalence(scored_blocks, model.classes, estimator).all
    corpus.report_notices()
    return partial(replace_prior, prevalence=proportions, likelihoods=estimator)
