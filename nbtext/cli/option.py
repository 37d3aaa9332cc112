"""Options that several commands share, most of them made from the declared parameters; and what a shell suggests for them."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from functools import partial, reduce
from math import inf, nan
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

import click

from nbtext.cli import messages, panels
from nbtext.cli.config import JUDGED, MODEL, Address, ColumnOfPaths, InputPath, OutputPath, PathList
from nbtext.errors import NbtextError, UsageError, quantity
from nbtext.report.forms import excel_safe
from nbtext.settings import ANALYSIS, BY_EVIDENCE, INPUT, LANGUAGES, READING, SEARCH, TRAINING, WHERE, Parameter, Reading

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from click.shell_completion import CompletionItem

    from nbtext.model import TextClassifier
    from nbtext.prediction.posterior import Posterior
    from nbtext.prediction.rule import DecisionRule
    from nbtext.promises.precision import PrecisionThreshold
    from nbtext.promises.prediction_sets import SetRule

    class LockSettings(TypedDict):
        """Settings of lock and replacement, arguments of the functions of `nbtext.model.locked_model`."""

        lock_timeout: float
        backup: bool

    Options = dict[str, Any]
    """Options that are looked up by name, None where they were not given."""


Command = TypeVar("Command", bound="Callable[..., object]")

DEFAULT_MODEL = "nbtext.joblib"


def default_model() -> str:
    """Return the model file where no option names one."""
    return os.environ.get("NBTEXT_MODEL") or DEFAULT_MODEL


def several(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Return the decorator that adds several options, in this order."""
    return lambda command: reduce(lambda decorated, option: option(decorated), reversed(options), command)


class Number(click.types.StringParamType):
    """A number in a range, ends included unless they are open; refuses others in the words of `nbtext.settings.Parameter.checked`."""

    kind: type[int | float] = float
    described = "a number"

    def __init__(self, least: float, most: float = inf, *, open_ends: bool = False, words: Sequence[str] = ()) -> None:
        """``words`` are taken too."""
        self.least, self.most, self.open_ends, self.words = least, most, open_ends, words

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number or the word; raise click's error for wrong usage."""
        if value in self.words:
            return value
        try:
            found = self.kind(value)
        except ValueError:
            found = nan
        if self.least < found < self.most or (found in (self.least, self.most) and not self.open_ends):
            return found
        most = "" if self.most == inf else f" to {self.most:,}"
        within = f"above {self.least:,} and below {self.most:,}" if self.open_ends else f"from {self.least:,}{most}"
        raise panels.wrong_value(f"{self.described} {within}", repr(str(value)), param, ctx)


class WholeNumber(Number):
    """A whole number in a range, ends included; likewise."""

    name, kind, described = "n", int, "a whole number"


class NumberPerClass(Number):
    """A number in a range, or CLASS=NUMBER with commas between several, as a dictionary."""

    name = "p|class=p,..."

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number or the numbers by class; raise click's error for wrong usage."""
        if "=" not in str(value):
            return super().convert(value, param, ctx)
        number, pairs = super().convert, (each.rpartition("=") for each in value.split(","))
        return {label: number(written, param, ctx) for label, _, written in pairs}


cluster_options = several(
    panels.option(
        "--scheduler", "process",
        "Count documents on the Dask cluster of this scheduler, such as tcp://host:8786. Its workers read them from the same paths.",
        metavar="ADDRESS", type=Address(),
    ),
    panels.option("--backend", "process", "", type=panels.Choice(["local", "dask"]), hidden=True),
)  # fmt: skip
"""The cluster to count on; ``--backend dask`` once had to stand beside it."""


def _suggest_values(choices: Sequence[str]) -> Callable[..., list[str] | list[CompletionItem]]:
    """Return a function that suggests the values beginning with the incomplete text, or files if there are none."""

    def suggest(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str] | list[CompletionItem]:
        fitting = [choice for choice in choices if choice.startswith(incomplete)]
        return fitting or PATH.shell_complete(context, parameter, incomplete)

    return suggest


