"""``--prior-from``: answers for the class shares of other documents, and what both they and `nbtext prevalence` estimate shares with."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from nbtext.cli import panels
from nbtext.cli.options import suggest_files
from nbtext.errors import UsageError
from nbtext.settings import READING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from nbtext.cli.messages import Messages
    from nbtext.cli.options import Options
    from nbtext.model import TextClassifier
    from nbtext.model.scoring import ScoredBlock
    from nbtext.promises.class_shares import ClassLikelihoods

prior_from_option = panels.option(
    "--prior-from", group="answer", multiple=True, metavar="PATH", shell_complete=suggest_files,
    help="Answer for the shares of classes among the documents of PATH, as nbtext prevalence estimates them, not for those of training. The option can be "
    "given several times.",
)  # fmt: skip
"""For `for_prior`."""


def likelihoods_of(model: TextClassifier, say: Messages) -> ClassLikelihoods:
    """Return the likelihoods that shares are estimated from; warn if left-out documents cannot correct them."""
    from nbtext.promises.class_shares import ClassLikelihoods, class_likelihoods

    try:
        return class_likelihoods(model)
    except UsageError as problem:
        say.warn(f"shares are not corrected by left-out documents, and may be off: {problem.message}")
        return ClassLikelihoods.uncorrected(model.prior)


def for_prior(blocks: Iterable[ScoredBlock], model: TextClassifier, options: Options, say: Messages) -> Iterable[ScoredBlock]:
    """Return scored documents with posteriors for the shares of ``--prior-from``, which is read here; unchanged without the option."""
    if not (paths := options["prior_from"]):
        return blocks
    from nbtext.cli.corpus import documents_for
    from nbtext.model.corpus_flow import score_corpus
    from nbtext.promises.class_shares import estimate_prevalence, with_prior_of

    for other in ("coverage", "min_precision"):
        if options[other] is not None:
            raise UsageError(
                f"--prior-from and --{other.replace('_', '-')} exclude each other", hint="the promise is for the class shares of training"
            )
    if "-" in paths:
        raise UsageError("--prior-from is read first and cannot be standard input", hint="give files")
    likelihoods = likelihoods_of(model, say)
    others = [] if options.get("text") is None else [parameter.name for parameter in READING]  # read as training documents were
    kept = cast("Options", {name: value for name, value in options.items() if name not in others})
    options = {**kept, "format": kept.get("format"), "lines": False, "text": None, "on_error": "skip"}
    documents = documents_for(model, paths, options, say, labelled=False)
    shares = estimate_prevalence(score_corpus(model, documents, options["jobs"]), model.classes, likelihoods).all
    documents.say_notices()
    return with_prior_of(blocks, shares, likelihoods)
