"""Change a trained model without its documents: merge, relabel, prune, add and remove.

Counts are whole numbers that add and subtract exactly, so a changed model equals a model trained on
its documents. Only the sample can differ: if a document leaves the sample, training documents that
did not fit into the sample cannot replace it. A ledger of fingerprints shows which documents a
model contains.

`TextClassifier.learn` changes the model, so functions that return a new model call it on a copy.
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
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from nbtext.corpus.collection import Corpus
    from nbtext.corpus.document import Document
    from nbtext.model.text_classifier import TextClassifier
    from nbtext.model.unlabelled import UnlabelledDocuments
    from nbtext.prediction.labels import Label, Labels
    from nbtext.type_names import Array, Fingerprints, Ints, Mask, Names


def merge_models(models: Sequence[TextClassifier], names: Names) -> TextClassifier:
    """Return the model of the documents of all models, with the settings of the first.

    ``names`` identify the models in messages. Raise `UsageError` if a model counts differently than
    the first, or if it cannot be changed exactly.
    """
    first = models[0]
    for model, name in zip(models, names, strict=True):
        difference = find_counting_difference(first, model)
        if difference is not None:
            raise UsageError(
                f"cannot be added to {names[0]}: they differ in {difference}",
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
    total_counts = reduce(add, (model.counts for model in models))
    return copy(first).learn(total_counts)


def relabel_class(model: TextClassifier, old: str, new: str) -> TextClassifier:
    """Return the model with the class ``old`` renamed to ``new``.

    If the model has a class ``new`` already, the two classes are merged. A class prior by label is
    changed too. Raise `UsageError` if the model has no class ``old``, or if
    ``new`` is not a valid label.
    """
    require_additive(model.settings, model.counts)
    classes = model.classes
    if old not in classes:
        raise unknown_class_error(old, classes)
    check_label(new)
    is_merge = new in classes and old != new
    if is_merge:
        require_compatible_settings(
            model.settings, LABEL_MERGE, *list_label_requests(model.fitted.posterior_type)
        )

    # The table also has the reserved class of a multi-label model.
    new_names = [new if label == old else label for label in model.counts.table.classes]
    counts = model.counts.rename_classes(new_names)
    prior = model.settings.class_prior
    if not isinstance(prior, str) and old != new:
        prior = _merge_prior_weights(prior, old, new, classes)
    relabelled_model = copy(model)
    relabelled_model.seeds = tuple(
        seed._replace(label=new) if seed.label == old else seed for seed in model.seeds
    )
    return relabelled_model.learn(counts, class_prior=prior)


def _merge_prior_weights(
    weights: Mapping[str, float], old: str, new: str, classes: Names
) -> dict[str, float]:
    """Return class weights by label in which the weight of ``old`` is added to ``new``."""
    merged_weights = {label: weight for label, weight in weights.items() if label != old}
    # The weight of a label that is not a class of the model is ignored.
    new_weight = weights[new] if new in classes else 0.0
    merged_weights[new] = new_weight + weights[old]
    return merged_weights


def prune_terms(model: TextClassifier, min_df: int, max_df: float) -> TextClassifier:
    """Return the model without rare and common terms.

    A term stays if at least ``min_df`` documents contain it, and at most a proportion ``max_df`` of
    all documents. It also stays if it is part of an n-gram that stays. Later documents are counted
    with the remaining terms only: if they added a removed term again, earlier documents with this
    term could not be subtracted exactly. Raise `UsageError` if no term would remain.
    """
    require_additive(model.settings, model.counts)
    statistics = model.counts.labelled_statistics
    term_documents = statistics.term_documents
    stays = (term_documents >= min_df) & (term_documents <= max_df * statistics.n_documents)
    if statistics.n_terms and not stays.any():
        raise UsageError(
            f"none of the {format_quantity(statistics.n_terms, 'term')} is left",
            hint="lower --min-df or raise --max-df",
        )
    counts = replace(model.counts.restrict_terms(stays), is_closed=True)
    return copy(model).learn(counts)


def find_counting_difference(first: TextClassifier, second: TextClassifier) -> str | None:
    """Return an option by which two models count differently, or None if they count equally."""
    for name in COUNTING_NAMES:
        # The lists of stop words are compared below, not their names.
        if name != "stop_words" and first.settings[name] != second.settings[name]:
            return PARAMETERS_BY_NAME[name].display_name
    if first.settings.needs_log_sums != second.settings.needs_log_sums:
        return "--weighting"
    for kind in ATTRIBUTE_KINDS:
        if first.reading[kind] != second.reading[kind]:
            return f"--{kind}"
    if first.reading.is_counted != second.reading.is_counted:
        counted_model = first if first.reading.is_counted else second
        return f"--format {counted_model.reading.format}"
    if (
        first.analysis.stop_list != second.analysis.stop_list
        or first.settings.counts_stop_words != second.settings.counts_stop_words
    ):
        return "--stop-words"
    return None


def require_changeable(model: TextClassifier, reading: Reading) -> None:
    """Raise `UsageError` if the model cannot be changed exactly by documents read with ``reading``.

    A model of counted features can only be changed by counted features.
    """
    require_additive(model.settings, model.counts)
    if not reading.is_counted and model.reading.is_counted:
        raise UsageError(
            f"the model was trained on {model.reading.format}'s counted features, not on texts",
            hint="use files of features",
        )


def compare_stemmer_versions(model: TextClassifier) -> str | None:
    """Return a warning if the stemmer has another version than at training, else None."""
    for package, version in list_versions(model.settings).items():
        old_version = model.fitted.written_by.get(package, version)
        if package != "nbtext" and old_version != version:
            return (
                f"the words of the model were stemmed by {package} {old_version}, these are by "
                f"{version}; where stems differ, train again"
            )
    return None


def find_last_equal(texts: Array) -> Ints:
    """Return for each text the row of the last equal text, shape (n_texts,)."""
    _, groups = np.unique(texts, return_inverse=True)
    last_row_of_group = np.empty(groups.size, np.int64)  # the first n_groups elements are used
    # numpy keeps the last of repeated assignments to an element.
    last_row_of_group[groups] = np.arange(groups.size)
    return last_row_of_group[groups]


def find_contradictions(last_equal: Ints, labels: Labels, names: Names) -> Iterator[Finding]:
    """Yield a warning if equal texts have different labels.

    ``last_equal`` is the result of `find_last_equal`.
    """
    index_of_label = {label: index for index, label in enumerate(dict.fromkeys(labels))}
    label_indices = np.array([index_of_label[label] for label in labels])
    has_other_label = label_indices != label_indices[last_equal]
    rows = np.flatnonzero(has_other_label)
    if rows.size:
        row = rows[0]
        last_row = last_equal[row]
        n_texts = np.unique(last_equal[rows]).size
        detail = (
            f"{format_quantity(n_texts, 'text')} under several labels: "
            f"first {names[row]} ({format_label(labels[row])}) and "
            f"{names[last_row]} ({format_label(labels[last_row])})"
        )
        yield Finding(
            "labels", WARNING, detail, "keep one of them; train --deduplicate keeps the last"
        )


class DocumentBatch(NamedTuple):
    """All documents of a corpus as counts, with their fingerprints and names."""

    counts: CorpusCounts
    """The counts of the corpus by class, and of each document."""
    fingerprints: Fingerprints
    """Fingerprint of each document, shape (n_docs,). Equal documents have equal fingerprints."""
    names: Names = ()
    """Name of each document, for messages."""

    def list_labels(self, rows: Ints | None = None) -> list[Label]:
        """Return the labels of the documents in ``rows``, by default of all documents."""
        labels = self.counts.documents.list_labels(self.counts.table.classes)
        if rows is None:
            return labels
        return [labels[row] for row in rows.tolist()]

    def count_with_labels(self, rows: Ints, labels: Labels) -> CorpusCounts:
        """Return the counts of the documents in ``rows`` under the given ``labels``."""
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
        """Return ``counts`` without the documents in ``rows``, which it counted under ``labels``.

        ``subtract`` is `subtract_documents` or `forget_documents`. Raise `NotInModelError`, with a
        row of the batch, for a document that the counts do not contain.
        """
        try:
            return subtract(counts, self.count_with_labels(rows, labels))
        except NotInModelError as problem:
            # The index of the error is a position in ``rows``.
            raise NotInModelError(int(rows[problem.index]), problem.label) from None

    def find_last_rows(self) -> Ints:
        """Return the row of the last document of each group of equal documents, ascending."""
        return np.unique(find_last_equal(self.fingerprints))

    def check_contradictions(self) -> Iterator[Finding]:
        """Yield a warning if equal documents have different labels."""
        return find_contradictions(
            find_last_equal(self.fingerprints), self.list_labels(), self.names
        )

    def mask_unchanged(self, ledger: Ledger) -> Mask:
        """Return a mask of the documents in a ledger with the same label, shape (n_docs,)."""
        index_of_label = {decode_label(text): index for index, text in enumerate(ledger.labels)}
        label_indices = np.array(
            [index_of_label.get(label, ABSENT_LABEL) for label in self.list_labels()], np.int64
        )
        ledger_indices = ledger.find(self.fingerprints)
        return (ledger_indices == label_indices) & (ledger_indices != ABSENT_LABEL)


def count_batch(model: TextClassifier, corpus: Corpus, jobs: int) -> DocumentBatch:
    """Count the documents of a labelled corpus for a model, with fingerprints and names.

    Raise `NoDocumentsError` if the corpus has no documents.
    """
    counted = count_corpus(model.analysis, corpus, jobs, note=_note_fingerprint)
    fingerprints = np.frombuffer(b"".join(counted.notes), FINGERPRINT_DTYPE)
    return DocumentBatch(counted.counts, fingerprints, counted.names)


def _note_fingerprint(document: Document) -> bytes:
    """Return the fingerprint of a document with its weight, as a note."""
    return compute_fingerprint(append_weight(document.content_bytes, document.weight))


def remove_duplicates(batch: DocumentBatch) -> tuple[CorpusCounts, Ledger]:
    """Return the counts and the ledger of the distinct documents of a batch.

    Equal documents count once, with the label of the last document.
    """
    rows = batch.find_last_rows()
    labels = batch.list_labels(rows)
    ledger = Ledger.empty().with_labels(batch.fingerprints[rows], list(map(encode_label, labels)))
    return batch.count_with_labels(rows, labels), ledger


AUTO_WEIGHTINGS = ("counts", "log")
"""Weightings to try with unlabelled documents by default. The first is the usual default."""


def train_with_best_weighting(
    model: TextClassifier, counts: CorpusCounts | None, pool: UnlabelledDocuments
) -> TextClassifier:
    """Return the model trained with the best weighting of `AUTO_WEIGHTINGS`.

    The best weighting has the lowest log loss of held-out documents. A weighting other than the
    first is only chosen if the model with this weighting uses the unlabelled documents.
    """
    models = [copy(model).learn(counts, pool, weighting=weighting) for weighting in AUTO_WEIGHTINGS]

    def get_loss(trained: TextClassifier) -> float:
        """Return the lowest log loss of a model, or infinity if it must not be chosen."""
        summary = trained.fitted.parameters.unlabelled_summary
        is_eligible = trained.counts.uses_unlabelled or trained is models[0]
        if summary is None or not is_eligible:
            return inf
        return min(summary.losses.values())

    return min(models, key=get_loss)


class LedgerUpdate(NamedTuple):
    """Counts and ledger of a model after a batch was added, and numbers of documents of the batch.

    The four numbers add up to the number of documents of the batch.
    """

    counts: CorpusCounts
    ledger: Ledger
    n_new: int
    """Documents that were not in the ledger."""
    n_moved: int
    """Documents that were in the ledger with another label."""
    n_known: int
    """Documents that were in the ledger with the same label."""
    n_repeated: int
    """Documents that occur again later in the batch."""


def add_batch(counts: CorpusCounts, ledger: Ledger, batch: DocumentBatch) -> LedgerUpdate:
    """Return counts and ledger with the documents of a batch.

    Documents that are not in the ledger are added. Documents in the ledger with another label are
    moved to the label in the batch. Of equal documents only the last counts.

    Raise `NotInModelError` if the counts do not contain a document to be moved, although the ledger
    does.
    """
    rows = batch.find_last_rows()
    old_label_indices = ledger.find(batch.fingerprints[rows])
    is_unchanged = batch.mask_unchanged(ledger)[rows]
    is_new = old_label_indices == ABSENT_LABEL
    is_moved = ~is_new & ~is_unchanged

    if is_moved.any():
        old_labels = [
            decode_label(ledger.labels[index]) for index in old_label_indices[is_moved].tolist()
        ]
        counts = batch.subtract_from(counts, rows[is_moved], old_labels, subtract_documents)
    rows_to_add = rows[is_moved | is_new]
    labels_to_add = batch.list_labels(rows_to_add)
    if rows_to_add.size:
        counts = counts + batch.count_with_labels(rows_to_add, labels_to_add)
    ledger = ledger.with_labels(
        batch.fingerprints[rows_to_add], list(map(encode_label, labels_to_add))
    )
    return LedgerUpdate(
        counts,
        ledger,
        n_new=int(is_new.sum()),
        n_moved=int(is_moved.sum()),
        n_known=int(is_unchanged.sum()),
        n_repeated=batch.fingerprints.size - rows.size,
    )


def join_ledgers(ledgers: Sequence[Ledger]) -> tuple[Ledger | None, int]:
    """Return the joined ledger of merged models, and the number of documents in several ledgers.

    The joined ledger is None if ``ledgers`` is empty. A document in several ledgers counts several
    times in the merged model. Its label in the joined ledger is its label in the last ledger.
    """
    if not ledgers:
        return None, 0
    fingerprints = np.concatenate([ledger.fingerprints for ledger in ledgers])
    _, ledgers_per_document = np.unique(fingerprints, return_counts=True)
    n_repeated = int(np.count_nonzero(ledgers_per_document > 1))
    return reduce(Ledger.join, ledgers), n_repeated


class LedgerRemoval(NamedTuple):
    """Counts and ledger of a model after documents were removed."""

    counts: CorpusCounts
    ledger: Ledger | None
    """None if the model has no ledger."""
    n_removed: int
    n_unknown: int
    """Number of documents that stay because they are not in the ledger."""


def remove_batch(counts: CorpusCounts, ledger: Ledger, batch: DocumentBatch) -> LedgerRemoval:
    """Return counts and ledger without the documents of a batch.

    Documents that are not in the ledger are ignored. Equal documents are subtracted once. Raise
    `NotInModelError` for a document that is in the ledger with another label, and `UsageError` if
    no document would remain.
    """
    last_rows = batch.find_last_rows()
    label_indices = ledger.find(batch.fingerprints)
    rows = last_rows[label_indices[last_rows] != ABSENT_LABEL]
    is_unchanged = batch.mask_unchanged(ledger)
    rows_with_other_label = rows[~is_unchanged[rows]]
    if rows_with_other_label.size:
        row = int(rows_with_other_label[0])
        old_label = decode_label(ledger.labels[label_indices[row]])
        problem = NotInModelError(row, format_label(batch.list_labels()[row]))
        problem.hint = f"it was added as {format_label(old_label)!r}; {problem.hint}"
        raise problem
    if rows.size:
        counts = batch.subtract_from(counts, rows, batch.list_labels(rows), forget_documents)
    return LedgerRemoval(
        counts,
        _remove_fingerprints(ledger, batch.fingerprints[rows]),
        n_removed=rows.size,
        n_unknown=last_rows.size - rows.size,
    )


def remove_from_ledger(ledger: Ledger, batch: DocumentBatch) -> Ledger:
    """Return the ledger without the documents of a batch that it has with the same label."""
    fingerprints = batch.fingerprints[batch.mask_unchanged(ledger)]
    return _remove_fingerprints(ledger, np.unique(fingerprints))


def _remove_fingerprints(ledger: Ledger, fingerprints: Fingerprints) -> Ledger:
    """Return the ledger without distinct documents."""
    removed_labels: list[str | None] = [None for _ in fingerprints]
    return ledger.with_labels(fingerprints, removed_labels)
