"""Options that decide which answer is given, and the decision rules that they make."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from nbtext.cli import declarations, messages
from nbtext.cli.parameters import INPUT_PATH
from nbtext.cli.shared_options import NumberInRange, NumberPerClass, per_class_field
from nbtext.errors import format_quantity
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
    """Which class is the answer, for `build_decision_rule`."""

    costs: str | None = declarations.option(
        "--costs",
        "answer",
        "Choose the answer with the least expected cost. FILE is TOML, with a table [true-class] "
        "of the costs of answers, or of several "
        "labels a table [label] of its costs missed and false.",
        type=INPUT_PATH,
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
    """What is answered, for `build_prediction_rules`, and `nbtext.cli.proportions.adjust_prior`."""

    decide: str | float = declarations.option(
        "--decide",
        "answer",
        "If documents have several labels: give the set with the greatest expected F1 of the "
        "document (the default), the labels above a threshold for "
        "each label, or those with probability P or more.",
        type=NumberInRange(0, 1, words=("document", "label")),
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
        type=NumberInRange(0, 1, open_ends=True),
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
    by_class: bool = per_class_field()
    prior_from: tuple[str, ...] = declarations.option(
        "--prior-from",
        "answer",
        "Answer for the shares of classes among the documents of PATH, as nbtext prevalence "
        "estimates them, not for those of training. The option can be "
        "given several times.",
        multiple=True,
        metavar="PATH",
        type=INPUT_PATH,
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
        type=NumberInRange(0, 1),
        default=0.0,
        show_default=False,
        metavar="SHARE",
    )


def build_decision_rule(
    decision: DecisionOptions, classes: Sequence[str], kind: type[Posterior]
) -> DecisionRule:
    """Return the decision rule of the options, for documents of one label or of several.

    Raises `PathError` or `UsageError` for a wrong file of costs, and `UsageError` for an unknown class.
    """
    from nbtext.prediction.rule import ABSTAIN, DecisionRule, expand_class_values

    asked = decision.min_probability
    least = (
        expand_class_values(asked, classes, "--min-probability", 0.0)
        if isinstance(asked, dict)
        else asked
    )
    without_costs = DecisionRule(costs=None, min_probability=least)
    if decision.costs is None:
        return without_costs
    from nbtext.cli.option_files import read_costs

    rule = read_costs(decision.costs, classes, partial(kind.add_costs, rule=without_costs))
    if rule.costs is not None and ABSTAIN in classes:
        messages.notify(
            f"the model has a class named {ABSTAIN}: {decision.costs} prices that class, and "
            "giving no answer is free"
        )
    return rule


def build_prediction_rules(
    prediction: PredictionOptions, model: TextClassifier
) -> tuple[DecisionRule, SetRule | None]:
    """Return the rule of the options, which keeps ``--min-precision`` too, and the rule of ``--coverage`` or None.

    Warns about classes that are in every set, and about classes that are never the answer. Raises `UsageError` for an unknown class,
    and as `build_decision_rule` and `set_rule` do.
    """
    rule = build_decision_rule(prediction, model.classes, model.fitted.posterior_type)
    decide = prediction.decide
    if decide == "label":
        from nbtext.model.training import compute_held_out_posteriors
        from nbtext.prediction.rule import fit_label_thresholds

        rule = replace(
            rule,
            labels_from=fit_label_thresholds(
                compute_held_out_posteriors(model.fitted).log_posterior
            ),
        )
    elif isinstance(decide, float):
        rule = replace(rule, labels_from=decide)
    sets = (
        None
        if prediction.coverage is None
        else _set_rule(model, prediction.coverage, by_class=prediction.by_class)
    )
    if prediction.min_precision is not None:
        thresholds = find_precision_thresholds(
            prediction.min_precision, model, rule, by_class=prediction.by_class
        )
        rule = _precise_rule(rule, thresholds)
    return rule, sets


def _set_rule(model: TextClassifier, coverage: float, *, by_class: bool) -> SetRule:
    """Return the rule of sets that hold the true class with a probability; warn of classes that every set has."""
    from nbtext.guarantees.prediction_sets import count_needed_held_out, fit_set_rule
    from nbtext.model.training import compute_held_out_posteriors

    sets = fit_set_rule(
        compute_held_out_posteriors(model.fitted), model.classes, coverage, by_class=by_class
    )
    if sets.unconditional_classes:
        few = f"fewer than {count_needed_held_out(coverage):,} of their training documents were left out"
        messages.warn(
            f"every set contains {format_quantity(len(sets.unconditional_classes), 'class')}, such as {sets.unconditional_classes[0]}: "
            f"{few}"
        )
    return sets


def _precise_rule(rule: DecisionRule, thresholds: Sequence[PrecisionThreshold]) -> DecisionRule:
    """Return the rule that answers from these thresholds on; warn of classes that are never the answer."""
    from nbtext.guarantees.precision import list_min_probabilities

    never = [each.label for each in thresholds if each.probability is None]
    if never:
        some = (
            never[0]
            if len(never) == 1
            else f"{format_quantity(len(never), 'class')}, such as {never[0]}"
        )
        which = "no answers" if len(never) == len(thresholds) else f"no answers with {some}"
        messages.warn(
            f"{which}: the documents left out in training do not show that precision; see nbtext "
            "inspect --thresholds"
        )
    return replace(rule, precise_from=list_min_probabilities(thresholds))


def find_precision_thresholds(
    min_precision: float | dict[str, float],
    model: TextClassifier,
    rule: DecisionRule,
    *,
    by_class: bool,
) -> tuple[PrecisionThreshold, ...]:
    """Return the thresholds of a precision for all answers, or of those for single classes; raise `UsageError` for an unknown class."""
    from nbtext.guarantees.precision import fit_precision_thresholds
    from nbtext.model.training import compute_held_out_posteriors
    from nbtext.prediction.rule import expand_class_values

    wanted = (
        min_precision
        if isinstance(min_precision, float)
        else expand_class_values(min_precision, model.classes, "--min-precision", None)
    )
    return fit_precision_thresholds(
        compute_held_out_posteriors(model.fitted), model.classes, rule, wanted, by_class=by_class
    )
