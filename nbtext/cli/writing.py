"""Shared by the commands that write a model: lock, backup, documents to change a model by, messages about the new model."""

from __future__ import annotations

import os
import shlex
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypedDict

from nbtext.cli import declarations, messages
from nbtext.cli.parameters import PATH
from nbtext.cli.shared_options import Number, default_model
from nbtext.compatibility import POOL, require_fitting
from nbtext.errors import quantity, sizes_in_words, unknown_class
from nbtext.fast_dataclasses import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbtext.cli.corpus import CommandCorpus
    from nbtext.cli.shared_options import Documents
    from nbtext.corpus.document import Document, Notices
    from nbtext.model import TextClassifier
    from nbtext.model.locked_model import Unlabelled
    from nbtext.model.operations import Batch
    from nbtext.model.unlabelled import UnlabelledDocuments
    from nbtext.prediction.labels import Label
    from nbtext.store.ledger import Ledger


class LockSettings(TypedDict):
    """Settings of lock and replacement, arguments of the functions of `nbtext.model.locked_model`."""

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
        type=Number(0),
        default=60.0,
        metavar="SECONDS",
    )

    @property
    def lock(self) -> LockSettings:
        """The settings as the functions of `nbtext.model.locked_model` take them."""
        return {"lock_timeout": self.lock_timeout, "backup": self.backup}


def unlabelled_field(**attributes: Any) -> Any:
    """Declare the field of ``--unlabelled``, for `read_pool`."""
    return declarations.common_option(
        "--unlabelled",
        "documents",
        "Also learn from these documents without labels, if left-out labelled documents are then "
        "answered better. Give it once for each path. "
        "Unless --weighting is given, left-out documents also choose between counts and log.",
        multiple=True,
        metavar="PATH",
        type=PATH,
        **attributes,
    )


@dataclass(frozen=True, kw_only=True)
class TeachingOptions:
    """What a model learns from besides labelled documents."""

    unlabelled: tuple[str, ...] = unlabelled_field(is_late=True)
    seeds: str | None = declarations.option(
        "--seeds",
        "documents",
        "Give classes words. A line of FILE has a class, a tab and a word, and optionally a tab "
        "and its pseudo-count, by default 10. A word after ! speaks against "
        "the class. With --unlabelled, CORPUS may be left out.",
        type=PATH,
        is_late=True,
    )


@dataclass(frozen=True, kw_only=True)
class RelearningOptions:
    """What a model that is there learns or forgets, for `corpus_to_change` and `what_becomes_of_unlabelled`."""

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


def read_pool(
    model: TextClassifier, model_path: str, paths: tuple[str, ...], documents: Documents
) -> UnlabelledDocuments | None:
    """Return the documents of ``--unlabelled``, read as the training documents were, counted as the model counts; None if there are none."""
    if not paths:
        return None
    from nbtext.cli.corpus import CommandCorpus, require_distinct
    from nbtext.corpus.reading import reading_like, resolve_format
    from nbtext.model.unlabelled import UnlabelledDocuments
    from nbtext.settings import BY_NAME

    require_fitting(model.settings, POOL)
    require_distinct(model_path, paths)
    reading = reading_like(model.reading, paths, {}).unweighted
    if (
        resolve_format(paths, reading.format) == "dir"
        and reading.document in ("text", BY_NAME)
        and not any(map(os.path.isdir, paths))
    ):
        reading = replace(reading, format="lines")
        messages.notice(
            f"{paths[0]}: read as lines, a document each; for files that are one document each, "
            "give their folder"
        )
    source = CommandCorpus(replace(documents, paths=paths), reading, labelled=False)
    pool = UnlabelledDocuments.of(model.analysis, source.readable())
    source.say_notices()
    return pool


def what_becomes_of_unlabelled(
    model: TextClassifier, model_path: str, relearning: RelearningOptions, documents: Documents
) -> Unlabelled:
    """Read ``--unlabelled``, and let the model forget what it learnt from others before if the options say so."""
    from nbtext.model.locked_model import Unlabelled

    paths = relearning.unlabelled
    pool = read_pool(model, model_path, paths, documents)
    unlabelled = Unlabelled(pool, bool(paths or relearning.drop_unlabelled))
    unlabelled.drop_from(model)
    return unlabelled


