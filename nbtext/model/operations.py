"""Change a trained model without training it again: merge, relabel, prune, and learn or forget each document once, by a ledger of fingerprints.

All of it is arithmetic on whole numbers, so a changed model is the one that training on its documents would make. Only the sample stays a sample: a
document that it had no room for does not come back when another leaves it.
"""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from functools import reduce
from math import inf
from operator import add
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nbtext.compatibility import LABEL_MERGE, list_label_requests, require_compatible_settings
from nbtext.counts.corpus_counts import (
    CorpusCounts,
    NotInModelError,
    forget_documents,
    relabel_documents,
    subtract_documents,
)
from nbtext.counts.counting import check_label
from nbtext.document_fields import ATTRIBUTE_KINDS, append_weight
from nbtext.errors import WARNING, Finding, UsageError, format_quantity, unknown_class_error
from nbtext.fitted_model import require_additive
from nbtext.model.parallel_corpus import count_corpus
from nbtext.model.state import list_versions
from nbtext.prediction.labels import decode_label, encode_label, format_label
from nbtext.settings import COUNTING_NAMES, PARAMETERS_BY_NAME, Reading
from nbtext.store.ledger import ABSENT_LABEL, FINGERPRINT_DTYPE, Ledger, compute_fingerprint

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from nbtext.corpus.collection import Corpus
    from nbtext.model.text_classifier import TextClassifier
    from nbtext.model.unlabelled import UnlabelledDocuments
    from nbtext.prediction.labels import Label, Labels
    from nbtext.type_names import Array, Fingerprints, Ints, Mask, Names


def merge_models(models: Sequence[TextClassifier], names: Names) -> TextClassifier:
    """Return the model of all documents of some models, otherwise as the first is; ``names`` are for messages.

    Raises `UsageError` if one does not count as the first does, or if one cannot be changed exactly.
    """
    first = models[0]
    for model, name in zip(models, names, strict=True):
        difference = find_counting_difference(first, model)
        if difference is not None:
            raise UsageError(
                f"cannot be added to {names[0]}: they do not count alike, by {difference}",
                where=name,
                hint=f"train both with the same {difference}",
            )
        try:
            require_additive(model.settings, model.counts)
        except UsageError as problem:
            problem.where = name
            raise
        if model.seeds != first.seeds:
            raise UsageError(
                f"cannot be added to {names[0]}: they began with other seed words",
                where=name,
                hint="train both with the same --seeds",
            )
    return copy(first).learn(reduce(add, (model.counts for model in models)))


def relabel_class(model: TextClassifier, old: str, new: str) -> TextClassifier:
    """Return the model that all documents of one class under another label make; if there is a class of that label the two become one.

    So do their weights, where the class prior was given. Raises `UsageError` if there is no class of the old label, or the new one is none.
    """
    require_additive(model.settings, model.counts)
    classes = model.classes
    if old not in classes:
        raise unknown_class_error(old, classes)
    check_label(new)
    if new in classes and old != new:
        require_compatible_settings(
            model.settings, LABEL_MERGE, *list_label_requests(model.fitted.posterior_type)
        )
    counts = model.counts.rename_classes(
        [new if label == old else label for label in model.counts.table.classes]
    )
    prior = model.settings.class_prior
    if not isinstance(prior, str) and old != new:
        others = {label: weight for label, weight in prior.items() if label != old}
        own = others.get(new, 0.0) if new in classes else 0.0
        prior = {**others, new: own + prior[old]}
    changed = copy(model)
    changed.seeds = tuple(
        seed._replace(label=new if seed.label == old else seed.label) for seed in model.seeds
    )
    return changed.learn(counts, class_prior=prior)


def prune_terms(model: TextClassifier, min_df: int, max_df: float) -> TextClassifier:
    """Return the model without terms that fewer than ``min_df`` documents hold, or more than a share ``max_df`` of them.

    Terms that are part of an n-gram that stays are kept too. Later documents are counted over the terms that are left: with other terms back in, a
    document from before could not be subtracted again. Raises `UsageError` if no term would be left.
    """
    require_additive(model.settings, model.counts)
    statistics = model.counts.labelled_statistics
    documents = statistics.term_documents
    kept = (documents >= min_df) & (documents <= max_df * statistics.n_documents)
    if statistics.n_terms and not kept.any():
        raise UsageError(
            f"none of the {format_quantity(statistics.n_terms, 'term')} is left",
            hint="lower --min-df or raise --max-df",
        )
    return copy(model).learn(replace(model.counts.restrict_terms(kept), is_closed=True))


def find_counting_difference(one: TextClassifier, other: TextClassifier) -> str | None:
    """Return the option by which two models do not count alike, if there is one."""
    for name in COUNTING_NAMES:
        if name != "stop_words" and one.settings[name] != other.settings[name]:
            return PARAMETERS_BY_NAME[name].display_name
    if one.settings.needs_log_sums != other.settings.needs_log_sums:
        return "--weighting"
    for kind in ATTRIBUTE_KINDS:
        if one.reading[kind] != other.reading[kind]:
            return f"--{kind}"
    if one.reading.is_counted != other.reading.is_counted:
        return f"--format {(one if one.reading.is_counted else other).reading.format}"
    return (
        None
        if one.analysis.stop_list == other.analysis.stop_list
        and one.settings.counts_stop_words == other.settings.counts_stop_words
        else "--stop-words"
    )


