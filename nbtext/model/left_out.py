"""What a document's score would lose without a word, for classifiers whose scores are no sums over terms."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from nbtext.counts.document_term import DocumentTermMatrix
from nbtext.ragged import offsets

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nbtext.model.located import LocatedWords
    from nbtext.model.text_classifier import TextClassifier

    Floats = NDArray[np.float64]

CELLS_AT_ONCE = 1 << 21
"""Counts of documents without a word that are held in memory at once."""


def left_out_contributions(model: TextClassifier, located: LocatedWords, matrix: DocumentTermMatrix, pair: tuple[int, int]) -> Floats:
    """The log odds of the answer over the other class, less those without the word, shape (n_words,), in nats.

    ``matrix`` holds the document alone, ``pair`` the two class numbers. All occurrences of a surface word are left out together, with the n-grams that
    stand over them, and each has an equal part of the difference. In sum these are not the log odds.
    """
    classifier = model.classifier.of_texts
    names = {name: number for number, name in enumerate(dict.fromkeys(located.names))}
    word_of = np.array([names[name] for name in located.names], np.int64)
    order = np.argsort(matrix.terms)
    terms, counts = matrix.terms[order], matrix.counts[order]
    gained = np.zeros(len(names))
    if not terms.size:
        return gained[word_of]
    place = np.minimum(np.searchsorted(terms, located.terms), terms.size - 1)
    here = np.flatnonzero(terms[place] == located.terms)
    words, place, gone = word_of[located.words[here]], place[here], np.ceil(located.shares[here])
    whole = _odds(classifier.joint_log_likelihood(matrix)[0], pair)[0]
    step = max(CELLS_AT_ONCE // terms.size, 1)
    for begin in range(0, len(names), step):
        chunk = np.flatnonzero((words >= begin) & (words < begin + step))
        left = np.tile(counts.astype(np.float64), (min(step, len(names) - begin), 1))
        np.subtract.at(left, (words[chunk] - begin, place[chunk]), gone[chunk])
        rows, columns = np.nonzero(left > 0)
        without = DocumentTermMatrix(
            offsets(np.bincount(rows, minlength=len(left))),
            terms[columns],
            left[rows, columns].astype(np.int64),
            np.zeros(len(left), np.int64),
            None if matrix.values is None else np.repeat(matrix.values, len(left), axis=0),
        )
        gained[begin : begin + step] = whole - _odds(classifier.joint_log_likelihood(without)[0], pair)
    return (gained / np.bincount(word_of, minlength=len(names)))[word_of]


def _odds(scores: Floats, pair: tuple[int, int]) -> Floats:
    """s_answer − s_other of each document, shape (n_docs,); 0 where both are impossible."""
    with np.errstate(invalid="ignore"):
        return np.nan_to_num(scores[:, pair[0]] - scores[:, pair[1]], nan=0.0, posinf=np.inf, neginf=-np.inf)
