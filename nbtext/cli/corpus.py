"""A corpus as a command reads it: paths and options in; messages and progress out."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, TypeVar, cast

import click

from nbtext.cli import messages
from nbtext.cli.config import find_folder_of_paths
from nbtext.cli.shared_options import QueryDocumentOptions
from nbtext.corpus.collection import Corpus
from nbtext.corpus.document import LabelledFolder
from nbtext.corpus.reading import (
    choose_reading,
    count_document_lines,
    detect_format_by_name,
    find_corpus_warnings,
    find_folder_kind_warnings,
    resolve_reading,
)
from nbtext.corpus.streams import peek_start, read_path_list, set_standard_input
from nbtext.errors import PathError, UsageError, join_names
from nbtext.settings import (
    ALLOW_UNREADABLE,
    FORMATS,
    KIND_BY_NAME,
    KINDS_BY_SUFFIX,
    MAIL_PARAMETERS,
    ON_ERROR,
    PARAMETERS_BY_NAME,
    Reading,
    Settings,
    negate_condition,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from nbtext.cli.parameters import ExplicitSettings
    from nbtext.cli.shared_options import DocumentOptions
    from nbtext.corpus.document import Document
    from nbtext.counts.count_table import CountTable
    from nbtext.counts.counting import Analysis
    from nbtext.evaluation.leakage import LeakChecker
    from nbtext.model import TextClassifier
    from nbtext.model.parallel_corpus import CountedCorpus
    from nbtext.settings import UnreadableAllowance

_TRIM_THRESHOLD = -1
_MMAP_THRESHOLD = -3
"""Parameters of ``mallopt``, as in malloc.h of glibc."""


class CommandCorpus(Corpus):
    """Documents of the given paths, read once; `say_notices` afterwards says what was noticed."""

    def __init__(
        self,
        documents: DocumentOptions,
        reading: Reading,
        *,
        labelled: bool,
        columns: Sequence[str] = (),
        progress: bool = True,
    ) -> None:
        """Prepare to read the ``paths`` of documents that are `located`."""
        paths = documents.paths
        on_error = ON_ERROR.validate(documents.on_error or ON_ERROR.default)
        if not paths:
            messages.warn("the list of files is empty")
        typed = "-" in paths and not documents.text and sys.stdin is not None and sys.stdin.isatty()
        if typed:
            messages.notify("reading standard input; Ctrl-D ends it")
        reading = detect_reading(reading, paths, labelled=labelled)
        _refuse_options_of_mail(documents.reading, reading)
        is_text = (
            reading.format == "dir"
            and reading.document == "text"
            and not (labelled or "format" in documents.reading)
        )
        if (
            is_text
            and messages.shows_notices()
            and len(paths) == 1
            and os.path.isfile(paths[0])
            and (n := count_document_lines(paths[0]))
        ):
            messages.notify(
                f"{paths[0]}: read as one document of {n:,} lines or more; if each line is a "
                "document, give --format lines"
            )
        super().__init__(
            paths, reading, labelled, columns, str(on_error), messages.report_failed_document
        )
        _keep_freed_memory()
        self.reports_progress = progress and not typed and messages.standard_error_is_terminal()
        self.allowed_folder = find_folder_of_paths()
        self.condition = documents.where
        allowance = ALLOW_UNREADABLE.validate(documents.allow_unreadable)
        self.allow_unreadable = cast("UnreadableAllowance | None", allowance)
        if self.allow_unreadable is not None:
            messages.allow_failures()
        self.relabel = self._patch = None
        if labelled and documents.relabel is not None:
            from nbtext.labelling.answer_file import LabelPatch

            self.relabel = self._patch = LabelPatch(documents.relabel)

    def report_notices(self) -> None:
        """Say what was noticed while reading; raise what made it end early."""
        self.raise_deferred()
        for found in [
            *self.notices.warnings,
            *(self._patch.find_warnings(self.notices) if self._patch else []),
        ]:
            messages.warn(found.line)
        for found in self.notices.findings:
            messages.notify(found.line)
        messages.count_failed_documents(self.notices.n_unnamed)


def _keep_freed_memory() -> None:
    """Let the C library keep up to 64 MiB of freed memory for the next block of documents, where it is glibc.

    It would give the memory back and get it again, cleared, block after block: a tenth of the time of training.
    """
    import ctypes  # which numpy imports anyway

    if not {"MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "GLIBC_TUNABLES"}.isdisjoint(
        os.environ
    ):
        return  # somebody has chosen
    with contextlib.suppress(OSError, TypeError, AttributeError):  # another C library
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_TRIM_THRESHOLD, 64 << 20)
        mallopt(_MMAP_THRESHOLD, 4 << 20)


D = TypeVar("D", bound="DocumentOptions")

TEXTS_AS_LINES = {
    "format": "jsonl",
    "text_column": "text",
    "id_column": "id",
    "document": "text",
    "encoding": "auto",
}
"""How the texts of ``--text`` are read."""


def locate_documents(documents: D) -> D:
    """Return the documents with their paths: the CORPUS arguments and then what ``--files-from`` lists, or the folders of ``--from-folder``.

    A command that takes ``--text`` reads what is piped into it if nothing is given. The texts of ``--text`` are put on standard input, as JSON objects,
    so that attributes beside them are unknown values. Raise `UsageError` if no documents are named.
    """
    if documents.text:
        return _located_texts(documents)
    if documents.folders:
        return _located_folders(documents)
    if documents.files_from is None:
        return replace(documents, paths=_corpus_arguments(documents))
    if documents.files_from == "-" and "-" in documents.corpus:
        raise UsageError("standard input cannot be both a document and the list of files")
    return replace(
        documents,
        paths=(
            *documents.corpus,
            *read_path_list(documents.files_from, is_null_separated=documents.null),
        ),
    )


def _corpus_arguments(documents: DocumentOptions) -> tuple[str, ...]:
    """Return CORPUS, or standard input where texts are asked about and piped in; raise `UsageError` for none."""
    corpus = documents.corpus
    takes_texts = isinstance(documents, QueryDocumentOptions)
    if takes_texts and len(corpus) == 1 and " " in corpus[0] and not os.path.lexists(corpus[0]):
        raise PathError(
            "there is no such file",
            where=corpus[0],
            hint=f"if it is a text, give --text {shlex.quote(corpus[0])}",
        )
    if corpus:
        return corpus
    if takes_texts and sys.stdin is not None and not sys.stdin.isatty() and peek_start("-", 1):
        return ("-",)
    raise click.UsageError(
        "Missing argument 'CORPUS...', or - for standard input",
        click.get_current_context(silent=True),
    )


def _located_texts(documents: D) -> D:
    """Put the texts of ``--text`` on standard input, and return how they are read there."""
    texts = documents.text
    records = (
        {"id": str(number) if texts[1:] else "-", "text": text}
        for number, text in enumerate(texts, 1)
    )
    set_standard_input("".join(f"{json.dumps(record)}\n" for record in records).encode())
    return replace(
        documents, paths=("-",), reading=documents.reading.with_raw_values(**TEXTS_AS_LINES)
    )


def _located_folders(documents: D) -> D:
    """Return what ``--from-folder`` names, in the format of the folders if no option says which, not in that of the model's training documents."""
    from nbtext.counts.counting import check_label

    folders = []
    for value in documents.folders:
        label, equals, path = value.partition("=")
        if not (label and equals and path):
            raise UsageError(
                f"--from-folder needs LABEL=PATH, such as spam=Maildir/.Junk, not {value!r}"
            )
        check_label(label)
        folders.append(LabelledFolder(os.path.expanduser(path), label))
    reading = documents.reading
    if "format" not in reading:
        is_mbox = os.path.isfile(folders[0]) or detect_format_by_name(folders[0]) == "mbox"
        reading = reading.with_raw_values(format="mbox" if is_mbox else "maildir")
    return replace(documents, paths=tuple(folders), reading=reading)


