"""What made each class impossible, for a document that has no class because maximum likelihood rules out all of them.

Why a document got its answer: what each of its words adds to the log odds between the answer and another class.

With s_k the score of class k, the log odds s_a − s_b before calibration are the difference of the priors and a sum over words. For classifiers
that are linear in their features the sum is exact: term j adds x_j (w_ja − w_jb), and the Dirichlet-multinomial adds a difference of log Γ for each
term with its count. What a term adds belongs to the words that it stands over: an n-gram to its n words in equal parts, a character n-gram to its
word, and with a term that occurs several times each occurrence has an equal part. Where no such sum exists (Gaussian classes) each word
is left out by itself, and the differences do not add up: the rest is given as such.
"""

from __future__ import annotations

from math import fsum, inf, isinf
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nbtext.attributes import parted
from nbtext.counts.counting import document_counter
from nbtext.decision import NO_ANSWER, minimum_error
from nbtext.errors import UsageError
from nbtext.explain.contributions import (
    Attribute,
    attribute_contributions,
    attribute_scores,
    bias,
    difference,
    left_out_contributions,
    ruling_out,
    shared_out,
    term_contributions,
)
from nbtext.explain.mistakes import runner_up
from nbtext.explain.word_walk import WordWalker
from nbtext.model.scoring import EMPTY, IMPOSSIBLE, NO_KNOWN_TERMS, scored
from nbtext.text.analyzer import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from nbtext.corpus.document import Document
    from nbtext.counts.matrix import DocumentTermMatrix
    from nbtext.errors import DocumentError
    from nbtext.explain.word_walk import LocatedWords
    from nbtext.model.scoring import ScoredBlock
    from nbtext.model.text_classifier import TextClassifier


WORD, ATTRIBUTE, PRIOR, LACKING = "word", "attribute", "prior", "lacking"
"""What may rule a class out: a word; a value beside the text; the class prior; a word that every training document of the class has."""


class RuledOut(NamedTuple):
    """A class, and one thing that rules it out. There may be others."""

    label: str
    by: str
    """`WORD`, `ATTRIBUTE`, `PRIOR` or `LACKING`."""
    name: str | None = None
    """The first such word or words of the text, case-folded, or the name of the attribute."""
    term: str | None = None
    """The term that the words become."""
    value: str | None = None
    """The attribute's value."""


def ruled_out(model: TextClassifier, located: LocatedWords, matrix: DocumentTermMatrix, document: bytes) -> tuple[RuledOut, ...]:
    """One for each class, in the order of the classes; ``matrix`` holds the document alone."""
    terms = _in_order(located, matrix)
    by_term = ruling_out(model.classifier.of_texts, terms, len(model.classes_))
    by_value = [(name, value, scores == -np.inf) for name, value, scores in attribute_scores(model, matrix, document)]
    found = []
    for label, (of_class, place) in enumerate(zip(model.classes_, by_term.tolist(), strict=True)):
        values = [(name, value) for name, value, impossible in by_value if impossible[label]]
        if place >= 0:
            found.append(
                RuledOut(of_class, WORD, _words_of_term(located, terms[place]), model.statistics.vocabulary.term(int(terms[place])))
            )
        elif values:
            found.append(RuledOut(of_class, ATTRIBUTE, values[0][0], value=values[0][1]))
        else:
            found.append(RuledOut(of_class, LACKING if model.prior[label] > 0 else PRIOR))
    return tuple(found)


def _in_order(located: LocatedWords, matrix: DocumentTermMatrix) -> NDArray[np.int64]:
    """The terms of the document in the order of the words that they stand over."""
    terms = located.terms[np.argsort(located.words, kind="stable")]
    _, first = np.unique(terms, return_index=True)
    terms = terms[np.sort(first)]
    return terms[np.isin(terms, matrix.terms)]


def _words_of_term(located: LocatedWords, term: np.int64) -> str:
    """The surface words of the first occurrence of a term."""
    first = int(np.flatnonzero(located.terms == term)[0])
    size = max(round(1 / float(located.shares[first])), 1)
    return " ".join(located.names[word] for word in located.words[first : first + size].tolist())


