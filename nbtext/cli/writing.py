"""Shared by the commands that write a model: lock, backup, documents to change a model by, messages about the new model."""

from __future__ import annotations

import os
import shlex
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypedDict

from nbtext.cli import declarations, messages
from nbtext.cli.parameters import INPUT_PATH
from nbtext.cli.shared_options import NumberInRange, default_model
from nbtext.compatibility import UNLABELLED_POOL, require_compatible_settings
from nbtext.errors import format_quantity, format_sizes, unknown_class_error
from nbtext.fast_dataclasses import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbtext.cli.corpus import CommandCorpus
    from nbtext.cli.shared_options import DocumentOptions
    from nbtext.corpus.document import Document, Notices
    from nbtext.model import TextClassifier
    from nbtext.model.locked_model import UnlabelledAction
    from nbtext.model.operations import DocumentBatch
    from nbtext.model.unlabelled import UnlabelledDocuments
    from nbtext.prediction.labels import Label
    from nbtext.store.ledger import Ledger


class LockSettings(TypedDict):
    """Settings of lock and replacement, arguments of the functions of `nbtext.model.lock_model`."""

    lock_timeout: float
    backup: bool


@dataclass(frozen=True, kw_only=True)
class WritingOptions:
    """How a model file is locked and replaced."""

    backup: bool = declarations.option(
        "--backup", "output", "Keep the old model beside the new one. Its name then ends with .1."
    )
    lock_timeout: float = declarations.option(
        "--lock-timeout",
        "process",
        "Wait at most so long while another process writes the model. After that the exit status "
        "is 5.",
        type=NumberInRange(0),
        default=60.0,
        metavar="SECONDS",
    )

    @property
    def lock_settings(self) -> LockSettings:
        """The settings as the functions of `nbtext.model.lock_model` take them."""
        return {"lock_timeout": self.lock_timeout, "backup": self.backup}


def unlabelled_field(**attributes: Any) -> Any:
    """Declare the field of ``--unlabelled``, for `read_unlabelled`."""
    return declarations.common_option(
        "--unlabelled",
        "documents",
        "Also learn from these documents without labels, if left-out labelled documents are then "
        "answered better. Give it once for each path. "
        "Unless --weighting is given, left-out documents also choose between counts and log.",
        multiple=True,
        metavar="PATH",
        type=INPUT_PATH,
        **attributes,
    )


@dataclass(frozen=True, kw_only=True)
class SemiSupervisionOptions:
    """What a model learns from besides labelled documents."""

    unlabelled: tuple[str, ...] = unlabelled_field(is_late=True)
    seeds: str | None = declarations.option(
        "--seeds",
        "documents",
        "Give classes words. A line of FILE has a class, a tab and a word, and optionally a tab "
        "and its pseudo-count, by default 10. A word after ! speaks against "
        "the class. With --unlabelled, CORPUS may be left out.",
        type=INPUT_PATH,
        is_late=True,
    )


@dataclass(frozen=True, kw_only=True)
class ModelChangeOptions:
    """What a model that is there learns or forgets, for `open_corpus_for_change` and `read_unlabelled_change`."""

    label: str | None = declarations.common_option(
        "--label",
        "documents",
        "Class of all documents of CORPUS, which are then read like those of classify: a file, or "
        "- for one document on standard input.",
        metavar="TEXT",
    )
    unlabelled: tuple[str, ...] = unlabelled_field()
    drop_unlabelled: bool = declarations.option(
        "--drop-unlabelled",
        "documents",
        "Forget what the model learnt from documents without labels.",
    )


def read_unlabelled(
    model: TextClassifier, model_path: str, paths: tuple[str, ...], documents: DocumentOptions
) -> UnlabelledDocuments | None:
    """Return the documents of ``--unlabelled``, read as the training documents were, counted as the model counts; None if there are none."""
    if not paths:
        return None
    from nbtext.cli.corpus import CommandCorpus, require_distinct_output
    from nbtext.corpus.reading import choose_reading, resolve_format
    from nbtext.model.unlabelled import UnlabelledDocuments
    from nbtext.settings import KIND_BY_NAME

    require_compatible_settings(model.settings, UNLABELLED_POOL)
    require_distinct_output(model_path, paths)
    reading = choose_reading(model.reading, paths, {}).unweighted
    if (
        resolve_format(paths, reading.format) == "dir"
        and reading.document in ("text", KIND_BY_NAME)
        and not any(map(os.path.isdir, paths))
    ):
        reading = replace(reading, format="lines")
        messages.notify(
            f"{paths[0]}: read as lines, a document each; for files that are one document each, "
            "give their folder"
        )
    source = CommandCorpus(replace(documents, paths=paths), reading, labelled=False)
    pool = UnlabelledDocuments.from_documents(model.analysis, source.iter_readable())
    source.report_notices()
    return pool


