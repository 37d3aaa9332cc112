"""The corpus of a command: its paths and options, and the messages and progress of reading."""

from __future__ import annotations

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
from nbtext.corpus.detection.formats import (
    choose_reading,
    count_document_lines,
    detect_format_by_name,
    find_corpus_warnings,
    find_folder_kind_warnings,
    resolve_reading,
)
from nbtext.corpus.document import LabelledFolder
from nbtext.corpus.reading import TEXT_RECORD_READING
from nbtext.corpus.streams import peek_start, read_path_list, set_standard_input
from nbtext.errors import PathError, UsageError, join_names
from nbtext.parallel.allocator import keep_freed_memory
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
    from nbtext.labelling.answer_file import LabelPatch
    from nbtext.model import TextClassifier
    from nbtext.model.parallel_corpus import CountedCorpus
    from nbtext.settings import UnreadableAllowance


class CommandCorpus(Corpus):
    """The documents of a command, which can be read once.

    Call `report_notices` after reading.
    """

    def __init__(
        self,
        documents: DocumentOptions,
        reading: Reading,
        *,
        labelled: bool,
        columns: Sequence[str] = (),
        progress: bool = True,
    ) -> None:
        """Prepare to read the ``paths`` of options that `locate_documents` returned.

        Print the detected properties of the documents.
        """
        paths = documents.paths
        on_error = ON_ERROR.validate(documents.on_error or ON_ERROR.default)
        if not paths:
            messages.warn("the list of files is empty")
        is_typed = _reads_terminal(documents)
        if is_typed:
            messages.notify("reading standard input; Ctrl-D ends it")
        reading = detect_reading(reading, paths, labelled=labelled)
        _require_mail_for_mail_options(documents.reading, reading)
        if not labelled and "format" not in documents.reading:
            _notify_of_single_text(paths, reading)

        super().__init__(
            paths,
            reading,
            labelled,
            columns,
            on_error=str(on_error),
            on_problem=messages.report_failed_document,
        )
        keep_freed_memory()
        # The fields of `Corpus` without an argument above:
        self.reports_progress = progress and not is_typed and messages.standard_error_is_terminal()
        self.allowed_folder = find_folder_of_paths()
        self.condition = documents.where
        allowance = ALLOW_UNREADABLE.validate(documents.allow_unreadable)
        self.allow_unreadable = cast("UnreadableAllowance | None", allowance)
        if self.allow_unreadable is not None:
            messages.allow_failures()
        self._patch: LabelPatch | None = None
        if labelled and documents.relabel is not None:
            from nbtext.labelling.answer_file import LabelPatch

            self._patch = LabelPatch(documents.relabel)
        self.relabel = self._patch

    def report_notices(self) -> None:
        """Print the notices and warnings of reading. Raise the error that stopped reading."""
        self.raise_deferred()
        warnings = list(self.notices.warnings)
        if self._patch:
            warnings += self._patch.find_warnings(self.notices)
        for warning in warnings:
            messages.warn(warning.line)
        for finding in self.notices.findings:
            messages.notify(finding.line)
        messages.count_failed_documents(self.notices.n_unnamed)


def _reads_terminal(documents: DocumentOptions) -> bool:
    """Return True if the user will type the documents into standard input."""
    reads_standard_input = "-" in documents.paths and not documents.text
    return reads_standard_input and sys.stdin is not None and sys.stdin.isatty()


def _notify_of_single_text(paths: Sequence[str], reading: Reading) -> None:
    """Print a notice if the only path is a file of several lines that is read as one document."""
    if reading.format != "dir" or reading.document != "text" or not messages.shows_notices():
        return
    if len(paths) != 1 or not os.path.isfile(paths[0]):
        return
    n_lines = count_document_lines(paths[0])
    if n_lines is not None:
        messages.notify(
            f"{paths[0]}: read as one document of at least {n_lines:,} lines; if each line is a "
            "document, add --format lines"
        )


Options = TypeVar("Options", bound="DocumentOptions")


def locate_documents(documents: Options) -> Options:
    """Return the options with their paths set.

    The paths are the texts of ``--text``, the folders of ``--from-folder``, or CORPUS followed by
    the list in ``--files-from``. Raise `UsageError` if no documents are named.
    """
    if documents.text:
        return _locate_texts(documents)
    if documents.folders:
        return _locate_folders(documents)
    if documents.files_from is None:
        return replace(documents, paths=_get_corpus_arguments(documents))
    if documents.files_from == "-" and "-" in documents.corpus:
        raise UsageError("standard input cannot be both a document and the list of files")
    paths_in_list = read_path_list(documents.files_from, is_null_separated=documents.null)
    return replace(documents, paths=(*documents.corpus, *paths_in_list))


