"""Draw documents from a model, to see what it expects the documents of a class to look like."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nbtext.classifiers.base import get_term_probabilities
from nbtext.counts.matrix import iter_blocks
from nbtext.counts.vocabulary import display_term, mask_field_terms
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
    """Draws words, given a number of tokens or None, as positions in `DocumentGenerator.words`."""


class GeneratedDocument(NamedTuple):
    """A drawn document: its class, its terms in order, and the values of its attributes."""

    label: str
    terms: list[str]
    values: Sequence[str | float | None]


class DocumentGenerator:
    """Generator of documents of single words and attributes.

    N-grams and terms of fields are not drawn. The probabilities of words are relative to all single
    words. A Bernoulli model tosses a coin per word, and the words with heads are in the order of
    the vocabulary. All other models draw words from the language model of the class. Attributes are
    drawn from their distributions in the class.
    """

    def __init__(
        self, model: TextClassifier, *, sample_parameters: bool = False, seed: int = 0
    ) -> None:
        """Prepare to draw documents.

        With ``sample_parameters`` the word probabilities of each class are drawn once from their
        posterior. Raise `UsageError` if the model has no words to draw, or if its parameters have
        no posterior.
        """
        self._model = model
        self._fitted = model.fitted
        self._sample_parameters = sample_parameters
        self._seed = seed
        probabilities = get_term_probabilities(model.fitted.text_classifier)
        self._coins = None
        if probabilities is not None and probabilities.is_bernoulli:
            self._coins = probabilities
        if sample_parameters and model.settings.estimate == "ml":
            raise UsageError(
                "--draw needs a posterior, and maximum likelihood has none",
                hint="train with --set estimate=mean or map",
            )
        self._words = _find_words(model)
        self.attributes = model.fitted.statistics.attributes.names
        if not self._words.size and (sample_parameters or not self.attributes):
            hint = "leave --draw out" if self.attributes else "train it on documents that have some"
            raise UsageError("the model has no words to draw", hint=hint)
        self._names = list(
            map(display_term, model.fitted.statistics.vocabulary.list_single_terms())
        )
        for term, word in find_most_frequent_forms(model).items():
            self._names[term] = word
        self._samplers: dict[int, tuple[DrawWords, ValueSampler]] = {}

    def generate(
        self, n: int, label: str | None = None, length: int | None = None
    ) -> Iterator[GeneratedDocument]:
        """Draw ``n`` documents of a class. Without a class, draw one per document from the prior.

        ``length`` is the number of tokens. By default it is drawn from a Poisson distribution with
        the mean length of the class, and is at least 1. The first documents do not depend on ``n``.

        Raise `UsageError` if the class is unknown or has no words, and for a length if coins decide
        it.
        """
        if length is not None and self._coins is not None:
            raise UsageError(
                "--length does not go with a bernoulli model: every word has a coin",
                hint="leave --length out",
            )
        if length is not None and not self._words.size:
            raise UsageError("the model has no words to draw", hint="leave --length out")
        fixed_class = None if label is None else find_class_index(self._fitted, label)
        prior = Categorical(self._fitted.classifier.prior)
        word_source = make_random_generator(self._seed)
        value_source = make_random_generator(self._seed, 0, 0)
        for _ in range(n):
            number = fixed_class
            if number is None:
                number = int(prior.draw(1, word_source)[0])
            if number not in self._samplers:
                samplers = self._make_word_sampler(number), self._make_value_sampler(number)
                self._samplers[number] = samplers
            draw_words, draw_values = self._samplers[number]
            terms = self._words[draw_words(length, word_source)]
            yield GeneratedDocument(
                self._model.classes[number],
                [self._names[term] for term in terms.tolist()],
                draw_values(value_source),
            )

    @property
    def keys(self) -> tuple[str, ...]:
        """Names of the label, the text (if there are words) and the attributes.

        If there are attributes, label and text are named as in the documents that the model reads.
        """
        reading = self._model.reading
        if not self.attributes:
            return ("label", "text") if self._words.size else ("label",)
        names = [reading.label_column or "label"]
        if self._words.size:
            names.append(reading.text_column or "text")
        return (*names, *self.attributes)

    @property
    def words(self) -> list[str]:
        """The words that can be drawn, in the order of `get_word_probabilities`."""
        return [self._names[term] for term in self._words.tolist()]

    def get_word_probabilities(self, number: int) -> Floats:
        """Return the probabilities of drawing each word in a class, shape (n_words,).

        These are φ_jk relative to all words, or for coins θ_jk.
        """
        if self._coins is not None:
            if self._sample_parameters:
                return self._draw_coin_probabilities(number)
            blocks = iter_blocks(
                self._words, self._fitted.classifier.prior.size, MAX_PROBABILITIES_IN_MEMORY
            )
            return np.concatenate(
                [self._coins.compute_probability(block)[:, number] for block in blocks]
            )
        weights = self._get_word_weights(number)
        if self._sample_parameters:
            return draw_dirichlet(weights, make_random_generator(self._seed, number))
        return weights / weights.sum()

    def _make_word_sampler(self, number: int) -> DrawWords:
        """Return a function that draws the words of a document of a class."""
        if not self._words.size:
            return lambda *_: self._words
        probability = self.get_word_probabilities(number)
        if self._coins is not None:
            return lambda _, random: draw_coins(probability, random)

        urn = Categorical(probability)
        statistics = self._fitted.statistics.observed_counts
        tokens = expand_class_cells(statistics, statistics.cell_counts, number)[self._words].sum()
        mean_length = float(tokens / max(statistics.class_documents[number], 1))
        return lambda length, random: urn.draw(length or draw_length(mean_length, random), random)

    def _make_value_sampler(self, number: int) -> ValueSampler:
        """Return a function that draws the attributes of a document of a class."""
        if not self.attributes:
            return lambda _: ()
        from nbtext.inspection.attribute_draws import make_attribute_sampler

        return make_attribute_sampler(self._fitted, number)

    def _get_word_weights(self, number: int) -> Floats:
        """Return φ_jk of the words of a class, or the parameters of their Dirichlet posterior."""
        models = self._fitted.language_models
        if self._sample_parameters:
            weights = compute_dirichlet_posterior(models, self._words, number)
        else:
            weights = compute_predictive_probabilities(models, self._words, number)
        if not weights.any():
            raise UsageError(
                f"class {self._model.classes[number]} has no words to draw",
                hint="train with --smoothing above 0",
            )
        return weights

    def _draw_coin_probabilities(self, number: int) -> Floats:
        """Draw θ ~ Beta(n_1 + a, n_0 + b), the posterior of the coin of each word."""
        statistics = self._fitted.statistics
        learnt = self._fitted.parameters
        # The mode of a Beta distribution needs 1 more per outcome than its mean.
        map_offset = float(self._model.settings.estimate == "map")
        absence_smoothing = self._model.settings.absence_smoothing
        a = learnt.own_pseudo_counts.look_up(self._words, learnt.smoothing) + map_offset
        b = a
        if absence_smoothing is not None:
            b = np.full_like(a, absence_smoothing + map_offset)
        heads = expand_class_cells(statistics, statistics.cell_documents, number)[self._words]
        tails = statistics.class_documents[number] - heads
        return draw_beta(heads + a, tails + b, make_random_generator(self._seed, number))


def _find_words(model: TextClassifier) -> Ints:
    """Return the selected terms that are single words of texts, in ascending order."""
    vocabulary = model.fitted.statistics.vocabulary
    is_word = model.fitted.parameters.selected_terms[: vocabulary.n_single_terms].copy()
    if model.reading.is_counted:
        return np.flatnonzero(is_word)

    is_word &= ~mask_field_terms(vocabulary)[: vocabulary.n_single_terms]
    if model.settings.char_ngrams is not None:
        from nbtext.text.ngrams import WILDCARD

        text = np.frombuffer(vocabulary.text, np.uint8)
        starts_with_wildcard = text[vocabulary.bounds[:-1]] == ord(WILDCARD)
        ends_with_wildcard = text[vocabulary.bounds[1:] - 1] == ord(WILDCARD)
        is_word &= ~(starts_with_wildcard | ends_with_wildcard)
    return np.flatnonzero(is_word)
