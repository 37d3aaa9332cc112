"""Options by the posteriors of left-out documents: sets that hold the true class, answers of a given precision, class shares of other documents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbtext.cli import messages, panels
from nbtext.cli.config import InputPath
from nbtext.cli.options import Number, NumberOr, NumberPerClass, decision_options, decision_rule, per_class, several
from nbtext.errors import UsageError, quantity
from nbtext.settings import READING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from nbtext.cli.options import Options
    from nbtext.decision import DecisionRule
    from nbtext.model import TextClassifier
    from nbtext.promises.class_shares import Likelihoods
    from nbtext.promises.precision import PrecisionThreshold
    from nbtext.promises.prediction_sets import SetRule
    from nbtext.scoring import ScoredBlock

by_class_option = panels.option(
    "--by-class", group="answer", is_flag=True,
    help="Keep the promise of --coverage for the documents of each class, and that of a precision for the answers with each class.",
)  # fmt: skip

answer_options = several(
    decision_options,
    panels.option(
        "--decide", group="answer", type=NumberOr(("document", "label"), 0, 1), default="document", show_default=False, metavar="document|label|P",
        help="If documents have several labels: give the set with the greatest expected F1 of the document (the default), the labels above a threshold for "
        "each label, or those with probability P or more.",
    ),
    panels.option(
        "--coverage", group="answer", type=Number(0, 1, open_ends=True), metavar="P",
        help="Instead of one class give the smallest set of classes that holds the true one with probability P. It holds for documents like those of "
        "training.",
    ),
    panels.option(
        "--min-precision", group="answer", type=NumberPerClass(0, 1, open_ends=True), metavar="P|CLASS=P,...",
        help="Give no answer unless a share P of such answers is right, with 95 % confidence. P is for all answers together, CLASS=P for those with a class. "
        "It holds for documents like those of training.",
    ),
    by_class_option,
    panels.option(
        "--prior-from", group="answer", multiple=True, metavar="PATH", type=InputPath(),
        help="Answer for the shares of classes among the documents of PATH, as nbtext prevalence estimates them, not for those of training. The option can be "
        "given several times.",
    ),
)  # fmt: skip
"""For `answer_rule`, `set_rule_of` and `for_prior`."""


def set_rule_of(options: Options, model: TextClassifier) -> SetRule | None:
    """Return the rule of ``--coverage``, None without; warn of classes that every set has. Raises `UsageError` as `set_rule` does."""
    coverage = options["coverage"]
    if coverage is None:
        return None
    from nbtext.model.training import left_out_posteriors
    from nbtext.promises.prediction_sets import least_documents, set_rule

    rule = set_rule(left_out_posteriors(model.fitted), model.classes, coverage, by_class=options["by_class"])
    if rule.always:
        few = f"fewer than {least_documents(coverage):,} of their training documents were left out"
        messages.warn(f"every set contains {quantity(len(rule.always), 'class')}, such as {rule.always[0]}: {few}")
    return rule


def answer_rule(options: Options, model: TextClassifier) -> DecisionRule:
    """Return the decision rule of the options, which keeps ``--min-precision`` too; warn if that leaves no answer. Raises as `decision_rule`."""
    from dataclasses import replace

    rule = decision_rule(options, model.classes, several=model.fitted.several_labels)
    if (decide := options["decide"]) == "label":
        from nbtext.decision import label_thresholds
        from nbtext.model.training import left_out_posteriors

        rule = replace(rule, labels_from=label_thresholds(left_out_posteriors(model.fitted).log_posterior))
    elif decide != "document":
        rule = replace(rule, labels_from=decide)
    if options["min_precision"] is None:
        return rule

    from nbtext.promises.precision import precise_from

    thresholds = thresholds_of(options["min_precision"], model, rule, by_class=options["by_class"])
    never = [each.label for each in thresholds if each.probability is None]
    if never:
        some = never[0] if len(never) == 1 else f"{quantity(len(never), 'class')}, such as {never[0]}"
        which = "no answers" if len(never) == len(thresholds) else f"no answers with {some}"
        messages.warn(f"{which}: the documents left out in training do not show that precision; see nbtext inspect --thresholds")
    return replace(rule, precise_from=precise_from(thresholds))


def thresholds_of(
    asked: float | dict[str, float], model: TextClassifier, rule: DecisionRule, *, by_class: bool
) -> tuple[PrecisionThreshold, ...]:
    """Return the thresholds of a precision for all answers, or of those for single classes; raise `UsageError` for an unknown class."""
    from nbtext.model.training import left_out_posteriors
    from nbtext.promises.precision import precision_thresholds

    wanted = asked if isinstance(asked, float) else per_class(asked, model.classes, "--min-precision", None)
    return precision_thresholds(left_out_posteriors(model.fitted), model.classes, rule, wanted, by_class=by_class)


def likelihoods_of(model: TextClassifier) -> Likelihoods:
    """Return the likelihoods that shares are estimated from; warn if left-out documents cannot correct them. Raises as `require_labels`."""
    from nbtext.promises.class_shares import class_likelihoods, require_labels, uncorrected_likelihoods

    require_labels(model)
    try:
        return class_likelihoods(model)
    except UsageError as problem:
        messages.warn(f"shares are not corrected by left-out documents, and may be off: {problem.message}")
        return uncorrected_likelihoods(model)


def for_prior(blocks: Iterable[ScoredBlock], model: TextClassifier, options: Options) -> Iterable[ScoredBlock]:
    """Return scored documents with posteriors for the shares of ``--prior-from``, which is read here; unchanged without the option."""
    if not (paths := options["prior_from"]):
        return blocks
    from nbtext.cli.corpus import documents_for
    from nbtext.exclusions import OTHER_SHARES, SEVERAL_LABELS, require_fitting
    from nbtext.model.corpus_work import score_corpus
    from nbtext.promises.class_shares import ClassLikelihoods, estimate_prevalence, with_prior_of

    require_fitting(model.settings, OTHER_SHARES, *[SEVERAL_LABELS] * model.fitted.several_labels)
    if "-" in paths:
        raise UsageError("--prior-from is read first and cannot be standard input", hint="give files")
    likelihoods = likelihoods_of(model)
    assert isinstance(likelihoods, ClassLikelihoods)  # noqa: S101 - several labels are refused above
    others = [] if options.get("text") is None else [parameter.name for parameter in READING]  # read as training documents were
    kept = {name: value for name, value in options.items() if name not in others}
    options = {**kept, "format": kept.get("format"), "lines": False, "text": None, "on_error": "skip"}
    documents = documents_for(model, paths, options, labelled=False)
    shares = estimate_prevalence(score_corpus(model.fitted, documents, options["jobs"]), model.classes, likelihoods).all
    documents.say_notices()
    return with_prior_of(blocks, shares, likelihoods)
