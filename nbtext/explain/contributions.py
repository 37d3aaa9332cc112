"""What the values beside a document's text add to the score of one class over that of another.

What a document's score would lose without a word, for classifiers whose scores are no sums over terms.

What the terms of documents add to the score of one class over that of another: the one place where a document's terms are weighed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nbtext.attributes import parted
from nbtext.model.changing import changed_counts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nbtext.classifiers.base import Classifier
    from nbtext.counts.matrix import DocumentTermMatrix
    from nbtext.explain.word_walk import LocatedWords
    from nbtext.model.text_classifier import TextClassifier

    Floats = NDArray[np.float64]
    Whole = NDArray[np.int64]


class Attribute(NamedTuple):
    """A value beside the text, and what it adds, in nats."""

    name: str
    value: str
    nats: float


def attribute_contributions(
    model: TextClassifier, matrix: DocumentTermMatrix, document: bytes, pair: tuple[int, int]
) -> tuple[Attribute, ...]:
    """One for each value that the document has; ``matrix`` holds it alone, and ``pair`` are the answer and the class compared with.

    Where the classifier has numbers among its own features, a number adds what it does more than the mean of the corpus in its place.
    """
    return tuple(Attribute(name, value, _difference(scores, pair)) for name, value, scores in attribute_scores(model, matrix, document))


def attribute_scores(model: TextClassifier, matrix: DocumentTermMatrix, document: bytes) -> list[tuple[str, str, Floats]]:
    """The name and value of each attribute that a document has, and what it adds to the scores, shape (n_classes,)."""
    if not model.statistics.attributes.names:
        return []
    named = zip(model.statistics.attributes.names, parted(document)[1], model.classifier.attribute_scores(matrix), strict=False)
    return [(name, value, scores) for name, value, scores in named if value]


def _difference(scores: Floats, pair: tuple[int, int]) -> float:
    with np.errstate(invalid="ignore"):
        found = float(scores[pair[0]] - scores[pair[1]])
    return 0.0 if np.isnan(found) else found


def left_out_contributions(model: TextClassifier, located: LocatedWords, matrix: DocumentTermMatrix, pair: tuple[int, int]) -> Floats:
    """The log odds of the answer over the other class, less those without the word, shape (n_words,), in nats.

    ``matrix`` holds the document alone, ``pair`` the two class numbers. All occurrences of a surface word are left out together, with the n-grams that
    stand over them, and each has an equal part of the difference. In sum these are not the log odds.
    """
    classifier = model.classifier.of_texts
    names = {name: number for number, name in enumerate(dict.fromkeys(located.names))}
    word_of = np.array([names[name] for name in located.names], np.int64)
    if not matrix.terms.size:
        return np.zeros(word_of.size)
    here = np.flatnonzero(np.isin(located.terms, matrix.terms))
    gone = -np.ceil(located.shares[here]).astype(np.int64)
    copies = changed_counts(matrix, len(names), word_of[located.words[here]], located.terms[here], gone)
    left = np.concatenate([np.empty(0), *(_odds(classifier.joint_log_likelihood(without)[0], pair) for without in copies)])
    gained: Floats = _odds(classifier.joint_log_likelihood(matrix)[0], pair)[0] - left
    return (gained / np.bincount(word_of, minlength=len(names)))[word_of]


def _odds(scores: Floats, pair: tuple[int, int]) -> Floats:
    """s_answer − s_other of each document, shape (n_docs,); 0 where both are impossible."""
    with np.errstate(invalid="ignore"):
        return np.nan_to_num(scores[:, pair[0]] - scores[:, pair[1]], nan=0.0, posinf=np.inf, neginf=-np.inf)


WEIGHTS_AT_ONCE = 1 << 21
"""Term-by-class weights held in memory at once: 16 MiB."""


def term_contributions(
    classifier: Classifier, matrix: DocumentTermMatrix, answers: Whole, rivals: Whole
) -> tuple[DocumentTermMatrix, Floats] | None:
    """The terms that count, and what all occurrences of each add to the score of the answer over the rival, shape (n_entries,), in nats.

    ``answers`` and ``rivals`` are class numbers, shape (n_docs,). With what `bias` says the contributions of a document sum to the difference of its
    scores, before any calibration. nan where a term rules out both classes. None for a classifier whose scores are no sums over terms.
    """
    additive = classifier.additive
    if additive is None:
        return None
    matrix = additive.features(matrix.of_terms(additive.known()))
    documents = matrix.entry_documents
    return matrix, additive.advantages(matrix, answers[documents], rivals[documents])


def ruling_out(classifier: Classifier, terms: Whole, n_classes: int) -> Whole:
    """For each class the place of the first of some terms that has no probability there, shape (n_classes,); −1 where all of them have some.

    −1 also everywhere under a classifier whose scores are no sums over terms: no term rules anything out there.
    """
    first, additive = np.full(n_classes, -1), classifier.additive
    if additive is None:
        return first
    left, step = np.flatnonzero(additive.known()[terms]), max(WEIGHTS_AT_ONCE // n_classes, 1)
    for begin in range(0, left.size, step):
        places = left[begin : begin + step]
        impossible = np.isneginf(additive.term_scores(terms[places], np.ones(places.size, np.int64)))
        new = impossible.any(axis=0) & (first < 0)
        first[new] = places[impossible.argmax(axis=0)[new]]
    return first


def of_classes(classifier: Classifier, matrix: DocumentTermMatrix) -> Floats | None:
    """What the terms of one document, which all count, each add to the score of each class, shape (n_entries, n_classes), in nats.

    None where that depends on the other terms, as it does where weights are scaled to unit length.
    """
    additive = classifier.additive
    if additive is None:
        return None
    features, alone = additive.features(matrix), additive.features(_each_alone(matrix))
    if features.terms.size != matrix.terms.size or not np.array_equal(alone.counts, features.counts):
        return None
    return additive.term_scores(matrix.terms, features.counts)


def _each_alone(matrix: DocumentTermMatrix) -> DocumentTermMatrix:
    """A document for each entry."""
    n = matrix.terms.size
    return matrix._replace(offsets=np.arange(n + 1), unknown=np.zeros(n, np.int64), values=None)


def bias(classifier: Classifier) -> Floats | None:
    """What every document gets whatever its terms, shape (n_classes,), in nats; None for a classifier whose scores are no sums over terms.

    The log class prior; with Bernoulli also what the absence of every term says. What is the same in every class is left out.
    """
    return None if classifier.additive is None else classifier.additive.bias


def shared_out(located: LocatedWords, matrix: DocumentTermMatrix, nats: Floats) -> Floats:
    """What the terms of one document add, as `term_contributions` has it, given to its words in equal parts; shape (n_words,)."""
    if not matrix.terms.size:
        return np.zeros(located.begins.size)
    order = np.argsort(matrix.terms)
    entries = order[np.minimum(np.searchsorted(matrix.terms, located.terms, sorter=order), order.size - 1)]
    here = np.flatnonzero(matrix.terms[entries] == located.terms)
    entries, shares = entries[here], located.shares[here]
    occurrences = np.bincount(entries, shares, order.size)
    of_words: Floats = np.bincount(located.words[here], shares / occurrences[entries] * nats[entries], located.begins.size).astype(
        np.float64
    )
    return of_words
