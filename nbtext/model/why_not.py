"""What would have to be otherwise in a document for another class to be its answer: the fewest words away, or the fewest terms more.

The answer is the most probable class; costs and thresholds have no part in it, and calibration does not change the order of classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nbtext.decision import NO_ANSWER, minimum_error
from nbtext.errors import UsageError
from nbtext.model.addition import addition
from nbtext.model.answers import IMPOSSIBLE, scored
from nbtext.model.changed_texts import ChangedTexts
from nbtext.model.explanation import class_number
from nbtext.model.located import WordLocator
from nbtext.model.removal import removal

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from nbtext.corpus.document import Document
    from nbtext.errors import DocumentError
    from nbtext.model.addition import Addition
    from nbtext.model.answers import ScoredBlock
    from nbtext.model.removal import Removal
    from nbtext.model.text_classifier import TextClassifier

ANSWERED_SO = "answered-so"
"""The class is the answer already."""
NO_PRIOR = "no-prior"
"""The class has the prior probability 0, whatever a document says."""


class WhyNot(NamedTuple):
    """A document's answer, the class that was wanted, and what would make it the answer."""

    id: str
    label: str | None
    """The answer; None where there is none."""
    probability: float | None
    wanted: str
    wanted_probability: float | None
    why: str | None = None
    """Why nothing was looked for; None where it was."""
    removal: Removal | None = None
    addition: Addition | None = None
    problem: DocumentError | None = None


class WhyNotFinder:
    """Looks for what would make a class the answer; raises `UsageError` if the model does not have it, or has no other."""

    def __init__(self, model: TextClassifier, wanted: str) -> None:
        if len(model.classes_) < 2:
            raise UsageError("the model has a single class: it is always the answer")
        self._model, self._wanted, self._number = model, wanted, class_number(model, wanted)
        self._locator = WordLocator(model)

    def find(self, documents: Iterable[Document]) -> Iterator[WhyNot]:
        """One for each document, in order."""
        for block in scored(self._model, documents):
            answers = minimum_error(block.log_posterior)
            for row, document in enumerate(block.documents):
                if document.problem is not None:
                    yield WhyNot(document.id, None, None, self._wanted, None, problem=document.problem)
                else:
                    yield self._of_document(block, row, int(answers[row]))

    def _of_document(self, block: ScoredBlock, row: int, answer: int) -> WhyNot:
        document = block.documents[row]
        if answer == NO_ANSWER:
            found = WhyNot(document.id, None, None, self._wanted, None, IMPOSSIBLE)
        else:
            posterior = np.exp(block.log_posterior[row])
            label = self._model.classes_[answer]
            found = WhyNot(document.id, label, float(posterior[answer]), self._wanted, float(posterior[self._number]))
        if self._model.prior[self._number] == 0:
            return found._replace(why=NO_PRIOR)
        if answer == self._number:
            return found._replace(why=ANSWERED_SO)
        changed = ChangedTexts(self._model, self._locator, document.text, self._number)
        return found._replace(why=None, removal=removal(changed), addition=addition(changed))
