"""Contributions of terms, words and attributes to the log odds of one class over another, in nats.

For classifiers whose scores are sums over terms, contributions are exact: with a linear classifier,
term j of document d adds x_jd (w_ja − w_jb) to the log odds of class a over class b. An n-gram is
shared equally among its n words. A character n-gram belongs to its word. A term that occurs several
times is shared equally among its occurrences.

For other classifiers (Gaussian classes), each word is removed on its own, and the differences do
not add up to the log odds.
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

MAX_BLOCK_COUNTS = 1 << 21
"""Counts of changed documents that are in memory at once."""


def compute_bias(classifier: Classifier, matrix: DocumentTermMatrix) -> Floats | None:
    """Return the scores of a document without its terms, in nats, shape (n_classes,).

    ``matrix`` contains only this document. The bias is the log class prior. With Bernoulli, it also
    has what the absence of every term adds. Parts that are equal in all classes are left out.
    Return None if scores are not sums over terms.
    """
    additive = get_additive_classifier(classifier)
    if additive is None:
        return None
    scored_matrix = matrix.select_terms(additive.get_scored_terms())
    return additive.compute_document_biases(scored_matrix)[0]


def compute_term_contributions(
    classifier: Classifier, matrix: DocumentTermMatrix, answers: Ints, rivals: Ints
) -> tuple[DocumentTermMatrix, Floats] | None:
    """Return the scored terms, and what each adds to the score of the answer over the rival.

    ``answers`` and ``rivals`` are class indices, shape (n_docs,). The contributions, of all
    occurrences of a term together, have shape (n_entries,) and are in nats, before any calibration.
    Together with the bias, they sum to the difference of the scores. They are nan where a term
    makes both classes impossible. Return None if scores are not sums over terms.
    """
    additive = get_additive_classifier(classifier)
    if additive is None:
        return None
    features = additive.compute_features(matrix.select_terms(additive.get_scored_terms()))
    documents = features.entry_documents
    nats = additive.compute_score_differences(features, answers[documents], rivals[documents])
    return features, nats


def find_impossible_terms(classifier: Classifier, terms: Ints, n_classes: int) -> Ints:
    """Return for each class the index of the first of ``terms`` with probability 0.

    The result has shape (n_classes,). It is −1 for a class in which all terms are possible, and for
    all classes if scores are not sums over terms.
    """
    first_indices = np.full(n_classes, -1)
    additive = get_additive_classifier(classifier)
    if additive is None:
        return first_indices
    scored = np.flatnonzero(additive.get_scored_terms()[terms])
    for indices in iter_blocks(scored, n_classes, MAX_BLOCK_TERM_WEIGHTS):
        scores = additive.score_terms(terms[indices], np.ones(indices.size, np.int64))
        is_impossible = np.isneginf(scores)
        is_new = is_impossible.any(axis=0) & (first_indices < 0)
        first_indices[is_new] = indices[is_impossible.argmax(axis=0)[is_new]]
    return first_indices


def distribute_to_words(words: LocatedWords, matrix: DocumentTermMatrix, nats: Floats) -> Floats:
    """Distribute the term contributions of one document to its words, shape (n_words,).

    ``matrix`` and ``nats`` are the result of `compute_term_contributions`.
    """
    if not matrix.terms.size:
        return np.zeros(words.starts.size)
    order = np.argsort(matrix.terms)
    positions = np.searchsorted(matrix.terms, words.term_ids, sorter=order)
    entries = order[np.minimum(positions, order.size - 1)]
    matching = np.flatnonzero(matrix.terms[entries] == words.term_ids)
    entries = entries[matching]
    weights = words.weights[matching]
    total_weights = np.bincount(entries, weights, order.size)
    word_nats = weights / total_weights[entries] * nats[entries]
    word_indices = words.word_indices[matching]
    return np.bincount(word_indices, word_nats, words.starts.size).astype(np.float64)


def split_weighted_text(
    text: str, weighted_spans: Iterable[tuple[int, int, float]]
) -> Iterator[tuple[str, float]]:
    """Yield a text in pieces: words with their nats, and the text between them with 0.

    ``weighted_spans`` are the start, the end and the nats of words, in order. Starts and ends are
    byte offsets. Words with 0 nats, and words that overlap an earlier one, are not separated.
    """
    content = text.encode()
    position = 0
    for start, end, nats in weighted_spans:
        if nats and start >= position:
            yield content[position:start].decode(), 0.0
            yield content[start:end].decode(), nats
            position = end
    yield content[position:].decode(), 0.0


def compute_word_contributions(
    model: FittedModel, words: LocatedWords, matrix: DocumentTermMatrix, pair: tuple[int, int]
) -> tuple[Floats, float, bool]:
    """Return the nats that words add to the score of the first class of ``pair`` over the second.

    ``matrix`` contains only this document. Return the contributions, shape (n_words,), the
    difference of the scores without any word, and True if the contributions are exact. If scores
    are not sums over terms, a contribution is what is lost when the word is removed.
    """
    classifier = model.text_classifier
    answer, rival = pair
    term_contributions = compute_term_contributions(
        classifier, matrix, np.array([answer]), np.array([rival])
    )
    bias = compute_bias(classifier, matrix)
    if bias is None:
        bias = model.classifier.log_prior
    bias = np.append(bias, 0.0)  # index `REST_INDEX` (−1) is the rest of a multi-label document
    prior_difference = float(subtract_scores(bias[answer], bias[rival]))
    if term_contributions is None:
        return _remove_each_word(model, words, matrix, pair), prior_difference, False
    return distribute_to_words(words, *term_contributions), prior_difference, True


def _remove_each_word(
    model: FittedModel, words: LocatedWords, matrix: DocumentTermMatrix, pair: tuple[int, int]
) -> Floats:
    """Return the fall of the pair's log odds without each word, in nats, shape (n_words,).

    All occurrences of a surface word are removed together, with their n-grams, and share the
    difference equally.
    """
    classifier = model.text_classifier
    names, name_indices = words.group_surface_words()
    if not matrix.terms.size:
        return np.zeros(name_indices.size)
    matching = np.flatnonzero(np.isin(words.term_ids, matrix.terms))
    changed_documents = _iter_changed_documents(
        matrix,
        len(names),
        name_indices[words.word_indices[matching]],
        words.term_ids[matching],
        -np.ceil(words.weights[matching]).astype(np.int64),
    )
    remaining = [np.empty(0)]
    remaining.extend(
        compute_pair_log_odds(classifier.joint_log_likelihood(documents)[0], pair)
        for documents in changed_documents
    )
    log_odds = compute_pair_log_odds(classifier.joint_log_likelihood(matrix)[0], pair)[0]
    losses = subtract_scores(log_odds, np.concatenate(remaining))
    # Both are infinite if the prior makes a class impossible, whatever the words are.
    losses[np.isnan(losses)] = 0.0
    return (losses / np.bincount(name_indices, minlength=len(names)))[name_indices]


def _iter_changed_documents(
    matrix: DocumentTermMatrix, n_copies: int, rows: Ints, terms: Ints, changes: Ints
) -> Iterator[DocumentTermMatrix]:
    """Yield ``n_copies`` changed copies of the only document in ``matrix``, in blocks.

    ``changes`` are added to the counts of ``terms`` in the copies ``rows``. All three have shape
    (n_changes,). Terms whose count does not stay positive are removed.
    """
    distinct_terms = np.union1d(matrix.terms, terms)
    counts = np.zeros(distinct_terms.size, np.int64)
    columns = np.searchsorted(distinct_terms, terms)
    counts[np.searchsorted(distinct_terms, matrix.terms)] = matrix.counts
    block_size = max(MAX_BLOCK_COUNTS // max(distinct_terms.size, 1), 1)
    for start in range(0, n_copies, block_size):
        in_block = np.flatnonzero((rows >= start) & (rows < start + block_size))
        block_counts = np.tile(counts, (min(block_size, n_copies - start), 1))
        np.add.at(block_counts, (rows[in_block] - start, columns[in_block]), changes[in_block])
        entry_documents, entry_columns = np.nonzero(block_counts > 0)
        values = None
        if matrix.values is not None:
            values = np.repeat(matrix.values, len(block_counts), axis=0)
        yield DocumentTermMatrix(
            compute_offsets(np.bincount(entry_documents, minlength=len(block_counts))),
            distinct_terms[entry_columns],
            block_counts[entry_documents, entry_columns],
            np.repeat(matrix.unknown_tokens, len(block_counts)),
            values,
        )


def compute_pair_log_odds(scores: Floats, pair: tuple[int, int]) -> Floats:
    """Return the score of the first class of ``pair`` minus that of the second, shape (n_docs,).

    ``scores`` has shape (n_docs, n_classes). Return 0 where both classes are impossible.
    """
    first, second = pair
    difference = subtract_scores(scores[:, first], scores[:, second])
    return np.nan_to_num(difference, nan=0.0, posinf=np.inf, neginf=-np.inf)


def score_attributes(
    model: FittedModel, matrix: DocumentTermMatrix, values: Sequence[str]
) -> list[tuple[str, str, Floats]]:
    """Return name, value and scores of each attribute that has a value in a document.

    ``matrix`` contains only this document, ``values`` are its values by attribute. Scores, shape
    (n_classes,), are what the attribute adds. If the classifier uses numbers as features, a number
    is compared with the mean of the corpus.
    """
    names = model.statistics.attributes.names
    if not names:
        return []
    scores = iter_attribute_scores(model.classifier, matrix)
    attributes = zip(names, values, scores, strict=False)
    return [(name, value, nats) for name, value, nats in attributes if value]
