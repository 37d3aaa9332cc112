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
from nbtext.cli.config import folder_of_paths
from nbtext.cli.shared_options import AskedDocuments
from nbtext.corpus.collection import Corpus
from nbtext.corpus.document import LabelledFolder
from nbtext.corpus.reading import (
    corpus_doubts,
    files_read_as_text,
    format_by_name,
    lines_of_document,
    reading_like,
    resolved,
)
from nbtext.corpus.streams import beginning, listed_paths, set_standard_input
from nbtext.errors import PathError, UsageError, listed
from nbtext.settings import (
    ALLOW_UNREADABLE,
    BY_NAME,
    DECLARED,
    FORMATS,
    KINDS_OF_FILES,
    OF_MAIL,
    ON_ERROR,
    Reading,
    Settings,
    opposite,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from nbtext.cli.parameters import Given
    from nbtext.cli.shared_options import Documents
    from nbtext.corpus.document import Document
    from nbtext.counts.count_table import CountTable
    from nbtext.counts.counting import Analysis
    from nbtext.evaluation.leakage import LeakWatch
    from nbtext.model import TextClassifier
    from nbtext.model.parallel_corpus import CountedCorpus
    from nbtext.settings import Allowance

_TRIM_THRESHOLD = -1
_MMAP_THRESHOLD = -3
"""Parameters of ``mallopt``, as in malloc.h of glibc."""


class CommandCorpus(Corpus):
    """Documents of the given paths, read once; `say_notices` afterwards says what was noticed."""

    def __init__(
        self,
        documents: Documents,
        reading: Reading,
        *,
        labelled: bool,
        columns: Sequence[str] = (),
        progress: bool = True,
    ) -> None:
        """Prepare to read the ``paths`` of documents that are `located`."""
        paths = documents.paths
        on_error = ON_ERROR.checked(documents.on_error or ON_ERROR.default)
        if not paths:
            messages.warn("the list of files is empty")
        typed = "-" in paths and not documents.text and sys.stdin is not None and sys.stdin.isatty()
        if typed:
            messages.notice("reading standard input; Ctrl-D ends it")
        reading = recognised(reading, paths, labelled=labelled)
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
            and (n := lines_of_document(paths[0]))
        ):
            messages.notice(
                f"{paths[0]}: read as one document of {n:,} lines or more; if each line is a "
                "document, give --format lines"
            )
        super().__init__(paths, reading, labelled, columns, str(on_error), messages.document_failed)
        _keep_freed_memory()
        self.reports_progress = progress and not typed and messages.standard_error_is_terminal()
        self.files_within = folder_of_paths()
        self.where = documents.where
        allowance = ALLOW_UNREADABLE.checked(documents.allow_unreadable)
        self.allow_unreadable = cast("Allowance | None", allowance)
        if self.allow_unreadable is not None:
            messages.allow_failures()
        self.patch = self._patch = None
        if labelled and documents.relabel is not None:
            from nbtext.labelling.answer_file import LabelPatch

            self.patch = self._patch = LabelPatch(documents.relabel)

    def say_notices(self) -> None:
        """Say what was noticed while reading; raise what made it end early."""
        self.finish()
        for found in [
            *self.notices.warnings,
            *(self._patch.warnings(self.notices) if self._patch else []),
        ]:
            messages.warn(found.line)
        for found in self.notices.findings:
            messages.notice(found.line)
        messages.documents_failed(self.notices.unnamed)


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


D = TypeVar("D", bound="Documents")

TEXTS_AS_LINES = {
    "format": "jsonl",
    "text_column": "text",
    "id_column": "id",
    "document": "text",
    "encoding": "auto",
}
"""How the texts of ``--text`` are read."""


def located(documents: D) -> D:
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
        paths=(*documents.corpus, *listed_paths(documents.files_from, null=documents.null)),
    )


def _corpus_arguments(documents: Documents) -> tuple[str, ...]:
    """Return CORPUS, or standard input where texts are asked about and piped in; raise `UsageError` for none."""
    corpus = documents.corpus
    takes_texts = isinstance(documents, AskedDocuments)
    if takes_texts and len(corpus) == 1 and " " in corpus[0] and not os.path.lexists(corpus[0]):
        raise PathError(
            "there is no such file",
            where=corpus[0],
            hint=f"if it is a text, give --text {shlex.quote(corpus[0])}",
        )
    if corpus:
        return corpus
    if takes_texts and sys.stdin is not None and not sys.stdin.isatty() and beginning("-", 1):
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
    return replace(documents, paths=("-",), reading=documents.reading.updated(**TEXTS_AS_LINES))


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
        is_mbox = os.path.isfile(folders[0]) or format_by_name(folders[0]) == "mbox"
        reading = reading.updated(format="mbox" if is_mbox else "maildir")
    return replace(documents, paths=tuple(folders), reading=reading)


