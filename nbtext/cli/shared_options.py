"""Options that several commands share, as records and as fields of records, and the types of their values."""

from __future__ import annotations

import os
import sys
from math import inf, nan
from typing import TYPE_CHECKING, Any

import click

from nbtext.cli import declarations
from nbtext.cli.config import MODEL_START, SCORED_DOCUMENTS_START, Address, InputPath, OutputPath
from nbtext.cli.declarations import Option, wrong_value_error
from nbtext.cli.parameters import INPUT_PATH, ExplicitSettings, parameter_field, parameters_field
from nbtext.errors import NbtextError, UsageError
from nbtext.fast_dataclasses import dataclass
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
    """Return the model file where no option names one."""
    return os.environ.get("NBTEXT_MODEL") or DEFAULT_MODEL


class NumberInRange(click.types.StringParamType):
    """A number in a range, ends included unless they are open; refuses others with the message of `nbtext.settings.Parameter.checked`."""

    kind: type[int | float] = float
    noun = "a number"

    def __init__(
        self,
        minimum: float,
        maximum: float = inf,
        *,
        open_ends: bool = False,
        words: Sequence[str] = (),
    ) -> None:
        """``words`` are values besides the numbers."""
        self.least = minimum
        self.most = maximum
        self.open_ends = open_ends
        self.words = words

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number or the word; raise click's error for wrong usage."""
        if value in self.words:
            return value
        try:
            found = self.kind(value)
        except ValueError:
            found = nan
        if self.least < found < self.most or (
            found in (self.least, self.most) and not self.open_ends
        ):
            return found
        raise wrong_value_error(self._wanted(), repr(str(value)), param, ctx)

    def _wanted(self) -> str:
        """Return in words what is taken."""
        if self.open_ends:
            number = f"{self.noun} above {self.least:,} and below {self.most:,}"
        elif self.most == inf:
            number = f"{self.noun} from {self.least:,}"
        else:
            number = f"{self.noun} from {self.least:,} to {self.most:,}"
        return f"{', '.join(self.words)} or {number}" if self.words else number


class WholeNumber(NumberInRange):
    """A whole number in a range, ends included."""

    name = "n"
    kind = int
    noun = "a whole number"


class NumberPerClass(NumberInRange):
    """A number in a range, or CLASS=NUMBER with commas between several, as a dictionary."""

    name = "p|class=p,..."

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number or the numbers by class; raise click's error for wrong usage."""
        if "=" not in str(value):
            return super().convert(value, param, ctx)
        number = super().convert
        pairs = (each.rpartition("=") for each in value.split(","))
        return {label: number(written, param, ctx) for label, _, written in pairs}


