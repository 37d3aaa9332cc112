"""Misclassified documents: the terms that tipped the prediction, and excerpts with marked words."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from math import inf
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
"""Approximate length of an excerpt in bytes."""

MAX_EXCERPT_SEARCH_BYTES = 1 << 16
"""Bytes of a text, and of each field, in which an excerpt is searched for."""

HIGHLIGHT_NATS = 1.0986122886681098
"""Contribution from which on a word is marked: log 3, so it triples the odds."""

MAX_TIPPING_TERMS = 10
"""Terms that are listed for a misclassified document."""

MAX_WORD_NATS = 1e6
"""Contributions are limited to this in sums, because they can be infinite."""


class ExcerptPiece(NamedTuple):
    """A piece of a text, and what it adds to the predicted class over the true class, in nats."""

    text: str
    nats: float = 0.0
    """0 for text that counts for neither class."""


class _TippingTerm(NamedTuple):
    """A term, and what its occurrences add to the predicted class over the true class, in nats."""

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
    """log p(answer | d) − log p(truth | d) in nats. With costs it can be negative.

    If the model does not know the true label, ``against`` takes its place.
    """
    terms: tuple[_TippingTerm, ...]
    """Up to `MAX_TIPPING_TERMS` terms that add most to the prediction, the strongest first.

    A term that makes the true class impossible has inf nats. Empty if scores are not sums of terms.
    """
    against: str | None = field(default=None, metadata=JSON_UNLESS_EMPTY)
    """The runner-up, which replaces the true label if the model does not have that one."""


class ExcerptFinder:
    """Finds the excerpt of a document that best shows why a class was predicted."""

    def __init__(self, model: FittedModel) -> None:
        self._model = model
        self._tracer = TokenTracer.from_model(model)

    def find_excerpt(self, document: Document, answer: int, rival: int) -> tuple[ExcerptPiece, ...]:
        """Return about `MAX_EXCERPT_BYTES` of text and fields, and then the attributes.

        The excerpt is where the words add most to class ``answer`` over class ``rival``. White
        space is reduced to single spaces. Words have 0 nats if both classes are impossible, or if
        scores are not sums over terms.
        """
        text = _squeeze(document.text)
        fields = [(name, _squeeze(content)) for name, content in document.fields]
        words = self._tracer.locate_words(text, fields, splits_pairs=True)
        nats = self._compute_word_nats(
            words, self._model.count_texts([text], [fields]), answer, rival
        )
        content = render_document(text, fields)
        start, end = _find_strongest_run(
            words.starts, words.ends, np.maximum(nats, 0), len(content)
        )
        is_inside = (words.starts >= start) & (words.ends <= end)
        is_marked = is_inside & (np.abs(nats) >= HIGHLIGHT_NATS)
        marked_spans = zip(
            (words.starts[is_marked] - start).tolist(),
            (words.ends[is_marked] - start).tolist(),
            nats[is_marked].tolist(),
            strict=True,
        )
        # The excerpt may end within a character, which is dropped.
        quoted = content[start:end].decode("utf-8", "ignore").replace("\n", " ")
        pieces = [ExcerptPiece("… " if start else "")]
        pieces += [ExcerptPiece(*piece) for piece in split_weighted_text(quoted, marked_spans)]
        pieces.append(ExcerptPiece(" …" if end < len(content) else ""))
        names = self._model.statistics.attributes.names
        for name, value in zip(names, document.values, strict=False):
            if value:
                pieces.append(ExcerptPiece(f" {name}={value}"))
        return tuple(piece for piece in pieces if piece.text)

    def _compute_word_nats(
        self, words: LocatedWords, matrix: DocumentTermMatrix, answer: int, rival: int
    ) -> Floats:
        """Return the nats that each word adds to the prediction over its rival: (n_words,)."""
        contributions = compute_term_contributions(
            self._model.text_classifier, matrix, np.array([answer]), np.array([rival])
        )
        if contributions is None:
            return np.zeros(words.starts.size)
        return np.nan_to_num(distribute_to_words(words, *contributions), posinf=inf, neginf=-inf)


def _find_strongest_run(starts: Ints, ends: Ints, nats: Floats, n_bytes: int) -> tuple[int, int]:
    """Return start and end of the run of words with the largest sum of nats, in bytes.

    The run has about `MAX_EXCERPT_BYTES`. The first of equal runs is returned. ``n_bytes`` is the
    length of the text, which is returned whole if it is short.
    """
    if n_bytes <= MAX_EXCERPT_BYTES:
        return 0, n_bytes
    if not starts.size:
        return 0, MAX_EXCERPT_BYTES
    n_words = starts.size
    # Index of the word after each run. A run has at least one word.
    run_ends = np.maximum(
        np.searchsorted(ends, starts + MAX_EXCERPT_BYTES, side="right"), np.arange(n_words) + 1
    )
    running_sums = np.concatenate((np.zeros(1), np.cumsum(np.minimum(nats, MAX_WORD_NATS))))
    best = int((running_sums[run_ends] - running_sums[:-1]).argmax())
    start = int(starts[best]) if best else 0
    end = n_bytes
    if run_ends[best] < n_words:
        end = int(ends[run_ends[best] - 1])
    return start, min(end, start + 2 * MAX_EXCERPT_BYTES)


def _squeeze(text: bytes) -> bytes:
    """Return the start of a text, without a cut character, with single spaces as white space."""
    start = text[:MAX_EXCERPT_SEARCH_BYTES].decode("utf-8", "ignore")
    return b" ".join(start.encode().split())


class MistakeFinder:
    """Finds the misclassified documents of a block."""

    def __init__(self, model: FittedModel) -> None:
        self._model = model
        self._classes = model.classes
        self._class_indices: dict[Label, int] = {
            label: index for index, label in enumerate(self._classes)
        }

    def get_class_indices(self, block: ScoredBlock) -> Ints:
        """Return the class index of each document's label, shape (n_docs,).

        It is −1 for a label that the model does not have.
        """
        return np.array([self._class_indices.get(label, -1) for label in block.labels], np.int64)

    def find_mistakes(self, block: ScoredBlock, decision: Decision) -> Iterator[Misclassification]:
        """Yield the misclassified documents, in order. Documents without a prediction are skipped.

        The misclassified documents are counted again.
        """
        truth = self.get_class_indices(block)
        rows = np.flatnonzero((decision.predictions >= 0) & (decision.predictions != truth))
        if not rows.size:
            return
        answers = decision.predictions[rows]
        posterior = block.log_posterior[rows]
        rivals = np.where(truth[rows] >= 0, truth[rows], find_runner_up(posterior, answers))
        documents = [block.documents[row] for row in rows.tolist()]
        tipping_terms = self._find_tipping_terms(documents, answers, rivals)
        indices = np.arange(rows.size)
        with np.errstate(invalid="ignore"):
            margins = posterior[indices, answers] - posterior[indices, rivals]
        for index, row in enumerate(rows.tolist()):
            document = documents[index]
            is_truth_unknown = truth[row] < 0
            yield Misclassification(
                document.id,
                format_label(document.label or ""),
                self._classes[answers[index]],
                float(decision.probabilities[row]),
                float(margins[index]),
                tipping_terms[index],
                self._classes[rivals[index]] if is_truth_unknown else None,
            )

    def _find_tipping_terms(
        self, documents: list[Document], answers: Ints, rivals: Ints
    ) -> list[tuple[_TippingTerm, ...]]:
        """Return the terms of each document that add most to its answer over its rival."""
        contributions = compute_term_contributions(
            self._model.text_classifier,
            self._model.count_texts(*collect_contents(documents)),
            answers,
            rivals,
        )
        if contributions is None:
            return [() for _ in documents]
        matrix, nats = contributions
        vocabulary = self._model.statistics.vocabulary
        tipping_terms = []
        for start, end in pairwise(matrix.offsets.tolist()):
            # Terms that make both classes impossible have nan nats and are left out.
            entries = start + np.flatnonzero(nats[start:end] > 0)
            order = np.lexsort((matrix.terms[entries], -nats[entries]))
            best = entries[order[:MAX_TIPPING_TERMS]]
            pairs = zip(matrix.terms[best].tolist(), nats[best].tolist(), strict=True)
            tipping_terms.append(
                tuple(
                    _TippingTerm(display_term(vocabulary.get_term(term)), term_nats)
                    for term, term_nats in pairs
                )
            )
        return tipping_terms
