"""Documents drawn from a model: what it believes that the documents of a class look like."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nbtext.errors import UsageError
from nbtext.inspection.terms import most_frequent_forms
from nbtext.language_model.sampling import (
    Categorical,
    cells_of_class,
    draw_beta,
    draw_coins,
    draw_dirichlet,
    draw_length,
    draw_polya,
    posterior,
    predictive,
    random_source,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from nbtext.classifiers.base import TermProbabilities
    from nbtext.model.text_classifier import TextClassifier

    Floats = NDArray[np.float64]


_AT_ONCE = 1 << 20
"""Probabilities of terms by class computed at once: 8 MiB."""


class Generated(NamedTuple):
    """A document that was drawn: its class and its terms in order."""

    label: str
    terms: list[str]


class DocumentGenerator:
    """Draws documents of single words, with the probabilities that these have among single words; n-grams are left out.

    For Bernoulli naive Bayes a coin is tossed for each word, and those that show heads come in order of the vocabulary. For the
    Dirichlet-multinomial the words of a document come from an urn of its own. For every other classifier they are drawn from the language
    model of the class. With ``draw`` the parameters of each class are themselves a draw from their posterior, made once: all documents of the
    class come from the same. The first documents do not depend on how many are drawn.
    """

    def __init__(self, model: TextClassifier, *, draw: bool = False, seed: int = 0) -> None:
        """Raises `UsageError` if there are no words to draw, or for a draw of parameters that have no posterior."""
        self._model, self._draw, self._seed = model, draw, seed
        classifier = model.classifier.of_texts
        probabilities = classifier.term_probabilities()
        self._coins = probabilities if probabilities is not None and probabilities.absence is not None else None
        self._polya = classifier.polya_models()
        if draw and self._polya is not None:
            raise UsageError(
                "--draw does not go with a dirichlet-multinomial model: every document has a draw of its own", hint="leave --draw out"
            )
        if draw and model.parameters["estimate"] == "ml":
            raise UsageError("--draw needs a posterior, and maximum likelihood has none", hint="train with --estimate mean or map")
        self._words = _words(model)
        if not self._words.size:
            raise UsageError("the model has no words to draw", hint="train it on documents that have some")
        self._names = model.statistics.vocabulary.single_terms()
        for term, word in most_frequent_forms(model).items():
            self._names[term] = word
        self._ready: dict[int, Callable[[int | None, np.random.Generator], NDArray[np.int64]]] = {}

    def documents(self, n: int, label: str | None = None, length: int | None = None) -> Iterator[Generated]:
        """Draw ``n`` documents of a class, by default one drawn from the class prior for each.

        ``length`` is the number of tokens, by default drawn: Poisson with the mean of the class's documents, at least 1. Raises `UsageError`
        for a class that there is not or that has no words, and for a length where coins decide it.
        """
        if length is not None and self._coins is not None:
            raise UsageError("--length does not go with a bernoulli model: every word has a coin", hint="leave --length out")
        classes = self._model.classes_
        if label is not None and label not in classes:
            raise UsageError(f"the model has no class {label!r}", hint="nbtext inspect shows its classes")
        prior = Categorical(self._model.prior)
        random = random_source(self._seed)
        for _ in range(n):
            number = int(prior.draw(1, random)[0]) if label is None else classes.index(label)
            if number not in self._ready:
                self._ready[number] = self._drawing(number)
            drawn = self._words[self._ready[number](length, random)]
            yield Generated(classes[number], [self._names[term] for term in drawn.tolist()])

    @property
    def words(self) -> list[str]:
        """The words that can be drawn, in the order of `probability`."""
        return [self._names[term] for term in self._words.tolist()]

    def probability(self, number: int) -> Floats:
        """What is drawn from for a class: φ_jk among the words, or with coins θ_jk; shape (n_words,)."""
        if self._coins is not None:
            return self._drawn_coins(number) if self._draw else _column(self._coins, self._words, len(self._model.classes_), number)
        weights = self._weights(number)
        return draw_dirichlet(weights, random_source(self._seed, number)) if self._draw else weights / weights.sum()

    def _drawing(self, number: int) -> Callable[[int | None, np.random.Generator], NDArray[np.int64]]:
        """What draws the words of a document of a class, as places among those that can be drawn, given a length or None."""
        probability = self.probability(number)
        if self._coins is not None:
            return lambda _, random: draw_coins(probability, random)
        urn, mean = Categorical(probability), self._mean_length(number)
        if self._polya is None:
            return lambda length, random: urn.draw(length or draw_length(mean, random), random)
        concentration = self._polya.concentration * float(self._weights(number).sum())
        return lambda length, random: draw_polya(urn, concentration, length or draw_length(mean, random), random)

    def _weights(self, number: int) -> Floats:
        """φ_jk of the words of a class, or the parameters of their posterior."""
        models = self._model.language_models if self._polya is None else self._polya.means
        weights = posterior(models, self._words, number) if self._draw else predictive(models, self._words, number)
        if not weights.any():
            raise UsageError(f"class {self._model.classes_[number]} has no words to draw", hint="train with --smoothing above 0")
        return weights

    def _mean_length(self, number: int) -> float:
        """Words in a training document of a class, on average."""
        statistics = self._model.statistics
        tokens = cells_of_class(statistics, statistics.cell_counts, number)[self._words].sum()
        return float(tokens / statistics.class_documents[number])

    def _drawn_coins(self, number: int) -> Floats:
        """θ ~ Beta(n_1 + a, n_0 + b), the posterior of each coin."""
        statistics = self._model.statistics
        learnt = self._model.learnt
        added = learnt.own.of(self._words, learnt.smoothing) + float(self._model.parameters["estimate"] == "map")
        heads = cells_of_class(statistics, statistics.cell_documents, number)[self._words]
        tails = statistics.class_documents[number] - heads
        return draw_beta(heads + added, tails + added, random_source(self._seed, number))


def _words(model: TextClassifier) -> NDArray[np.int64]:
    """The single words that count, ascending."""
    vocabulary = model.statistics.vocabulary
    single = model.learnt.selected[: vocabulary.n_single].copy()
    if model.parameters["char_ngrams"] is not None and not model.reading.is_counted:
        from nbtext.text.ngrams import WILDCARD

        text = np.frombuffer(vocabulary.text, np.uint8)
        single &= (text[vocabulary.bounds[:-1]] != ord(WILDCARD)) & (text[vocabulary.bounds[1:] - 1] != ord(WILDCARD))
    return np.flatnonzero(single)


def _column(coins: TermProbabilities, terms: NDArray[np.int64], n_classes: int, label: int) -> Floats:
    """θ_jk of some terms in one class, shape (n,)."""
    step = max(_AT_ONCE // n_classes, 1)
    return np.concatenate([coins.probability(terms[begin : begin + step])[:, label] for begin in range(0, terms.size, step)])
