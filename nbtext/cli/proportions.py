"""Class shares of other documents, as left-out documents correct them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from nbtext.cli import messages
from nbtext.cli.parameters import Given
from nbtext.errors import UsageError
from nbtext.settings import Reading

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from nbtext.cli.shared_options import Documents
    from nbtext.guarantees.class_proportions import Likelihoods
    from nbtext.model import TextClassifier
    from nbtext.scoring import ScoredBlock


def likelihoods_of(model: TextClassifier) -> Likelihoods:
    """Return the likelihoods that shares are estimated from; warn if left-out documents cannot correct them. Raises as `require_labels`."""
    from nbtext.guarantees.class_proportions import (
        class_likelihoods,
        require_labels,
        uncorrected_likelihoods,
    )

    require_labels(model)
    try:
        return class_likelihoods(model)
    except UsageError as problem:
        messages.warn(
            f"shares are not corrected by left-out documents, and may be off: {problem.message}"
        )
        return uncorrected_likelihoods(model)


def for_prior(
    blocks: Iterable[ScoredBlock],
    model: TextClassifier,
    documents: Documents,
    paths: tuple[str, ...],
    jobs: int,
) -> Iterator[ScoredBlock]:
    """Return scored documents with posteriors for the shares of ``--prior-from``, whose paths are read here, like the documents."""
    from nbtext.cli.corpus import documents_for
    from nbtext.compatibility import OTHER_SHARES, require_fitting, rows_of
    from nbtext.guarantees.class_proportions import (
        ClassLikelihoods,
        estimate_prevalence,
        with_prior_of,
    )
    from nbtext.model.parallel_corpus import score_corpus

    require_fitting(model.settings, OTHER_SHARES, *rows_of(model.fitted.kind))
    if "-" in paths:
        raise UsageError(
            "--prior-from is read first and cannot be standard input", hint="give files"
        )
    likelihoods = likelihoods_of(model)
    # Several labels are refused above.
    assert isinstance(likelihoods, ClassLikelihoods)  # noqa: S101
    reading = (
        Given(Reading) if documents.text else documents.reading
    )  # texts are read as lines of JSON
    others = replace(documents, paths=paths, text=(), reading=reading, on_error="skip")
    source = documents_for(model, others, labelled=False)
    shares = estimate_prevalence(
        score_corpus(model.fitted, source, jobs), model.classes, likelihoods
    ).all
    source.say_notices()
    return with_prior_of(blocks, shares, likelihoods)
