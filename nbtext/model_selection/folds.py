"""Which documents a model is tested on, and which it is trained on for that: k folds, stratified, grouped or ordered by time.

Sources: R. Kohavi, A study of cross-validation and bootstrap for accuracy estimation and model selection (1995), for stratified folds;
L. Tashman, Out-of-sample tests of forecasting accuracy (2000), for the origin that rolls on through time.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from nbtext.errors import UsageError, counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    Whole = NDArray[np.int64]
    Mask = NDArray[np.bool_]

NEVER_TESTED = -1
"""In place of a fold's number: documents before the first fold, which models are only trained on."""


@dataclass(frozen=True, eq=False)
class Folds:
    """Every document's fold, shape (n_docs,), 0 to n_folds − 1 or `NEVER_TESTED`."""

    numbers: Whole
    n_folds: int
    ordered: bool = False
    """Whether a fold is tested on models of the folds before it only, not of all others."""

    def __iter__(self) -> Iterator[tuple[Mask, Mask]]:
        """For each fold the documents that models are trained on and those that they are tested on, masks of shape (n_docs,)."""
        for fold in range(self.n_folds):
            yield (self.numbers < fold if self.ordered else self.numbers != fold), self.numbers == fold


def stratified_folds(classes: Whole, n_folds: int, generator: np.random.Generator) -> Folds:
    """Folds drawn at random in which every class is spread evenly: sizes of folds differ by 1 at most, in all and in each class.

    Raises `UsageError` if there are fewer documents than folds.
    """
    _check_folds(n_folds, classes.size, "document")
    shuffled = generator.permutation(classes.size)
    dealt = shuffled[np.argsort(classes[shuffled], kind="stable")]
    numbers = np.empty(classes.size, np.int64)
    numbers[dealt] = np.arange(classes.size) % n_folds
    return Folds(numbers, n_folds)


def grouped_folds(groups: Whole, n_folds: int, generator: np.random.Generator) -> Folds:
    """Folds that no group of documents is split by; the largest group first, each goes to the fold with fewest documents so far.

    ``groups`` are numbers from 0, shape (n_docs,); equally large ones come in random order. Raises `UsageError` if there are fewer groups
    than folds.
    """
    sizes = np.bincount(groups)
    _check_folds(n_folds, int(np.count_nonzero(sizes)), "group")
    shuffled = generator.permutation(sizes.size)
    order = shuffled[np.argsort(-sizes[shuffled], kind="stable")]
    folds = [(0, fold) for fold in range(n_folds)]
    fold_of_group = np.zeros(sizes.size, np.int64)
    for group, size in zip(order.tolist(), sizes[order].tolist(), strict=True):
        documents, fold = folds[0]
        heapq.heapreplace(folds, (documents + size, fold))
        fold_of_group[group] = fold
    return Folds(fold_of_group[groups], n_folds)


def ordered_folds(times: NDArray[Any], n_folds: int) -> Folds:
    """Stretches of time of about equally many documents; the first is only trained on, each other is tested on models of all before it.

    ``times`` has shape (n_docs,). Documents of the same time are never on both sides. Raises `UsageError` if there are not at least
    ``n_folds`` + 1 different times.
    """
    distinct, place, sizes = np.unique(times, return_inverse=True, return_counts=True)
    _check_folds(n_folds, distinct.size - 1, "time", " after the first")
    before = np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes)))
    begins = np.empty(n_folds, np.int64)
    begin = 0
    for fold in range(n_folds):
        wanted = times.size * (fold + 1) / (n_folds + 1)
        nearest = int(np.abs(before - wanted).argmin())
        begin = min(max(nearest, begin + 1), distinct.size - (n_folds - fold))
        begins[fold] = begin
    return Folds(np.searchsorted(begins, place, side="right") + NEVER_TESTED, n_folds, ordered=True)


def times_of(values: Sequence[str], names: Sequence[str]) -> NDArray[Any]:
    """Values of a column in an order of time: numbers if all of them are, else text, as dates and times of ISO 8601 in one zone sort.

    ``names`` are those of the documents. Raises `UsageError` for a document without a value.
    """
    for value, name in zip(values, names, strict=True):
        if not value.strip():
            raise UsageError(f"document {name} has no time", hint="leave it out, or choose another --time-column")
    stripped = [value.strip() for value in values]
    for kind in (int, float):
        try:
            numbers = [kind(value) for value in stripped]
        except ValueError:
            continue
        if all(abs(number) < float("inf") for number in numbers):  # nan is not
            return ranks(numbers)
    return ranks(stripped)


def ranks(values: Sequence[Any]) -> Whole:
    """The place of each value among the distinct ones in ascending order, shape (n,): numbers of groups."""
    place = {value: number for number, value in enumerate(sorted(set(values)))}
    return np.array([place[value] for value in values], np.int64)


def _check_folds(n_folds: int, most: int, noun: str, rest: str = "") -> None:
    if n_folds > most:
        raise UsageError(
            f"there {'is' if most == 1 else 'are'} only {counted(most, noun)}{rest}, too few for {counted(n_folds, 'fold')}",
            hint="lower --folds",
        )