def suggest_classes(context: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """Suggest the classes of the model, if there is one that can be loaded."""
    try:
        classes = load_model(context.params.get("model_path") or default_model()).classes
    except NbtextError:
        return []
    return [label for label in classes if label.startswith(incomplete)]


PATH, JUDGED_FILE = InputPath(), OutputPath(JUDGED)
"""Types of options: a path to be read, and a file of judged documents to be written."""

corpus_argument = click.argument("corpus", nargs=-1, metavar="[CORPUS]...", type=PATH)

relabel_option = panels.option(
    "--relabel", "documents",
    "Read documents under the labels that nbtext label --review wrote into FILE. The corpus stays as it is.",
    type=PATH,
)  # fmt: skip
"""For `nbtext.cli.corpus.CommandCorpus`."""

labelled_corpus_options = several(
    corpus_argument,
    panels.option(
        "--from-folder folders", "documents",
        "Instead of CORPUS, read a Maildir, a folder of messages or an mbox. All its mail has this class. Give it once for each folder.",
        multiple=True, metavar="LABEL=PATH", type=InputPath(is_labelled=True),
    ),
    relabel_option,
)  # fmt: skip
"""For `nbtext.cli.corpus.corpus_paths` and `nbtext.cli.corpus.CommandCorpus`."""

model_option = panels.common_option(
    "-m --model model_path", "model",
    "The model file.",
    metavar="PATH", default=default_model, shown_default=f"$NBTEXT_MODEL, else {DEFAULT_MODEL}", type=OutputPath(MODEL),
)  # fmt: skip


asked_options = several(
    corpus_argument,
    panels.common_option(
        "--text", "documents",
        "A document, given here instead of CORPUS. The option can be given several times.",
        multiple=True, metavar="TEXT",
    ),
    model_option,
)  # fmt: skip
"""For a command that asks a model about documents; for `nbtext.cli.corpus.corpus_paths`."""


def load_model(path: str) -> TextClassifier:
    """Return the model of a file; raise `ModelError` if there is none, or if it is damaged."""
    from nbtext.model import TextClassifier

    return TextClassifier.load(path)


jobs_option = panels.common_option(
    "-j --jobs", "process",
    "Work in N processes; 0: one per processor. The result is the same.",
    type=WholeNumber(0), default=1,
)  # fmt: skip


class OutputForm(panels.Choice):
    """A form of output; for the name of a file it says how to write one."""

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name of the form; raise click's error for wrong usage."""
        try:
            return super().convert(value, param, ctx)
        except click.UsageError as problem:
            form = str(value).rpartition(".")[2]
            if form == value:
                raise
            as_form = f"--output {form} " if form in self.choices else ""
            raise click.UsageError(f"{problem.message}; to write a file, give {as_form}> {value}", ctx) from None


def output_option(formats: str, more: str = "", **default: Any) -> Callable[[Command], Command]:
    """Return the decorator that adds ``--output``, one of the forms, with blanks between them, in which results are printed; by default the first."""
    choices = formats.split()
    attributes = {"default": choices[0], **default}
    return panels.common_option("-o --output", "output", f"Form of the output. {more}", type=OutputForm(choices), **attributes)


def _form_of_rows() -> str:
    return "table" if sys.stdout.isatty() else "tsv"


def rows_option(more: str = "", default: Callable[[], str] | None = _form_of_rows) -> Callable[[Command], Command]:
    """Return the decorator that adds ``--output`` of a command that prints rows: by default a table on a terminal, else tsv."""
    return output_option("table tsv csv jsonl", more, default=default, shown_default="table on a terminal, else tsv")


all_option = panels.option(
    "--all", "output",
    "Show all figures and classes. On a terminal calibration and confusions are drawn too. Of more than ten classes the table otherwise has those of least F1.",
)  # fmt: skip


def limit_option(text: str, default: int | None = None, least: int = 1, old_names: str = "") -> Callable[[Command], Command]:
    """Return the decorator that adds ``--limit``, how many are printed at most."""
    return panels.common_option("-n --limit", "output", text, type=WholeNumber(least), default=default, old_names=old_names)


def seed_option(group: str, text: str, *, common: bool = False) -> Callable[[Command], Command]:
    """Return the decorator that adds ``--seed``."""
    return panels.option("--seed", group, text, common=common, type=WholeNumber(0), default=0)


def to_option(text: str, own: bytes = b"", **attributes: Any) -> Callable[[Command], Command]:
    """Return the decorator that adds ``--to``, the file to be written, which begins as the pattern ``own`` says; an empty one if the command checks it."""
    return panels.common_option("--to", "output", text, type=OutputPath(own), **attributes)


excel_safe_option = panels.option(
    "--excel-safe", "output",
    "In csv, put an apostrophe before cells that begin like a formula. They may be names, classes and terms.",
)  # fmt: skip
"""For `safe_cells`."""


def safe_cells(options: Options, output: str) -> Callable[[str], str]:
    """Return what makes the texts of cells safe, for a spreadsheet if wanted; raise `UsageError` if the output has no cells."""
    if options["excel_safe"] and output != "csv":
        raise UsageError("--excel-safe goes with --output csv")
    return excel_safe if options["excel_safe"] else str


decision_options = several(
    panels.option(
        "--costs", "answer",
        "Choose the answer with the least expected cost. FILE is TOML, with a table [true-class] of the costs of answers, or of several "
        "labels a table [label] of its costs missed and false.",
        type=PATH,
    ),
    panels.common_option(
        "--min-probability", "answer",
        "Give no answer if it is less probable than P, or than the P of its class.",
        type=NumberPerClass(0, 1), default=0.0, show_default=False,
    ),
)  # fmt: skip
"""For `decision_rule`."""


by_class_option = panels.option(
    "--by-class", "answer",
    "Keep the promise of --coverage for the documents of each class, and that of a precision for the answers with each class.",
)  # fmt: skip

answer_options = several(
    decision_options,
    panels.option(
        "--decide", "answer",
        "If documents have several labels: give the set with the greatest expected F1 of the document (the default), the labels above a threshold for "
        "each label, or those with probability P or more.",
        type=Number(0, 1, words=("document", "label")), default="document", show_default=False, metavar="document|label|P",
    ),
    panels.option(
        "--coverage", "answer",
        "Instead of one class give the smallest set of classes that holds the true one with probability P. It holds for documents like those of "
        "training.",
        type=Number(0, 1, open_ends=True), metavar="P",
    ),
    panels.option(
        "--min-precision", "answer",
        "Give no answer unless a share P of such answers is right, with 95 % confidence. P is for all answers together, CLASS=P for those with a class. "
        "It holds for documents like those of training.",
        type=NumberPerClass(0, 1, open_ends=True),
    ),
    by_class_option,
    panels.option(
        "--prior-from", "answer",
        "Answer for the shares of classes among the documents of PATH, as nbtext prevalence estimates them, not for those of training. The option can be "
        "given several times.",
        multiple=True, metavar="PATH", type=PATH,
    ),
)  # fmt: skip
"""For `answer_rules`, and `for_prior` of `nbtext.cli.shares`."""


def decision_rule(options: Options, classes: Sequence[str], kind: type[Posterior]) -> DecisionRule:
    """Return the decision rule of the options, for documents of one label or of several; raise `PathError` or `UsageError` for a wrong file of costs."""
    from nbtext.prediction.rule import DecisionRule, per_class

    asked = options["min_probability"]
    least = per_class(asked, classes, "--min-probability", 0.0) if isinstance(asked, dict) else asked
    rule = DecisionRule(None, least)
    if options["costs"] is None:
        return rule
    from nbtext.cli.option_files import read_costs
    from nbtext.prediction.rule import ABSTAIN

    rule = read_costs(options["costs"], classes, partial(kind.rule_of_costs, rule=rule))
    if rule.costs is not None and ABSTAIN in classes:
        messages.notice(f"the model has a class named {ABSTAIN}: {options['costs']} prices that class, and giving no answer is free")
    return rule


def answer_rules(options: Options, model: TextClassifier) -> tuple[DecisionRule, SetRule | None]:
    """Return the rule of the options for answers, which keeps ``--min-precision`` too, and the rule of ``--coverage`` or None.

    Warn of what these promises cost: of classes that every set has, and of those that are never the answer. Raises `UsageError` for an unknown class,
    and as `decision_rule` and `set_rule` do.
    """
    rule, sets, by_class = decision_rule(options, model.classes, model.fitted.kind), None, options["by_class"]
    if (decide := options["decide"]) != "document":
        if decide == "label":
            from nbtext.model.training import left_out_posteriors
            from nbtext.prediction.rule import label_thresholds

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
    from nbtext.model.training import left_out_posteriors
    from nbtext.prediction.rule import per_class
    from nbtext.promises.precision import precision_thresholds

    wanted = asked if isinstance(asked, float) else per_class(asked, model.classes, "--min-precision", None)
    return precision_thresholds(left_out_posteriors(model.fitted), model.classes, rule, wanted, by_class=by_class)


messages_options = several(
    panels.color_option,
    panels.common_option("-v --verbose", "process", "Print notices even without a terminal."),
    panels.common_option("-q --quiet", "process", "Print errors only."),
    panels.log_format_option,
)


_OF_ONE: dict[str, dict[str, Any]] = {
    "file_column": {"type": ColumnOfPaths()},
    "files_from": {"type": PathList()},
    "label_column": {"old_names": "--label-header"},
    "members": {"callback": lambda context, _, given: f"{BY_EVIDENCE}{given or ''}" if context.params["combine"] == "evidence" else given},
    "stop_words": {"shell_complete": _suggest_values(("default", "none", *LANGUAGES))},
}
"""What single parameters have besides."""


def _table_options(table: Iterable[Parameter], *, defaults: bool = True) -> Callable[[Command], Command]:
    """Return the decorator that adds the options of declared parameters."""
    options = []
    for parameter in table:
        names, attributes = parameter.option, _OF_ONE.get(parameter.name, {})
        if parameter.metavar:
            attributes = {
                "metavar": parameter.metavar,
                "shown_default": str(parameter.default) if defaults and parameter.default is not None else None,
                "shell_complete": _suggest_values(parameter.choices),
                "type": InputPath(or_name=parameter.metavar != "FILE") if _may_be_file(parameter) else None,
                **attributes,
            }
        else:
            names = f"-0 {names}" if parameter.name == "null" else f"{names}/--no-{names[2:]}"
            attributes = {"default": None}
        options.append(panels.option(names, parameter.group, parameter.meaning, common=parameter.common, **attributes))
    return several(*options)


def _may_be_file(parameter: Parameter) -> bool:
    return "FILE" in parameter.metavar.split("|")


_combine_option = panels.option("--combine", "model", "", hidden=True, is_eager=True, type=panels.Choice(["pool", "evidence"]))
"""For ``--members``."""

search_options = _table_options(SEARCH)
"""The parameters of `SEARCH`."""

input_options = _table_options(INPUT)
"""The parameters of `INPUT`, for a command that reads documents."""

reading_options = _table_options(READING, defaults=False)
"""The parameters of `READING` without their defaults, for a command with a model, which has settings of its own."""


document_options = several(input_options, reading_options, messages_options)
"""For a command that reads documents for a model that is there."""


def corpus_options(command: Command) -> Command:
    """Add the options of a command that trains on a corpus."""
    return several(input_options, _combine_option, _table_options([*READING, *TRAINING]), messages_options)(command)


ANALYSING = tuple(parameter for parameter in TRAINING if parameter.name in ANALYSIS)

analysis_options = _table_options(ANALYSING)
"""The parameters of `ANALYSIS`, for a command that works without a model too."""


looking_options = _table_options([ANALYSING[0], WHERE])
"""``--language`` and ``--where`` alone."""


def given(table: Iterable[Parameter], options: Mapping[str, object]) -> dict[str, Any]:
    """Return the parameters of a table that the user gave, checked; in place of the path of a file its numbers by name."""
    values = {parameter: value for parameter in table if (value := options.get(parameter.name)) is not None}
    if any(_may_be_file(parameter) for parameter in values):
        from nbtext.cli.option_files import from_file

        values = {parameter: from_file(parameter.name, value) for parameter, value in values.items()}
    return {parameter.name: parameter.checked(value) for parameter, value in values.items()}


def given_reading(options: Mapping[str, object]) -> Reading:
    """Return how documents are read by the options alone, without a model."""
    return Reading.of(given(READING, options))


def typed(options: Mapping[str, object]) -> list[str]:
    """Return the parameters of input, reading and training that the user gave, as arguments of a command line."""
    arguments: list[str] = []
    for parameter in (*INPUT, *READING, *TRAINING):
        value = options.get(parameter.name)
        if parameter.metavar and value is not None:
            arguments += [parameter.option, str(value)]
        elif value is not None:
            arguments.append(parameter.option if value else f"--no-{parameter.option[2:]}")
    return arguments
