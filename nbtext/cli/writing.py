"""What the commands share that write a model: the lock, the backup, the ledger, and documents counted before the lock is taken."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from nbtext.cli.options import Number
from nbtext.errors import ModelError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager

    from nbtext.cli.corpus import Corpus
    from nbtext.cli.messages import Messages
    from nbtext.cli.options import Command
    from nbtext.corpus.document import Document
    from nbtext.model import TextClassifier
    from nbtext.model.changing import Batch
    from nbtext.model.locked_model import HeldModel
    from nbtext.store.ledger import Ledger


LOCK_TIMEOUT = 60.0


def writing_options(command: Command) -> Command:
    """``--backup`` and ``--lock-timeout``, for a command that writes a model."""
    command = click.option(
        "--lock-timeout", type=Number(min=0), default=LOCK_TIMEOUT, show_default=True, metavar="SECONDS",
        help="How long to wait while another process writes the model; then the exit status is 5.",
    )(command)  # fmt: skip
    return click.option("--backup", is_flag=True, help="Keep the model that is replaced beside the new one, with .1 after its name.")(
        command
    )


def held_model(path: str, options: dict[str, Any]) -> AbstractContextManager[HeldModel]:
    """The model file under its lock, as the options say; raises `LockedError`."""
    from nbtext.model.locked_model import held

    return held(path, lock_timeout=options["lock_timeout"], backup=options["backup"])


def write_anew(
    make: Callable[[], TextClassifier], path: str, options: dict[str, Any], say: Messages, ledger: Ledger | None = None
) -> TextClassifier:
    """Write a model, made under the lock, that does not go on from the one which may be there; the ledger of that one is replaced or told of."""
    with held_model(path, options) as file:
        model = make()
        file.replace(model, ledger)
        if ledger is None:
            say_left_ledger(path, say)
    return model


def say_left_ledger(path: str, say: Messages) -> bool:
    """Whether a ledger lies beside a model that was written without one; if so, that it is not its own."""
    from nbtext.store.ledger import ledger_path

    place = ledger_path(path)
    if not os.path.lexists(place):
        return False
    say.warn(f"{place} is the ledger of the model that was there; remove it, or train with --once to have a new one")
    return True


def batch_of(model: TextClassifier, source: Corpus, jobs: int) -> tuple[Batch, list[str]] | None:
    """The documents of a corpus as a model of these parameters counts them, with fingerprints, and their names; None if there are none."""
    from nbtext.cli.jobs import count_with_documents
    from nbtext.model.changing import Batch

    counted = count_with_documents(model, source, jobs, _fingerprint)
    return counted and (Batch.of((counted.statistics, counted.documents), counted.notes), counted.names)


def _fingerprint(document: Document) -> bytes:
    from nbtext.store.ledger import fingerprint

    return fingerprint(document.text)


def train_once(model: TextClassifier, source: Corpus, jobs: int) -> Ledger:
    """Train a model on the different documents of a corpus, for --once; all of them are kept as counts until it is done."""
    from nbtext.cli.jobs import no_documents
    from nbtext.model.changing import trained_once

    batch, _ = batch_of(model, source, jobs) or no_documents()
    return trained_once(model, batch)


def corpus_for(model: TextClassifier, model_path: str, paths: Sequence[str], options: dict[str, Any], say: Messages) -> Corpus:
    """Labelled documents to change a model by, read as its training documents were but for what the options say.

    Raises `UsageError` for a model that cannot be changed exactly, or for documents that it cannot have learnt.
    """
    from nbtext.cli.corpus import Corpus, on_error, reading_of, require_distinct
    from nbtext.corpus.reading import resolved
    from nbtext.model.training import require_additive
    from nbtext.store import check_replaceable

    require_additive(model.parameters)
    reading = resolved(reading_of(model, paths, options), paths, labelled=True)
    if reading["format"] != "svmlight" == model.reading["format"]:
        raise UsageError("the model was trained on svmlight's counted features, not on texts", hint="give it features")
    check_replaceable(model_path)
    require_distinct(model_path, paths)
    if changed := other_stemmer(model):
        say.warn(changed)
    return Corpus(paths, reading, say, labelled=True, on_error=on_error(options))


def other_stemmer(model: TextClassifier) -> str | None:
    """That the package which stemmed the model's words is of another version now, if it is: some stems may not be what they were."""
    from nbtext.model.text_classifier import versions

    for package, version in versions(model.parameters).items():
        before = model.written_by.get(package, version)
        if package != "nbtext" and before != version:
            return f"the words of the model were stemmed by {package} {before}, these are by {version}; where stems differ, train again"
    return None


def require_counted_alike(counted_by: TextClassifier, now: TextClassifier, path: str) -> None:
    """Raise `ModelError` if the model was replaced, since documents were counted, by one that counts otherwise."""
    from nbtext.model.changing import counting_difference
    from nbtext.model.training import require_additive

    difference = counting_difference(counted_by, now)
    if difference is not None:
        raise ModelError(f"was replaced meanwhile by a model that counts otherwise, by {difference}", where=path, hint="run it again")
    require_additive(now.parameters)


def say_changed(before: TextClassifier, after: TextClassifier, path: str, say: Messages) -> None:
    """What the model is now, and what makes it less useful than it was."""
    if found := after.warnings():
        old = before.warnings()
        for warning in found:
            if warning not in old:
                say.warn(warning)
    say.notice(f"{path}: {after.describe()}")
