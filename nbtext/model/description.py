"""Describe a trained model in one line, and warn of problems that its user may overlook.

The commands that train or inspect a model print both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from nbtext.classifiers.base import collect_fit_warnings
from nbtext.corpus.detection.columns import CORPUS_PART_NAMES, is_column_name
from nbtext.counts.count_table import to_int_or_float
from nbtext.counts.vocabulary import (
    ENCODED_LINES_ATTRIBUTE,
    display_term,
    make_category_term,
    mask_attribute,
    mask_field_terms,
)
from nbtext.errors import WARNING, Finding, format_quantity
from nbtext.model.label_findings import check_label_names
from nbtext.settings import TRAINING, Reading
from nbtext.text.analyzer import UNKNOWN_TERM

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nbtext.counts.statistics import ClassStatistics
    from nbtext.fitted_model import FittedModel
    from nbtext.settings import Settings

FEW_CLASSES = 20
"""At most this number of classes is never too many for the documents of a corpus."""

MAX_CLASSES_PER_DOCUMENT = 0.5
"""With more classes for each document, the wrong column was probably read as the label."""

FEW_DOCUMENTS = 6
"""In a table of at most this number of documents, each document may have another class."""

REVEALING_PROPORTION = 0.99
"""A field reveals the class if its terms predict this proportion of the documents."""

MIN_CHECKED_DOCUMENTS = 20
"""Fewer documents are not checked for lists of one label.