class Word(NamedTuple):
    """A surface word of a document: all its occurrences."""

    word: str
    """Case-folded."""
    nats: float
    """What it adds to the log odds, inf where it rules the other class out."""
    occurrences: int
    places: tuple[tuple[int, int], ...]
    """Where each occurrence begins and ends, in bytes of the text after reading."""
    terms: tuple[str, ...]
    """The terms of the model that it becomes by itself."""
    note: str | None
    """Why it does not count by itself: it is a stop word, the model does not know it, …"""


class Steps(NamedTuple):
    """The log odds on their way from scores to probabilities, in nats."""

    on_scale: float
    """Of the scores on the scale of log probabilities; for all but complement naive Bayes those of the scores."""
    temperature: float
    """What they are divided by."""
    on_curve: bool
    """Whether an isotonic curve comes last."""
    log_odds: float
    """log p(answer | d) − log p(against | d)."""


class Explanation(NamedTuple):
    """A document's answer, the class it is compared with, and what made the difference, in nats."""

    id: str
    text: str
    """After reading."""
    label: str
    probability: float
    against: str
    against_probability: float
    log_odds: float
    """Of the scores, before calibration: prior, words, attributes and rest in sum."""
    prior: float
    """Without any term: the log class priors; with Bernoulli also what the absence of every term says, with logistic regression the intercepts."""
    words: tuple[Word, ...]
    """In the order in which they first occur."""
    attributes: tuple[Attribute, ...]
    rest: float | None
    """What the parts leave over where they do not add up; None where they do."""
    calibration: Steps


class Explained(NamedTuple):
    """A document with the explanation of its answer, or why there is none."""

    id: str
    explanation: Explanation | None
    abstained: str | None = None
    problem: DocumentError | None = None
    notice: str | None = None
    """Why the answer is that to an empty document, None where it is not."""
    ruled_out: tuple[RuledOut, ...] = ()
    """For a document that no class could have made: for each class one thing that rules it out."""


