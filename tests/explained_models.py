"""Models of every kind, and documents for them, to explain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nbtext import TextClassifier
from nbtext.corpus.document import Document
from nbtext.explain.explanation import Explainer

if TYPE_CHECKING:
    from nbtext.explain.explanation import Explanation

TEXTS = {
    "cats": [
        "the cat purrs on the red sofa",
        "cats climb and scratch the sofa",
        "a red cat sleeps, a white cat purrs",
    ],
    "dogs": [
        "the dog barks at the postman",
        "dogs fetch sticks and bark loudly",
        "a white dog runs after the postman",
    ],
    "fish": [
        "the fish swims in water",
        "red fish swim round and round",
        "fish sleep in cold water",
    ],
}

ADDITIVE: list[dict[str, Any]] = [
    {},
    {"ngrams": 3},
    {"char_ngrams": "2-4"},
    {"ngrams": 2, "char_ngrams": "3", "stemmer": "none", "stop_words": "none"},
    {"weighting": "tfidf", "ngrams": 2},
    {"weighting": "log"},
    {"top": 6},
    {"class_prior": {"cats": 1.0, "dogs": 2.0, "fish": 5.0}},
    {"classifier": "bernoulli"},
    {"classifier": "complement"},
    {"classifier": "complement", "weighting": "tfidf"},
    {"classifier": "logistic", "l2": 0.1},
    {"classifier": "average"},
    {"classifier": "average", "members": "multinomial+complement:tfidf+bernoulli", "ngrams": 2},
]
"""Parameters of models whose scores are sums over terms."""

GAUSSIAN: dict[str, Any] = {"classifier": "gaussian", "latent": 3, "shrinkage": 0.5}


def model(**parameters: Any) -> TextClassifier:
    """A model of `TEXTS`."""
    labelled = [(label, text) for label, texts in TEXTS.items() for text in texts]
    return TextClassifier(**parameters).fit(
        [text for _, text in labelled], [label for label, _ in labelled]
    )


def document(text: str | bytes) -> Document:
    """A document with that text."""
    return Document("a document", None, text.encode() if isinstance(text, str) else text)


def explain_text(of: TextClassifier, text: str | bytes, against: str | None = None) -> Explanation:
    """The explanation of its answer."""
    [found] = Explainer(of.fitted, against).explain([document(text)])
    assert found.explanation is not None
    return found.explanation