def recognised(reading: Reading, paths: Sequence[str], *, labelled: bool) -> Reading:
    """Return reading settings as `resolved`, and say which columns of a table were recognised that they do not name."""
    found = resolved(reading, paths, labelled=labelled)
    if found == reading:
        return found
    if reading.document == "auto":
        _say_kind(paths, found, labelled=labelled)
    if (reading.format, found.format) == ("auto", "lines"):
        messages.notice(
            f"{paths[0]}: the name of each file is its class, each line a document; if not, give "
            "--format"
        )
    if found.has_columns:
        from nbtext.corpus.columns import described

        if (columns := described(reading, found, labelled=labelled)) is not None:
            messages.notice(f"{paths[0]}: {columns}")
    if labelled or found.has_columns:
        for unusual in corpus_doubts(paths, reading, found):
            messages.warn(unusual.line)
    return found


def _say_kind(paths: Sequence[str], found: Reading, *, labelled: bool) -> None:
    """Say as what documents are read by the names of their files, and what they look like if that is text."""
    if found.document in ("mail", "html") and not found.layout.mail:
        messages.notice(
            f"{paths[0]}: by their names, all files are {found.document}; if not, give --document "
            "text"
        )
    elif found.document == BY_NAME:
        messages.notice(
            f"{paths[0]}: each file is read by its name, "
            f"{', '.join(f'{suffix} as {kind}' for suffix, kind in KINDS_OF_FILES.items())}; if "
            "not, give --document"
        )
    if labelled and found.layout.file_per_document and found.document in ("text", BY_NAME):
        for path in paths:
            for unusual in files_read_as_text(path):
                messages.warn(f"{path}: {unusual.line}")


def reading_of(model: TextClassifier, documents: Documents, *, lines: bool = False) -> Reading:
    """Return how to read documents: like the training documents, without weights, unless options say otherwise; raise as `reading_like`.

    Say if they have another format than those of training, and warn of paths that their names show to have yet another.
    ``lines``: lines of standard input are documents as they stand, unless an option names a format or a column.
    """
    if documents.text and model.reading.is_counted:
        raise UsageError(
            "--text is for models of texts, and this one was trained on counted features",
            hint="give a file of them",
        )
    given = documents.reading
    reading = reading_like(model.reading, documents.paths, given.values).unweighted
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
    are_alike = (before.columns and now.columns) or (
        before.file_per_document and now.file_per_document
    )
    if trained.format not in (found, "auto") and not are_alike:
        shown = "one document" if found == "dir" and not os.path.isdir(paths[0]) else found
        messages.notice(
            f"{paths[0]}: read as {shown}, not as {trained.format} like the training documents; if "
            "not, give --format"
        )
    other = next(
        (path for path in paths[1:] if format_by_name(path) not in (None, "dir", found)), None
    )
    if other is not None:
        messages.warn(
            f"{other}: read as {found} like {paths[0]}, but it looks like {format_by_name(other)}; "
            "give it alone, or --format"
        )


OF_A_TABLE = ("text_column", "id_column", "header", "delimiter")
"""Parameters of reading that say that a line of ``--lines`` has columns."""


def _format_of_lines(given: Given[Reading], reading: Reading) -> str:
    """Return the format of the lines of ``--lines``; raise `UsageError` for one that has no document in each line."""
    file_format = given.checked.format
    if file_format == "auto":
        names_columns = any(name in given for name in OF_A_TABLE)
        file_format = reading.format if names_columns else "lines"
    if file_format == "auto" or not (
        FORMATS[file_format].line_per_document or FORMATS[file_format].columns
    ):
        raise UsageError(
            f"--lines reads one document a line, not --format {file_format}",
            hint="give --format csv, tsv or jsonl",
        )
    return file_format


def documents_for(
    model: TextClassifier,
    documents: Documents,
    *,
    labelled: bool,
    columns: Sequence[str] = (),
    progress: bool = True,
) -> CommandCorpus:
    """Return documents that are read as `reading_of` says."""
    return CommandCorpus(
        documents,
        reading_of(model, documents),
        labelled=labelled,
        columns=columns,
        progress=progress,
    )


