"""What is promised by the posteriors of left-out documents: sets that hold the true class, answers of a given precision, class shares of other documents."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from nbtext.cli import messages
from nbtext.cli.option import decision_rule
from nbtext.errors import UsageError, quantity
from nbtext.settings import READING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from nbtext.cli.option import Options
    from nbtext.decision import DecisionRule
    from nbtext.model import TextClassifier
    from nbtext.promises.class_shares import Likelihoods
    from nbtext.promises.precision import PrecisionThreshold
    from nbtext.promises.prediction_sets import SetRule
    from nbtext.scoring import ScoredBlock


def promised(options: Options, model: TextClassifier) -> tuple[DecisionRule, SetRule | None]:
    """Return the rule of the options for answers, which keeps ``--min-precision`` too, and the rule of ``--coverage`` or None.

    Warn of what these promises cost: of classes that every set has, and of those that are never the answer. Raises `UsageError` for an unknown class,
    and as `decision_rule` and `set_rule` do.
    """
    rule, sets, by_class = decision_rule(options, model.classes, several=model.fitted.several_labels), None, options["by_class"]
    if (decide := options["decide"]) != "document":
        if decide == "label":
            from nbtext.decision import label_thresholds
            from nbtext.model.training import left_out_posteriors

            decide = label_thresholds(left_out_posteriors(model.fitted).log_posterior)
        rule = replace(rule, labels_from=decide)
    if (coverage := options["coverage"]) is not None:
        from nbtext.model.training import left_out_posteriors
        from nbtext.promises.prediction_sets import least_documents, set_rule

        sets = set_rule(left_out_posteriors(model.fitted), model.classes, coverage, by_class=by_class)
        if sets.always:
            few = f"fewer than {least_documents(coverage):,} of their training documents were left out"
            messages.warn(f"every set contains {quantity(len(sets.always), 'class')}, such as {sets.always[0]}: {few}")
    if (precision := options["min_precision"]) is not None:
        from nbtext.promises.precision import precise_from

        thresholds = thresholds_of(precision, model, rule, by_class=by_class)
        never = [each.label for each in thresholds if each.probability is None]
        if never:
            some = never[0] if len(never) == 1 else f"{quantity(len(never), 'class')}, such as {never[0]}"
            which = "no answers" if len(never) == len(thresholds) else f"no answers with {some}"
            messages.warn(f"{which}: the documents left out in training do not show that precision; see nbtext inspect --thresholds")
        rule = replace(rule, precise_from=precise_from(thresholds))
    return rule, sets


def thresholds_of(
    asked: float | dict[str, float], model: TextClassifier, rule: DecisionRule, *, by_class: bool
) -> tuple[PrecisionThreshold, ...]:
    """Return the thresholds of a precision for all answers, or of those for single classes; raise `UsageError` for an unknown class."""
    from nbtext.decision import per_class
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


def for_prior(blocks: Iterable[ScoredBlock], model: TextClassifier, options: Options) -> Iterator[ScoredBlock]:
    """Return scored documents with posteriors for the shares of ``--prior-from``, which is read here."""
    from nbtext.cli.corpus import documents_for
    from nbtext.exclusions import OTHER_SHARES, SEVERAL_LABELS, require_fitting
    from nbtext.model.corpus_work import score_corpus
    from nbtext.promises.class_shares import ClassLikelihoods, estimate_prevalence, with_prior_of

    require_fitting(model.settings, OTHER_SHARES, *[SEVERAL_LABELS] * model.fitted.several_labels)
    if "-" in (paths := options["prior_from"]):
        raise UsageError("--prior-from is read first and cannot be standard input", hint="give files")
    likelihoods = likelihoods_of(model)
    assert isinstance(likelihoods, ClassLikelihoods)  # noqa: S101 - several labels are refused above
    reading = dict.fromkeys(parameter.name for parameter in READING) if "text" in options else {}  # as training documents were
    options = {**options, **reading, "lines": False, "text": None, "on_error": "skip"}
    documents = documents_for(model, paths, options, labelled=False)
    shares = estimate_prevalence(score_corpus(model.fitted, documents, options["jobs"]), model.classes, likelihoods).all
    documents.say_notices()
    return with_prior_of(blocks, shares, likelihoods)