Fields are checked only if each class has this number of documents.
"""


def describe_model(model: FittedModel) -> str:
    """Return the size of a model, its smoothing and the choices for ``auto`` in one line."""
    statistics = model.counts.labelled_statistics  # without unlabelled documents and seed words
    parameters = model.parameters
    n_terms = int(np.count_nonzero(parameters.selected_terms))
    sizes = [
        format_quantity(statistics.n_classes, "class"),
        format_quantity(statistics.n_documents, "document"),
        format_quantity(model.n_tokens, "token"),
        format_quantity(n_terms, "term"),
    ]
    n_attributes = len(statistics.attributes.names)
    if n_attributes:
        sizes.append(format_quantity(n_attributes, "attribute"))

    description = f"{', '.join(sizes)}, smoothing {parameters.smoothing:.3g}"
    n_own_pseudo_counts = len(parameters.own_pseudo_counts)
    if n_own_pseudo_counts:
        possessive = "its" if n_own_pseudo_counts == 1 else "their"
        description += f", {format_quantity(n_own_pseudo_counts, 'term')} with {possessive} own"
    n_lines = count_encoded_lines(statistics)
    if n_lines:
        description += f", {format_quantity(n_lines, 'encoded line')} dropped"
    return description + _describe_choices(model)


def _describe_choices(model: FittedModel) -> str:
    """Return the values that were chosen for ``auto``, as the end of the description."""
    choices = model.parameters.choices
    description = ""
    if choices.smoothing_description:
        description += f", {choices.smoothing_description}"
    if choices.unspaced_description:
        description += f"; scripts without spaces by {choices.unspaced_description}"
    if choices.stop_words_description:
        description += f"; stop words {choices.stop_words_description}"
    return description


def count_encoded_lines(statistics: ClassStatistics) -> float:
    """Return the number of dropped lines of encoded data, such as base64.

    If documents have weights, return the sum of the weights of the lines.
    """
    # Dropped lines are counted as an attribute with one value.
    [term] = statistics.vocabulary.find([make_category_term(ENCODED_LINES_ATTRIBUTE, "")])
    if term == UNKNOWN_TERM:
        return 0
    return to_int_or_float(statistics.term_counts[term])


def count_class_documents(model: FittedModel) -> dict[str, float]:
    """Return the number of training documents of each class, weighted if documents have weights."""
    statistics = model.counts.labelled_statistics
    return {
        label: to_int_or_float(size)
        for label, size in zip(statistics.classes, statistics.class_documents, strict=True)
    }


def list_warnings(model: FittedModel) -> list[str]:
    """Return warnings about problems of a model that its user may overlook."""
    parameters = model.parameters
    settings = model.settings
    n_terms = int(np.count_nonzero(parameters.selected_terms))
    findings = check_corpus_statistics(model.statistics, settings.reading, n_terms=n_terms)
    warnings = [finding.line for finding in findings]
    if settings.class_weight == "balanced":
        warnings.append(
            "--class-weight balanced: probabilities are those of documents drawn equally from all "
            "classes; set --class-prior for other proportions"
        )
    summary = parameters.unlabelled_summary
    # Losses are measured on labelled documents.
    is_from_seeds_only = summary is not None and not summary.losses
    if is_from_seeds_only:
        warnings.append(
            "trained on seed words without labelled documents: probabilities are not calibrated, "
            "and most are too close to 0 or 1"
        )
    idle_options = _list_idle_options(settings)
    if idle_options:
        warnings.append(f"--classifier {settings.classifier} ignores {', '.join(idle_options)}")
    return [*warnings, *collect_fit_warnings(model.classifier)]


def _list_idle_options(settings: Settings) -> list[str]:
    """Return options that the user changed, but that no classifier of the model uses."""
    return [
        parameter.display_name
        for parameter in TRAINING
        if parameter.only_for is not None
        and parameter.only_for not in settings.classifier_names
        and settings[parameter.name] != parameter.default
    ]


def check_corpus_statistics(
    statistics: ClassStatistics, reading: Reading, *, n_terms: int
) -> Iterator[Finding]:
    """Yield warnings about the corpus of a model that uses ``n_terms`` terms of texts."""
    # A multi-label model needs only one class.
    if statistics.n_classes < statistics.posterior_type.min_labels:
        yield Finding(
            "classes",
            WARNING,
            f"there is only one class, {statistics.classes[0]}, so it is always predicted",
            "add documents of another class",
        )
    class_names = {label.casefold() for label in statistics.classes}
    if class_names <= CORPUS_PART_NAMES:  # such as train and test
        yield Finding(
            "classes",
            WARNING,
            f"the classes are named like parts of a corpus: {', '.join(statistics.classes)}",
            "use the folder of one part; for a table, add --where COLUMN=VALUE",
        )
    if statistics.attributes.names:
        empty_attributes = _list_empty_attributes(statistics)
        if empty_attributes:
            yield Finding(
                "columns",
                WARNING,
                f"no document has a value of {', '.join(empty_attributes)}",
                "remove it, or name another column",
            )
    elif not n_terms:  # a model with attributes needs no terms
        yield Finding(
            "texts",
            WARNING,
            "the documents contain no terms, so all predictions are the same",
            "nbtext tokens shows why a word is dropped",
        )
    yield from _check_single_label_lists(statistics, reading)
    yield from check_label_names(statistics.classes, reading)
    yield from _check_columns(statistics, reading)
    yield from _check_revealing_fields(statistics)


def _check_single_label_lists(statistics: ClassStatistics, reading: Reading) -> Iterator[Finding]:
    """Yield a warning if labels are lists and documents probably have lists of one label."""
    has_several_label_columns = "," in (reading.label_column or "")
    is_json = reading.layout.is_decoded  # only the reader of JSON decodes documents
    may_have_lists = is_json and not reading.label_separator and not has_several_label_columns
    is_multi_label = not statistics.posterior_type.is_exclusive
    n_documents = statistics.n_documents
    if not may_have_lists or not is_multi_label or n_documents < MIN_CHECKED_DOCUMENTS:
        return
    n_labels = sum(statistics.class_documents.tolist())
    if n_labels == n_documents:  # also if some lists are empty and others have several labels
        yield Finding(
            "labels",
            WARNING,
            "all labels are lists of at most one label, and each label is predicted separately",
            # ".0" selects the first element of the list.
            "if each document has one class, use --label-column "
            f"{reading.label_column or 'label'}.0",
        )


def _check_columns(statistics: ClassStatistics, reading: Reading) -> Iterator[Finding]:
    """Yield warnings if the wrong columns were probably read, or a header as a document."""
    n_classes = statistics.n_classes
    n_documents = statistics.n_documents
    has_many_rows = reading.has_columns and n_documents > FEW_DOCUMENTS
    is_class_per_row = has_many_rows and n_classes == n_documents
    max_classes = max(FEW_CLASSES, MAX_CLASSES_PER_DOCUMENT * n_documents)
    if is_class_per_row or n_classes > max_classes:
        quantities = (
            f"{format_quantity(n_classes, 'class')}, {format_quantity(n_documents, 'document')}"
        )
        advice = "see nbtext help formats"
        if reading.has_columns:
            advice = "see --label-column and --text-column"
        yield Finding(
            "columns",
            WARNING,
            f"nearly every document has its own class: {quantities}",
            advice,
        )
    if not reading.has_columns:
        return
    for label, size in zip(statistics.classes, statistics.class_documents.tolist(), strict=True):
        if size == 1 and is_column_name(label):
            yield Finding(
                "columns",
                WARNING,
                f"the only document of class {label!r} looks like the header of the table",
                "if it is, add --header",
            )


def _check_revealing_fields(statistics: ClassStatistics) -> Iterator[Finding]:
    """Yield warnings about fields, such as mail headers, whose terms reveal the class.

    For each field, estimate how many training documents a simple classifier predicts correctly. It
    predicts each class by one term of the field, the term that separates the class best. For
    documents without any of these terms, it predicts the class with most of these documents.
    """
    class_documents = statistics.class_documents
    if class_documents.size < 2 or class_documents.min() < MIN_CHECKED_DOCUMENTS:
        return
    # A revealing term is in most documents of a class. To save time, skip terms that are in less
    # than about half of the documents of the smallest class.
    min_term_documents = REVEALING_PROPORTION / 2 * class_documents.min()
    is_frequent = statistics.term_documents > min_term_documents
    terms = np.flatnonzero(mask_field_terms(statistics.vocabulary) & is_frequent)
    document_counts = statistics.get_dense_documents(terms)
    # Gain of predicting each class by each term, shape (n_terms, n_classes): documents of the class
    # with the term, minus documents of other classes with the term.
    gains = 2 * document_counts - document_counts.sum(axis=1, keepdims=True)
    rows_by_field: dict[str, list[int]] = {}
    for row, term in enumerate(terms.tolist()):
        field, _, _ = statistics.vocabulary.get_term(term).partition(":")
        rows_by_field.setdefault(field, []).append(row)
    for field, rows in rows_by_field.items():
        field_gains = gains[rows]
        best_gains = np.maximum(field_gains.max(axis=0), 0)  # 0 for a class without a good term
        # A revealing term has few errors. So its gain is nearly the number of documents that it
        # predicts correctly, and all other documents of the class have none of the terms.
        remaining_documents = class_documents - best_gains
        n_correct = best_gains.sum() + remaining_documents.max()
        proportion = n_correct / class_documents.sum()
        if proportion >= REVEALING_PROPORTION:
            best_index = int(field_gains.max(axis=1).argmax())
            best_term = int(terms[rows[best_index]])
            example = display_term(statistics.vocabulary.get_term(best_term))
            yield Finding(
                "fields",
                WARNING,
                f"the field {field} reveals the classes of {proportion:.1%} of the training "
                f"documents, by terms such as {example}",
                "if new documents lack it, read them without it",
            )


def _list_empty_attributes(statistics: ClassStatistics) -> list[str]:
    """Return the attributes that have no value in any training document."""
    attributes = statistics.attributes
    empty_attributes = [
        name
        for name in attributes.categorical
        if not mask_attribute(statistics.vocabulary, name).any()
    ]
    if statistics.moments is not None:
        value_counts = statistics.moments.documents.sum(axis=0).tolist()
        empty_attributes += [
            name
            for name, n_values in zip(attributes.number_columns, value_counts, strict=True)
            if not n_values
        ]
    return empty_attributes