def read_unlabelled_change(
    model: TextClassifier, model_path: str, change: ModelChangeOptions, documents: DocumentOptions
) -> UnlabelledAction:
    """Read ``--unlabelled``, and let the model forget what it learnt from others before if the options say so."""
    from nbtext.model.locked_model import UnlabelledAction

    paths = change.unlabelled
    pool = read_unlabelled(model, model_path, paths, documents)
    unlabelled = UnlabelledAction(pool, bool(paths or change.drop_unlabelled))
    unlabelled.drop_from(model)
    return unlabelled


def write_new_model(
    model: TextClassifier, path: str, writing: WritingOptions, ledger: Ledger | None = None
) -> None:
    """Write a model that does not go on from the one which may be there."""
    from nbtext.model.locked_model import lock_model

    with lock_model(path, is_new=True, **writing.lock_settings) as file:
        file.replace(model, ledger)


def open_corpus_for_change(
    model: TextClassifier,
    model_path: str,
    documents: DocumentOptions,
    label: str | None,
    *,
    allows_new_class: bool,
) -> CommandCorpus:
    """Return labelled documents to change a model by, read as its training documents were unless the options say otherwise, or those of ``--label``.

    Raises `UsageError` for a model that cannot be changed exactly, for documents that it cannot have learnt, or for a label that it does not have, unless
    it ``may_be_new``.
    """
    from nbtext.cli.corpus import CommandCorpus, detect_reading, require_distinct_output
    from nbtext.corpus.reading import choose_reading
    from nbtext.counts.counting import check_label
    from nbtext.fitted_model import require_additive
    from nbtext.model.operations import compare_stemmer_versions, require_changeable
    from nbtext.prediction.labels import list_labels, split_label
    from nbtext.store.atomic import check_replaceable

    require_additive(model.settings, model.counts)
    paths = documents.paths
    labelled = label is None
    reading = detect_reading(
        choose_reading(model.reading, paths, documents.reading.values), paths, labelled=labelled
    )
    require_changeable(model, reading)
    check_replaceable(model_path)
    require_distinct_output(model_path, paths)
    if changed := compare_stemmer_versions(model):
        messages.warn(changed)
    source = CommandCorpus(documents, reading, labelled=labelled)
    if label is not None:
        if label:
            check_label(label)
        given = split_label(label, model.fitted.posterior_type.separator)
        if label and not allows_new_class:
            _require_known(list_labels(given), model)
        source.relabel = partial(_under_label, given)
    return source


def _require_known(labels: Sequence[str], model: TextClassifier) -> None:
    """Raise `UsageError` for a label that the model does not have: it may be mistyped."""
    known = [str(label) for label in model.classes]
    for label in labels:
        if label not in known:
            problem = unknown_class_error(label, known, where="--label")
            problem.hint = f"{problem.hint}; nbtext update --new-class adds one"
            raise problem


def _under_label(label: Label, document: Document, _: Notices) -> Document:
    return document._replace(label=label)


def report_overruled_labels(batch: DocumentBatch) -> None:
    """Say which documents of ``--once`` have the text of others under another label."""
    for found in batch.check_contradictions():
        messages.notify(found.line)


NAMED_CLASSES = 5
"""Classes that are named when a model is learnt, with the number of their documents."""


def report_model(
    model: TextClassifier, path: str, old_model: TextClassifier | None = None, details: str = ""
) -> None:
    """Say what a new model learnt and what to do next, or what it is after a change, and what makes it less useful than it might be, or was before."""
    from nbtext.model.description import count_class_documents, describe_model, list_warnings

    known = () if old_model is None else list_warnings(old_model.fitted)
    for warning in list_warnings(model.fitted):
        if warning not in known:
            messages.warn(warning)
    n = model.counts.labelled_statistics.n_documents
    noun = "document"
    pool = model.fitted.parameters.unlabelled_summary
    if pool is not None and not model.counts.uses_unlabelled:
        messages.notify(
            f"{format_quantity(pool.documents, 'unlabelled document')} not used: left-out documents are "
            "answered best without them, so the model is that "
            "of the labelled documents alone"
        )
    if not n and pool is not None:
        n = pool.documents
        noun = "unlabelled document"
    size = f"{format_quantity(n, noun)} of {format_quantity(len(model.classes), model.fitted.posterior_type.noun)}"
    if old_model is None:
        size += (
            f" ({format_sizes(count_class_documents(model.fitted), NAMED_CLASSES)})"
            if noun == "document"
            else ""
        )
        evaluate = [
            "nbtext",
            "evaluate",
            "TEST",
            *(["--model", path] if path != default_model() else []),
        ]
        messages.notify(f"Learnt {size}: {path}. Next: {shlex.join(evaluate)}")
    elif not messages.is_verbose():
        messages.notify(f"{path} has {size}")
    if messages.is_verbose():
        messages.notify(f"{path}: {describe_model(model.fitted)}{details}")
