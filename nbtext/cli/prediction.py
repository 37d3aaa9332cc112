"""Options for predictions, and the decision rules that they define."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from nbtext.cli import declarations, messages
from nbtext.cli.parameters import INPUT_PATH
from nbtext.cli.shared_options import NumberInRange, NumberPerClass, per_class_field
from nbtext.errors import format_quantity

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nbtext.cli.corpus import CommandCorpus
    from nbtext.cli.shared_options import DocumentOptions
    from nbtext.guarantees.precision import PrecisionThreshold
    from nbtext.guarantees.prediction_sets import SetRule
    from nbtext.model import TextClassifier
    from nbtext.prediction.posterior import Posterior
    from nbtext.prediction.rule import DecisionRule
    from nbtext.scoring import ScoredBlock


@declarations.option_record
class DecisionOptions:
    """Options of `build_decision_rule`: which class is predicted."""

    costs: str | None = declarations.option(
        "--costs",
        "Predict the class with the least expected cost. FILE is TOML. Below [spam], the true "
        "class, ham = 1 is the cost if ham is predicted, abstain = 0.2 if nothing is. With several "
        "labels per document, below [LABEL], missed = COST is for a right label that is not "
        "predicted, false = COST for a wrong label that is predicted.",
        group="prediction",
        type=INPUT_PATH,
    )
    min_probability: float | dict[str, float] = declarations.common_option(
        "--min-probability",
        "Predict no class with a probability below P. CLASS=P is for one class.",
        group="prediction",
        type=NumberPerClass(0, 1),
        default=0.0,
        show_default=False,
    )


@declarations.option_record
class PredictionOptions(DecisionOptions):
    """Options of `build_rules_with_guarantees`, and of `nbtext.cli.proportions`."""

    label_threshold: str | float = declarations.option(
        "--label-threshold",
        "Rule for several labels per document. document (the default): predict the set of labels "
        "with the greatest expected F1; label: each label with a probability above its threshold, "
        "chosen on held-out documents; P: each label with probability P or more.",
        group="prediction",
        type=NumberInRange(0, 1, words=("document", "label")),
        default="document",
        show_default=False,
        metavar="document|label|P",
        old_names="--decide",
    )
    coverage: float | None = declarations.option(
        "--coverage",
        "Instead of one class, predict the smallest set that contains the true class with "
        "probability P. The guarantee is for documents like the training documents.",
        group="prediction",
        type=NumberInRange(0, 1, open_ends=True),
        metavar="P",
    )
    min_precision: float | dict[str, float] | None = declarations.option(
        "--min-precision",
        "Predict no class below a minimum probability. nbtext chooses the minimum so that at "
        "least the proportion P of the predictions is right (with 95 % confidence). CLASS=P is "
        "for the predictions of one class. The guarantee is for documents like the training "
        "documents.",
        group="prediction",
        type=NumberPerClass(0, 1, open_ends=True),
    )
    by_class: bool = per_class_field()
    """Whether ``coverage`` and ``min_precision`` are guaranteed for each class."""
    prior_from: tuple[str, ...] = declarations.option(
        "--prior-from",
        "Predict with the class proportions of the documents of PATH (as nbtext prevalence "
        "estimates them) instead of those of training. The option can be repeated.",
        group="prediction",
        multiple=True,
        metavar="PATH",
        type=INPUT_PATH,
    )


@declarations.option_record
class ClassifyPredictionOptions(PredictionOptions):
    """Options for the predictions of `nbtext classify`."""

    min_typicality: float = declarations.option(
        "--min-typicality",
        "Predict no class for atypical documents. A document is atypical if its likelihood per "
        "token is among the lowest SHARE of the training documents of similar length. With "
        "0.001, this finds documents of another kind or language.",
        group="prediction",
        type=NumberInRange(0, 1),
        default=0.0,
        show_default=False,
        metavar="SHARE",
    )


def build_decision_rule(
    decision: DecisionOptions, classes: Sequence[str], posterior_type: type[Posterior]
) -> DecisionRule:
    """Return the decision rule of the options.

    ``posterior_type`` is `ClassPosterior`, or `LabelPosterior` for multi-label documents. Raise
    `PathError` or `UsageError` for a wrong cost file, and `UsageError` for an unknown class.
    """
    from nbtext.prediction.rule import ABSTAIN, DecisionRule, expand_class_values

    min_probability = decision.min_probability
    if isinstance(min_probability, dict):
        class_minimums = expand_class_values(
            min_probability, classes, "--min-probability", default=0.0
        )
        rule = DecisionRule(costs=None, min_probability=class_minimums)
    else:
        rule = DecisionRule(costs=None, min_probability=min_probability)
    if decision.costs is None:
        return rule
    from nbtext.cli.option_files import read_costs

    # `read_costs` calls ``add_costs``, to add the name of the file to its errors.
    add_costs = partial(posterior_type.add_costs, rule=rule)
    rule = read_costs(decision.costs, classes, add_costs)
    # For multi-label documents, costs become thresholds, and ``rule.costs`` stays None.
    if rule.costs is not None and ABSTAIN in classes:
        messages.notify(
            f"the model has a class named {ABSTAIN}: in {decision.costs} this name means the "
            "class, so abstaining is not possible"
        )
    return rule


def build_rules_with_guarantees(
    prediction: PredictionOptions, model: TextClassifier
) -> tuple[DecisionRule, SetRule | None]:
    """Return the decision rule of the options, and the rule for prediction sets.

    The decision rule includes ``--min-precision``. The second rule is None without ``--coverage``.
    Warn about classes that are in every set, and about classes that are never predicted. Raise
    `UsageError` for an unknown class, a wrong cost file, or a model without held-out documents.
    """
    rule = build_decision_rule(prediction, model.classes, model.fitted.posterior_type)
    decide = prediction.label_threshold
    if decide == "label":
        from nbtext.model.training import compute_held_out_posteriors
        from nbtext.prediction.rule import fit_label_thresholds

        held_out = compute_held_out_posteriors(model.fitted)
        label_thresholds = fit_label_thresholds(held_out.log_posterior)
        rule = replace(rule, labels_from=label_thresholds)
    elif isinstance(decide, float):
        rule = replace(rule, labels_from=decide)
    # The rule for "document", the default, has no label thresholds.

    set_rule = None
    if prediction.coverage is not None:
        set_rule = _build_set_rule(model, prediction.coverage, by_class=prediction.by_class)

    if prediction.min_precision is not None:
        thresholds = find_precision_thresholds(
            prediction.min_precision, model, rule, by_class=prediction.by_class
        )
        rule = _add_precision_thresholds(rule, thresholds)
    return rule, set_rule


def _build_set_rule(model: TextClassifier, coverage: float, *, by_class: bool) -> SetRule:
    """Return the rule for prediction sets. Warn about unconditional classes: every set has them."""
    from nbtext.guarantees.prediction_sets import count_needed_held_out, fit_set_rule
    from nbtext.model.training import compute_held_out_posteriors

    held_out = compute_held_out_posteriors(model.fitted)
    rule = fit_set_rule(held_out, model.classes, coverage, by_class=by_class)
    classes = rule.unconditional_classes
    if classes:
        quantity = format_quantity(len(classes), "class")
        messages.warn(
            f"every set contains {quantity}, such as {classes[0]}: fewer than "
            f"{count_needed_held_out(coverage):,} of their training documents were held out"
        )
    return rule


def _add_precision_thresholds(
    rule: DecisionRule, thresholds: Sequence[PrecisionThreshold]
) -> DecisionRule:
    """Return the rule with the thresholds. Warn about classes that it never predicts.

    Such a class has a threshold without a probability.
    """
    from nbtext.guarantees.precision import list_min_probabilities

    excluded_labels = [threshold.label for threshold in thresholds if threshold.probability is None]
    if excluded_labels:
        if len(excluded_labels) == len(thresholds):
            subject = "no class is ever predicted"
        elif len(excluded_labels) == 1:
            subject = f"{excluded_labels[0]} is never predicted"
        else:
            quantity = format_quantity(len(excluded_labels), "class")
            subject = f"{quantity}, such as {excluded_labels[0]}, are never predicted"
        messages.warn(
            f"{subject}: the held-out training documents do not reach this precision; see nbtext "
            "inspect --thresholds"
        )
    min_probabilities = list_min_probabilities(thresholds)
    return replace(rule, precise_from=min_probabilities)


def find_precision_thresholds(
    min_precision: float | dict[str, float],
    model: TextClassifier,
    rule: DecisionRule,
    *,
    by_class: bool,
) -> tuple[PrecisionThreshold, ...]:
    """Return the lowest probabilities at which predictions have at least this precision.

    There is one threshold for all predictions, or one per class if ``min_precision`` is a dict or
    ``by_class`` is True. A dict contains precisions by label. A class that is not in the dict has
    no required precision. Raise `UsageError` for an unknown class.
    """
    from nbtext.guarantees.precision import fit_precision_thresholds
    from nbtext.model.training import compute_held_out_posteriors
    from nbtext.prediction.rule import expand_class_values

    precisions: float | Sequence[float | None]
    if isinstance(min_precision, float):
        precisions = min_precision
    else:
        precisions = expand_class_values(
            min_precision, model.classes, "--min-precision", default=None
        )
    held_out = compute_held_out_posteriors(model.fitted)
    return fit_precision_thresholds(held_out, model.classes, rule, precisions, by_class=by_class)


def score_for_prediction(
    model: TextClassifier,
    source: CommandCorpus,
    documents: DocumentOptions,
    prediction: PredictionOptions,
    jobs: int,
    block_size: int | None = None,
) -> Iterator[ScoredBlock]:
    """Return the scored documents of ``source``, in blocks that are read when they are needed.

    With ``--prior-from``, the class proportions are estimated before this function returns, and
    replace the class prior. ``documents`` are the options of the source. ``block_size`` is a number
    of documents, by default `BLOCK_DOCUMENTS`.
    """
    from nbtext.model.parallel_corpus import score_corpus
    from nbtext.ragged import BLOCK_DOCUMENTS

    if block_size is None:
        block_size = BLOCK_DOCUMENTS
    blocks = score_corpus(model.fitted, source, jobs, block_size)
    if not prediction.prior_from:
        return blocks
    from nbtext.cli.proportions import make_prior_adjustment

    adjust = make_prior_adjustment(model, documents, prediction.prior_from, jobs)
    return adjust(blocks)