def _get_corpus_arguments(documents: DocumentOptions) -> tuple[str, ...]:
    """Return CORPUS, or ``-`` if CORPUS is empty and the command classifies documents from a pipe.

    Raise `click.UsageError` if CORPUS and the pipe are empty.
    """
    corpus = documents.corpus
    takes_texts = isinstance(documents, QueryDocumentOptions)
    looks_like_text = len(corpus) == 1 and " " in corpus[0]
    if takes_texts and looks_like_text and not os.path.lexists(corpus[0]):
        raise PathError(
            "no such file",
            where=corpus[0],
            hint=f"if it is a text, use --text {shlex.quote(corpus[0])}",
        )
    if corpus:
        return corpus
    is_piped = sys.stdin is not None and not sys.stdin.isatty()
    if takes_texts and is_piped and peek_start("-", size=1):  # the pipe has content
        return ("-",)
    raise click.UsageError(
        "Missing argument 'CORPUS...', or - for standard input",
        click.get_current_context(silent=True),
    )


def _locate_texts(documents: Options) -> Options:
    """Replace standard input by the texts of ``--text``, and return options that read it.

    The texts become lines of JSON, because these may lack the values of attributes.
    """
    lines = []
    for number, text in enumerate(documents.text, 1):
        identity = "-" if len(documents.text) == 1 else str(number)
        lines.append(json.dumps({"id": identity, "text": text}) + "\n")
    set_standard_input("".join(lines).encode())
    reading = documents.reading.with_raw_values(**TEXT_RECORD_READING)
    return replace(documents, paths=("-",), reading=reading)


def _locate_folders(documents: Options) -> Options:
    """Return the options with the folders of ``--from-folder`` as paths.

    Unless an option sets the format, the first folder determines it: mbox for a file, else maildir.
    The format of the model's training documents does not apply.
    """
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
    """Return the reading settings with detected values instead of ``auto``.

    Print them, with warnings.
    """
    detected = resolve_reading(reading, paths, labelled=labelled)
    if detected == reading:
        return detected
    if reading.document == "auto":
        _report_document_kind(paths, detected, labelled=labelled)
    if reading.format == "auto" and detected.format == "lines":
        messages.notify(
            f"{paths[0]}: the name of each file is its class, each line a document; if not, set "
            "--format"
        )
    if detected.has_columns:
        from nbtext.corpus.detection.columns import describe_detection

        description = describe_detection(reading, detected, labelled=labelled)
        if description is not None:
            messages.notify(f"{paths[0]}: {description}")
    if labelled or detected.has_columns:
        for finding in find_corpus_warnings(paths, reading, detected):
            messages.warn(finding.line)
    return detected


def _report_document_kind(paths: Sequence[str], reading: Reading, *, labelled: bool) -> None:
    """Print the kind of documents (text, mail or html) that the names of their files show.

    Warn of files that are read as text although they look like another kind.
    """
    if reading.document in ("mail", "html") and not reading.layout.is_mail:
        messages.notify(
            f"{paths[0]}: all files have names of {reading.document}; if they are text, add "
            "--document text"
        )
    elif reading.document == KIND_BY_NAME:
        kinds = ", ".join(f"{suffix} as {kind}" for suffix, kind in KINDS_BY_SUFFIX.items())
        messages.notify(
            f"{paths[0]}: each file is read by its name, {kinds}; if this is wrong, set --document"
        )
    may_be_text = reading.document in ("text", KIND_BY_NAME)
    if labelled and reading.layout.has_file_per_document and may_be_text:
        for path in paths:
            for finding in find_folder_kind_warnings(path):
                messages.warn(f"{path}: {finding.line}")


def choose_document_reading(
    model: TextClassifier, documents: DocumentOptions, *, lines: bool = False
) -> Reading:
    """Return the reading settings for documents to which a model is applied.

    They are the options, completed by the settings of the training documents, without weights. With
    ``lines``, each line of standard input is a document, unless an option names a format or a
    column. Print a notice or a warning if the format differs from the training documents. Raise
    `UsageError` if the model cannot be applied to these documents.
    """
    if documents.text and model.reading.is_counted:
        raise UsageError(
            "--text needs a model of texts, and this one was trained on counted features",
            hint="use a file of features",
        )
    options = documents.reading
    reading = choose_reading(model.reading, documents.paths, options.values).unweighted
    if lines:
        return replace(reading, format=_choose_line_format(options, reading))
    if "format" not in options:
        _report_other_format(model.reading, reading, documents.paths)
    return reading


