"""Draw documents from a model, to see what it takes the documents of a class to look like."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nbtext.classifiers.base import get_term_probabilities
from nbtext.counts.matrix import iter_blocks
from nbtext.counts.vocabulary import display_term, is_field_term
from nbtext.errors import UsageError
from nbtext.explain.explanation import find_class_index
from nbtext.inspection.terms import find_most_frequent_forms
from nbtext.language_model.sampling import (
    Categorical,
    compute_dirichlet_posterior,
    compute_predictive_probabilities,
    draw_beta,
    draw_coins,
    draw_dirichlet,
    draw_length,
    expand_class_cells,
    make_random_generator,
)
from nbtext.selection import MAX_PROBABILITIES_IN_MEMORY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from nbtext.language_model.sampling import ValueSampler
    from nbtext.model.text_classifier import TextClassifier
    from nbtext.type_names import Floats, Ints

    DrawWords = Callable[[int | None, np.random.Generator], Ints]


class GeneratedDocument(NamedTuple):
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

    def __init__(
        self, model: TextClassifier, *, sample_parameters: bool = False, seed: int = 0
    ) -> None:
        """Raise `UsageError` if there are no words to draw, or for a draw of parameters that have no posterior."""
        self._model = model
        self._fitted = model.fitted
        self._draw = sample_parameters
        self._seed = seed
        probabilities = get_term_probabilities(model.fitted.text_classifier)
        self._coins = (
            probabilities
            if probabilities is not None and probabilities.absence_probability is not None
            else None
        )
        if sample_parameters and model.settings.estimate == "ml":
            raise UsageError(
                "--draw needs a posterior, and maximum likelihood has none",
                hint="train with --set estimate=mean or map",
            )
        self._words = _words(model)
        self.attributes = model.fitted.statistics.attributes.names
        if not self._words.size and (sample_parameters or not self.attributes):
            hint = "leave --draw out" if self.attributes else "train it on documents that have some"
            raise UsageError("the model has no words to draw", hint=hint)
        self._names = list(
            map(display_term, model.fitted.statistics.vocabulary.list_single_terms())
        )
        for term, word in find_most_frequent_forms(model).items():
            self._names[term] = word
        self._ready: dict[int, tuple[DrawWords, ValueSampler]] = {}

    def generate(
        self, n: int, label: str | None = None, length: int | None = None
    ) -> Iterator[GeneratedDocument]:
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
        given = None if label is None else find_class_index(self._fitted, label)
        prior = Categorical(self._fitted.classifier.prior)
        random = make_random_generator(self._seed)
        of_values = make_random_generator(self._seed, 0, 0)
        for _ in range(n):
            number = int(prior.draw(1, random)[0]) if given is None else given
            if number not in self._ready:
                self._ready[number] = self._drawing(number), self._drawing_of_values(number)
            draw_words, draw_values = self._ready[number]
            drawn = self._words[draw_words(length, random)]
            yield GeneratedDocument(
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

    def get_word_probabilities(self, number: int) -> Floats:
        """Return the probabilities that words of a class are drawn with: φ_jk among the words, or with coins θ_jk; shape (n_words,)."""
        if self._coins is not None:
            if self._draw:
                return self._drawn_coins(number)
            blocks = iter_blocks(
                self._words, self._fitted.classifier.prior.size, MAX_PROBABILITIES_IN_MEMORY
            )
            return np.concatenate([self._coins.probability(block)[:, number] for block in blocks])
        weights = self._weights(number)
        return (
            draw_dirichlet(weights, make_random_generator(self._seed, number))
            if self._draw
            else weights / weights.sum()
        )

    def _drawing(self, number: int) -> DrawWords:
        """Return a function that draws the words of a document of a class, as places among `words`, given a length or None."""
        if not self._words.size:
            return lambda *_: self._words
        probability = self.get_word_probabilities(number)
        if self._coins is not None:
            return lambda _, random: draw_coins(probability, random)
        urn = Categorical(probability)
        statistics = self._fitted.statistics.observed_counts
        tokens = expand_class_cells(statistics, statistics.cell_counts, number)[self._words].sum()
        mean = float(tokens / max(statistics.class_documents[number], 1))
        return lambda length, random: urn.draw(length or draw_length(mean, random), random)

    def _drawing_of_values(self, number: int) -> ValueSampler:
        """Return a function that draws the values of the attributes of a document of a class."""
        if not self.attributes:
            return lambda _: ()
        from nbtext.inspection.attribute_draws import make_attribute_sampler

        return make_attribute_sampler(self._fitted, number)

    def _weights(self, number: int) -> Floats:
        """Return φ_jk of the words of a class, or the parameters of their posterior."""
        models = self._fitted.language_models
        weights = (
            compute_dirichlet_posterior(models, self._words, number)
            if self._draw
            else compute_predictive_probabilities(models, self._words, number)
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
        learnt = self._fitted.parameters
        more = float(self._model.settings.estimate == "map")
        absence = self._model.settings.absence_smoothing
        a = learnt.own_pseudo_counts.look_up(self._words, learnt.smoothing) + more
        b = a if absence is None else np.full_like(a, absence + more)
        heads = expand_class_cells(statistics, statistics.cell_documents, number)[self._words]
        tails = statistics.class_documents[number] - heads
        return draw_beta(heads + a, tails + b, make_random_generator(self._seed, number))


def _words(model: TextClassifier) -> Ints:
    """Return the selected single words, ascending; those of fields are no words of a text."""
    vocabulary = model.fitted.statistics.vocabulary
    single = model.fitted.parameters.selected_terms[: vocabulary.n_single_terms].copy()
    if not model.reading.is_counted:
        single &= ~is_field_term(vocabulary)[: vocabulary.n_single_terms]
    if model.settings.char_ngrams is not None and not model.reading.is_counted:
        from nbtext.text.ngrams import WILDCARD

        text = np.frombuffer(vocabulary.text, np.uint8)
        single &= (text[vocabulary.bounds[:-1]] != ord(WILDCARD)) & (
            text[vocabulary.bounds[1:] - 1] != ord(WILDCARD)
        )
    return np.flatnonzero(single)
