"""Common parts of the commands that write a model.

They declare the options for locking and backing up the model file, read the documents that change a
model, and report on the new model.
"""

from __future__ import annotations

import os
import shlex
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypedDict

from nbtext.cli import declarations, messages
from nbtext.cli.parameters import INPUT_PATH
from nbtext.cli.shared_options import NumberInRange, WholeNumber, default_model
from nbtext.compatibility import UNLABELLED_POOL, require_compatible_settings
from nbtext.errors import format_quantity, format_sizes, unknown_class_error

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbtext.cli.corpus import CommandCorpus
    from nbtext.cli.shared_options import DocumentOptions
    from nbtext.corpus.document import Document, Notices
    from nbtext.model import TextClassifier
    from nbtext.model.locked_model import Backups, UnlabelledAction
    from nbtext.model.operations import DocumentBatch
    from nbtext.model.unlabelled import UnlabelledDocuments
    from nbtext.prediction.labels import Label
    from nbtext.store.ledger import Ledger


class LockSettings(TypedDict):
    """Keyword arguments of the functions in `nbtext.model.locked_model` that replace a model."""

    lock_timeout: float
    backups: Backups


@declarations.option_record
class ReplacementOptions:
    """Options for the replacement of a model file: its lock, and backups of the old model."""

    backup: bool = declarations.option(
        "--backup",
        "Keep the old model in the same folder, with .1 at the end of its name.",
        group="output",
    )
    keep_backups: int = declarations.option(
        "--keep-backups",
        "Keep the last N replaced models in the same folder, with the model's fingerprint, a "
        "checksum, at the end of the name.",
        group="output",
        type=WholeNumber(0),
        default=0,
        show_default=False,
        metavar="N",
    )
    lock_timeout: float = declarations.option(
        "--lock-timeout",
        "Wait at most this time while another process writes the model, then exit with status 5.",
        group="process",
        type=NumberInRange(0),
        default=60.0,
        metavar="SECONDS",
    )

    @property
    def lock_settings(self) -> LockSettings:
        """The options as arguments of the functions in `nbtext.model.locked_model`."""
        from nbtext.model.locked_model import Backups

        backups = Backups(previous=self.backup, n_named=self.keep_backups)
        return {"lock_timeout": self.lock_timeout, "backups": backups}


def unlabelled_field(help_suffix: str = "", **attributes: Any) -> Any:
    """Declare the field of ``--unlabelled``, for `read_unlabelled`."""
    return declarations.common_option(
        "--unlabelled",
        "Also train on the unlabelled documents of PATH, if this improves the predictions of "
        "held-out documents (labelled, not used to train). Repeat the option for each path. "
        f"{help_suffix}".rstrip(),
        group="documents",
        multiple=True,
        metavar="PATH",
        type=INPUT_PATH,
        **attributes,
    )


@declarations.option_record
class SemiSupervisionOptions:
    """Options for training on seed words and unlabelled documents."""

    unlabelled: tuple[str, ...] = unlabelled_field(
        "If neither --weighting nor --classifier is given, nbtext chooses counts or log, whichever "
        "predicts held-out documents better.",
        is_listed_last=True,
    )
    seeds: str | None = declarations.option(
        "--seeds",
        "Train as if the words in FILE occurred in their classes. Each line of FILE has a class, a "
        "tab and a word, and optionally a tab and the number of occurrences, by default 10. A word "
        "that begins with ! counts against the class. Without CORPUS, nbtext trains on these "
        "words and the documents of --unlabelled.",
        group="documents",
        type=INPUT_PATH,
        is_listed_last=True,
    )


