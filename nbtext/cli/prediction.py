"""Options that decide which answer is given, and the decision rules that they make."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from nbtext.cli import declarations, messages
from nbtext.cli.parameters import PATH
from nbtext.cli.shared_options import Number, NumberPerClass, by_class_field
from nbtext.errors import quantity
from nbtext.fast_dataclasses import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbtext.guarantees.precision import PrecisionThreshold
    from nbtext.guarantees.prediction_sets import SetRule
    from nbtext.model import TextClassifier
    from nbtext.prediction.posterior import Posterior
    from nbtext.prediction.rule import DecisionRule


@dataclass(frozen=True, kw_only=True)
class DecisionOptions:
    """Which class is the answer, for `decision_rule`."""

    costs: str | None = declarations.option(
        "--costs",
        "answer",
        "Choose the answer with the least expected cost. FILE is TOML, with a table [true-class] "
        "of the costs of answers, or of several "
        "labels a table [label] of its costs missed and false.",
        type=PATH,
    )
    min_probability: float | dict[str, float] = declarations.common_option(
        "--min-probability",
        "answer",
        "Give no answer if it is less probable than P, or than the P of its class.",
        type=NumberPerClass(0, 1),
        default=0.0,
        show_default=False,
    )


@dataclass(frozen=True, kw_only=True)
class PredictionOptions(DecisionOptions):
    """What is answered, for `prediction_rules`, and `nbtext.cli.proportions.for_prior`."""

    decide: str | float = declarations.option(
        "--decide",
        "answer",
        "If documents have several labels: give the set with the greatest expected F1 of the "
        "document (the default), the labels above a threshold for "
        "each label, or those with probability P or more.",
        type=Number(0, 1, words=("document", "label")),
        default="document",
        show_default=False,
        metavar="document|label|P",
    )
    coverage: float | None = declarations.option(
        "--coverage",
        "answer",
        "Instead of one class give the smallest set of classes that holds the true one with "
        "probability P. It holds for documents like those of "
        "training.",
        type=Number(0, 1, open_ends=True),
        metavar="P",
    )
    min_precision: float | dict[str, float] | None = declarations.option(
        "--min-precision",
        "answer",
        "Give no answer unless a share P of such answers is right, with 95 % confidence. P is for "
        "all answers together, CLASS=P for those with a class. "
        "It holds for documents like those of training.",
        type=NumberPerClass(0, 1, open_ends=True),
    )
    by_class: bool = by_class_field()
    prior_from: tuple[str, ...] = declarations.option(
        "--prior-from",
        "answer",
        "Answer for the shares of classes among the documents of PATH, as nbtext prevalence "
        "estimates them, not for those of training. The option can be "
        "given several times.",
        multiple=True,
        metavar="PATH",
        type=PATH,
    )


@dataclass(frozen=True, kw_only=True)
class ClassifyPredictionOptions(PredictionOptions):
    """What `nbtext classify` answers."""

    min_typicality: float = declarations.option(
        "--min-typicality",
        "answer",
        "Give no answer to documents unlike those of training. Such a document is less likely per "
        "token than all but this SHARE of training documents of "
        "about its length; 0.001 finds documents of another kind or language.",
        type=Number(0, 1),
        default=0.0,
        show_default=False,
        metavar="SHARE",
    )


def decision_rule(
    decision: DecisionOptions, classes: Sequence[str], kind: type[Posterior]
) -> DecisionRule:
    """Return the decision rule of the options, for documents of one label or of several.

    Raises `PathError` or `UsageError` for a wrong file of costs, and `UsageError` for an unknown class.
    """
    from nbtext.prediction.rule import ABSTAIN, DecisionRule, per_class

    asked = decision.min_probability
    least = (
        per_class(asked, classes, "--min-probability", 0.0) if isinstance(asked, dict) else asked
    )
    without_costs = DecisionRule(costs=None, min_probability=least)
    if decision.costs is None:
        return without_costs
    from nbtext.cli.option_files import read_costs

    rule = read_costs(decision.costs, classes, partial(kind.rule_of_costs, rule=without_costs))
    if rule.costs is not None and ABSTAIN in classes:
        messages.notice(
            f"the model has a class named {ABSTAIN}: {decision.costs} prices that class, and "
            "giving no answer is free"
        )
    return rule


def prediction_rules(
    prediction: PredictionOptions, model: TextClassifier
) -> tuple[DecisionRule, SetRule | None]:
    """Return the rule of the options, which keeps ``--min-precision`` too, and the rule of ``--coverage`` or None.

    Warns about classes that are in every set, and about classes that are never the answer. Raises `UsageError` for an unknown class,
    and as `decision_rule` and `set_rule` do.
    """
    rule = decision_rule(prediction, model.classes, model.fitted.kind)
    decide = prediction.decide
    if decide == "label":
        from nbtext.model.training import left_out_posteriors
        from nbtext.prediction.rule import label_thresholds

        rule = replace(
            rule, labels_from=label_thresholds(left_out_posteriors(model.fitted).log_posterior)
        )
    elif isinstance(decide, float):
        rule = replace(rule, labels_from=decide)
    sets = (
        None
        if prediction.coverage is None
        else _set_rule(model, prediction.coverage, by_class=prediction.by_class)
    )
    if prediction.min_precision is not None:
        thresholds = thresholds_of(
            prediction.min_precision, model, rule, by_class=prediction.by_class
        )
        rule = _precise_rule(rule, thresholds)
    return rule, sets


def _set_rule(model: TextClassifier, coverage: float, *, by_class: bool) -> SetRule:
    """Return the rule of sets that hold the true class with a probability; warn of classes that every set has."""
    from nbtext.guarantees.prediction_sets import least_documents, set_rule
    from nbtext.model.training import left_out_posteriors

    sets = set_rule(left_out_posteriors(model.fitted), model.classes, coverage, by_class=by_class)
    if sets.always:
        few = f"fewer than {least_documents(coverage):,} of their training documents were left out"
        messages.warn(
            f"every set contains {quantity(len(sets.always), 'class')}, such as {sets.always[0]}: "
            f"{few}"
        )
    return sets


def _precise_rule(rule: DecisionRule, thresholds: Sequence[PrecisionThreshold]) -> DecisionRule:
    """Return the rule that answers from these thresholds on; warn of classes that are never the answer."""
    from nbtext.guarantees.precision import precise_from

    never = [each.label for each in thresholds if each.probability is None]
    if never:
        some = (
            never[0] if len(never) == 1 else f"{quantity(len(never), 'class')}, such as {never[0]}"
        )
        which = "no answers" if len(never) == len(thresholds) else f"no answers with {some}"
        messages.warn(
            f"{which}: the documents left out in training do not show that precision; see nbtext "
            "inspect --thresholds"
        )
    return replace(rule, precise_from=precise_from(thresholds))


def thresholds_of(
    asked: float | dict[str, float], model: TextClassifier, rule: DecisionRule, *, by_class: bool
) -> tuple[PrecisionThreshold, ...]:
    """Return the thresholds of a precision for all answers, or of those for single classes; raise `UsageError` for an unknown class."""
    from nbtext.guarantees.precision import precision_thresholds
    from nbtext.model.training import left_out_posteriors
    from nbtext.prediction.rule import per_class

    wanted = (
        asked
        if isinstance(asked, float)
        else per_class(asked, model.classes, "--min-precision", None)
    )
    return precision_thresholds(
        left_out_posteriors(model.fitted), model.classes, rule, wanted, by_class=by_class
    )
