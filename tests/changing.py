"""What tests of changed models share: every kind of model that can be changed exactly, and corpora to change it by."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from nbtext import TextClassifier

if TYPE_CHECKING:
    from pathlib import Path

Corpus = list[tuple[str, str]]
"""Documents as label and text."""

ADDITIVE: dict[str, dict[str, Any]] = {
    "defaults": {},
    "background": {"prior_shape": "background"},
    "map": {"estimate": "map", "smoothing": 0.5},
    "ml": {"estimate": "ml"},
    "leave-one-out": {"smoothing": "leave-one-out"},
    "isotonic": {"calibration": "isotonic"},
    "top": {"top": 3, "by": "chi2"},
    "bigrams": {"ngrams": 2},
    "characters": {"char_ngrams": "2-3"},
    "surface forms": {"surface_forms": True},
    "by term": {"smoothing": {"*": 0.5, "ant": 3}},
    "no sample": {"sample": 0},
    "smoothed prior": {"class_prior": "smoothed:0.5"},
    "bernoulli": {"classifier": "bernoulli"},
    "binary bernoulli": {"classifier": "bernoulli", "ngrams": 2},
    "complement": {"classifier": "complement"},
    "binary": {"classifier": "complement", "weighting": "binary", "smoothing": 1},
    "dirichlet-multinomial": {"classifier": "dirichlet-multinomial"},
}
"""Settings of models that are made of counts alone."""

NOT_ADDITIVE: dict[str, dict[str, Any]] = {
    "gaussian": {"classifier": "gaussian", "latent": 2},
    "logistic": {"classifier": "logistic"},
    "tf-idf": {"classifier": "complement", "weighting": "tfidf"},
    "log": {"classifier": "complement", "weighting": "log"},
}

WORDS = ("ant", "bee", "cat", "dog", "eel", "fox", "gnu", "hen", "the", "running")

documents = st.tuples(st.sampled_from("xyz"), st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join))
"""A label and a text; equal ones are likely."""

corpora = st.lists(documents, min_size=1, max_size=14)


def fitted(setting: dict[str, Any], labelled: Corpus) -> TextClassifier:
    """A model of some documents."""
    return TextClassifier(**setting).fit([text for _, text in labelled], [label for label, _ in labelled])


def saved(model: TextClassifier, folder: Path) -> bytes:
    """The bytes of a model's file."""
    path = folder / "saved"
    model.save(str(path))
    return path.read_bytes()


def parted(labelled: Corpus) -> tuple[list[str], list[str]]:
    """Texts and labels."""
    return [text for _, text in labelled], [label for label, _ in labelled]