def suggest_classes(context: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """Suggest the classes of the model, if there is one that can be loaded."""
    try:
        classes = load_model(context.params.get("model_path") or default_model()).classes
    except NbtextError:
        return []
    return [label for label in classes if label.startswith(incomplete)]


def load_model(path: str) -> TextClassifier:
    """Return the model of a file; raise `ModelError` if there is none, or if it is damaged."""
    from nbtext.model import TextClassifier

    return TextClassifier.load(path)


class OutputForm(declarations.Choice):
    """A form of output. If the user gives the name of a file, the error says how to write that file."""

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> str:
        """Return the name of the form; raise click's error for wrong usage."""
        try:
            return super().convert(value, param, ctx)
        except click.UsageError as problem:
            form = str(value).rpartition(".")[2]
            if form == value:
                raise
            as_form = f"--output {form} " if form in self.choices else ""
            raise click.UsageError(
                f"{problem.message}; to write a file, give {as_form}> {value}", ctx
            ) from None


SCORED_DOCUMENTS_PATH = OutputPath(SCORED_DOCUMENTS_START)
"""The type of a file of judged documents to be written."""


def model_field() -> Any:
    """Declare the field of ``--model``."""
    return declarations.common_option(
        "-m --model",
        "model",
        "The model file.",
        metavar="PATH",
        default=default_model,
        shown_default=f"$NBTEXT_MODEL, else {DEFAULT_MODEL}",
        type=OutputPath(MODEL_START),
    )


def output_field(forms: str, more: str = "", **attributes: Any) -> Any:
    """Declare the field of ``--output``. ``forms`` are its choices, with blanks between them; the first is the default."""
    choices = forms.split()
    return declarations.common_option(
        "-o --output",
        "output",
        f"Form of the output. {more}",
        type=OutputForm(choices),
        **{"default": choices[0], **attributes},
    )


def _default_form_of_rows() -> str:
    return "table" if sys.stdout.isatty() else "tsv"


def rows_field(more: str = "", default: Callable[[], str] | None = _default_form_of_rows) -> Any:
    """Declare the field of ``--output`` of a command that prints rows: by default a table on a terminal, else tsv."""
    return output_field(
        "table tsv csv jsonl", more, default=default, shown_default="table on a terminal, else tsv"
    )


def all_field() -> Any:
    """Declare the field of ``--all``."""
    return declarations.option(
        "--all",
        "output",
        "Show all figures and classes. On a terminal calibration and confusions are drawn too. Of "
        "more than ten classes the table otherwise has those of least F1.",
    )


def limit_field(
    text: str, default: int | None = None, minimum: int = 1, old_names: str = ""
) -> Any:
    """Declare the field of ``--limit``, how many are printed at most."""
    return declarations.common_option(
        "-n --limit",
        "output",
        text,
        type=WholeNumber(minimum),
        default=default,
        old_names=old_names,
    )


def seed_field(group: str, text: str, *, common: bool = False) -> Any:
    """Declare the field of ``--seed``."""
    return declarations.option("--seed", group, text, common=common, type=WholeNumber(0), default=0)


def to_field(text: str, own_start: bytes = b"", **attributes: Any) -> Any:
    """Declare the field of ``--to``, the file to be written. A file that a found file of defaults names is replaced only if it begins with the pattern ``own``."""
    return declarations.common_option(
        "--to", "output", text, type=OutputPath(own_start), **attributes
    )


def per_class_field() -> Any:
    """Declare the field of ``--by-class``."""
    return declarations.option(
        "--by-class",
        "answer",
        "Keep the promise of --coverage for the documents of each class, and that of a precision "
        "for the answers with each class.",
    )


def excel_safe_field() -> Any:
    """Declare the field of ``--excel-safe``, for `make_cell_formatter`."""
    return declarations.option(
        "--excel-safe",
        "output",
        "In csv, put an apostrophe before cells that begin like a formula. They may be names, "
        "classes and terms.",
    )


def make_cell_formatter(output: str, *, is_excel_safe: bool) -> Callable[[str], str]:
    """Return the function that is applied to the text of each cell, for ``--excel-safe`` one against formulas; raise `UsageError` if the output has no cells."""
    if not is_excel_safe:
        return str
    if output != "csv":
        raise UsageError("--excel-safe goes with --output csv")
    return escape_formula


def corpus_field() -> Any:
    """Declare the field of the arguments CORPUS."""
    return declarations.argument(nargs=-1, metavar="[CORPUS]...", type=INPUT_PATH)


ANALYSIS_PARAMETERS = tuple(each for each in TRAINING if each.name in ANALYSIS_NAMES)
"""The parameters of `ANALYSIS_NAMES`."""

LANGUAGE_PARAMETER = next(each for each in ANALYSIS_PARAMETERS if each.name == "language")


@dataclass(frozen=True, kw_only=True)
class DocumentOptions:
    """Which documents a command reads, and how. A command has one of the kinds below."""

    corpus: tuple[str, ...] = corpus_field()
    text: tuple[str, ...] = ()
    """Documents themselves; only `QueryDocumentOptions` has the option."""
    folders: tuple[str, ...] = ()
    """LABEL=PATH; only `LabelledDocumentOptions` has the option."""
    relabel: str | None = None
    """A file of corrected labels."""
    files_from: str | None = parameter_field(FILES_FROM, is_late=True)
    null: bool = parameter_field(NULL, is_late=True)
    where: str | None = parameter_field(WHERE, is_late=True)
    on_error: str | None = parameter_field(ON_ERROR, is_late=True)
    allow_unreadable: str | None = parameter_field(ALLOW_UNREADABLE, is_late=True)
    reading: ExplicitSettings[Reading] = parameters_field(Reading, shows_defaults=False)
    paths: tuple[str, ...] = ()
    """The paths to read; `nbtext.cli.corpus.located` returns documents that have them."""

    @property
    def has_corpus(self) -> bool:
        """Whether CORPUS, ``--files-from`` or ``--from-folder`` is given."""
        return bool(self.corpus or self.files_from is not None or self.folders)


@dataclass(frozen=True, kw_only=True)
class RelabelledDocumentOptions(DocumentOptions):
    """Labelled documents, under corrected labels."""

    relabel: str | None = declarations.option(
        "--relabel",
        "documents",
        "Read documents under the labels that nbtext label --review wrote into FILE. The corpus "
        "stays as it is.",
        type=INPUT_PATH,
    )


@dataclass(frozen=True, kw_only=True)
class LabelledDocumentOptions(RelabelledDocumentOptions):
    """Labelled documents, in folders of mail too."""

    folders: tuple[str, ...] = declarations.option(
        "--from-folder",
        "documents",
        "Instead of CORPUS, read a Maildir, a folder of messages or an mbox. All its mail has this "
        "class. Give it once for each folder.",
        multiple=True,
        metavar="LABEL=PATH",
        type=InputPath(is_labelled=True),
    )


@dataclass(frozen=True, kw_only=True)
class TrainingDocumentOptions(LabelledDocumentOptions):
    """Labelled documents that a model is trained on; the help has the defaults of reading."""

    reading: ExplicitSettings[Reading] = parameters_field(Reading)


@dataclass(frozen=True, kw_only=True)
class TrainingCorpusOptions(DocumentOptions):
    """Labelled documents that a model is trained on, for commands without ``--from-folder`` and ``--relabel``."""

    reading: ExplicitSettings[Reading] = parameters_field(Reading)


@dataclass(frozen=True, kw_only=True)
class QueryDocumentOptions(DocumentOptions):
    """Documents that a model is asked about."""

    text: tuple[str, ...] = declarations.common_option(
        "--text",
        "documents",
        "A document, given here instead of CORPUS. The option can be given several times.",
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
"""An old way to say that the members of an average are weighed by evidence."""


@dataclass(frozen=True, kw_only=True)
class TrainingOptions:
    """How a model is trained."""

    settings: ExplicitSettings[Settings] = parameters_field(Settings, old_options=(_COMBINE,))


@dataclass(frozen=True, kw_only=True)
class JobOptions:
    """How the work is shared out."""

    jobs: int = declarations.common_option(
        "-j --jobs",
        "process",
        "Work in N processes; 0: one per processor. The result is the same.",
        type=WholeNumber(0),
        default=1,
    )


@dataclass(frozen=True, kw_only=True)
class ClusterOptions(JobOptions):
    """How the work is shared out, to a cluster too."""

    scheduler: str | None = declarations.option(
        "--scheduler",
        "process",
        "Count documents on the Dask cluster of this scheduler, such as tcp://host:8786. Its "
        "workers read them from the same paths.",
        metavar="ADDRESS",
        type=Address(),
    )
    backend: str | None = declarations.option(
        "--backend", "process", "", type=declarations.Choice(["local", "dask"]), hidden=True
    )
    """``dask`` once had to stand beside the address."""