def require_changeable(model: TextClassifier, reading: Reading) -> None:
    """Raise `UsageError` for a model that cannot be changed exactly, or for documents, read so, that it cannot have learnt."""
    require_additive(model.settings, model.counts)
    if not reading.is_counted and model.reading.is_counted:
        raise UsageError(
            f"the model was trained on {model.reading.format}'s counted features, not on texts",
            hint="give it features",
        )


def compare_stemmer_versions(model: TextClassifier) -> str | None:
    """Return a warning if the package that stemmed the model's words has another version now: some stems may differ."""
    for package, version in list_versions(model.settings).items():
        before = model.fitted.written_by.get(package, version)
        if package != "nbtext" and before != version:
            return (
                f"the words of the model were stemmed by {package} {before}, these are by "
                f"{version}; where stems differ, train again"
            )
    return None


def find_last_equal(texts: Array) -> Ints:
    """Return the row of the last text that equals each, shape (n_texts,)."""
    _, group = np.unique(texts, return_inverse=True)
    last = np.empty(group.size, np.int64)
    last[group] = np.arange(group.size)  # of several values the last is kept
    return last[group]


def find_contradictions(last: Ints, labels: Labels, names: Names) -> Iterator[Finding]:
    """Yield the finding that texts are there under several labels, given what `find_last_equal` returns."""
    numbers = {label: number for number, label in enumerate(dict.fromkeys(labels))}
    of_texts = np.array([numbers[label] for label in labels])
    others = np.flatnonzero(of_texts != of_texts[last])
    if others.size:
        first, second = (
            f"{names[row]} ({format_label(labels[row])})" for row in (others[0], last[others[0]])
        )
        detail = (
            f"{format_quantity(np.unique(last[others]).size, 'text')} under several labels: first "
            f"{first} and {second}"
        )
        yield Finding("labels", WARNING, detail, "keep one of them; --once takes the last")


class DocumentBatch(NamedTuple):
    """All documents of a corpus as counts, with their fingerprints and names."""

    counts: CorpusCounts
    fingerprints: Fingerprints
    names: Names = ()

    def list_labels(self, rows: Ints | slice = slice(None)) -> list[Label]:
        """Return the labels of some documents, by default of all."""
        labels = self.counts.documents.list_labels(self.counts.table.classes)
        return [labels[row] for row in np.arange(len(labels))[rows].tolist()]

    def count_with_labels(self, rows: Ints, labels: Labels) -> CorpusCounts:
        """Return the counts of some documents, each under the label given for it."""
        return relabel_documents(
            self.counts.table, self.counts.documents.take(rows), labels, self.counts.sample.size
        )

    def subtract_from(
        self,
        counts: CorpusCounts,
        rows: Ints,
        labels: Labels,
        subtract: Callable[[CorpusCounts, CorpusCounts], CorpusCounts],
    ) -> CorpusCounts:
        """Subtract some documents, each under the label given for it; errors have their numbers in the batch."""
        try:
            return subtract(counts, self.count_with_labels(rows, labels))
        except NotInModelError as problem:
            raise NotInModelError(int(rows[problem.index]), problem.label) from None

    def find_last_rows(self) -> Ints:
        """Return the rows of different documents, ascending, each the last of its equals: the later label holds."""
        return np.unique(find_last_equal(self.fingerprints))

    def check_contradictions(self) -> Iterator[Finding]:
        """Return what `find_contradictions` finds."""
        return find_contradictions(
            find_last_equal(self.fingerprints), self.list_labels(), self.names
        )

    def find_unchanged(self, ledger: Ledger) -> Mask:
        """Return a mask of the documents that a ledger knows under the same label, shape (n_docs,)."""
        number = {decode_label(text): place for place, text in enumerate(ledger.labels)}
        numbers = np.array(
            [number.get(label, ABSENT_LABEL) for label in self.list_labels()], np.int64
        )
        found = ledger.find(self.fingerprints)
        return (found == numbers) & (found != ABSENT_LABEL)


def count_batch(model: TextClassifier, corpus: Corpus, jobs: int) -> DocumentBatch:
    """Return the documents of a labelled corpus as the model counts them, with fingerprints and names; raise `NoDocumentsError` if there are none."""
    found = count_corpus(
        model.analysis,
        corpus,
        jobs,
        note=lambda document: compute_fingerprint(
            append_weight(document.digest_bytes, document.weight)
        ),
    )
    return DocumentBatch(
        found.counts, np.frombuffer(b"".join(found.notes), FINGERPRINT_DTYPE), found.names
    )


