"""Class shares of other documents, as left-out documents correct them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbtext.cli import messages
from nbtext.errors import UsageError
from nbtext.settings import READING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from nbtext.cli.option import Options
    from nbtext.model import TextClassifier
    from nbtext.promises.class_shares import Likelihoods
    from nbtext.scoring import ScoredBlock


def likelihoods_of(model: TextClassifier) -> Likelihoods:
    """Return the likelihoods that shares are estimated from; warn if left-out documents cannot correct them. Raises as `require_labels`."""
    from nbtext.promises.class_shares import class_likelihoods, require_labels, uncorrected_likelihoods

    require_labels(model)
    try:
        return class_likelihoods(model)
    except UsageError as problem:
        messages.warn(f"shares are not corrected by left-out documents, and may be off: {problem.message}")
        return uncorrected_likelihoods(model)


def for_prior(blocks: Iterable[ScoredBlock], model: TextClassifier, options: Options) -> Iterator[ScoredBlock]:
    """Return scored documents with posteriors for the shares of ``--prior-from``, which is read here."""
    from nbtext.cli.corpus import documents_for
    from nbtext.exclusions import OTHER_SHARES, require_fitting, rows_of
    from nbtext.model.corpus_work import score_corpus
    from nbtext.promises.class_shares import ClassLikelihoods, estimate_prevalence, with_prior_of

    require_fitting(model.settings, OTHER_SHARES, *rows_of(model.fitted.kind))
    if "-" in (paths := options["prior_from"]):
        raise UsageError("--prior-from is read first and cannot be standard input", hint="give files")
    likelihoods = likelihoods_of(model)
    assert isinstance(likelihoods, ClassLikelihoods)  # noqa: S101 - several labels are refused above
    reading = dict.fromkeys(parameter.name for parameter in READING) if options.get("text") else {}  # which is read as lines
    options = {**options, **reading, "lines": False, "text": None, "on_error": "skip"}
    documents = documents_for(model, paths, options, labelled=False)
    shares = estimate_prevalence(score_corpus(model.fitted, documents, options["jobs"]), model.classes, likelihoods).all
    documents.say_notices()
    return with_prior_of(blocks, shares, likelihoods)