class Explainer:
    """Explains the answers of a model, against their runners-up or against one class; raises `UsageError` if there is no such class."""

    def __init__(self, model: TextClassifier, against: str | None = None) -> None:
        self._model, self._classes = model, model.classes_
        if len(self._classes) < 2:
            raise UsageError("the model has a single class: there is nothing to compare it with")
        self._against = None if against is None else class_number(model, against)
        self._counter = document_counter(model.parameters, model.stop_list, model.statistics.vocabulary, model.reading)
        self._locator = WordWalker.of_model(model)

    def explain(self, documents: Iterable[Document]) -> Iterator[Explained]:
        """One for each document, in order. Where the class compared with is the answer itself, its runner-up takes its place."""
        for block in scored(self._model, documents):
            yield from self._of_block(block)

    def _of_block(self, block: ScoredBlock) -> Iterator[Explained]:
        answers = minimum_error(block.log_posterior)
        rivals = runner_up(np.nan_to_num(block.log_posterior, nan=-inf), np.maximum(answers, 0))
        if self._against is not None:
            rivals = np.where(answers == self._against, rivals, self._against)
        matrix = self._counter.count([document.text for document in block.documents]).matrix()
        for row, document in enumerate(block.documents):
            alone = matrix.rows(np.array([row]))
            if document.problem is not None:
                yield Explained(document.id, None, problem=document.problem)
                continue
            if answers[row] == NO_ANSWER:
                located = self._locator.locate(self._text(document))
                yield Explained(document.id, None, IMPOSSIBLE, ruled_out=ruled_out(self._model, located, alone, document.text))
                continue
            found = self._of_document(block, row, alone, (int(answers[row]), int(rivals[row])))
            lacking = None if block.lengths[row] else NO_KNOWN_TERMS if document.text.strip() else EMPTY
            yield Explained(document.id, found, notice=lacking)

    def _of_document(self, block: ScoredBlock, row: int, matrix: DocumentTermMatrix, pair: tuple[int, int]) -> Explanation:
        document, (answer, rival) = block.documents[row], pair
        text = self._text(document)
        located = self._locator.locate(text)
        scores = block.scores[row]
        attributes = attribute_contributions(self._model, matrix, document.text, pair)
        parts, prior, exact = self._parts(located, matrix, pair)
        words = _words(located, parts, self._model)
        known = [prior, *(word.nats for word in words), *(of.nats for of in attributes)]
        if scores[rival] == -inf and not any(map(isinf, known)):
            prior = known[0] = inf  # what the document lacks rules the other class out: only Bernoulli without smoothing says so
        total = fsum(known) if exact else float(scores[answer] - scores[rival])
        posterior = block.log_posterior[row]
        return Explanation(
            document.id,
            text.decode(),
            self._classes[answer],
            float(np.exp(posterior[answer])),
            self._classes[rival],
            float(np.exp(posterior[rival])),
            total,
            prior,
            words,
            attributes,
            None if exact else total - fsum(known),
            self._steps(block, row, pair),
        )

    def _parts(self, located: LocatedWords, matrix: DocumentTermMatrix, pair: tuple[int, int]) -> tuple[NDArray[np.float64], float, bool]:
        """What each word's occurrence adds, shape (n_words,), what comes without any, and whether these add up."""
        classifier = self._model.classifier.of_texts
        found = term_contributions(classifier, matrix, np.array(pair[:1]), np.array(pair[1:]))
        of_classes = bias(classifier)
        if found is None or of_classes is None:
            return left_out_contributions(self._model, located, matrix, pair), _log_ratio(self._model.prior, pair), False
        return shared_out(located, *found), float(difference(of_classes[pair[0]], of_classes[pair[1]])), True

    def _steps(self, block: ScoredBlock, row: int, pair: tuple[int, int]) -> Steps:
        calibration, rows = self._model.learnt.calibration, slice(row, row + 1)
        answer, rival = pair
        on_scale = self._model.classifier.log_scale(block.scores[rows], block.lengths[rows])[0]
        posterior = block.log_posterior[row]
        return Steps(
            float(on_scale[answer] - on_scale[rival]),
            float(calibration.temperature(block.lengths[rows])[0]),
            bool(calibration.curve[0].size),
            float(posterior[answer] - posterior[rival]),
        )

    def _text(self, document: Document) -> bytes:
        return parted(document.text)[0] if self._model.statistics.attributes.names else document.text


def class_number(model: TextClassifier, label: str) -> int:
    """The number of a class; raises `UsageError` if the model has none of that name."""
    try:
        return model.classes_.index(label)
    except ValueError:
        from difflib import get_close_matches

        near = get_close_matches(label, model.classes_, 1)
        hint = f"did you mean {near[0]!r}?" if near else "see the classes with nbtext inspect"
        raise UsageError(f"the model has no class {label!r}", hint=hint) from None


def _words(located: LocatedWords, nats: NDArray[np.float64], model: TextClassifier) -> tuple[Word, ...]:
    """The occurrences of each surface word together, in the order of the first."""
    groups: dict[str, list[int]] = {}
    for place, name in enumerate(located.names):
        groups.setdefault(name, []).append(place)
    begins, ends, counts, added = (column.tolist() for column in (located.begins, located.ends, located.counts, nats))
    term = model.statistics.vocabulary.term
    return tuple(
        Word(
            name,
            fsum(added[place] for place in places),
            sum(counts[place] for place in places),
            tuple((begins[place], ends[place]) for place in places),
            tuple(term(number) for number in located.own[places[0]] if number != UNKNOWN),
            located.notes[places[0]],
        )
        for name, places in groups.items()
    )


def _log_ratio(prior: NDArray[np.float64], pair: Sequence[int]) -> float:
    with np.errstate(divide="ignore"):
        return float(difference(*np.log(prior[list(pair)])))
