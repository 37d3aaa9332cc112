"""Check that a model file is whole and that its parts agree: what loading checks, and checks that cost as much as the model is large.

A model that nbtext wrote passes, whatever it was trained on. A file that was damaged fails the first check; one that fails a later check was
written by another program, or by a faulty nbtext.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from nbtext.classifiers.base import TermProbabilities
from nbtext.counts.documents import MOST_TERMS
from nbtext.counts.matrix import TERM_WEIGHTS_AT_ONCE, in_blocks
from nbtext.counts.vocabulary import ENCODED_LINES, FORMS, is_category_of
from nbtext.errors import RESTORE, ModelError, UsageError, quantity
from nbtext.ragged import find_sorted
from nbtext.records import NamedTuple
from nbtext.text.hashing import pair, unpair

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from nbtext.fitted_model import FittedModel
    from nbtext.model.text_classifier import TextClassifier
    from nbtext.type_names import Floats

NOT_LOOKED_AT = "not looked at"

SUM_TOLERANCE = 1e-6
"""Largest distance of a sum of probabilities from 1."""


class Check(NamedTuple):
    """The result of one check."""

    check: str
    passed: bool | None
    """None for a check that was not possible because an earlier one failed."""
    detail: str
    """The finding, or the fault."""


def verify(path: str) -> list[Check]:
    """Check a model file; a file that is no model fails the first check."""
    from nbtext.model.text_classifier import TextClassifier
    from nbtext.store.model_file import FORMAT, read_model_bytes

    models: list[TextClassifier] = []

    def file() -> str:
        read_model_bytes(path)
        return f"format {FORMAT}, length and checksum right, every byte accounted for"

    def contents() -> str:
        models.append(TextClassifier.load(path))
        return "settings and arrays such as training makes"

    found: list[Check] = []
    for name, check in {"file": file, "contents": contents, **CHECKS}.items():
        try:
            is_possible = all(before.passed for before in found[:2])
            found.append(Check(name, True, check(*models)) if is_possible else Check(name, None, NOT_LOOKED_AT))
        except ModelError as problem:
            found.append(Check(name, False, problem.message))
    return found


def require_passed(checks: Sequence[Check], path: str) -> None:
    """Raise `ModelError` for the first check of a model file that failed, if one did."""
    if failed := [check for check in checks if check.passed is False]:
        raise ModelError(f"{failed[0].check}: {failed[0].detail}", where=path, hint=RESTORE)


def _require(condition: object, otherwise: str) -> None:
    if not condition:
        raise ModelError(otherwise)


def _ngrams(model: TextClassifier) -> str:
    """Require that no n-gram occurs more often in a class, or in more documents, than the shorter n-gram and the term that it is made of."""
    statistics = model.fitted.statistics
    single, parts = statistics.vocabulary.n_single, unpair(statistics.vocabulary.pairs)
    keys = pair(statistics.cell_terms, statistics.cell_classes)
    begin = int(statistics.term_offsets[single])
    number, classes = statistics.cell_terms[begin:] - single, statistics.cell_classes[begin:]
    for part in parts:
        place = find_sorted(keys, pair(part[number], classes))
        _require((place >= 0).all(), "an n-gram occurs in a class in which a part of it does not")
        for cells in (statistics.cell_counts, statistics.cell_documents):
            _require((cells[begin:] <= cells[place]).all(), "an n-gram occurs more often than a part of it")
    return f"{statistics.vocabulary.pairs.size:,}, none more frequent than its parts"


def _sample(model: TextClassifier) -> str:
    """Require that the documents of the sample are among those counted, and give the statistics if they are all documents."""
    labelled = model.counts.of_documents()
    statistics, sample = labelled.statistics, labelled.sample
    documents, matrix = sample.documents, sample.documents.matrix
    weights = documents.in_units(statistics.unit)
    by_column = np.bincount(documents.columns, weights, statistics.class_documents.size)
    _require((by_column <= statistics.class_documents).all(), "it holds more documents of a class than there are")
    place = find_sorted(
        pair(statistics.cell_terms, statistics.cell_classes), pair(matrix.terms, np.repeat(documents.columns, matrix.entries))
    )
    _require((place >= 0).all(), "a document in it holds a term that its class does not")
    held = np.repeat(weights, matrix.entries)
    counts, holding = (np.bincount(place, amounts, statistics.cell_counts.size) for amounts in (matrix.counts * held, held))
    _require((counts <= statistics.cell_counts).all(), "its documents hold a term more often than their class does")
    _require((holding <= statistics.cell_documents).all(), "more documents in it hold a term than of their class do")
    if sample.is_complete and weights.sum() == statistics.class_documents.sum():
        elsewhere = is_category_of(statistics.vocabulary, FORMS) | is_category_of(statistics.vocabulary, ENCODED_LINES)
        _require(  # the sample keeps no inflections and no encoded lines
            ((counts == statistics.cell_counts) | elsewhere[statistics.cell_terms]).all(),
            "it holds all documents, and their counts are not those of the classes",
        )
        return f"{quantity(len(documents), 'document')}, all there are; their counts are those of the classes"
    evicted = f", but for those of more than {MOST_TERMS:,} terms" if sample.is_complete else ""
    return f"{len(documents):,} of {quantity(model.fitted.statistics.n_documents, 'document')}{evicted}, within the counts of the classes"


def _attributes(model: TextClassifier) -> str:
    """Require at most one category of an attribute in a document, and that the numbers of the sample are among those summed, or all of them."""
    statistics, sample = model.fitted.statistics, model.counts.sample
    for name in statistics.attributes.categorical:
        cells = is_category_of(statistics.vocabulary, name)[statistics.cell_terms]
        _require((statistics.cell_counts == statistics.cell_documents)[cells].all(), "a document has a category more than once")
        having = np.bincount(statistics.cell_classes[cells], statistics.cell_documents[cells], statistics.n_classes)
        _require((having <= statistics.class_documents).all(), "more documents have a category than there are")
    values = sample.documents.matrix.values
    if statistics.moments is not None and values is not None:
        of_sample = type(statistics.moments).of(values, sample.documents.classes, statistics.n_classes)
        try:
            others = statistics.moments.minus(of_sample)
        except UsageError:
            raise ModelError("the numbers of the sample are not among those summed") from None
        whole = sample.is_complete and len(sample.documents) == statistics.n_documents
        _require(not whole or not others.documents.any(), "the sample holds all documents, and their numbers are not those summed")
    return f"{len(statistics.attributes.names):,}, their categories and sums within the counts of the classes"


def _estimates(model: TextClassifier) -> str:
    """Require that the class prior, the language models and all that the classifier scores by are probabilities."""
    fitted, learnt, n_classes = model.fitted, model.fitted.learnt, model.fitted.statistics.n_classes
    _require(_are_distributions(_with_absence(fitted, fitted.classifier.prior)), "the class prior does not sum to 1")
    smoothed = learnt.own.least(learnt.smoothing) + 1 > 1  # less is no smoothing to a classifier either
    checked = np.zeros_like(learnt.selected)
    for probabilities in (TermProbabilities.of_models(fitted.language_models), *fitted.classifier.distributions()):
        try:
            _require_distributions(probabilities, n_classes, smoothed=smoothed)
        except ModelError as problem:
            raise ModelError(f"{problem.message} ({probabilities.symbol}, {probabilities.meaning})") from None
        checked |= probabilities.selected
    n_terms, n_values = np.count_nonzero(learnt.selected), np.count_nonzero(checked & ~learnt.selected)
    of_values = f" and {quantity(int(n_values), 'value')} of attributes" if n_values else ""
    return f"probabilities of {quantity(n_classes, 'class')} and of {quantity(int(n_terms), 'term')}{of_values} sum to 1"


def _require_distributions(probabilities: TermProbabilities, n_classes: int, *, smoothed: bool) -> None:
    """Require that the terms of each class share one distribution, or have each one of its own, in which with smoothing nothing is certain."""
    seen = np.zeros(n_classes)
    total = np.zeros_like(seen) if probabilities.unseen is None else probabilities.unseen.copy()
    for terms in in_blocks(np.flatnonzero(probabilities.selected), n_classes, TERM_WEIGHTS_AT_ONCE):
        part = probabilities.probability(terms)
        if probabilities.absence is None:
            _require(np.all((part >= 0) & (part <= 1 + SUM_TOLERANCE)), "a probability is not between 0 and 1")
            total += part.sum(axis=0)
            seen += probabilities.counts(terms).sum(axis=0)
            continue
        sides = np.stack((part, probabilities.absence(terms)), axis=-1)
        _require(_are_distributions(sides), "the probabilities of a term and of its absence do not sum to 1")
        _require(not smoothed or np.all(sides > 0), "a probability is 0 or 1 in spite of smoothing")
    without = (total == 0) & (seen == 0)  # without smoothing, a class that has seen none of the terms
    _require(np.all(without | (np.abs(total - 1) < SUM_TOLERANCE)), "the probabilities of the terms of a class do not sum to 1")


def _answers(model: TextClassifier) -> str:
    """Require that every document of the sample gets probabilities of classes, unless the class prior rules its classes out."""
    fitted = model.fitted
    matrix, judgement = fitted.counts.sample.documents.matrix, fitted.learnt.judgement
    fits = judgement is None or judgement["documents"] <= matrix.n_documents
    _require(fits, "calibration was learnt from more documents than the sample holds")
    impossible = 0
    for rows in in_blocks(np.arange(matrix.n_documents), 1, fitted.documents_at_once):
        scores, log_posterior, *_ = fitted.score_counts(matrix.rows(rows))
        _require(not np.isnan(scores).any() and scores.max(initial=-np.inf) < np.inf, "a document gets scores that are no numbers")
        possible = scores.max(axis=1) > -np.inf
        _require(
            _are_distributions(_with_absence(fitted, np.exp(log_posterior[possible]))), "a document gets probabilities that do not sum to 1"
        )
        impossible += int(np.count_nonzero(~possible))
    _require(not impossible or fitted.classifier.prior.min() == 0, "a document of the sample is impossible in every class, also in its own")
    others = f", {impossible:,} impossible" if impossible else ""
    return f"probabilities of {quantity(matrix.n_documents - impossible, 'document')} sum to 1{others}"


CHECKS: dict[str, Callable[..., str]] = {
    "n-grams": _ngrams,
    "sample": _sample,
    "attributes": _attributes,
    "estimates": _estimates,
    "answers": _answers,
}
"""The checks that loading does not make, by name."""


def _with_absence(model: FittedModel, shares: Floats) -> Floats:
    """Return probabilities of classes; where documents have several labels, beside that of each label that of its absence."""
    return np.stack((shares, 1 - shares), axis=-1) if model.several_labels else shares


def _are_distributions(shares: Floats) -> bool:
    """Return True if every row holds probabilities that sum to 1."""
    return bool(np.all(shares >= 0)) and bool(np.all(np.abs(shares.sum(axis=-1) - 1) < SUM_TOLERANCE))