def detect_reading(reading: Reading, paths: Sequence[str], *, labelled: bool) -> Reading:
    """Return reading settings as `resolve_reading`, and say which columns of a table were recognised that they do not name."""
    found = resolve_reading(reading, paths, labelled=labelled)
    if found == reading:
        return found
    if reading.document == "auto":
        _say_kind(paths, found, labelled=labelled)
    if (reading.format, found.format) == ("auto", "lines"):
        messages.notify(
            f"{paths[0]}: the name of each file is its class, each line a document; if not, give "
            "--format"
        )
    if found.has_columns:
        from nbtext.corpus.columns import describe_detection

        if (columns := describe_detection(reading, found, labelled=labelled)) is not None:
            messages.notify(f"{paths[0]}: {columns}")
    if labelled or found.has_columns:
        for unusual in find_corpus_warnings(paths, reading, found):
            messages.warn(unusual.line)
    return found


def _say_kind(paths: Sequence[str], found: Reading, *, labelled: bool) -> None:
    """Say as what documents are read by the names of their files, and what they look like if that is text."""
    if found.document in ("mail", "html") and not found.layout.is_mail:
        messages.notify(
            f"{paths[0]}: by their names, all files are {found.document}; if not, give --document "
            "text"
        )
    elif found.document == KIND_BY_NAME:
        messages.notify(
            f"{paths[0]}: each file is read by its name, "
            f"{', '.join(f'{suffix} as {kind}' for suffix, kind in KINDS_BY_SUFFIX.items())}; if "
            "not, give --document"
        )
    if labelled and found.layout.has_file_per_document and found.document in ("text", KIND_BY_NAME):
        for path in paths:
            for unusual in find_folder_kind_warnings(path):
                messages.warn(f"{path}: {unusual.line}")


