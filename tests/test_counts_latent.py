"""Latent features: the singular value decomposition by numpy, its signs."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtext.counts.latent import LatentSpace, compute_right_singular_vectors, select_latent_terms
from tests import strategies
from tests.count_tables import matrix_of, statistics_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nbtext.counts.matrix import DocumentTermMatrix
    from tests.oracle import Labelled

    Floats = NDArray[np.float64]


def space_of(
    corpus: list[Labelled], dimensions: int, *, over: list[str] | None = None
) -> LatentSpace:
    statistics = statistics_of(corpus)
    selected = np.array(
        [
            over is None or statistics.vocabulary.get_term(number) in over
            for number in range(statistics.n_terms)
        ],
        np.bool_,
    )
    return LatentSpace.from_documents(
        statistics,
        selected,
        matrix_of([terms for _, terms in corpus], statistics.vocabulary),
        dimensions,
    )


def tfidf(corpus: list[Labelled], names: list[str], asked: list[list[str]]) -> Floats:
    """The slow twin of documents before they are projected, shape (n_docs, n_names)."""
    holding = Counter(term for _, terms in corpus for term in set(terms))
    rows = []
    for terms in asked:
        counts = Counter(terms)
        row = [math.log(1 + counts[name]) * math.log(len(corpus) / holding[name]) for name in names]
        length = math.sqrt(sum(weight**2 for weight in row))
        rows.append([weight / length if length else 0.0 for weight in row])
    return np.array(rows)


def random_corpus(seed: int = 5, n_documents: int = 40, n_terms: int = 30) -> list[Labelled]:
    random = np.random.default_rng(seed)
    topics = random.dirichlet(np.full(n_terms, 0.1), 4)
    return [
        (f"c{d % 4}", [f"t{j:02d}" for j in random.choice(n_terms, 15, p=topics[d % 4])])
        for d in range(n_documents)
    ]


def dense(matrix: DocumentTermMatrix, n_terms: int) -> Floats:
    table = np.zeros((matrix.n_documents, n_terms))
    table[matrix.entry_documents, matrix.terms] = matrix.counts
    return table


@pytest.mark.parametrize("most", [1, 3, 12, 100])
def test_singular_vectors_match_numpy(most: int) -> None:
    corpus = random_corpus()
    statistics = statistics_of(corpus)
    matrix = matrix_of([terms for _, terms in corpus], statistics.vocabulary)
    found = compute_right_singular_vectors(matrix, statistics.n_terms, most)
    values, rows = np.linalg.svd(dense(matrix, statistics.n_terms))[1:]
    rank = int((values > 1e-6 * values[0]).sum())
    wanted = rows[: min(most, rank)]
    assert found.shape == (statistics.n_terms, len(wanted))
    np.testing.assert_allclose(
        np.abs(found.T @ wanted.T), np.eye(len(wanted)), atol=1e-4 if most < rank else 1e-6
    )
    assert (found[np.abs(found).argmax(axis=0), np.arange(found.shape[1])] > 0).all()


@given(corpus=strategies.corpora, dimensions=st.integers(1, 6))
def test_latent_features_are_unit_length_projections(
    corpus: list[Labelled], dimensions: int
) -> None:
    space = space_of(corpus, dimensions)
    terms = [
        space.statistics.vocabulary.get_term(number)
        for number in np.flatnonzero(space.used_terms).tolist()
    ]
    asked = [*(document for _, document in corpus), [], ["unseen"]]
    features, lengths = space.project(matrix_of(asked, space.statistics.vocabulary))
    assert lengths.tolist() == [sum(term in terms for term in document) for document in asked]
    projected = tfidf(corpus, terms, asked).reshape(
        len(asked), len(terms)
    ) @ space.projection.astype(float)
    norms = np.linalg.norm(projected, axis=1, keepdims=True)
    np.testing.assert_allclose(
        features, np.where(norms > 1e-6, projected / np.maximum(norms, 1e-6), 0), atol=1e-9
    )
    squares = (space.projection.astype(float).T @ space.projection).ravel()
    np.testing.assert_allclose(squares, np.eye(space.projection.shape[1]).ravel(), atol=1e-5)


def test_documents_without_common_terms_are_similar_through_others() -> None:
    corpus = [
        ("x", ["car", "road"]),
        ("x", ["road", "engine"]),
        ("x", ["engine", "car"]),
        ("y", ["cat", "fur"]),
        ("y", ["fur", "cat", "mouse"]),
        ("y", ["mouse"]),
    ]
    space = space_of(corpus, 2)
    features, _ = space.project(
        matrix_of([["car"], ["engine"], ["mouse"]], space.statistics.vocabulary)
    )
    assert features[0] @ features[1] > 0.9
    assert abs(features[0] @ features[2]) < 0.1


def test_terms_of_one_document_are_used_only_if_there_are_few_others() -> None:
    statistics = statistics_of([("x", ["a", "b"]), ("y", ["b", "c"]), ("y", ["c", "d"])])
    names = [statistics.vocabulary.get_term(number) for number in range(4)]
    every = np.ones(4, np.bool_)
    assert [
        name
        for name, known in zip(names, select_latent_terms(statistics, every, 2), strict=True)
        if known
    ] == ["b", "c"]
    assert select_latent_terms(statistics, every, 3).all()
    some = np.array([name != "b" for name in names])
    assert select_latent_terms(statistics, some, 2).tolist() == some.tolist()


def test_latent_space_uses_only_selected_terms() -> None:
    corpus = random_corpus()
    some = ["t01", "t02", "t03", "t04", "t05"]
    space = space_of(corpus, 3, over=some)
    assert {
        space.statistics.vocabulary.get_term(number)
        for number in np.flatnonzero(space.used_terms).tolist()
    } <= set(some)
    features, lengths = space.project(matrix_of([["t20", "t21"]], space.statistics.vocabulary))
    assert (features.tolist(), lengths.tolist()) == ([[0, 0, 0]], [0])
