"""Misclassified documents: the terms that tipped the prediction, and excerpts with marked words.

`nbtext evaluate --errors` writes the documents, `nbtext report` quotes the most confident mistakes.
`nbtext.explain.contributions` defines the contributions of terms and words to the log odds.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from math import log
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nbtext.corpus.document import Document, collect_contents
from nbtext.counts.vocabulary import display_term
from nbtext.document_fields import render_document
from nbtext.explain.contributions import (
    compute_term_contributions,
    distribute_to_words,
    split_weighted_text,
)
from nbtext.explain.token_trace import TokenTracer
from nbtext.metrics.results import JSON_UNLESS_EMPTY, NOT_IN_JSON
from nbtext.prediction.labels import format_label
from nbtext.prediction.posterior import find_runner_up

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nbtext.counts.matrix import DocumentTermMatrix
    from nbtext.explain.token_trace import LocatedWords
    from nbtext.fitted_model import FittedModel
    from nbtext.prediction.labels import Label
    from nbtext.prediction.rule import Decision
    from nbtext.scoring import ScoredBlock
    from nbtext.type_names import Floats, Ints

MAX_EXCERPT_BYTES = 420
"""Approximate length of an excerpt. A long last word may double the length."""

MAX_EXCERPT_SEARCH_BYTES = 2**16
"""Bytes of a text, and of each field, in which an excerpt is searched for."""

HIGHLIGHT_NATS = log(3)
"""Smallest contribution of a marked word. The word triples the odds."""

MAX_TIPPING_TERMS = 10
"""Terms that are listed for a misclassified document."""

MAX_WORD_NATS = 1e6
"""Larger contributions, which can be infinite, are reduced to this before they are summed."""


class ExcerptPiece(NamedTuple):
    """A piece of a text, and its contribution to the log odds of the predicted class."""

    text: str
    nats: float = 0.0
    """0 for the text between words."""


class _TippingTerm(NamedTuple):
    """A term, and the contribution of its occurrences to the log odds of the predicted class."""

    term: str
    nats: float


@dataclass(frozen=True, slots=True)
class Misclassification:
    """A document whose predicted label is not its true label."""

    id: str
    truth: str
    answer: str
    """The predicted label."""
    probability: float
    """Probability of the predicted label."""
    margin: float = field(metadata=NOT_IN_JSON)
    """log p(answer | d) − log p(rival | d) in nats. With costs it can be negative."""
    terms: tuple[_TippingTerm, ...]
    """Up to `MAX_TIPPING_TERMS` terms that contribute most to the answer, the strongest first.

    A term that makes the rival impossible has inf nats. Empty if scores are not sums of terms.
    """
    against: str | None = field(default=None, metadata=JSON_UNLESS_EMPTY)
    """The runner-up if the model does not have the true class, else None."""

    @property
    def rival(self) -> str:
        """The class that the answer is compared with: the true class, or ``against``."""
        return self.truth if self.against is None else self.against


class ExcerptFinder:
    """Search for the excerpt of a document that best shows why a class was predicted."""

    def __init__(self, model: FittedModel) -> None:
        self._model = model
        self._tracer = TokenTracer.from_model(model)

    def find_excerpt(self, document: Document, answer: int, rival: int) -> tuple[ExcerptPiece, ...]:
        """Return about `MAX_EXCERPT_BYTES` of text and fields, and then the attributes.

        The words of the excerpt contribute most to the log odds of class ``answer`` over class
        ``rival``. White space is reduced to single spaces. A word has 0 nats if it makes both
        classes impossible, or if scores are not sums over terms.
        """
        text = _squeeze(document.text)
        fields = [(name, _squeeze(content)) for name, content in document.fields]
        words = self._tracer.locate_words(text, fields, splits_pairs=True)
        matrix = self._model.count_texts([text], [fields])
        contributions = self._compute_word_contributions(words, matrix, answer, rival)
        content = render_document(text, fields)
        start, end = _find_excerpt(words, contributions, len(content))
        is_inside = (words.starts >= start) & (words.ends <= end)
        is_marked = is_inside & (np.abs(contributions) >= HIGHLIGHT_NATS)
        marked_spans = zip(
            (words.starts[is_marked] - start).tolist(),
            (words.ends[is_marked] - start).tolist(),
            contributions[is_marked].tolist(),
            strict=True,
        )
        # The excerpt may end within a character, which "ignore" drops.
        quoted = content[start:end].decode("utf-8", "ignore").replace("\n", " ")
        pieces = [ExcerptPiece(*piece) for piece in split_weighted_text(quoted, marked_spans)]
        if start:
            pieces.insert(0, ExcerptPiece("… "))
        if end < len(content):
            pieces.append(ExcerptPiece(" …"))
        names = self._model.statistics.attributes.names
        # A document that was not decoded has no values.
        for name, value in zip(names, document.values, strict=False):
            if value:
                pieces.append(ExcerptPiece(f" {name}={value}"))
        return tuple(piece for piece in pieces if piece.text)

    def _compute_word_contributions(
        self, words: LocatedWords, matrix: DocumentTermMatrix, answer: int, rival: int
    ) -> Floats:
        """Return the contribution of each word to the answer over the rival, shape (n_words,)."""
        term_contributions = compute_term_contributions(
            self._model.text_classifier, matrix, np.array([answer]), np.array([rival])
        )
        if term_contributions is None:
            return np.zeros(words.starts.size)
        contributions = distribute_to_words(words, *term_contributions)
        contributions[np.isnan(contributions)] = 0.0
        return contributions


def _find_excerpt(words: LocatedWords, contributions: Floats, n_bytes: int) -> tuple[int, int]:
    """Return start and end, in bytes, of the excerpt with the largest sum of contributions.

    Only positive contributions are summed. An excerpt has about `MAX_EXCERPT_BYTES`. Of equal sums,
    the first is returned. A text of at most `MAX_EXCERPT_BYTES` is its own excerpt. ``n_bytes`` is
    the length of the text.
    """
    n_words = words.starts.size
    if n_bytes <= MAX_EXCERPT_BYTES:
        return 0, n_bytes
    if not n_words:
        return 0, MAX_EXCERPT_BYTES
    # A candidate starts at each word, and ends before the word whose index is in `stops`.
    stops = np.searchsorted(words.ends, words.starts + MAX_EXCERPT_BYTES, side="right")
    stops = np.maximum(stops, np.arange(1, n_words + 1))  # at least one word
    running_sums = np.zeros(n_words + 1)
    running_sums[1:] = np.cumsum(np.clip(contributions, 0, MAX_WORD_NATS))
    candidate_sums = running_sums[stops] - running_sums[:-1]
    first = int(candidate_sums.argmax())
    stop = int(stops[first])
    # The excerpt includes the text before the first word, or after the last word, of the document.
    start = int(words.starts[first]) if first else 0
    end = int(words.ends[stop - 1]) if stop < n_words else n_bytes
    return start, min(end, start + 2 * MAX_EXCERPT_BYTES)


def _squeeze(text: bytes) -> bytes:
    """Return the searched start of a text, with single spaces."""
    start = text[:MAX_EXCERPT_SEARCH_BYTES].decode("utf-8", "ignore")
    return b" ".join(start.encode().split())


def find_wrong_rows(predictions: Ints, truth: Ints) -> Ints:
    """Return the rows of documents whose predicted class is not their true class.

    Both arguments are class indices, shape (n_docs,). If no class was predicted, the index is
    negative, and the document is not returned.
    """
    is_predicted = predictions >= 0
    return np.flatnonzero(is_predicted & (predictions != truth))


class MistakeFinder:
    """Search for the misclassified documents of a block."""

    def __init__(self, model: FittedModel) -> None:
        self._model = model
        self._classes = model.classes
        self._class_indices: dict[Label, int] = {
            label: index for index, label in enumerate(self._classes)
        }

    def get_class_indices(self, block: ScoredBlock) -> Ints:
        """Return the class index of each document's label, shape (n_docs,).

        The index is −1 for a label that the model does not have.
        """
        return np.array([self._class_indices.get(label, -1) for label in block.labels], np.int64)

    def find_mistakes(self, block: ScoredBlock, decision: Decision) -> Iterator[Misclassification]:
        """Yield the misclassified documents, in order. Documents without a prediction are skipped.

        The texts of misclassified documents are counted again, because a block has no counts.
        """
        truth = self.get_class_indices(block)
        rows = find_wrong_rows(decision.predictions, truth)
        if not rows.size:
            return
        true_classes = truth[rows]
        is_truth_known = true_classes >= 0
        answers = decision.predictions[rows]
        wrong = block.take(rows)
        log_p = wrong.log_posterior
        rivals = np.where(is_truth_known, true_classes, find_runner_up(log_p, answers))
        tipping_terms = self._find_tipping_terms(wrong.documents, answers, rivals)
        indices = np.arange(rows.size)
        with np.errstate(invalid="ignore"):  # −∞ − (−∞) is nan
            margins = log_p[indices, answers] - log_p[indices, rivals]
        probabilities = decision.probabilities[rows]
        for index, label in enumerate(wrong.labels):
            yield Misclassification(
                id=wrong.documents[index].id,
                truth=format_label(label),
                answer=self._classes[answers[index]],
                probability=float(probabilities[index]),
                margin=float(margins[index]),
                terms=tipping_terms[index],
                against=None if is_truth_known[index] else self._classes[rivals[index]],
            )

    def _find_tipping_terms(
        self, documents: list[Document], answers: Ints, rivals: Ints
    ) -> list[tuple[_TippingTerm, ...]]:
        """Return the terms of each document that contribute most to its answer over its rival."""
        term_contributions = compute_term_contributions(
            self._model.text_classifier,
            self._model.count_texts(*collect_contents(documents)),
            answers,
            rivals,
        )
        if term_contributions is None:
            return [() for _ in documents]
        matrix, contributions = term_contributions
        vocabulary = self._model.statistics.vocabulary
        tipping_terms = []
        for start, end in pairwise(matrix.offsets.tolist()):
            # A term that makes both classes impossible has nan, which is not above 0.
            is_positive = contributions[start:end] > 0
            terms = matrix.terms[start:end][is_positive]
            nats = contributions[start:end][is_positive]
            order = np.lexsort((terms, -nats))[:MAX_TIPPING_TERMS]  # by nats, then by term
            names = [display_term(vocabulary.get_term(term)) for term in terms[order].tolist()]
            tipping_terms.append(tuple(map(_TippingTerm, names, nats[order].tolist())))
        return tipping_terms
