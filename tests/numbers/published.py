"""Models of the small corpora that the sources print, words as they stand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nbtext import TextClassifier

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

PLAIN: dict[str, Any] = {"stemmer": "none", "stop_words": "none", "calibration": "none"}


def fitted(
    corpus: Iterable[tuple[str, str | Mapping[str, object]]], **parameters: Any
) -> TextClassifier:
    """Fit a model to pairs of a label and a document, with no stop words, no stemming and no calibration."""
    labels, documents = zip(*corpus, strict=True)
    return TextClassifier(**PLAIN, **parameters).fit(documents, labels)


def joint(model: TextClassifier, document: str | Mapping[str, object]) -> dict[str, float]:
    """Return p(d, C_k) of one document, by class."""
    scores = np.exp(model.joint_log_likelihood([document])[0])
    return dict(zip(model.classes, scores.tolist(), strict=True))


def posterior(model: TextClassifier, document: str | Mapping[str, object]) -> dict[str, float]:
    """Return p(C_k | d) of one document, by class."""
    return dict(zip(model.classes, model.predict_proba([document])[0].tolist(), strict=True))


def probability(model: TextClassifier, word: str) -> dict[str, float]:
    """Return φ of one word, by class."""
    row = model.fitted.language_models.compute_probability(
        np.array(model.fitted.statistics.vocabulary.find([word]))
    )[0]
    return dict(zip(model.classes, row.tolist(), strict=True))
