"""A model in one line, and what makes it less useful than its user may think."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from nbtext.classifiers.base import collect_fit_warnings
from nbtext.corpus.columns import CORPUS_PART_NAMES, is_column_name
from nbtext.counts.count_table import to_int_or_float
from nbtext.counts.vocabulary import (
    ENCODED_LINES_ATTRIBUTE,
    display_term,
    is_attribute_category,
    is_field_term,
    make_category_term,
)
from nbtext.errors import WARNING, Finding, format_quantity
from nbtext.model.label_findings import check_label_names
from nbtext.settings import TRAINING, Reading
from nbtext.text.analyzer import UNKNOWN_TERM

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nbtext.counts.statistics import ClassStatistics
    from nbtext.fitted_model import FittedModel

FEW_CLASSES = 20
FEW_DOCUMENTS = 6
"""No warning of so many classes in more documents, or in as many documents."""

REVEALING = 0.99
REVEALING_DOCUMENTS = 20
"""Share of documents whose class a field alone tells, and fewest documents of each class, from which there is a warning."""

MANY_CLASSES = 0.5
"""Classes for each document from which the labels are probably not classes."""


def describe_model(model: FittedModel) -> str:
    """Return the size of a model, its smoothing and what ``auto`` chose in one line."""
    statistics = model.counts.labelled_statistics
    learnt = model.parameters
    attributes = (
        f", {format_quantity(len(statistics.attributes.names), 'attribute')}"
        if statistics.attributes.names
        else ""
    )
    n_own = len(learnt.own_pseudo_counts)
    own = (
        f", {format_quantity(n_own, 'term')} with {'its' if n_own == 1 else 'their'} own"
        if n_own
        else ""
    )
    n_lines = count_encoded_lines(statistics)
    encoded = f", {format_quantity(n_lines, 'encoded line')} dropped" if n_lines else ""
    choices = ""
    if smoothing := learnt.choices.smoothing_description:
        choices += f" ({smoothing})"
    if unspaced := learnt.choices.unspaced_description:
        choices += f", scripts without spaces by {unspaced}"
    if stop_words := learnt.choices.stop_words_description:
        choices += f", stop words {stop_words}"
    return (
        f"{format_quantity(statistics.n_classes, 'class')}, "
        f"{format_quantity(statistics.n_documents, 'document')}, "
        f"{format_quantity(model.n_tokens, 'token')}, "
        f"{format_quantity(int(np.count_nonzero(learnt.selected_terms)), 'term')}{attributes}, smoothing "
        f"{learnt.smoothing:.3g}{own}{encoded}"
        f"{choices}"
    )


def count_encoded_lines(statistics: ClassStatistics) -> float:
    """Return the number of encoded lines that were dropped from the documents."""
    [term] = statistics.vocabulary.find([make_category_term(ENCODED_LINES_ATTRIBUTE, "")])
    return 0 if term == UNKNOWN_TERM else to_int_or_float(statistics.term_counts[term])


def count_class_documents(model: FittedModel) -> dict[str, float]:
    """Return the number of training documents of each class, or with each label; of weighted documents the sum of their weights."""
    statistics = model.counts.labelled_statistics
    return {
        label: to_int_or_float(size)
        for label, size in zip(statistics.classes, statistics.class_documents, strict=True)
    }


def list_warnings(model: FittedModel) -> list[str]:
    """List what makes a model less useful than its user may think."""
    learnt = model.parameters
    settings = model.settings
    found = [
        each.line
        for each in check_corpus_statistics(
            model.statistics, settings.reading, n_terms=int(np.count_nonzero(learnt.selected_terms))
        )
    ]
    if settings.class_weight == "balanced":
        found.append(
            "--class-weight balanced: probabilities are those of documents drawn from all classes "
            "alike, not as often as in training; "
            "give --class-prior for other frequencies"
        )
    if learnt.unlabelled_summary is not None and not learnt.unlabelled_summary.losses:
        found.append(
            "learnt from seed words without labelled documents: probabilities are not calibrated "
            "and mostly too near 0 and 1"
        )
    users = {None, settings.classifier, *(each.classifier for each in settings.member_settings)}
    idle = [
        each.display_name
        for each in TRAINING
        if each.only_for not in users and settings[each.name] != each.default
    ]
    if idle:
        found.append(f"--classifier {settings.classifier} makes no use of {', '.join(idle)}")
    return [*found, *collect_fit_warnings(model.classifier)]


def check_corpus_statistics(
    statistics: ClassStatistics, reading: Reading, *, n_terms: int
) -> Iterator[Finding]:
    """Yield what is unusual about a corpus by its counts, of which ``n_terms`` terms are used."""
    if statistics.n_classes < statistics.posterior_type.min_labels:
        yield Finding(
            "classes",
            WARNING,
            f"there is only one class, {statistics.classes[0]}; every answer will be that",
            "add documents of another class",
        )
    if CORPUS_PART_NAMES.issuperset(map(str.casefold, statistics.classes)):
        yield Finding(
            "classes",
            WARNING,
            f"the classes are named like parts of a corpus: {', '.join(statistics.classes)}",
            "give the folder of one part, or of a table --where COLUMN=VALUE",
        )
    if statistics.attributes.names:
        if empty := _without_values(statistics):
            yield Finding(
                "columns",
                WARNING,
                f"no document has a value of {', '.join(empty)}",
                "leave it out, or name another column",
            )
    elif not n_terms:
        yield Finding(
            "texts",
            WARNING,
            "the documents hold no terms; every answer will be the same",
            "nbtext tokens shows why a word is dropped",
        )
    is_list = (
        reading.layout.is_decoded
        and not reading.label_separator
        and "," not in (reading.label_column or "")
    )
    if is_list and statistics.n_documents >= REVEALING_DOCUMENTS and _have_one_label(statistics):
        yield Finding(
            "labels",
            WARNING,
            "labels are lists, none has more than one, and each label is answered by itself",
            "if each document has one class, give --label-column "
            f"{reading.label_column or 'label'}.0",
        )
    yield from check_label_names(list(filter(None, statistics.classes)), reading)
    yield from _wrong_columns(statistics, reading)
    yield from _revealing_fields(statistics)


def _have_one_label(statistics: ClassStatistics) -> bool:
    """Return whether documents may have several labels, and have one each."""
    if statistics.posterior_type.is_exclusive:
        return False
    of_labels = [
        n
        for label, n in zip(statistics.classes, statistics.class_documents.tolist(), strict=True)
        if label
    ]
    return sum(of_labels) == statistics.n_documents


def _wrong_columns(statistics: ClassStatistics, reading: Reading) -> Iterator[Finding]:
    """Yield the signs that other columns than those of label and text were read, or a header as a document."""
    n_classes = statistics.n_classes
    n_documents = statistics.n_documents
    is_row_each = reading.has_columns and n_classes == n_documents > FEW_DOCUMENTS
    if is_row_each or n_classes > max(FEW_CLASSES, MANY_CLASSES * n_documents):
        each = f"{format_quantity(n_classes, 'class')}, {format_quantity(n_documents, 'document')}"
        advice = (
            "see --label-column and --text-column"
            if reading.has_columns
            else "see nbtext help formats"
        )
        yield Finding(
            "columns", WARNING, f"nearly every document is a class of its own: {each}", advice
        )
    if not reading.has_columns:
        return
    for label, size in zip(statistics.classes, statistics.class_documents.tolist(), strict=True):
        if size == 1 and is_column_name(label):
            yield Finding(
                "columns",
                WARNING,
                f"the only document of class {label!r} looks like the header of the table",
                "if it is, give --header",
            )


def _revealing_fields(statistics: ClassStatistics) -> Iterator[Finding]:
    """Yield the fields, such as headers of mail, that alone tell the classes apart: by one term for each class, the largest but for these."""
    sizes = statistics.class_documents
    if sizes.size < 2 or sizes.min() < REVEALING_DOCUMENTS:
        return
    terms = np.flatnonzero(
        is_field_term(statistics.vocabulary)
        & (statistics.term_documents > REVEALING / 2 * sizes.min())
    )
    documents = statistics.get_dense_documents(terms)
    gained = 2 * documents - documents.sum(axis=1, keepdims=True)
    places: dict[str, list[int]] = {}
    for place, term in enumerate(terms.tolist()):
        places.setdefault(statistics.vocabulary.get_term(term).partition(":")[0], []).append(place)
    for field, rows in places.items():
        best = np.maximum(gained[rows].max(axis=0), 0)
        share = (best.sum() + (sizes - best).max()) / sizes.sum()
        if share >= REVEALING:
            clearest = display_term(
                statistics.vocabulary.get_term(
                    int(terms[rows[int(gained[rows].max(axis=1).argmax())]])
                )
            )
            yield Finding(
                "fields",
                WARNING,
                f"the field {field} alone tells the classes of {share:.1%} of the training "
                f"documents, by terms such as {clearest}",
                "if new documents lack it, read them without it",
            )


def _without_values(statistics: ClassStatistics) -> list[str]:
    """List the attributes of which no training document has a value."""
    names = statistics.attributes
    empty = [
        name
        for name in names.categorical
        if not is_attribute_category(statistics.vocabulary, name).any()
    ]
    if statistics.moments is not None:
        documents = statistics.moments.documents.sum(axis=0).tolist()
        empty += [name for name, n in zip(names.number_columns, documents, strict=True) if not n]
    return empty