def write_new_model(
    model: TextClassifier, path: str, writing: WritingOptions, ledger: Ledger | None = None
) -> None:
    """Write a model that does not go on from the one which may be there."""
    from nbtext.model.locked_model import locked_model

    with locked_model(path, is_new=True, **writing.lock) as file:
        file.replace(model, ledger)


def corpus_to_change(
    model: TextClassifier,
    model_path: str,
    documents: Documents,
    label: str | None,
    *,
    may_be_new: bool,
) -> CommandCorpus:
    """Return labelled documents to change a model by, read as its training documents were unless the options say otherwise, or those of ``--label``.

    Raises `UsageError` for a model that cannot be changed exactly, for documents that it cannot have learnt, or for a label that it does not have, unless
    it ``may_be_new``.
    """
    from nbtext.cli.corpus import CommandCorpus, recognised, require_distinct
    from nbtext.corpus.reading import reading_like
    from nbtext.counts.counting import check_label
    from nbtext.fitted_model import require_additive
    from nbtext.model.operations import require_changeable, stemmer_difference
    from nbtext.prediction.labels import labels_in, separated
    from nbtext.store.atomic import check_replaceable

    require_additive(model.settings, model.counts)
    paths = documents.paths
    labelled = label is None
    reading = recognised(
        reading_like(model.reading, paths, documents.reading.values), paths, labelled=labelled
    )
    require_changeable(model, reading)
    check_replaceable(model_path)
    require_distinct(model_path, paths)
    if changed := stemmer_difference(model):
        messages.warn(changed)
    source = CommandCorpus(documents, reading, labelled=labelled)
    if label is not None:
        if label:
            check_label(label)
        given = separated(label, model.fitted.kind.separator)
        if label and not may_be_new:
            _require_known(labels_in(given), model)
        source.patch = partial(_under_label, given)
    return source


def _require_known(labels: Sequence[str], model: TextClassifier) -> None:
    """Raise `UsageError` for a label that the model does not have: it may be mistyped."""
    known = [str(label) for label in model.classes]
    for label in labels:
        if label not in known:
            problem = unknown_class(label, known, where="--label")
            problem.hint = f"{problem.hint}; nbtext update --new-class adds one"
            raise problem


def _under_label(label: Label, document: Document, _: Notices) -> Document:
    return document._replace(label=label)


def say_overruled(batch: Batch) -> None:
    """Say which documents of ``--once`` have the text of others under another label."""
    for found in batch.overruled():
        messages.notice(found.line)


NAMED_CLASSES = 5
"""Classes that are named when a model is learnt, with the number of their documents."""


def say_model(
    model: TextClassifier, path: str, before: TextClassifier | None = None, more: str = ""
) -> None:
    """Say what a new model learnt and what to do next, or what it is after a change, and what makes it less useful than it might be, or was before."""
    from nbtext.model.description import class_sizes, describe, warnings

    known = () if before is None else warnings(before.fitted)
    for warning in warnings(model.fitted):
        if warning not in known:
            messages.warn(warning)
    n = model.counts.labelled.n_documents
    noun = "document"
    pool = model.fitted.learnt.unlabelled
    if pool is not None and not model.counts.uses_unlabelled:
        messages.notice(
            f"{quantity(pool.documents, 'unlabelled document')} not used: left-out documents are "
            "answered best without them, so the model is that "
            "of the labelled documents alone"
        )
    if not n and pool is not None:
        n = pool.documents
        noun = "unlabelled document"
    size = f"{quantity(n, noun)} of {quantity(len(model.classes), model.fitted.kind.noun)}"
    if before is None:
        size += (
            f" ({sizes_in_words(class_sizes(model.fitted), NAMED_CLASSES)})"
            if noun == "document"
            else ""
        )
        evaluate = [
            "nbtext",
            "evaluate",
            "TEST",
            *(["--model", path] if path != default_model() else []),
        ]
        messages.notice(f"Learnt {size}: {path}. Next: {shlex.join(evaluate)}")
    elif not messages.is_verbose():
        messages.notice(f"{path} has {size}")
    if messages.is_verbose():
        messages.notice(f"{path}: {describe(model.fitted)}{more}")
