"""Test documents that the model was trained on: with the training corpus at hand all of them, exact and near; else those of its sample."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nbtext.counts.counting import Analysis, content_hashes, document_counter
from nbtext.counts.documents import LARGEST_HASH
from nbtext.counts.matrix import stack
from nbtext.counts.near_duplicates import THRESHOLD, NearDuplicates, near_duplicates
from nbtext.counts.vocabulary import GrowingVocabulary
from nbtext.errors import UsageError
from nbtext.metrics.evaluation import proper_scores, slice_figures
from nbtext.text.analyzer import blocks

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from nbtext.corpus.document import Document
    from nbtext.counts.documents import DocumentSample
    from nbtext.counts.matrix import DocumentTermMatrix
    from nbtext.metrics import Evaluation
    from nbtext.model.text_classifier import TextClassifier


EXAMPLES = 20
"""Leaks that the figures name."""


class Leaks(NamedTuple):
    """Test documents that stand in the training corpus too."""

    test_ids: list[str]
    training_ids: list[str]
    duplicates: NearDuplicates
    """By their numbers in the two lists."""

    def figures(self, evaluation: Evaluation) -> dict[str, Any]:
        """How many there are, the first of them, and the figures of the other documents (None if there are none) from the judgement of all."""
        test, training, similarities, exact = (column.tolist() for column in self.duplicates)
        judged = evaluation.judged
        left = np.ones(judged.n, np.bool_)
        left[self.duplicates.test_rows] = False
        others = judged.of(left)
        scores = {name: value if np.isfinite(value) else None for name, value in proper_scores(others).items()}
        return {
            "exact": sum(exact),
            "near": len(exact) - sum(exact),
            "threshold": THRESHOLD,
            "examples": [
                {"id": self.test_ids[row], "training_id": self.training_ids[partner], "similarity": similarity, "exact": is_exact}
                for row, partner, similarity, is_exact in list(zip(test, training, similarities, exact, strict=True))[:EXAMPLES]
            ],
            "without": {**slice_figures(others, len(evaluation.classes)), **scores} if others.n else None,
        }


class LeakCheck:
    """Counts the training documents, then the test documents as they go by.

    Words are counted as they stand, stop words among them and nothing stemmed: with the model's stop list and stemmer, short questions
    that were written by different people become the same two or three terms.
    """

    def __init__(self, model: TextClassifier) -> None:
        settings = replace(model.settings, stemmer="none", ngrams=1, char_ngrams=None)
        self._counter = document_counter(Analysis(settings), GrowingVocabulary())
        self._ids: tuple[list[str], list[str]] = ([], [])
        self._matrices: tuple[list[DocumentTermMatrix], list[DocumentTermMatrix]] = ([], [])

    def count_training(self, documents: Iterable[Document]) -> None:
        """Count training documents. Raises `UsageError` if there is not one."""
        for _ in self._counted(documents, 0):
            pass
        if not self._ids[0]:
            raise UsageError("the training corpus has no documents that can be read")

    def watched(self, documents: Iterable[Document]) -> Iterator[Document]:
        """The test documents, counted as they go by."""
        return self._counted(documents, 1)

    def leaks(self) -> Leaks:
        """What the test documents that went by have in common with the training documents."""
        training, test = (stack(matrices) for matrices in self._matrices)
        return Leaks(self._ids[1], self._ids[0], near_duplicates(training, test))

    def _counted(self, documents: Iterable[Document], side: int) -> Iterator[Document]:
        for block in blocks(documents, lambda document: len(document.text)):
            matrix = self._counter.count([document.text for document in block]).matrix()
            self._matrices[side].append(matrix._replace(terms=matrix.terms.astype(np.int32), counts=matrix.counts.astype(np.int32)))
            self._ids[side].extend(document.id for document in block)
            yield from block


class SampledLeakCheck:
    """Looks for test documents, as they go by, in the model's sample of its training documents."""

    def __init__(self, sample: DocumentSample) -> None:
        self._sample = sample
        self._hashes: list[NDArray[np.uint64]] = []

    def watched(self, documents: Iterable[Document]) -> Iterator[Document]:
        """The test documents, hashed as they go by."""
        for block in blocks(documents, lambda document: len(document.text)):
            self._hashes.append(content_hashes([document.text for document in block]))
            yield from block

    def figures(self) -> dict[str, int]:
        """Of how many test documents the sample can tell whether the model was trained on the same text, and of how many it was."""
        hashes = np.concatenate([np.empty(0, np.uint64), *self._hashes])
        checked, found = sampled_leaks(hashes, self._sample.documents.hashes, self._sample.bound)
        return {"checked": checked, "found": found}


def sampled_leaks(test_hashes: NDArray[np.uint64], sample_hashes: NDArray[np.uint64], bound: int) -> tuple[int, int]:
    """Of how many test documents a bottom-k sample can tell whether they are in its corpus, and of how many they are.

    ``sample_hashes`` hold the hash of every document of the corpus below ``bound``; all there are if that is `LARGEST_HASH`. The share
    estimates that of all test documents, since a hash says nothing of its document (E. Cohen, H. Kaplan, 2007).
    """
    told = test_hashes if bound == LARGEST_HASH else test_hashes[test_hashes < np.uint64(bound)]
    found = np.isin(told, sample_hashes, kind="sort")  # numpy 2.0 fails where it thinks of a table for 64 bits
    return told.size, int(found.sum())