def remove_duplicates(batch: DocumentBatch) -> tuple[CorpusCounts, Ledger]:
    """Return the counts of the different documents of a batch, each under its last label, and their ledger."""
    rows = batch.find_last_rows()
    labels = batch.list_labels(rows)
    return batch.count_with_labels(rows, labels), Ledger.empty().with_labels(
        batch.fingerprints[rows], list(map(encode_label, labels))
    )


AUTO_WEIGHTINGS = ("counts", "log")
"""Where none is given: the first without unlabelled documents and each with them, of which left-out documents choose."""


def train_with_best_weighting(
    model: TextClassifier, counts: CorpusCounts | None, pool: UnlabelledDocuments
) -> TextClassifier:
    """Return a model that learns with the weighting of `WEIGHTINGS` by which left-out documents are answered best; without unlabelled documents the first."""
    models = [copy(model).learn(counts, pool, weighting=weighting) for weighting in AUTO_WEIGHTINGS]

    def loss(trained: TextClassifier) -> float:
        figures = trained.fitted.parameters.unlabelled_summary
        is_used = trained.counts.uses_unlabelled or trained is models[0]
        return inf if figures is None or not is_used else min(figures.losses.values())

    return min(models, key=loss)


class LedgerUpdate(NamedTuple):
    """A model's counts and ledger after a batch was learnt."""

    counts: CorpusCounts
    ledger: Ledger
    n_new: int
    n_moved: int
    """Documents that had been learnt under another label."""
    n_known: int
    """Documents that had been learnt under the same label."""
    n_repeated: int
    """Documents that occur again later in the batch."""


def add_batch(counts: CorpusCounts, ledger: Ledger, batch: DocumentBatch) -> LedgerUpdate:
    """Add the documents of a batch that the ledger does not know, and move those that it knows under another label.

    Raises `NotInModelError` for a document to be moved that the counts do not hold, whatever the ledger says.
    """
    rows = batch.find_last_rows()
    before = ledger.find(batch.fingerprints[rows])
    known = batch.find_unchanged(ledger)[rows]
    moved = (before != ABSENT_LABEL) & ~known
    new = before == ABSENT_LABEL
    changed = rows[moved | new]
    if moved.any():
        counts = batch.subtract_from(
            counts,
            rows[moved],
            [decode_label(ledger.labels[number]) for number in before[moved].tolist()],
            subtract_documents,
        )
    if changed.size:
        counts = counts + batch.count_with_labels(changed, batch.list_labels(changed))
    ledger = ledger.with_labels(
        batch.fingerprints[changed], list(map(encode_label, batch.list_labels(changed)))
    )
    return LedgerUpdate(
        counts,
        ledger,
        int(new.sum()),
        int(moved.sum()),
        int(known.sum()),
        batch.fingerprints.size - rows.size,
    )


def join_ledgers(ledgers: Sequence[Ledger]) -> tuple[Ledger | None, int]:
    """Join the ledgers of merged models, None for none; return also how many documents several of them know, which so count more than once.

    Of a document in several the last label holds.
    """
    if not ledgers:
        return None, 0
    _, times = np.unique(
        np.concatenate([ledger.fingerprints for ledger in ledgers]), return_counts=True
    )
    return reduce(Ledger.join, ledgers), int(np.count_nonzero(times > 1))


class LedgerRemoval(NamedTuple):
    """A model's counts and ledger after a batch was forgotten."""

    counts: CorpusCounts
    ledger: Ledger
    n_removed: int
    n_unknown: int
    """Documents that the ledger does not know, or does not know any more."""


def remove_batch(counts: CorpusCounts, ledger: Ledger, batch: DocumentBatch) -> LedgerRemoval:
    """Subtract the documents of a batch that the ledger knows; others are ignored, and repeated ones count once.

    Raises `NotInModelError` for a document that the ledger knows under another label, and `UsageError` if nothing would be left.
    """
    rows = batch.find_last_rows()
    before = ledger.find(batch.fingerprints[rows])
    rows = rows[before != ABSENT_LABEL]
    numbers = before[before != ABSENT_LABEL]
    for place in np.flatnonzero(~batch.find_unchanged(ledger)[rows]).tolist():
        problem = NotInModelError(
            int(rows[place]), format_label(batch.list_labels(rows[place : place + 1])[0])
        )
        problem.hint = (
            "it was learnt as "
            f"{format_label(decode_label(ledger.labels[numbers[place]]))!r}; {problem.hint}"
        )
        raise problem
    if rows.size:
        counts = batch.subtract_from(counts, rows, batch.list_labels(rows), forget_documents)
    return LedgerRemoval(
        counts,
        ledger.with_labels(batch.fingerprints[rows], [None] * rows.size),
        rows.size,
        before.size - rows.size,
    )


def remove_from_ledger(ledger: Ledger, batch: DocumentBatch) -> Ledger:
    """Return the ledger without the documents of a batch that it knows under the same label."""
    known = np.unique(batch.fingerprints[batch.find_unchanged(ledger)])
    return ledger.with_labels(known, [None] * known.size)
