"""Words as they stand in a text, where their stem is another: what people want to read in place of a stem."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbtext.text.analyzer import Analyzer

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    import numpy as np
    from numpy.typing import NDArray


class InflectedWords(Analyzer):
    """What a text means in words that their stem is not, without stop words."""

    def __init__(
        self,
        stop_words: Collection[str],
        stem: Callable[[list[str]], list[str]],
        term_ids: Callable[[list[str]], Sequence[int] | NDArray[np.int64]],
    ) -> None:
        super().__init__(stop_words, list, term_ids)
        self._stem_of = stem

    def terms(self, forms: list[str]) -> tuple[list[str], list[int]]:
        """These words of some surface forms one after the other, and how many each form has."""
        words, sizes = super().terms(forms)
        stems = iter(zip(words, self._stem_of(words), strict=True))
        rows = [[word for word, stem in (next(stems) for _ in range(size)) if word != stem] for size in sizes]
        return [word for row in rows for word in row], [len(row) for row in rows]
