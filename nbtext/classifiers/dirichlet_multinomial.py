"""Dirichlet-multinomial naive Bayes: every document has word probabilities of its own, so a word that is repeated counts for less.

log p(d, C_k) = log π_k + Σ_j [log Γ(α_jk + n_jd) − log Γ(α_jk)] − [log Γ(s + n_d) − log Γ(s)], α_jk = s·φ_jk: the document is a draw from
the Pólya distribution of its class. As s grows the scores become those of the multinomial model. Source: R. Madsen, D. Kauchak, C. Elkan,
Modeling word burstiness using the Dirichlet distribution (2005).

The mean φ_k is a smoothed language model over documents that hold a term in place of its occurrences: where repetition is bursty, so that
s·φ_jk is small, the most probable α_jk is in proportion to d_jk (C. Elkan, Clustering documents with an exponential-family approximation of
the Dirichlet compound multinomial distribution, 2006). So it follows from the statistics, and smoothing keeps unseen terms possible.

The concentration s needs counts within documents. It is the one that makes the documents of the sample most probable, so the model can be
updated. There is one for all classes: with one for each, the scores of long documents depend more on the differences between the
concentrations than on words, and accuracy in cross-validation was lower.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from nbtext.classifiers.base import AdditiveClassifier, TermProbabilities, Training
from nbtext.counts.matrix import DocumentTermMatrix, add_weighted_sums
from nbtext.errors import require
from nbtext.language_model.dirichlet import times_log
from nbtext.language_model.polya import (
    LEAST_CONCENTRATION,
    MOST_CONCENTRATION,
    PolyaModels,
    likeliest_concentration,
    log_rise,
    maximum_log_likelihood,
)
from nbtext.records import dataclass
from nbtext.text.hashing import pair, unpair

if TYPE_CHECKING:
    from nbtext.counts.statistics import ClassStatistics
    from nbtext.language_model.dirichlet import LanguageModels
    from nbtext.language_model.measures import PartFit
    from nbtext.type_names import Arrays, Floats, Numbers, ScoresAndTokens, Whole

CONCENTRATION = "concentration"
"""The array in the model file."""


@dataclass(frozen=True, eq=False)
class DirichletMultinomialNaiveBayes(AdditiveClassifier):
    """A class prior π, a mean φ for each class, and the concentration s of documents around it."""

    LEARNS_FROM_SAMPLE: ClassVar[bool] = True

    concentration: float

    @classmethod
    def estimate(cls, training: Training) -> Self:
        """Return the model that follows from the counts and the sample."""
        if training.sample is None:
            raise ValueError("--classifier dirichlet-multinomial needs the sample")
        model = cls(training, MOST_CONCENTRATION)
        return replace(model, concentration=likeliest_concentration(model.language_models, training.sample))

    def estimate_again(self, training: Training) -> Self:
        """Return the model of other counts with the same concentration."""
        return replace(self, training=training)

    @classmethod
    def counted(cls, training: Training) -> ClassStatistics:
        """Return the statistics as if every document held each of its terms once."""
        return replace(training.statistics, cell_counts=training.statistics.cell_documents)

    def arrays(self) -> Arrays:
        """Return the concentration, shape (1,)."""
        return {CONCENTRATION: np.full(1, self.concentration)}

    @classmethod
    def restored(cls, training: Training, arrays: Arrays) -> Self:
        """Return the model that had this concentration; raise `ModelError` if no model can have had it."""
        kept = arrays.get(CONCENTRATION, np.empty(0))
        is_one = set(arrays) == {CONCENTRATION} and kept.shape == (1,)
        require(is_one and LEAST_CONCENTRATION <= kept[0] <= MOST_CONCENTRATION, "it must have one concentration, within bounds")
        return cls(training, float(kept[0]))

    @cached_property
    def language_models(self) -> LanguageModels:
        """The means φ, over documents that hold a term."""
        return self.training.language_models(self.counted(self.training))

    def polya_models(self) -> PolyaModels:
        """Return means and concentration."""
        return PolyaModels(self.language_models, self.concentration)

    def term_probabilities(self) -> TermProbabilities:
        """Return the means φ_jk."""
        return TermProbabilities.of_models(self.language_models, "that a token of the class is the term, on average over documents")

    def fits(self) -> list[PartFit]:
        """Return that of Pólya distributions of maximum likelihood; |θ| = K (V − 1) + 1, n are the documents with a term, and no parameter has a prior.

        Raises `UsageError` if the model does not keep all documents.
        """
        from nbtext.language_model.measures import Fit, PartFit

        documents, known = self.training.all_documents(), self.known()
        parameters = self.training.statistics.n_classes * max(int(np.count_nonzero(known)) - 1, 0) + 1
        with_terms = int(np.count_nonzero(documents.matrix.of_terms(known).lengths))
        return [PartFit("text", None, Fit(maximum_log_likelihood(documents, known), parameters, with_terms))]

    @property
    def bias(self) -> Floats:
        """log π_k, shape (n_classes,); the part that depends on the document's length alone is the same in every class and left out."""
        return self.log_prior

    def joint_log_likelihood(self, matrix: DocumentTermMatrix) -> ScoresAndTokens:
        """Return log p(d, C_k) of each document, shape (n_docs, n_classes), in nats, and the tokens of selected terms, shape (n_docs,)."""
        matrix = matrix.of_terms(self.known())
        scores = np.tile(self.log_prior, (matrix.n_documents, 1))
        counts, number = np.unique(matrix.counts, return_inverse=True)
        keys, places = np.unique(pair(matrix.terms, number), return_inverse=True)
        terms, numbers = unpair(keys)
        once = matrix._replace(terms=places, counts=np.ones(places.size, np.int64))  # each pair of term and count is added as a whole
        add_weighted_sums(scores, once, keys.size, lambda some: self.term_scores(terms[some], counts[numbers[some]]))
        lengths = matrix.lengths
        scores -= log_rise(np.full((lengths.size, 1), self.concentration), lengths)
        return scores, lengths

    def term_scores(self, terms: Whole, amounts: Numbers) -> Floats:
        """Return log Γ(s·φ_jk + n) − log Γ(s·φ_jk), shape (n, n_classes), in nats."""
        return log_rise(self.concentration * self.language_models.probability(terms), amounts)

    def likelihood_per_token(self, scores: Floats, lengths: Whole, unknown: Whole) -> ScoresAndTokens:
        """Return log p(d | C_k) / n_d under the best class; each unknown token counts as one of a term of its own that no document held."""
        best, grown = scores.argmax(axis=1), lengths.astype(np.float64) + self.concentration
        unseen = np.log(self.concentration) + self.language_models.log_unseen()[best]
        of_unknown = times_log(unknown, unseen) - log_rise(grown[:, np.newaxis], unknown)[:, 0]
        return self.per_token(scores, best, of_unknown, lengths + unknown)
