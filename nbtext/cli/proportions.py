"""Class shares of other documents, as left-out documents correct them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from nbtext.cli import messages
from nbtext.cli.parameters import ExplicitSettings
from nbtext.errors import UsageError
from nbtext.settings import Reading

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from nbtext.cli.shared_options import DocumentOptions
    from nbtext.guarantees.class_proportions import ProportionEstimator
    from nbtext.model import TextClassifier
    from nbtext.scoring import ScoredBlock


def choose_likelihoods(model: TextClassifier) -> ProportionEstimator:
    """Return the likelihoods that shares are estimated from; warn if left-out documents cannot correct them. Raises as `require_labelled_documents`."""
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
            f"shares are not corrected by left-out documents, and may be off: {problem.message}"
        )
        return make_uncorrected_estimator(model)


def adjust_prior(
    blocks: Iterable[ScoredBlock],
    model: TextClassifier,
    documents: DocumentOptions,
    paths: tuple[str, ...],
    jobs: int,
) -> Iterator[ScoredBlock]:
    """Return scored documents with posteriors for the shares of ``--prior-from``, whose paths are read here, like the documents."""
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
    likelihoods = choose_likelihoods(model)
    # Several labels are refused above.
    assert isinstance(likelihoods, ClassLikelihoods)  # noqa: S101
    reading = (
        ExplicitSettings(Reading) if documents.text else documents.reading
    )  # texts are read as lines of JSON
    others = replace(documents, paths=paths, text=(), reading=reading, on_error="skip")
    source = open_documents(model, others, labelled=False)
    shares = estimate_prevalence(
        score_corpus(model.fitted, source, jobs), model.classes, likelihoods
    ).all
    source.report_notices()
    return replace_prior(blocks, shares, likelihoods)
