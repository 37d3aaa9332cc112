"""Contributions of terms, words and attributes to the score of one class over that of another, in nats.

For classifiers whose scores are sums over terms the contributions are exact: term j of document d adds x_jd (w_ja − w_jb) to the log odds of the
classes a and b under a linear classifier. An n-gram is shared equally by its n words, a character n-gram belongs to its word, and a term that occurs
several times is shared equally by its occurrences.
For other classifiers (Gaussian classes) each word is left out by itself, and the differences do not add up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from nbtext.classifiers.base import (
    Classifier,
    get_additive_classifier,
    iter_attribute_scores,
    subtract_scores,
)
from nbtext.counts.matrix import MAX_BLOCK_TERM_WEIGHTS, DocumentTermMatrix, iter_blocks
from nbtext.ragged import compute_offsets

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from nbtext.explain.token_trace import LocatedWords
    from nbtext.fitted_model import FittedModel
    from nbtext.type_names import Floats, Ints

CELLS_AT_ONCE = 1 << 21
"""Counts of changed documents that are held in memory at once."""


def compute_bias(classifier: Classifier, matrix: DocumentTermMatrix) -> Floats | None:
    """Return what the document that ``matrix`` holds alone gets beside its terms, shape (n_classes,), in nats; None if scores are no sums over terms.

    The log class prior; with Bernoulli also what the absence of every term adds. What is the same in every class is left out.
    """
    summed = get_additive_classifier(classifier)
    return (
        None
        if summed is None
        else summed.compute_document_biases(matrix.select_terms(summed.get_scored_terms()))[0]
    )


def compute_term_contributions(
    classifier: Classifier, matrix: DocumentTermMatrix, answers: Ints, rivals: Ints
) -> tuple[DocumentTermMatrix, Floats] | None:
    """Return the terms that count, and what all occurrences of each add to the score of the answer over the rival, shape (n_entries,), in nats.

    ``answers`` and ``rivals`` are class numbers, shape (n_docs,). With the `bias` the contributions of a document sum to the difference of its
    scores, before any calibration. nan where a term rules out both classes. None if scores are no sums over terms.
    """
    summed = get_additive_classifier(classifier)
    if summed is None:
        return None
    matrix = summed.compute_features(matrix.select_terms(summed.get_scored_terms()))
    documents = matrix.entry_documents
    return matrix, summed.compute_score_differences(matrix, answers[documents], rivals[documents])


def find_impossible_terms(classifier: Classifier, terms: Ints, n_classes: int) -> Ints:
    """Return for each class the place of the first of ``terms`` that has no probability in it, shape (n_classes,); −1 if there is none.

    All −1 if scores are no sums over terms.
    """
    first = np.full(n_classes, -1)
    summed = get_additive_classifier(classifier)
    if summed is None:
        return first
    for places in iter_blocks(
        np.flatnonzero(summed.get_scored_terms()[terms]), n_classes, MAX_BLOCK_TERM_WEIGHTS
    ):
        impossible = np.isneginf(summed.score_terms(terms[places], np.ones(places.size, np.int64)))
        new = impossible.any(axis=0) & (first < 0)
        first[new] = places[impossible.argmax(axis=0)[new]]
    return first


def distribute_to_words(located: LocatedWords, matrix: DocumentTermMatrix, nats: Floats) -> Floats:
    """Return the contributions of the terms of one document, as of `compute_term_contributions`, shared out to its words, shape (n_words,)."""
    if not matrix.terms.size:
        return np.zeros(located.starts.size)
    order = np.argsort(matrix.terms)
    entries = order[
        np.minimum(np.searchsorted(matrix.terms, located.term_ids, sorter=order), order.size - 1)
    ]
    here = np.flatnonzero(matrix.terms[entries] == located.term_ids)
    entries = entries[here]
    shares = located.weights[here]
    occurrences = np.bincount(entries, shares, order.size)
    parts = shares / occurrences[entries] * nats[entries]
    return np.bincount(located.word_indices[here], parts, located.starts.size).astype(np.float64)


def split_weighted_text(
    text: str, weighted_spans: Iterable[tuple[int, int, float]]
) -> Iterator[tuple[str, float]]:
    """Yield a text in pieces: the text between words with 0 nats, and words with theirs, given where each begins and ends in bytes, in order."""
    content = text.encode()
    done = 0
    for begin, end, nats in weighted_spans:
        if nats and begin >= done:
            yield content[done:begin].decode(), 0.0
            yield content[begin:end].decode(), nats
            done = end
    yield content[done:].decode(), 0.0


def compute_word_contributions(
    model: FittedModel, located: LocatedWords, matrix: DocumentTermMatrix, pair: tuple[int, int]
) -> tuple[Floats, float, bool]:
    """Return what each word adds to the score of the first class of ``pair`` over the second, what comes without any, and if these are exact.

    ``matrix`` holds the document alone; the words have shape (n_words,). Where scores are no sums over terms, a word has what is lost without it.
    """
    classifier = model.text_classifier
    found = compute_term_contributions(classifier, matrix, np.array(pair[:1]), np.array(pair[1:]))
    prior = compute_bias(classifier, matrix)
    prior = np.append(
        model.classifier.log_prior if prior is None else prior, 0.0
    )  # of `REST_INDEX`
    words = (
        _left_out_contributions(model, located, matrix, pair)
        if found is None
        else distribute_to_words(located, *found)
    )
    return words, float(subtract_scores(prior[pair[0]], prior[pair[1]])), found is not None


def _left_out_contributions(
    model: FittedModel, located: LocatedWords, matrix: DocumentTermMatrix, pair: tuple[int, int]
) -> Floats:
    """Return the log odds of the pair less those without the word, shape (n_words,), in nats.

    All occurrences of a surface word are left out together, with their n-grams, and share the difference equally.
    """
    classifier = model.text_classifier
    names, word_of = located.group_surface_words()
    if not matrix.terms.size:
        return np.zeros(word_of.size)
    here = np.flatnonzero(np.isin(located.term_ids, matrix.terms))
    gone = -np.ceil(located.weights[here]).astype(np.int64)
    copies = _changed_counts(
        matrix, len(names), word_of[located.word_indices[here]], located.term_ids[here], gone
    )
    left = np.concatenate(
        [
            np.empty(0),
            *(
                compute_pair_log_odds(classifier.joint_log_likelihood(without)[0], pair)
                for without in copies
            ),
        ]
    )
    gained = subtract_scores(
        compute_pair_log_odds(classifier.joint_log_likelihood(matrix)[0], pair)[0], left
    )
    gained[np.isnan(gained)] = 0.0  # both infinite: the prior rules a class out, whatever the words
    return (gained / np.bincount(word_of, minlength=len(names)))[word_of]


def _changed_counts(
    matrix: DocumentTermMatrix, n_documents: int, rows: Ints, terms: Ints, amounts: Ints
) -> Iterator[DocumentTermMatrix]:
    """Yield ``n_documents`` changed copies of the document that ``matrix`` holds alone, in blocks.

    ``amounts`` are added to the counts of ``terms`` in the copies numbered ``rows``, all of shape (n_changes,). Terms whose count does not stay positive
    are left out.
    """
    distinct = np.union1d(matrix.terms, terms)
    counts = np.zeros(distinct.size, np.int64)
    places = np.searchsorted(distinct, terms)
    counts[np.searchsorted(distinct, matrix.terms)] = matrix.counts
    step = max(CELLS_AT_ONCE // max(distinct.size, 1), 1)
    for begin in range(0, n_documents, step):
        here = np.flatnonzero((rows >= begin) & (rows < begin + step))
        changed = np.tile(counts, (min(step, n_documents - begin), 1))
        np.add.at(changed, (rows[here] - begin, places[here]), amounts[here])
        documents, columns = np.nonzero(changed > 0)
        yield DocumentTermMatrix(
            compute_offsets(np.bincount(documents, minlength=len(changed))),
            distinct[columns],
            changed[documents, columns],
            np.repeat(matrix.unknown_tokens, len(changed)),
            None if matrix.values is None else np.repeat(matrix.values, len(changed), axis=0),
        )


def compute_pair_log_odds(scores: Floats, pair: tuple[int, int]) -> Floats:
    """Return the score of the first class of ``pair`` less that of the second for each document, shape (n_docs,); 0 where both are impossible."""
    return np.nan_to_num(
        subtract_scores(scores[:, pair[0]], scores[:, pair[1]]),
        nan=0.0,
        posinf=np.inf,
        neginf=-np.inf,
    )


def score_attributes(
    model: FittedModel, matrix: DocumentTermMatrix, values: Sequence[str]
) -> list[tuple[str, str, Floats]]:
    """Return name and value of each attribute that a document has, given its values, and what it adds to the scores, shape (n_classes,).

    ``matrix`` holds the document alone. Where the classifier has numbers among its own features, a number is compared with the corpus's mean.
    """
    if not model.statistics.attributes.names:
        return []
    named = zip(
        model.statistics.attributes.names,
        values,
        iter_attribute_scores(model.classifier, matrix),
        strict=False,
    )
    return [(name, value, scores) for name, value, scores in named if value]