def choose_document_reading(
    model: TextClassifier, documents: DocumentOptions, *, lines: bool = False
) -> Reading:
    """Return how to read documents: like the training documents, without weights, unless options say otherwise; raise as `choose_reading`.

    Say if they have another format than those of training, and warn of paths that their names show to have yet another.
    ``lines``: lines of standard input are documents as they stand, unless an option names a format or a column.
    """
    if documents.text and model.reading.is_counted:
        raise UsageError(
            "--text is for models of texts, and this one was trained on counted features",
            hint="give a file of them",
        )
    given = documents.reading
    reading = choose_reading(model.reading, documents.paths, given.values).unweighted
    if lines:
        return replace(reading, format=_format_of_lines(given, reading))
    if "format" not in given:
        _say_other_format(model.reading, reading, documents.paths)
    return reading


def _say_other_format(trained: Reading, reading: Reading, paths: Sequence[str]) -> None:
    """Say if documents have another format than those of training, and warn of paths that look like yet another."""
    found = reading.format
    before = trained.layout
    now = reading.layout
    are_alike = (before.has_columns and now.has_columns) or (
        before.has_file_per_document and now.has_file_per_document
    )
    if trained.format not in (found, "auto") and not are_alike:
        shown = "one document" if found == "dir" and not os.path.isdir(paths[0]) else found
        messages.notify(
            f"{paths[0]}: read as {shown}, not as {trained.format} like the training documents; if "
            "not, give --format"
        )
    other = next(
        (path for path in paths[1:] if detect_format_by_name(path) not in (None, "dir", found)),
        None,
    )
    if other is not None:
        messages.warn(
            f"{other}: read as {found} like {paths[0]}, but it looks like {detect_format_by_name(other)}; "
            "give it alone, or --format"
        )


TABLE_PARAMETERS = ("text_column", "id_column", "header", "delimiter")
"""Parameters of reading that say that a line of ``--lines`` has columns."""


def _format_of_lines(given: ExplicitSettings[Reading], reading: Reading) -> str:
    """Return the format of the lines of ``--lines``; raise `UsageError` for one that has no document in each line."""
    file_format = given.complete_settings.format
    if file_format == "auto":
        names_columns = any(name in given for name in TABLE_PARAMETERS)
        file_format = reading.format if names_columns else "lines"
    if file_format == "auto" or not (
        FORMATS[file_format].has_line_per_document or FORMATS[file_format].has_columns
    ):
        raise UsageError(
            f"--lines reads one document a line, not --format {file_format}",
            hint="give --format csv, tsv or jsonl",
        )
    return file_format


def open_documents(
    model: TextClassifier,
    documents: DocumentOptions,
    *,
    labelled: bool,
    columns: Sequence[str] = (),
    progress: bool = True,
) -> CommandCorpus:
    """Return documents that are read as `choose_document_reading` says."""
    return CommandCorpus(
        documents,
        choose_document_reading(model, documents),
        labelled=labelled,
        columns=columns,
        progress=progress,
    )


def choose_training_rows(training: Sequence[str], test: DocumentOptions) -> str | None:
    """Return which rows of ``--training`` are read: of a file that is the test corpus too, those that ``--where`` does not choose."""
    return negate_condition(test.where) if test.where and {*training} & {*test.paths} else None


def make_leak_watch(
    model: TextClassifier, test: DocumentOptions, training: tuple[str, ...]
) -> LeakChecker:
    """Return what checks test documents against the corpus of ``--training``, which is read here, or else against the model's sample.

    Raises `UsageError` if both corpora are standard input.
    """
    from nbtext.evaluation.leakage import LeakChecker

    if not training:
        return LeakChecker(model)
    if "-" in training and "-" in test.paths:
        raise UsageError("standard input cannot be both the test and the training corpus")
    learnt = replace(test, paths=training, relabel=None, where=choose_training_rows(training, test))
    documents = CommandCorpus(learnt, model.reading.unweighted, labelled=True)
    watch = LeakChecker(model, documents.iter_readable())
    documents.report_notices()
    return watch


