"""Draw documents from a model, to see what it takes the documents of a class to look like."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nbtext.classifiers.base import class_conditionals
from nbtext.counts.matrix import in_blocks
from nbtext.counts.vocabulary import displayed_term, is_of_field
from nbtext.errors import UsageError
from nbtext.explain.explanation import class_number
from nbtext.inspection.terms import most_frequent_forms
from nbtext.language_model.sampling import (
    Categorical,
    cells_of_class,
    draw_beta,
    draw_coins,
    draw_dirichlet,
    draw_length,
    posterior,
    predictive,
    random_source,
)
from nbtext.selection import PROBABILITIES_AT_ONCE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from nbtext.language_model.sampling import DrawValues
    from nbtext.model.text_classifier import TextClassifier
    from nbtext.type_names import Floats, Whole

    DrawWords = Callable[[int | None, np.random.Generator], Whole]


class Generated(NamedTuple):
    """A drawn document: its class, its terms in order, and the values of its attributes."""

    label: str
    terms: list[str]
    values: Sequence[str | float | None]


class DocumentGenerator:
    """Draw documents of single words and attributes: words with the probabilities that these have among single words; n-grams and terms of fields are left out.

    For Bernoulli naive Bayes a coin is tossed for each word, and those that show heads come in order of the vocabulary. For every other classifier
    words are drawn from the language model of the class. With ``draw`` the parameters of the words of each class are drawn too, once, from their posterior. Each attribute is drawn
    from its distribution in the class. The first documents do not depend on how many are drawn.
    """

    def __init__(self, model: TextClassifier, *, draw: bool = False, seed: int = 0) -> None:
        """Raise `UsageError` if there are no words to draw, or for a draw of parameters that have no posterior."""
        self._model = model
        self._fitted = model.fitted
        self._draw = draw
        self._seed = seed
        probabilities = class_conditionals(model.fitted.text_classifier)
        self._coins = (
            probabilities
            if probabilities is not None and probabilities.absence is not None
            else None
        )
        if draw and model.settings.estimate == "ml":
            raise UsageError(
                "--draw needs a posterior, and maximum likelihood has none",
                hint="train with --set estimate=mean or map",
            )
        self._words = _words(model)
        self.attributes = model.fitted.statistics.attributes.names
        if not self._words.size and (draw or not self.attributes):
            hint = "leave --draw out" if self.attributes else "train it on documents that have some"
            raise UsageError("the model has no words to draw", hint=hint)
        self._names = list(map(displayed_term, model.fitted.statistics.vocabulary.single_terms()))
        for term, word in most_frequent_forms(model).items():
            self._names[term] = word
        self._ready: dict[int, tuple[DrawWords, DrawValues]] = {}

    def documents(
        self, n: int, label: str | None = None, length: int | None = None
    ) -> Iterator[Generated]:
        """Draw ``n`` documents of a class; by default the class of each is drawn from the prior.

        ``length`` is the number of tokens, by default drawn: Poisson with the mean of the class's documents, at least 1. Raise `UsageError`
        for a class that is unknown or has no words, and for a length where coins decide it.
        """
        if length is not None and self._coins is not None:
            raise UsageError(
                "--length does not go with a bernoulli model: every word has a coin",
                hint="leave --length out",
            )
        if length is not None and not self._words.size:
            raise UsageError("the model has no words to draw", hint="leave --length out")
        given = None if label is None else class_number(self._fitted, label)
        prior = Categorical(self._fitted.classifier.prior)
        random = random_source(self._seed)
        of_values = random_source(self._seed, 0, 0)
        for _ in range(n):
            number = int(prior.draw(1, random)[0]) if given is None else given
            if number not in self._ready:
                self._ready[number] = self._drawing(number), self._drawing_of_values(number)
            draw_words, draw_values = self._ready[number]
            drawn = self._words[draw_words(length, random)]
            yield Generated(
                self._model.classes[number],
                [self._names[term] for term in drawn.tolist()],
                draw_values(of_values),
            )

    @property
    def keys(self) -> tuple[str, ...]:
        """Names of label, text if there is one, and attributes: with attributes those that the model reads."""
        reading = self._model.reading
        text = ("text",) if self._words.size else ()
        if not self.attributes:
            return ("label", *text)
        return (
            reading.label_column or "label",
            *((reading.text_column or "text",) if text else ()),
            *self.attributes,
        )

    @property
    def words(self) -> list[str]:
        """The words that can be drawn, in the order of `probability`."""
        return [self._names[term] for term in self._words.tolist()]

    def probability(self, number: int) -> Floats:
        """Return the probabilities that words of a class are drawn with: φ_jk among the words, or with coins θ_jk; shape (n_words,)."""
        if self._coins is not None:
            if self._draw:
                return self._drawn_coins(number)
            blocks = in_blocks(
                self._words, self._fitted.classifier.prior.size, PROBABILITIES_AT_ONCE
            )
            return np.concatenate([self._coins.probability(block)[:, number] for block in blocks])
        weights = self._weights(number)
        return (
            draw_dirichlet(weights, random_source(self._seed, number))
            if self._draw
            else weights / weights.sum()
        )

    def _drawing(self, number: int) -> DrawWords:
        """Return a function that draws the words of a document of a class, as places among `words`, given a length or None."""
        if not self._words.size:
            return lambda *_: self._words
        probability = self.probability(number)
        if self._coins is not None:
            return lambda _, random: draw_coins(probability, random)
        urn = Categorical(probability)
        statistics = self._fitted.statistics.observed
        tokens = cells_of_class(statistics, statistics.cell_counts, number)[self._words].sum()
        mean = float(tokens / max(statistics.class_documents[number], 1))
        return lambda length, random: urn.draw(length or draw_length(mean, random), random)

    def _drawing_of_values(self, number: int) -> DrawValues:
        """Return a function that draws the values of the attributes of a document of a class."""
        if not self.attributes:
            return lambda _: ()
        from nbtext.inspection.attribute_draws import attribute_drawing

        return attribute_drawing(self._fitted, number)

    def _weights(self, number: int) -> Floats:
        """Return φ_jk of the words of a class, or the parameters of their posterior."""
        models = self._fitted.language_models
        weights = (
            posterior(models, self._words, number)
            if self._draw
            else predictive(models, self._words, number)
        )
        if not weights.any():
            raise UsageError(
                f"class {self._model.classes[number]} has no words to draw",
                hint="train with --smoothing above 0",
            )
        return weights

    def _drawn_coins(self, number: int) -> Floats:
        """Draw θ ~ Beta(n_1 + a, n_0 + b), the posterior of each coin."""
        statistics = self._fitted.statistics
        learnt = self._fitted.learnt
        more = float(self._model.settings.estimate == "map")
        absence = self._model.settings.absence_smoothing
        a = learnt.own.of(self._words, learnt.smoothing) + more
        b = a if absence is None else np.full_like(a, absence + more)
        heads = cells_of_class(statistics, statistics.cell_documents, number)[self._words]
        tails = statistics.class_documents[number] - heads
        return draw_beta(heads + a, tails + b, random_source(self._seed, number))


def _words(model: TextClassifier) -> Whole:
    """Return the selected single words, ascending; those of fields are no words of a text."""
    vocabulary = model.fitted.statistics.vocabulary
    single = model.fitted.learnt.selected[: vocabulary.n_single].copy()
    if not model.reading.is_counted:
        single &= ~is_of_field(vocabulary)[: vocabulary.n_single]
    if model.settings.char_ngrams is not None and not model.reading.is_counted:
        from nbtext.text.ngrams import WILDCARD

        text = np.frombuffer(vocabulary.text, np.uint8)
        single &= (text[vocabulary.bounds[:-1]] != ord(WILDCARD)) & (
            text[vocabulary.bounds[1:] - 1] != ord(WILDCARD)
        )
    return np.flatnonzero(single)
