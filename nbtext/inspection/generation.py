"""Draw documents from a model for `nbtext generate`, to show the language model of a class.

In formulas j is a word and k a class.
"""

from __future__ import annotations

from functools import cache
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

    WordSampler = Callable[[int | None, np.random.Generator], Ints]
    """Draws indices of `DocumentGenerator.words`. If the number of tokens is None, draws it too."""


NO_WORDS = "the model has no words to draw"

ATTRIBUTE_STREAM = (0, 0)
"""Stream of random numbers for attributes, so that attributes do not change the words."""


class GeneratedDocument(NamedTuple):
    """A drawn document: its class, its terms in order, and the values of its attributes."""

    label: str
    terms: list[str]
    values: Sequence[str | float | None]
    """None for an attribute without a distribution in the class."""


class DocumentGenerator:
    """Generator of documents of single words and attributes.

    N-grams and terms of fields are not drawn. A Bernoulli model tosses a coin for each word: a
    document has the words with heads, in the order of the vocabulary. All other models draw words
    from the language model of the class, restricted to single words. Attributes are drawn from
    their distributions in the class.
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
        if sample_parameters and model.settings.estimate == "ml":
            raise UsageError(
                "--draw needs a posterior, which maximum likelihood lacks",
                hint="train with --set estimate=mean or map",
            )
        self._coins = None
        """Probabilities of heads. None if words are drawn from language models."""
        probabilities = get_term_probabilities(model.fitted.text_classifier)
        if probabilities is not None and probabilities.is_bernoulli:
            self._coins = probabilities
        self._words = _find_words(model)
        """Term ids of the words."""
        self.attributes = model.fitted.statistics.attributes.names
        if not self._words.size:
            if not self.attributes:
                raise UsageError(NO_WORDS, hint="train it on documents that have some")
            if sample_parameters:
                raise UsageError(NO_WORDS, hint="remove --draw")
        single_terms = model.fitted.statistics.vocabulary.list_single_terms()
        self._names = list(map(display_term, single_terms))
        """Names by term id. A stem has the name of its most frequent word, if it is known."""
        for term, word in find_most_frequent_forms(model).items():
            self._names[term] = word

    def generate(
        self, n: int, label: str | None = None, length: int | None = None
    ) -> Iterator[GeneratedDocument]:
        """Draw ``n`` documents of a class. Without a class, draw one per document from the prior.

        ``length`` is the number of tokens. By default it is drawn from a Poisson distribution with
        the mean length of the class, and is at least 1. The first documents do not depend on ``n``.

        Raise `UsageError`, when the first document is drawn, if the class is unknown or has no
        words. Also raise it if there is a length, but the model has coins or no words.
        """
        if length is not None and self._coins is not None:
            raise UsageError(
                "--length does not go with a bernoulli model: every word has a coin",
                hint="remove --length",
            )
        if length is not None and not self._words.size:
            raise UsageError(NO_WORDS, hint="remove --length")
        fixed_class = None if label is None else find_class_index(self._fitted, label)
        prior = Categorical(self._fitted.classifier.prior)
        random = make_random_generator(self._seed)
        attribute_random = make_random_generator(self._seed, *ATTRIBUTE_STREAM)
        make_word_sampler = cache(self._make_word_sampler)
        make_value_sampler = cache(self._make_value_sampler)
        for _ in range(n):
            k = fixed_class
            if k is None:
                k = int(prior.draw(1, random)[0])
            draw_words = make_word_sampler(k)
            terms = self._words[draw_words(length, random)]
            draw_values = make_value_sampler(k)
            yield GeneratedDocument(
                label=self._model.classes[k],
                terms=[self._names[term] for term in terms.tolist()],
                values=draw_values(attribute_random),
            )

    @property
    def keys(self) -> tuple[str, ...]:
        """Names of the label, the text (if there are words) and the attributes.

        If there are attributes, label and text are named as in the documents that the model reads.
        """
        reading = self._model.reading
        label_name = "label"
        text_name = "text"
        if self.attributes:
            label_name = reading.label_column or label_name
            text_name = reading.text_column or text_name
        if self._words.size:
            return (label_name, text_name, *self.attributes)
        return (label_name, *self.attributes)

    @property
    def words(self) -> list[str]:
        """The words that can be drawn, in the order of `get_word_probabilities`."""
        return [self._names[term] for term in self._words.tolist()]

    def get_word_probabilities(self, k: int) -> Floats:
        """Return the probabilities of drawing each word in the class ``k``, shape (n_words,).

        These are φ_jk, relative to the sum over all words, or the probabilities θ_jk of heads.
        """
        if self._coins is None:
            weights = self._get_word_weights(k)
            if self._sample_parameters:
                return draw_dirichlet(weights, make_random_generator(self._seed, k))
            return weights / weights.sum()

        if self._sample_parameters:
            return self._draw_coin_probabilities(k)
        n_classes = self._fitted.classifier.prior.size
        blocks = iter_blocks(self._words, n_classes, MAX_PROBABILITIES_IN_MEMORY)
        return np.concatenate([self._coins.compute_probability(block)[:, k] for block in blocks])

    def _make_word_sampler(self, k: int) -> WordSampler:
        """Return a function that draws the words of a document of a class."""
        if not self._words.size:
            return lambda _length, _random: self._words  # which is empty
        probability = self.get_word_probabilities(k)
        if self._coins is not None:
            return lambda _length, random: draw_coins(probability, random)

        distribution = Categorical(probability)
        statistics = self._fitted.statistics.observed_counts
        word_counts = expand_class_cells(statistics, statistics.cell_counts, k)[self._words]
        mean_length = float(word_counts.sum() / max(statistics.class_documents[k], 1))

        def draw(length: int | None, random: np.random.Generator) -> Ints:
            if length is None:
                length = draw_length(mean_length, random)
            return distribution.draw(length, random)

        return draw

    def _make_value_sampler(self, k: int) -> ValueSampler:
        """Return a function that draws the attributes of a document of a class."""
        if not self.attributes:
            return lambda _random: ()
        from nbtext.inspection.attribute_draws import make_attribute_sampler

        return make_attribute_sampler(self._fitted, k)

    def _get_word_weights(self, k: int) -> Floats:
        """Return φ_jk of the words, or the parameters of its posterior if φ_jk is sampled."""
        models = self._fitted.language_models
        if self._sample_parameters:
            weights = compute_dirichlet_posterior(models, self._words, k)
        else:
            weights = compute_predictive_probabilities(models, self._words, k)
        if not weights.any():
            raise UsageError(
                f"class {self._model.classes[k]} has no words to draw",
                hint="train with --smoothing above 0",
            )
        return weights

    def _draw_coin_probabilities(self, k: int) -> Floats:
        """Draw θ_jk ~ Beta(n_1 + a, n_0 + b), the posterior of the coin of each word.

        n_1 and n_0 are the documents of the class with and without the word. a and b are the
        pseudo-counts of the two outcomes.
        """
        statistics = self._fitted.statistics
        parameters = self._fitted.parameters
        map_offset = 0.0
        if self._model.settings.estimate == "map":
            map_offset = 1.0  # the mode of a Beta distribution needs 1 more than its mean
        a = parameters.own_pseudo_counts.look_up(self._words, parameters.smoothing) + map_offset
        b = a
        absence_smoothing = self._model.settings.absence_smoothing
        if absence_smoothing is not None:
            b = np.full_like(a, absence_smoothing + map_offset)
        heads = expand_class_cells(statistics, statistics.cell_documents, k)[self._words]
        tails = statistics.class_documents[k] - heads
        return draw_beta(heads + a, tails + b, make_random_generator(self._seed, k))


def _find_words(model: TextClassifier) -> Ints:
    """Return the selected terms that are single words of texts, in ascending order."""
    vocabulary = model.fitted.statistics.vocabulary
    is_word = model.fitted.parameters.selected_terms[: vocabulary.n_single_terms].copy()
    if model.reading.is_counted:
        return np.flatnonzero(is_word)

    is_word &= ~mask_field_terms(vocabulary)[: vocabulary.n_single_terms]
    if model.settings.char_ngrams is not None:
        from nbtext.text.ngrams import WILDCARD

        # Leave out character n-grams. They have a wildcard where their word continues.
        text = np.frombuffer(vocabulary.text, np.uint8)
        starts_with_wildcard = text[vocabulary.bounds[:-1]] == ord(WILDCARD)
        ends_with_wildcard = text[vocabulary.bounds[1:] - 1] == ord(WILDCARD)
        is_word &= ~(starts_with_wildcard | ends_with_wildcard)
    return np.flatnonzero(is_word)