class CommandCounts(NamedTuple):
    """A labelled corpus as counts, and the settings by which it was counted."""

    corpus: CountedCorpus
    settings: Settings
    """Arguments for `nbtext.model.training.learn`."""
    analysis: Analysis
    source: CommandCorpus
    """Says what was noticed, when the results are there."""


def read_and_count(
    documents: DocumentOptions,
    settings: ExplicitSettings[Settings],
    jobs: int = 1,
    note: Callable[[Document], object] | None = None,
    columns: Sequence[str] = (),
) -> CommandCounts:
    """Read and count a labelled corpus, with a note of each document, by default its ``columns``; raise what `nbtext train` raises for its options and documents."""
    from nbtext.fitted_model import require_trainable
    from nbtext.model.parallel_corpus import count_corpus, note_columns

    model, arguments = make_untrained_model(documents, settings)
    source = CommandCorpus(documents, model.reading, labelled=True, columns=columns)
    corpus = count_corpus(model.analysis, source, jobs, note=note or note_columns)
    require_trainable(
        arguments, corpus.counts.labelled_statistics
    )  # raises now what it would raise in every fold
    return CommandCounts(corpus, arguments, model.analysis, source)


def warn_small_classes(table: CountTable, n_folds: int) -> None:
    """Warn of classes that cannot be in every fold."""
    least = n_folds * table.unit
    small = [
        label
        for label, n in zip(table.classes, table.class_documents.tolist(), strict=True)
        if n < least
    ]
    if small:
        messages.warn(
            f"classes with fewer documents than there are folds: {join_names(small, messages.MAX_LISTED)}"
        )


def make_untrained_model(
    documents: DocumentOptions, settings: ExplicitSettings[Settings], *, labelled: bool = True
) -> tuple[TextClassifier, Settings]:
    """Return a model as the options say, to be trained on the documents, and its settings as `nbtext.model.training.learn` takes them."""
    from nbtext.counts.counting import check_word_settings
    from nbtext.model import TextClassifier
    from nbtext.model.training import require_words_or_categories, resolve_smoothing_terms

    reading = documents.reading.complete_settings
    model = TextClassifier(**settings.values)
    model.reading = detect_reading(reading, documents.paths, labelled=labelled)
    check_word_settings(model.settings)
    require_words_or_categories(model.settings.smoothing, model.reading, "--smoothing")
    return model, resolve_smoothing_terms(model.analysis)


def _refuse_options_of_mail(given: ExplicitSettings[Reading], reading: Reading) -> None:
    """Raise `UsageError` for options that were typed and mean nothing, because documents are no mail."""
    if reading.document in ("mail", KIND_BY_NAME):
        return
    for name in MAIL_PARAMETERS:
        if name in given.typed_names and given.raw_values[name]:
            raise UsageError(
                f"{PARAMETERS_BY_NAME[name].display_name} is for mail, and these documents are {reading.document}",
                hint="give --document mail, or leave it out",
            )


def make_analysis(given: ExplicitSettings[Settings], reading: Reading) -> Analysis:
    """Return how the options say that documents are counted without a model, read in this way; raise `UsageError` for counted features."""
    from nbtext.counts.counting import Analysis, check_word_settings
    from nbtext.text.surface_forms import PAIRS

    settings = replace(given.complete_settings, reading=reading)
    check_word_settings(settings)
    return Analysis.from_settings(settings).with_choices(
        keep_stop_words=False, segmentations=(PAIRS,)
    )


def check_output_file(path: str | None, option: str, inputs: Sequence[str | None]) -> None:
    """Raise `UsageError` or `PathError` if an option names a file that cannot be written, or is read, or would lie among documents of a class.

    None stands for options that are not given.
    """
    from nbtext.store.atomic import check_replaceable

    if path is None:
        return
    require_distinct_output(path, inputs, option)
    check_replaceable(path)


def require_distinct_output(
    output: str, inputs: Sequence[str | None], option: str = "--model"
) -> None:
    """Raise `UsageError` if the file to be written is one of those to be read, or would lie among the documents of a class."""
    from pathlib import Path

    target = Path(os.path.realpath(output))
    for path in (each for each in inputs if each is not None):
        source = Path(os.path.realpath(path))
        within = (
            target.relative_to(source).parts
            if path != "-" and target.is_relative_to(source)
            else (".",)
        )
        if len(within) != 1 and not any(part.startswith(".") for part in within):
            raise UsageError(
                f"{output} would be read and overwritten", hint=f"choose another {option}"
            )
