"""Small models that many tests share, and the two lists that a model is made of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from nbtext import TextClassifier
from nbtext.corpus.document import Document
from nbtext.counts import counting
from tests.process import PETS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from nbtext.counts.corpus_counts import CorpusCounts
    from nbtext.counts.count_table import CountTable
    from nbtext.counts.counting import Analysis
    from nbtext.counts.documents import CountedDocuments
    from nbtext.prediction.labels import Label as LabelOfDocument

Label = TypeVar("Label")
Text = TypeVar("Text")
PET_LABELS = [name.partition("/")[0] for name in PETS]


def split_labelled(labelled: Iterable[tuple[Label, Text]]) -> tuple[list[Text], list[Label]]:
    """Return texts and labels."""
    documents = list(labelled)
    return [text for _, text in documents], [label for label, _ in documents]


def pets_classifier(**settings: Any) -> TextClassifier:
    """Return a model of `PETS`."""
    return TextClassifier(**settings).fit(PETS.values(), PET_LABELS)


def require_sound(path: str) -> None:
    """Load a model; its language models and its answers to the documents of its sample must be probabilities."""
    fitted = TextClassifier.load(path).fitted
    models = fitted.language_models
    total = models.compute_probability(np.flatnonzero(models.selected)).sum(axis=0)
    impossible = total == 0  # without smoothing, a class that has seen none of the terms
    np.testing.assert_allclose(total[~impossible], 1, atol=1e-6)
    scores, posterior, *_ = fitted.score_counts(fitted.counts.sample.documents.matrix)
    assert np.all(scores < np.inf)
    shares = np.exp(posterior.log_p[scores.max(axis=1) > -np.inf])
    assert np.all((shares >= 0) & (shares <= 1 + 1e-6))
    if fitted.posterior_type.is_exclusive:
        np.testing.assert_allclose(shares.sum(axis=1), 1, atol=1e-6)


def count(
    labelled: Iterable[tuple[LabelOfDocument, bytes | Document]],
    analysis: Analysis,
    *,
    keep_all: bool = False,
) -> CorpusCounts:
    """Return the counts of texts, or documents, with their labels."""
    documents = (
        Document("", label, each) if isinstance(each, bytes) else each._replace(label=label)
        for label, each in labelled
    )
    return counting.count_labelled_documents(documents, analysis, keep_all=keep_all)


def train_on(
    model: TextClassifier, labelled: Iterable[tuple[LabelOfDocument, bytes | Document]]
) -> TextClassifier:
    """Return a model that has learnt labels and documents as they are counted."""
    return model.learn(count(labelled, model.analysis))


def unlabelled(texts: Iterable[bytes]) -> list[Document]:
    """Return documents of some texts."""
    return [Document("", None, text) for text in texts]


def count_documents(
    labelled: Iterable[tuple[str, bytes]], analysis: Analysis
) -> tuple[CountTable, CountedDocuments]:
    """Return the table of a corpus and all of its documents."""
    counts = count(labelled, analysis, keep_all=True)
    return counts.table, counts.documents