@declarations.option_record
class ModelChangeOptions:
    """Options for the change of a model.

    `open_corpus_for_change` and `read_unlabelled_change` use them.
    """

    label: str | None = declarations.common_option(
        "--label",
        "Class of all documents of CORPUS. CORPUS then has documents without classes: it is a "
        "file, a directory, or - for one document on standard input.",
        group="documents",
        metavar="TEXT",
    )
    unlabelled: tuple[str, ...] = unlabelled_field()
    drop_unlabelled: bool = declarations.option(
        "--drop-unlabelled",
        "Drop the counts of unlabelled documents from the model.",
        group="documents",
    )

    quick: bool = declarations.common_option(
        "--quick",
        "Change the counts, and keep what training chose: smoothing, stop words, selected terms "
        "and calibration. The next change without --quick chooses again.",
        group="process",
    )

    @property
    def removes_old_unlabelled(self) -> bool:
        """Whether the unlabelled documents of the model are removed or replaced."""
        return self.drop_unlabelled or bool(self.unlabelled)


def read_unlabelled(
    model: TextClassifier, model_path: str, paths: tuple[str, ...], documents: DocumentOptions
) -> UnlabelledDocuments | None:
    """Read and count the documents of ``--unlabelled``. Return None if there are no ``paths``.

    They are read like the training documents, except that a text file has a document on each line.
    """
    if not paths:
        return None
    from nbtext.cli.corpus import CommandCorpus, require_distinct_output
    from nbtext.corpus.detection.formats import choose_reading, resolve_format
    from nbtext.model.unlabelled import UnlabelledDocuments
    from nbtext.settings import KIND_BY_NAME

    require_compatible_settings(model.settings, UNLABELLED_POOL)
    require_distinct_output(model_path, paths)
    # The options for reading CORPUS do not apply to these documents.
    reading = choose_reading(model.reading, paths, given_settings={})
    reading = reading.unweighted  # unlabelled documents have no column of weights
    has_dir_format = resolve_format(paths, reading.format) == "dir"  # also that of text files
    has_folder = any(map(os.path.isdir, paths))
    if has_dir_format and not has_folder and reading.document in ("text", KIND_BY_NAME):
        reading = replace(reading, format="lines")
        messages.notify(
            f"{paths[0]}: read as lines, so each line is a document; for files of one document "
            "each, use their folder"
        )
    source = CommandCorpus(replace(documents, paths=paths), reading, labelled=False)
    unlabelled = UnlabelledDocuments.from_documents(model.analysis, source.iter_readable())
    source.report_notices()
    return unlabelled


def read_unlabelled_change(
    model: TextClassifier, model_path: str, change: ModelChangeOptions, documents: DocumentOptions
) -> UnlabelledAction:
    """Read the documents of ``--unlabelled``, and return the change that they make to a model."""
    from nbtext.model.locked_model import UnlabelledAction

    unlabelled = read_unlabelled(model, model_path, change.unlabelled, documents)
    return UnlabelledAction(unlabelled, change.removes_old_unlabelled)


def write_new_model(
    model: TextClassifier, path: str, replacement: ReplacementOptions, ledger: Ledger | None = None
) -> None:
    """Write a model and its ledger. A model that is already at ``path`` is replaced."""
    from nbtext.model.locked_model import lock_model

    with lock_model(path, is_trained_here=True, **replacement.lock_settings) as file:
        file.replace(model, ledger)


def open_corpus_for_change(
    model: TextClassifier,
    model_path: str,
    documents: DocumentOptions,
    label: str | None,
    *,
    allows_new_class: bool,
) -> CommandCorpus:
    """Return the labelled documents that change a model.

    They are read like the training documents, except for options that the user gave. ``label`` is
    the class of all documents. It is None if the corpus has the labels, and "" if the documents of
    a multi-label model have no label.

    Raise `UsageError` if the model cannot be changed exactly by documents that are read in this
    way, or if ``label`` is a new class and ``allows_new_class`` is False.
    """
    from nbtext.cli.corpus import CommandCorpus, detect_reading, require_distinct_output
    from nbtext.corpus.detection.formats import choose_reading
    from nbtext.counts.counting import check_label
    from nbtext.fitted_model import require_additive
    from nbtext.model.operations import compare_stemmer_versions, require_changeable
    from nbtext.prediction.labels import list_labels, split_label
    from nbtext.store.atomic import check_replaceable

    require_additive(model.settings, model.counts)
    paths = documents.paths
    is_labelled = label is None
    requested_reading = choose_reading(model.reading, paths, documents.reading.values)
    reading = detect_reading(requested_reading, paths, labelled=is_labelled)  # without "auto"
    require_changeable(model, reading)
    check_replaceable(model_path)
    require_distinct_output(model_path, paths)
    warning = compare_stemmer_versions(model)
    if warning:
        messages.warn(warning)
    source = CommandCorpus(documents, reading, labelled=is_labelled)
    if label is None:
        return source
    document_label = split_label(label, model.fitted.posterior_type.separator)
    if label:  # "" contains no label to check
        check_label(label)
        if not allows_new_class:
            _require_known_labels(list_labels(document_label), model)
    # The source calls this for each document, in other processes too, so it must be picklable.
    source.relabel = partial(_set_label, document_label)
    return source


