"""Options that several commands share: types of values, fields, and records of fields.

A function ``…_field`` declares the field of one option (`nbtext.cli.declarations`).
"""

from __future__ import annotations

import os
import shlex
import sys
from contextlib import suppress
from math import inf
from typing import TYPE_CHECKING, Any

import click

from nbtext.cli import declarations, messages
from nbtext.cli.config import (
    MODEL_START,
    PAGE_START,
    SCORED_DOCUMENTS_START,
    Address,
    InputPath,
    OutputPath,
)
from nbtext.cli.declarations import Option, wrong_value_error
from nbtext.cli.parameters import (
    INPUT_PATH,
    ExplicitSettings,
    parameter_field,
    parameters_field,
)
from nbtext.errors import NbtextError, UsageError
from nbtext.report.output_formats import escape_formula
from nbtext.settings import (
    ALLOW_UNREADABLE,
    ANALYSIS_NAMES,
    FILES_FROM,
    NULL,
    ON_ERROR,
    TRAINING,
    WHERE,
    Reading,
    Settings,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from nbtext.model import TextClassifier


DEFAULT_MODEL = "nbtext.joblib"


def default_model() -> str:
    """Return the path of the model file if no option names one."""
    return os.environ.get("NBTEXT_MODEL") or DEFAULT_MODEL


class NumberInRange(click.types.StringParamType):
    """Type of an option: a number in a range, or one of the ``words``.

    With ``open_ends``, the range excludes its ends. The errors have the same form as the errors of
    `nbtext.settings.Parameter.validate`.
    """

    number_type: type[int | float] = float
    noun = "a number"

    def __init__(
        self,
        minimum: float,
        maximum: float = inf,
        *,
        open_ends: bool = False,
        words: Sequence[str] = (),
    ) -> None:
        self.minimum = minimum
        self.maximum = maximum
        self.open_ends = open_ends
        self.words = words

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number or the word. Raise `click.UsageError` for other values."""
        if value in self.words:
            return value
        with suppress(ValueError):  # for a text that is not a number
            number = self.number_type(value)
            if self._contains(number):
                return number
        raise wrong_value_error(self._describe(), repr(str(value)), param, ctx)

    def _contains(self, number: float) -> bool:
        """Return True for a number in the range, False for nan."""
        if self.open_ends:
            return self.minimum < number < self.maximum
        return self.minimum <= number <= self.maximum

    def _describe(self) -> str:
        """Return the accepted values in words."""
        if self.open_ends:
            numbers = f"{self.noun} above {self.minimum:,} and below {self.maximum:,}"
        elif self.maximum == inf:
            numbers = f"{self.noun} from {self.minimum:,}"
        else:
            numbers = f"{self.noun} from {self.minimum:,} to {self.maximum:,}"
        if self.words:
            return f"{', '.join(self.words)} or {numbers}"
        return numbers


class WholeNumber(NumberInRange):
    """Type of an option: a whole number in a range, ends included."""

    name = "n"
    number_type = int
    noun = "a whole number"


class NumberPerClass(NumberInRange):
    """Type of an option: a number in a range, or CLASS=NUMBER pairs with commas between them."""

    name = "p|class=p,..."

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return a number, or a dict of numbers by class.

        Raise `click.UsageError` for other values.
        """
        if "=" not in str(value):
            return super().convert(value, param, ctx)
        numbers = {}
        for pair in value.split(","):
            label, _, text = pair.rpartition("=")
            numbers[label] = super().convert(text, param, ctx)
        return numbers


def suggest_classes(context: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """Return the classes that start with the typed text, or [] if the model cannot be loaded."""
    path = context.params.get("model_path") or default_model()
    try:
        model = load_model(path)
    except NbtextError:
        return []
    return [label for label in model.classes if label.startswith(incomplete)]


def load_model(path: str) -> TextClassifier:
    """Return the model in a file. Raise `ModelError` if the file is missing or damaged."""
    from nbtext.model import TextClassifier

    model = TextClassifier.load(path)
    messages.set_model(model.fitted.fingerprint)
    return model


class OutputForm(declarations.Choice):
    """Type of an option: the name of an output format.

    If the value looks like a file name, the error says how to write that file.
    """

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> str:
        """Return the name of the format. Raise `click.UsageError` for other values."""
        try:
            return super().convert(value, param, ctx)
        except click.UsageError as problem:
            _, dot, suffix = str(value).rpartition(".")
            if not dot:
                raise
            option = f"--output {suffix} " if suffix in self.choices else ""
            raise click.UsageError(
                f"{problem.message}; to write a file, give {option}> {value}", ctx
            ) from None


SCORED_DOCUMENTS_PATH = OutputPath(SCORED_DOCUMENTS_START)
"""The type of an option that writes labelled documents with their predictions."""


def output_field(
    forms: str, help_suffix: str = "", *, text: str = "Format of the output.", **attributes: Any
) -> Any:
    """Declare the field of ``--output``.

    ``forms`` are the names of the formats, separated by blanks. The default is the first format,
    unless ``attributes`` contains a default. The help is ``text`` and ``help_suffix``.
    """
    choices = forms.split()
    attributes.setdefault("default", choices[0])
    return declarations.common_option(
        "-o --output",
        f"{text} {help_suffix}".strip(),
        group="output",
        type=OutputForm(choices),
        **attributes,
    )


def _default_row_form() -> str:
    return "table" if sys.stdout.isatty() else "tsv"


def rows_field(
    help_suffix: str = "",
    default: Callable[[], str] | None = _default_row_form,
    shown_default: str = "table on a terminal, else tsv",
    extra_forms: str = "",
) -> Any:
    """Declare the field of ``--output`` of a command that prints rows.

    The default is a table on a terminal, else tsv. A command that passes None chooses the format
    itself, as ``shown_default`` describes. ``extra_forms`` are further formats.
    """
    return output_field(
        f"table tsv csv jsonl {extra_forms}",
        help_suffix,
        default=default,
        shown_default=shown_default,
    )


def all_field(
    text: str = "Show all metrics and classes, and on a terminal charts of calibration and "
    "confusions. Without --all, the table has at most the ten classes with the lowest F1.",
    *,
    common: bool = False,
) -> Any:
    """Declare the field of ``--all``. ``common`` is set if ``--help`` shows it, too."""
    return declarations.option("--all", text, group="output", common=common)


def limit_field(
    text: str,
    default: int | None = None,
    minimum: int = 1,
    old_names: str = "",
    **attributes: Any,
) -> Any:
    """Declare the field of ``--limit``, the maximum number of items to print."""
    return declarations.common_option(
        "-n --limit",
        text,
        group="output",
        type=WholeNumber(minimum),
        default=default,
        old_names=old_names,
        **attributes,
    )


def seed_field(text: str, *, group: str, default: int | None = 0, **attributes: Any) -> Any:
    """Declare the field of ``--seed``. With the default None, each run draws differently."""
    return declarations.option(
        "--seed", text, group=group, type=WholeNumber(0), default=default, **attributes
    )


def to_field(text: str, own_start: bytes = b"", **attributes: Any) -> Any:
    """Declare the field of ``--to``, the file to write.

    A file of defaults that was found, not named, may set ``--to``. In this case an existing file is
    only replaced if its first bytes match the pattern ``own_start``.
    """
    return declarations.common_option(
        "--to", text, group="output", type=OutputPath(own_start), **attributes
    )


def page_field(text: str = "Write a page of HTML to FILE, with charts.") -> Any:
    """Declare the field of ``--to`` of a command that can write its result as a page."""
    return to_field(text, PAGE_START)


def format_command_line() -> str:
    """Return the command line of this process, for pages."""
    return shlex.join(["nbtext", *sys.argv[1:]])


def per_class_field() -> Any:
    """Declare the field of ``--by-class``."""
    return declarations.option(
        "--by-class",
        "Guarantee --coverage for the documents of each class, and --min-precision for the "
        "predictions of each class, not only overall.",
        group="prediction",
    )


def excel_safe_field() -> Any:
    """Declare the field of ``--excel-safe``, for `make_cell_formatter`."""
    return declarations.option(
        "--excel-safe",
        "In csv, put an apostrophe before names, classes and terms that begin like a formula.",
        group="output",
    )


def make_cell_formatter(output: str, *, is_excel_safe: bool) -> Callable[[str], str]:
    """Return the function to apply to each cell of an output in this format.

    With ``is_excel_safe`` (the option ``--excel-safe``) the function escapes formulas. Raise
    `UsageError` for ``is_excel_safe`` and a format other than csv.
    """
    if not is_excel_safe:
        return str
    if output != "csv":
        raise UsageError("--excel-safe needs --output csv")
    return escape_formula


def corpus_field() -> Any:
    """Declare the field of the arguments CORPUS."""
    return declarations.argument(nargs=-1, metavar="[CORPUS]...", type=INPUT_PATH)


ANALYSIS_PARAMETERS = tuple(parameter for parameter in TRAINING if parameter.name in ANALYSIS_NAMES)
"""The parameters that decide how a text becomes terms."""

LANGUAGE_PARAMETER = next(
    parameter for parameter in ANALYSIS_PARAMETERS if parameter.name == "language"
)


@declarations.option_record
class ModelOptions:
    """The model of a command. A subclass declares further options of the command."""

    model_path: str = declarations.common_option(
        "-m --model",
        "The model file.",
        group="model",
        metavar="PATH",
        default=default_model,
        shown_default=f"$NBTEXT_MODEL, else {DEFAULT_MODEL}",
        type=OutputPath(MODEL_START),
    )


@declarations.option_record
class DocumentOptions:
    """The documents that a command reads, and the settings for reading.

    A command uses this class or a subclass, which turns more of the fields into options.
    """

    corpus: tuple[str, ...] = corpus_field()
    text: tuple[str, ...] = ()
    """Texts to read as documents. Only `QueryDocumentOptions` has the option."""
    folders: tuple[str, ...] = ()
    """LABEL=PATH of each folder. Only `LabelledDocumentOptions` has the option."""
    relabel: str | None = None
    """A file of corrected labels. Only `RelabelledDocumentOptions` has the option."""
    files_from: str | None = parameter_field(FILES_FROM, is_listed_last=True)
    null: bool = parameter_field(NULL, is_listed_last=True)
    where: str | None = parameter_field(WHERE, is_listed_last=True)
    on_error: str | None = parameter_field(ON_ERROR, is_listed_last=True)
    allow_unreadable: str | None = parameter_field(ALLOW_UNREADABLE, is_listed_last=True)
    reading: ExplicitSettings[Reading] = parameters_field(Reading, shows_defaults=False)
    paths: tuple[str, ...] = ()
    """The paths to read. They are empty until `nbtext.cli.corpus.locate_documents` sets them."""

    @property
    def has_corpus(self) -> bool:
        """Whether CORPUS, ``--files-from`` or ``--from-folder`` is given."""
        return bool(self.corpus or self.files_from is not None or self.folders)


@declarations.option_record
class RelabelledDocumentOptions(DocumentOptions):
    """Labelled documents with an option for a file that corrects their labels."""

    relabel: str | None = declarations.option(
        "--relabel",
        "Replace labels of CORPUS by the corrected labels in FILE, which nbtext label --review "
        "wrote. CORPUS itself does not change.",
        group="documents",
        type=INPUT_PATH,
    )


@declarations.option_record
class LabelledDocumentOptions(RelabelledDocumentOptions):
    """Labelled documents with an option for folders of mail, which have one label each."""

    folders: tuple[str, ...] = declarations.option(
        "--from-folder",
        "Instead of CORPUS, read mail from PATH: a Maildir, a folder of messages or an mbox. All "
        "mail of PATH has the class LABEL. Repeat the option for each folder.",
        group="documents",
        multiple=True,
        metavar="LABEL=PATH",
        type=InputPath(is_labelled=True),
    )


@declarations.option_record
class TrainingDocumentOptions(LabelledDocumentOptions):
    """Labelled documents to train a model on. The help shows the defaults of reading."""

    reading: ExplicitSettings[Reading] = parameters_field(Reading)


@declarations.option_record
class TrainingCorpusOptions(DocumentOptions):
    """Labelled documents to train a model on, without ``--from-folder`` and ``--relabel``."""

    reading: ExplicitSettings[Reading] = parameters_field(Reading)


@declarations.option_record
class QueryDocumentOptions(DocumentOptions):
    """Documents to classify or explain, with an option for texts on the command line."""

    text: tuple[str, ...] = declarations.common_option(
        "--text",
        "A document, instead of CORPUS. The option can be repeated.",
        group="documents",
        multiple=True,
        metavar="TEXT",
    )


_COMBINE = Option(
    ["--combine"],
    group="model",
    help="",
    hidden=True,
    is_eager=True,
    type=declarations.Choice(["pool", "evidence"]),
)
"""An old option, read by `nbtext.cli.parameters`: ``evidence`` weights members by evidence."""


@declarations.option_record
class TrainingOptions:
    """The settings of training."""

    settings: ExplicitSettings[Settings] = parameters_field(Settings, old_options=(_COMBINE,))


@declarations.option_record
class JobOptions:
    """The number of processes that work."""

    jobs: int = declarations.common_option(
        "-j --jobs",
        "Work in N processes; 0: one per processor. The result does not depend on N.",
        group="process",
        type=WholeNumber(0),
        default=1,
    )


@declarations.option_record
class ClusterOptions(JobOptions):
    """The number of processes that work, or the cluster."""

    scheduler: str | None = declarations.option(
        "--scheduler",
        "Count documents on the Dask cluster of this scheduler, such as tcp://host:8786. The "
        "workers read the documents from the same paths.",
        group="process",
        metavar="ADDRESS",
        type=Address(),
    )
    backend: str | None = declarations.option(
        "--backend", "", group="process", type=declarations.Choice(["local", "dask"]), hidden=True
    )
    """An old option without effect. Once, ``dask`` was required in addition to the address."""