def _report_other_format(training: Reading, reading: Reading, paths: Sequence[str]) -> None:
    """Print a notice if documents have another format than the training documents.

    Formats count as the same if both have columns, or both have a file for each document. Warn of
    the first path that seems to have another format than the first of all paths.
    """
    both_have_columns = training.layout.has_columns and reading.layout.has_columns
    both_are_files = training.layout.has_file_per_document and reading.layout.has_file_per_document
    is_same = training.format in (reading.format, "auto")
    if not (is_same or both_have_columns or both_are_files):
        is_single_file = reading.format == "dir" and not os.path.isdir(paths[0])
        description = "one document" if is_single_file else reading.format
        messages.notify(
            f"{paths[0]}: read as {description}, not as {training.format} like the training "
            "documents; if this is wrong, set --format"
        )
    for path in paths[1:]:
        path_format = detect_format_by_name(path)
        if path_format not in (None, "dir", reading.format):
            messages.warn(
                f"{path}: read as {reading.format} like {paths[0]}, but it looks like "
                f"{path_format}; classify it separately, or set --format"
            )
            return


TABLE_PARAMETERS = ("text_column", "id_column", "header", "delimiter")
"""If one of these parameters is given with ``--lines``, a line has columns."""


def _choose_line_format(options: ExplicitSettings[Reading], reading: Reading) -> str:
    """Return the format of the lines of ``--lines``.

    Raise `UsageError` for a format without a document in each line.
    """
    file_format = options.complete_settings.format
    if file_format == "auto":
        names_columns = any(name in options for name in TABLE_PARAMETERS)
        file_format = reading.format if names_columns else "lines"
    layout = FORMATS.get(file_format)  # None for "auto"
    if layout is None or not (layout.has_line_per_document or layout.has_columns):
        raise UsageError(
            f"--lines reads one document per line, not --format {file_format}",
            hint="use --format csv, tsv or jsonl",
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
    """Return the corpus of documents for a model, read as `choose_document_reading` decides."""
    return CommandCorpus(
        documents,
        choose_document_reading(model, documents),
        labelled=labelled,
        columns=columns,
        progress=progress,
    )


def choose_training_rows(training: Sequence[str], test: DocumentOptions) -> str | None:
    """Return the ``--where`` condition for the training corpus, or None for all rows.

    If training and test rows are in the same file, training has the rows that ``--where`` excludes.
    """
    shares_file = not set(training).isdisjoint(test.paths)
    if test.where and shares_file:
        return negate_condition(test.where)
    return None


def make_leak_checker(
    model: TextClassifier, test: DocumentOptions, training: tuple[str, ...]
) -> LeakChecker:
    """Return a checker that finds test documents which are training documents.

    Read the training documents, whose paths are ``training``. Without paths, the checker compares
    with the sample of training documents in the model. Raise `UsageError` if both corpora are
    standard input.
    """
    from nbtext.evaluation.leakage import LeakChecker

    if not training:
        return LeakChecker(model)
    if "-" in training and "-" in test.paths:
        raise UsageError("standard input cannot be both the test and the training corpus")
    options = replace(
        test, paths=training, relabel=None, where=choose_training_rows(training, test)
    )
    documents = CommandCorpus(options, model.reading.unweighted, labelled=True)
    checker = LeakChecker(model, documents.iter_readable())
    documents.report_notices()
    return checker


class CommandCounts(NamedTuple):
    """The counts of a labelled corpus, and how they were made."""

    corpus: CountedCorpus
    settings: Settings
    """Settings for `nbtext.model.training.learn`."""
    analysis: Analysis
    source: CommandCorpus
    """The corpus that was read. Call its `report_notices` before printing results."""


def read_and_count(
    documents: DocumentOptions,
    settings: ExplicitSettings[Settings],
    jobs: int = 1,
    note: Callable[[Document], object] | None = None,
    columns: Sequence[str] = (),
) -> CommandCounts:
    """Read and count a labelled corpus, without training a model.

    ``note`` returns a value to store for a document. By default the value is the texts in its
    ``columns``. Raise the errors of `nbtext train` for invalid options and documents.
    """
    from nbtext.fitted_model import require_trainable
    from nbtext.model.parallel_corpus import count_corpus, note_columns

    model, training_settings = make_untrained_model(documents, settings)
    source = CommandCorpus(documents, model.reading, labelled=True, columns=columns)
    corpus = count_corpus(model.analysis, source, jobs, note=note or note_columns)
    # Fail now, not in the first fold.
    require_trainable(training_settings, corpus.counts.labelled_statistics)
    return CommandCounts(corpus, training_settings, model.analysis, source)


def warn_small_classes(table: CountTable, n_folds: int) -> None:
    """Warn of classes with fewer documents than folds, which cannot be in every fold."""
    min_units = n_folds * table.unit  # the numbers of documents are in units of 1 / unit
    small_classes = [
        label
        for label, n_units in zip(table.classes, table.class_documents.tolist(), strict=True)
        if n_units < min_units
    ]
    if small_classes:
        names = join_names(small_classes, messages.MAX_LISTED)
        messages.warn(f"classes with fewer documents than folds: {names}")


def make_untrained_model(
    documents: DocumentOptions, settings: ExplicitSettings[Settings], *, labelled: bool = True
) -> tuple[TextClassifier, Settings]:
    """Return a model to train on the documents, and its settings.

    The settings are complete for `nbtext.model.training.learn`: words are resolved to terms.
    """
    from nbtext.counts.counting import check_word_settings
    from nbtext.model import TextClassifier
    from nbtext.model.training import require_words_or_categories, resolve_smoothing_terms

    reading = documents.reading.complete_settings
    model = TextClassifier(**settings.values)
    model.reading = detect_reading(reading, documents.paths, labelled=labelled)
    check_word_settings(model.settings)
    require_words_or_categories(model.settings.smoothing, model.reading, "--smoothing")
    return model, resolve_smoothing_terms(model.analysis)


def _require_mail_for_mail_options(options: ExplicitSettings[Reading], reading: Reading) -> None:
    """Raise `UsageError` if options of mail were typed and the documents are not mail."""
    if reading.document in ("mail", KIND_BY_NAME):
        return
    for name in MAIL_PARAMETERS:
        if name in options.typed_names and options.raw_values[name]:
            option = PARAMETERS_BY_NAME[name].display_name
            raise UsageError(
                f"{option} is for mail, and these documents are {reading.document}",
                hint="add --document mail, or remove the option",
            )


def make_analysis(options: ExplicitSettings[Settings], reading: Reading) -> Analysis:
    """Return the analysis that the options define, for documents without a model.

    Raise `UsageError` for counted features.
    """
    from nbtext.counts.counting import Analysis, check_word_settings
    from nbtext.text.surface_forms import PAIRS

    settings = replace(options.complete_settings, reading=reading)
    check_word_settings(settings)
    # Automatic settings get fixed values, since they cannot be chosen without labels.
    return Analysis.from_settings(settings).with_choices(
        keep_stop_words=False, segmentations=(PAIRS,)
    )


def check_output_file(path: str | None, option: str, inputs: Sequence[str | None]) -> None:
    """Raise `UsageError` or `PathError` if the file of an option cannot be written.

    The file must not be an input, or lie among the documents of a class. A path or an input is None
    if its option is not given.
    """
    from nbtext.store.atomic import check_replaceable

    if path is None:
        return
    require_distinct_output(path, inputs, option)
    check_replaceable(path)


def require_distinct_output(
    output: str, inputs: Sequence[str | None], option: str = "--model"
) -> None:
    """Raise `UsageError` if the output is an input, or lies among the documents of a class.

    An input is None if its option is not given.
    """
    for path in inputs:
        if path is not None and _would_be_read(output, path):
            raise UsageError(
                f"{output} would be read and overwritten", hint=f"choose another {option}"
            )


def _would_be_read(output: str, corpus: str) -> bool:
    """Return True if the output is the corpus itself, or a file that is read in its folders.

    Files directly in the folder of the corpus, and hidden files, are not read.
    """
    from pathlib import Path

    target = Path(os.path.realpath(output))
    source = Path(os.path.realpath(corpus))
    if corpus == "-" or not target.is_relative_to(source):
        return False
    names = target.relative_to(source).parts  # empty for the corpus itself
    is_hidden = any(name.startswith(".") for name in names)
    return len(names) != 1 and not is_hidden
