"""What a document's score would lose without a word, for classifiers whose scores are no sums over terms."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from nbtext.model.changed_counts import changed_counts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nbtext.counts.matrix import DocumentTermMatrix
    from nbtext.model.located import LocatedWords
    from nbtext.model.text_classifier import TextClassifier

    Floats = NDArray[np.float64]


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
