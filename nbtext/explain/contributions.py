"""Contributions of terms, words and attributes to the log odds of one class over another.

All contributions are in nats. Explanations, counterfactuals and lists of mistakes use them. With
feature x_jd of term j in document d, and weight w_jk of the term for class k:

- If scores are sums over terms, contributions are exact. In a linear classifier, term j adds
  x_jd (w_ja − w_jb) to the log odds of class a over class b. This contribution is divided equally
  among the occurrences of the term. The part of an n-gram is divided equally among its n words. The
  part of a character n-gram belongs to its word.
- For other classifiers (Gaussian classes), the contribution of a word is the change of the log odds
  if only this word is removed. These changes do not add up to the log odds.
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
from nbtext.ragged import compute_offsets, find_sorted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from nbtext.explain.token_trace import LocatedWords
    from nbtext.fitted_model import FittedModel
    from nbtext.type_names import Floats, Ints

MAX_BLOCK_COUNTS = 2**21
"""Counts of changed copies of a document that are in memory at once."""


def append_rest(values: Floats) -> Floats:
    """Append 0 to the values of classes, shape (n_classes,), for the rest at `REST_INDEX` (−1).

    The rest are the documents without the explained label of a multi-label model.
    """
    return np.append(values, 0.0)


def compute_bias(classifier: Classifier, matrix: DocumentTermMatrix) -> Floats | None:
    """Return the scores of a document without its terms, in nats, shape (n_classes,).

    ``matrix`` contains only this document. The scores without terms, the bias, are the log class
    prior. With Bernoulli, the bias also contains the scores of the absence of every term. Summands
    that are equal in all classes are left out. Return None if scores are not sums over terms.
    """
    additive = get_additive_classifier(classifier)
    if additive is None:
        return None
    scored_matrix = matrix.select_terms(additive.get_scored_terms())
    [bias] = additive.compute_document_biases(scored_matrix)
    return bias


def compute_term_contributions(
    classifier: Classifier, matrix: DocumentTermMatrix, answers: Ints, rivals: Ints
) -> tuple[DocumentTermMatrix, Floats] | None:
    """Return the terms that have scores, and the contribution of each term to the log odds.

    ``answers`` and ``rivals`` are the indices of the compared classes, shape (n_docs,). An entry of
    the returned matrix is a term of a document. A contribution, shape (n_entries,), is that of all
    occurrences of a term, before any calibration. The log odds of the answer over the rival are the
    sum of the contributions and the difference of the biases. A contribution is nan if the term
    makes both classes impossible. Return None if scores are not sums over terms.
    """
    additive = get_additive_classifier(classifier)
    if additive is None:
        return None
    features = additive.compute_features(matrix.select_terms(additive.get_scored_terms()))
    documents = features.entry_documents
    contributions = additive.compute_score_differences(
        features, answers[documents], rivals[documents]
    )
    return features, contributions


def find_impossible_terms(classifier: Classifier, terms: Ints, n_classes: int) -> Ints:
    """Return for each class the index of the first of ``terms`` with probability 0.

    The result has shape (n_classes,). It is −1 for a class in which all terms are possible, and for
    all classes if scores are not sums over terms.
    """
    first_indices = np.full(n_classes, -1)
    additive = get_additive_classifier(classifier)
    if additive is None:
        return first_indices
    scored_indices = np.flatnonzero(additive.get_scored_terms()[terms])
    for indices in iter_blocks(scored_indices, n_classes, MAX_BLOCK_TERM_WEIGHTS):
        scores = additive.score_terms(terms[indices], features=np.ones(indices.size, np.int64))
        is_impossible = np.isneginf(scores)  # shape (indices.size, n_classes)
        has_first_index = is_impossible.any(axis=0) & (first_indices < 0)
        block_indices = indices[is_impossible.argmax(axis=0)]
        first_indices = np.where(has_first_index, block_indices, first_indices)
    return first_indices


def distribute_to_words(
    words: LocatedWords, matrix: DocumentTermMatrix, contributions: Floats
) -> Floats:
    """Distribute the contributions of the terms of one document to its words, shape (n_words,).

    ``matrix`` and ``contributions`` are the result of `compute_term_contributions`.
    """
    order = np.argsort(matrix.terms)
    term_indices = find_sorted(matrix.terms[order], words.term_ids)
    is_scored = term_indices >= 0
    term_indices = term_indices[is_scored]
    weights = words.weights[is_scored]
    total_weights = np.bincount(term_indices, weights, order.size)
    term_contributions = contributions[order]
    entry_contributions = weights / total_weights[term_indices] * term_contributions[term_indices]
    word_indices = words.word_indices[is_scored]
    # Without a scored term, `bincount` returns integers.
    return np.bincount(word_indices, entry_contributions, words.starts.size).astype(np.float64)


def split_weighted_text(
    text: str, weighted_spans: Iterable[tuple[int, int, float]]
) -> Iterator[tuple[str, float]]:
    """Yield a text in pieces: words with their contributions, and the text between words with 0.

    ``weighted_spans`` are the start, the end and the contribution of words, in order. Starts and
    ends are byte offsets. A word belongs to the text between words if its contribution is 0, or if
    it overlaps an earlier word.
    """
    content = text.encode()
    position = 0
    for start, end, contribution in weighted_spans:
        if contribution and start >= position:
            yield content[position:start].decode(), 0.0
            yield content[start:end].decode(), contribution
            position = end
    yield content[position:].decode(), 0.0


def compute_word_contributions(
    model: FittedModel, words: LocatedWords, matrix: DocumentTermMatrix, pair: tuple[int, int]
) -> tuple[Floats, float, bool]:
    """Return the contributions of words to the log odds of the first class of ``pair``.

    The log odds are over the second class of ``pair``. ``matrix`` contains only this document.
    Return the contributions, shape (n_words,), the log odds without any word, and True if the
    contributions are exact, that is, if scores are sums over terms.
    """
    classifier = model.text_classifier  # attributes do not depend on words
    answer, rival = pair
    bias = compute_bias(classifier, matrix)
    if bias is None:
        bias = classifier.log_prior
    bias = append_rest(bias)
    log_odds_without_words = float(subtract_scores(bias[answer], bias[rival]))
    term_contributions = compute_term_contributions(
        classifier, matrix, np.array([answer]), np.array([rival])
    )
    is_exact = term_contributions is not None
    if term_contributions is None:
        contributions = _measure_removals(classifier, words, matrix, pair)
    else:
        contributions = distribute_to_words(words, *term_contributions)
    return contributions, log_odds_without_words, is_exact


def _measure_removals(
    classifier: Classifier, words: LocatedWords, matrix: DocumentTermMatrix, pair: tuple[int, int]
) -> Floats:
    """Return how much the pair's log odds fall if a word is removed, in nats, shape (n_words,).

    All occurrences of a surface word are removed together, with their n-grams. Each occurrence gets
    an equal part of the fall.
    """
    surface_words, surface_indices = words.group_surface_words()
    is_counted = np.isin(words.term_ids, matrix.terms)
    if not is_counted.any():
        return np.zeros(surface_indices.size)
    # Each of the n words of an n-gram has the weight 1/n, but removes the whole n-gram.
    removed_counts = np.ceil(words.weights[is_counted]).astype(np.int64)
    changed_documents = _iter_changed_documents(
        matrix,
        n_copies=len(surface_words),
        copies=surface_indices[words.word_indices[is_counted]],
        terms=words.term_ids[is_counted],
        changes=-removed_counts,
    )
    reduced_log_odds = np.concatenate(
        [_compute_log_odds(classifier, documents, pair) for documents in changed_documents]
    )
    [log_odds] = _compute_log_odds(classifier, matrix, pair)
    losses = subtract_scores(log_odds, reduced_log_odds)
    # If the prior makes a class impossible, a loss is the difference of two infinite log odds.
    losses[np.isnan(losses)] = 0.0
    n_occurrences = np.bincount(surface_indices, minlength=len(surface_words))
    return (losses / n_occurrences)[surface_indices]


def _compute_log_odds(
    classifier: Classifier, matrix: DocumentTermMatrix, pair: tuple[int, int]
) -> Floats:
    """Return the log odds of the first class of ``pair`` over the second class, (n_docs,)."""
    scores, _ = classifier.joint_log_likelihood(matrix)
    return compute_pair_log_odds(scores, pair)


def _iter_changed_documents(
    matrix: DocumentTermMatrix, *, n_copies: int, copies: Ints, terms: Ints, changes: Ints
) -> Iterator[DocumentTermMatrix]:
    """Yield ``n_copies`` changed copies of the only document in ``matrix``, in blocks.

    Change i adds ``changes[i]`` to the count of ``terms[i]`` in the copy with index ``copies[i]``.
    Terms whose count does not stay positive are removed.
    """
    distinct_terms = np.union1d(matrix.terms, terms)
    counts = np.zeros(distinct_terms.size, np.int64)
    counts[np.searchsorted(distinct_terms, matrix.terms)] = matrix.counts
    columns = np.searchsorted(distinct_terms, terms)
    block_size = max(MAX_BLOCK_COUNTS // distinct_terms.size, 1)
    for start in range(0, n_copies, block_size):
        n_rows = min(block_size, n_copies - start)
        is_in_block = (copies >= start) & (copies < start + n_rows)
        rows = copies[is_in_block] - start
        block_counts = np.tile(counts, (n_rows, 1))
        # Changes of the same count add up, unlike with ``+=``.
        np.add.at(block_counts, (rows, columns[is_in_block]), changes[is_in_block])
        entry_documents, entry_columns = np.nonzero(block_counts > 0)
        values = None
        if matrix.values is not None:
            values = np.repeat(matrix.values, n_rows, axis=0)
        yield DocumentTermMatrix(
            offsets=compute_offsets(np.bincount(entry_documents, minlength=n_rows)),
            terms=distinct_terms[entry_columns],
            counts=block_counts[entry_documents, entry_columns],
            unknown_tokens=np.repeat(matrix.unknown_tokens, n_rows),
            values=values,
        )


def compute_pair_log_odds(scores: Floats, pair: tuple[int, int]) -> Floats:
    """Return the score of the first class of ``pair`` minus the score of the second class.

    ``scores`` has shape (n_docs, n_classes), the result (n_docs,). The result is 0 if both classes
    are impossible.
    """
    first, second = pair
    difference = subtract_scores(scores[:, first], scores[:, second])
    difference[np.isnan(difference)] = 0.0
    return difference


def score_attributes(
    model: FittedModel, matrix: DocumentTermMatrix, values: Sequence[str]
) -> list[tuple[str, str, Floats]]:
    """Return name, value and scores of each attribute that has a value in a document.

    ``matrix`` contains only this document. ``values`` are the values of all its attributes, "" if
    missing. The scores, shape (n_classes,), are the attribute's contributions to the scores of the
    document. If the classifier uses numbers as features, the scores of a number are its
    contributions in comparison with the mean number of the corpus.
    """
    names = model.statistics.attributes.names
    scores = iter_attribute_scores(model.classifier, matrix)
    # A document that was not decoded has no values.
    attributes = zip(names, values, scores, strict=False)
    return [
        (name, value, attribute_scores) for name, value, attribute_scores in attributes if value
    ]