def rows_of_training(training: Sequence[str], test: Documents) -> str | None:
    """Return which rows of ``--training`` are read: of a file that is the test corpus too, those that ``--where`` does not choose."""
    return opposite(test.where) if test.where and {*training} & {*test.paths} else None


def leak_watch(model: TextClassifier, test: Documents, training: tuple[str, ...]) -> LeakWatch:
    """Return what checks test documents against the corpus of ``--training``, which is read here, or else against the model's sample.

    Raises `UsageError` if both corpora are standard input.
    """
    from nbtext.evaluation.leakage import LeakWatch

    if not training:
        return LeakWatch(model)
    if "-" in training and "-" in test.paths:
        raise UsageError("standard input cannot be both the test and the training corpus")
    learnt = replace(test, paths=training, relabel=None, where=rows_of_training(training, test))
    documents = CommandCorpus(learnt, model.reading.unweighted, labelled=True)
    watch = LeakWatch(model, documents.readable())
    documents.say_notices()
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
    documents: Documents,
    settings: Given[Settings],
    jobs: int = 1,
    note: Callable[[Document], object] | None = None,
    columns: Sequence[str] = (),
) -> CommandCounts:
    """Read and count a labelled corpus, with a note of each document, by default its ``columns``; raise what `nbtext train` raises for its options and documents."""
    from nbtext.fitted_model import require_learnable
    from nbtext.model.parallel_corpus import columns_of, count_corpus

    model, arguments = untrained(documents, settings)
    source = CommandCorpus(documents, model.reading, labelled=True, columns=columns)
    corpus = count_corpus(model.analysis, source, jobs, note=note or columns_of)
    require_learnable(
        arguments, corpus.counts.labelled
    )  # raises now what it would raise in every fold
    return CommandCounts(corpus, arguments, model.analysis, source)


def warn_of_small_classes(table: CountTable, n_folds: int) -> None:
    """Warn of classes that cannot be in every fold."""
    least = n_folds * table.unit
    small = [
        label
        for label, n in zip(table.classes, table.class_documents.tolist(), strict=True)
        if n < least
    ]
    if small:
        messages.warn(
            f"classes with fewer documents than there are folds: {listed(small, messages.SHOWN)}"
        )


def untrained(
    documents: Documents, settings: Given[Settings], *, labelled: bool = True
) -> tuple[TextClassifier, Settings]:
    """Return a model as the options say, to be trained on the documents, and its settings as `nbtext.model.training.learn` takes them."""
    from nbtext.counts.counting import require_words
    from nbtext.model import TextClassifier
    from nbtext.model.training import looked_up, require_words_or_categories

    reading = documents.reading.checked
    model = TextClassifier(**settings.values)
    model.reading = recognised(reading, documents.paths, labelled=labelled)
    require_words(model.settings)
    require_words_or_categories(model.settings.smoothing, model.reading, "--smoothing")
    return model, looked_up(model.analysis)


def _refuse_options_of_mail(given: Given[Reading], reading: Reading) -> None:
    """Raise `UsageError` for options that were typed and mean nothing, because documents are no mail."""
    if reading.document in ("mail", BY_NAME):
        return
    for name in OF_MAIL:
        if name in given.typed and given.raw[name]:
            raise UsageError(
                f"{DECLARED[name].shown} is for mail, and these documents are {reading.document}",
                hint="give --document mail, or leave it out",
            )


def analysis_of(given: Given[Settings], reading: Reading) -> Analysis:
    """Return how the options say that documents are counted without a model, read in this way; raise `UsageError` for counted features."""
    from nbtext.counts.counting import Analysis, require_words
    from nbtext.text.surface_forms import PAIRS

    settings = replace(given.checked, reading=reading)
    require_words(settings)
    return Analysis.of(settings).as_chosen(stop_words_kept=False, sides=(PAIRS,))


def check_output_file(path: str | None, option: str, inputs: Sequence[str | None]) -> None:
    """Raise `UsageError` or `PathError` if an option names a file that cannot be written, or is read, or would lie among documents of a class.

    None stands for options that are not given.
    """
    from nbtext.store.atomic import check_replaceable

    if path is None:
        return
    require_distinct(path, inputs, option)
    check_replaceable(path)


def require_distinct(output: str, inputs: Sequence[str | None], option: str = "--model") -> None:
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
