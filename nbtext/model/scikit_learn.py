"""What scikit-learn asks of a classifier beyond fitting and predicting. Only the method that only scikit-learn calls imports it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from sklearn.utils import Tags

    from nbtext.counts.corpus_counts import CorpusCounts


class Classes(list[str]):
    """The classes as a list that scikit-learn's scorers of two classes can take for the array that they expect."""

    def __eq__(self, other: object) -> Any:  # noqa: ANN401 - as numpy does it
        """Whether two lists are equal; compared with one label, for each class whether it is that one, shape (n_classes,)."""
        return np.array(self, object) == other if isinstance(other, str) else super().__eq__(other)

    __hash__ = None

    def tolist(self) -> list[str]:
        """A plain list."""
        return list(self)


class ForScikitLearn:
    """What scikit-learn wants to know of a classifier before it takes it for one."""

    _estimator_type = "classifier"
    """For scikit-learn before 1.6."""

    _counts: CorpusCounts | None

    def __sklearn_tags__(self) -> Tags:
        """A classifier of texts, or of mappings where there are attributes, that needs one label for each."""
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags

        return Tags(
            estimator_type="classifier",
            target_tags=TargetTags(required=True, one_d_labels=True),
            classifier_tags=ClassifierTags(),
            input_tags=InputTags(one_d_array=True, two_d_array=False, string=True, dict=True),
        )

    def __sklearn_is_fitted__(self) -> bool:
        """Whether there is something to answer from."""
        return self._counts is not None