def _require_known_labels(labels: Sequence[str], model: TextClassifier) -> None:
    """Raise `UsageError` for a label that the model does not have. It may be mistyped."""
    for label in labels:
        if label not in model.classes:
            error = unknown_class_error(label, model.classes, where="--label")
            error.hint = f"{error.hint}; nbtext update --new-class adds one"
            raise error


def _set_label(label: Label, document: Document, _: Notices) -> Document:
    return document._replace(label=label)


def report_contradictory_labels(batch: DocumentBatch) -> None:
    """Report texts that several documents of a batch have, with contradictory labels."""
    for finding in batch.check_contradictions():
        messages.notify(finding.line)


MAX_NAMED_CLASSES = 5
"""Maximum number of classes that are listed by name, with their sizes, after training."""


def report_model(
    model: TextClassifier, path: str, old_model: TextClassifier | None = None, details: str = ""
) -> None:
    """Report a new or changed model: its warnings, its size, and the next command.

    ``old_model`` is the model before the change, whose warnings are not repeated. It is None for a
    new model. ``details`` is added to the description that ``--verbose`` prints.
    """
    from nbtext.model.description import describe_model, list_warnings

    old_warnings = () if old_model is None else list_warnings(old_model.fitted)
    for warning in list_warnings(model.fitted):
        if warning not in old_warnings:
            messages.warn(warning)
    unlabelled_summary = model.fitted.parameters.unlabelled_summary
    if unlabelled_summary is not None and not model.counts.uses_unlabelled:
        unused = format_quantity(unlabelled_summary.documents, "unlabelled document")
        messages.notify(
            f"{unused} not used: held-out documents are predicted best without them, so the model "
            "has only the labelled documents"
        )
    size = _describe_size(model, shows_class_sizes=old_model is None)
    if old_model is None:
        evaluate = ["nbtext", "evaluate", "TEST"]
        if path != default_model():
            evaluate += ["--model", path]
        messages.notify(f"Trained {path} on {size}. Next: {shlex.join(evaluate)}")
    if messages.is_verbose():
        messages.notify(f"{path}: {describe_model(model.fitted)}{details}")
    elif old_model is not None:  # the messages above contain the size of a new model
        messages.notify(f"{path} has {size}")


def _describe_size(model: TextClassifier, *, shows_class_sizes: bool) -> str:
    """Return the numbers of documents and classes in words.

    A model without labelled documents is described by its unlabelled documents, without class
    sizes.
    """
    from nbtext.model.description import count_class_documents

    classes = format_quantity(len(model.classes), model.fitted.posterior_type.noun)
    n_documents = model.counts.labelled_statistics.n_documents
    unlabelled_summary = model.fitted.parameters.unlabelled_summary
    if not n_documents and unlabelled_summary is not None:
        unlabelled = format_quantity(unlabelled_summary.documents, "unlabelled document")
        return f"{unlabelled} of {classes}"
    size = f"{format_quantity(n_documents, 'document')} of {classes}"
    if shows_class_sizes:
        class_sizes = format_sizes(count_class_documents(model.fitted), MAX_NAMED_CLASSES)
        size += f": {class_sizes}"
    return size
