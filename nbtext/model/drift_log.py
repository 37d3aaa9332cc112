"""One line for each run of `nbtext classify --drift`: what its documents looked like beside those of training."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from nbtext.decision import minimum_error
from nbtext.errors import UsageError
from nbtext.typicality import ANSWERS, FIGURES, Profile, shares_apart

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from nbtext.model.answers import ScoredBlock
    from nbtext.model.text_classifier import TextClassifier


class DriftWatch:
    """Takes note of the documents that go by. Raises `UsageError` for a model that does not know what its training documents looked like.

    ``path`` is where the model is: by that `nbtext.model.drift_history` tells runs of different models in one log.
    """

    def __init__(self, model: TextClassifier, path: str | None = None) -> None:
        if model.learnt.profile is None:
            raise UsageError("the model does not know what training looked like", hint="train with calibration and a --sample above 0")
        self._model, self._training = model, model.learnt.profile
        self._path = None if path is None else os.path.abspath(path)  # noqa: PTH100 - links not followed: they are set anew
        self._parts: list[tuple[np.ndarray[Any, Any], ...]] = []

    def watched(self, blocks: Iterable[ScoredBlock]) -> Iterator[ScoredBlock]:
        """The scored documents as they go by; those that could not be read are left out."""
        for block in blocks:
            read = np.array([document.problem is None for document in block.documents], np.bool_)
            tokens = block.lengths + block.unknown
            per_token = self._model.classifier.likelihood_per_token(block.scores, block.lengths, block.unknown)
            likelihood = np.full(len(tokens), np.nan) if per_token is None else per_token[0]
            columns = (tokens, block.unknown, likelihood, minimum_error(block.log_posterior))
            self._parts.append(tuple(column[read] for column in columns))
            yield block

    def line(self) -> dict[str, Any] | None:
        """What went by, for a line of the log; None if no document did that could be read, which is no news of any."""
        classes, training = self._model.classes_, self._training
        empty = (np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0), np.empty(0, np.int64))
        tokens, unknown, likelihood, answers = (np.concatenate(column) for column in zip(empty, *self._parts, strict=True))
        if not tokens.size:
            return None
        run = Profile.of(tokens, unknown, likelihood, answers, len(classes))
        counts = {
            label: [of_run, of_training]
            for label, of_run, of_training in zip(classes, run.answers.tolist(), training.answers.tolist(), strict=True)
            if of_run or of_training
        }
        return {
            "time": datetime.now(UTC).isoformat(timespec="seconds"),
            "model": self._path,
            "documents": len(tokens),
            **{
                name: {
                    "run": list(run.figures[name]),
                    "training": list(training.figures[name]),
                    "distance": run.figures[name].distance(training.figures[name]),
                }
                for name in FIGURES
            },
            ANSWERS: {"counts": counts, "distance": shares_apart(run.answers, training.answers)},
        }
