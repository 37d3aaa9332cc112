from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given
from hypothesis import strategies as st

from nbtext import TextClassifier
from nbtext.errors import UsageError
from nbtext.model.change import merged, pruned
from tests.budget import examples
from tests.building import plain
from tests.changing import ADDITIVE, Corpus, corpora, fitted, parted, saved

if TYPE_CHECKING:
    from pathlib import Path

FEW = examples(3, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.mark.parametrize("setting", [s for s in ADDITIVE.values() if "char_ngrams" not in s and "ngrams" not in s], ids=str)
@FEW
@given(corpus=corpora, more=corpora, least=st.integers(1, 3), share=st.sampled_from([0.5, 1.0]))
def test_a_pruned_model_is_that_of_documents_which_hold_no_other_terms(
    setting: dict[str, Any], corpus: Corpus, more: Corpus, least: int, share: float, tmp_path: Path
) -> None:
    """With words as terms: the pruned model, and what it learns and forgets afterwards, is that of the other words blotted out."""
    setting = {**setting, "stop_words": "none", "stemmer": "none", "sample": 0 if setting.get("sample") == 0 else 4096}
    held = Counter(word for _, text in corpus for word in set(text.split()))
    stays = {word for word, number in held.items() if least <= number <= share * len(corpus)}
    assume(stays)

    def blotted(labelled: Corpus) -> Corpus:
        return [(label, " ".join(word for word in text.split() if word in stays)) for label, text in labelled]

    model = pruned(fitted(setting, corpus), least, share)
    assert plain(model.statistics) == plain(fitted(setting, blotted(corpus)).statistics)
    model.partial_fit(*parted(more))
    both = fitted(setting, blotted(corpus + more))
    assert plain(model.statistics) == plain(both.statistics)
    asked = ["ant bee", "cat", "hen running unknown"]
    if setting.get("classifier") != "dirichlet-multinomial":  # which learns from the sample, whose order is that of hashes of whole texts
        np.testing.assert_allclose(model.joint_log_likelihood(asked), both.joint_log_likelihood(asked), rtol=1e-9)
    model.forget(*parted(more))
    assert plain(model.statistics) == plain(fitted(setting, blotted(corpus)).statistics)
    path = tmp_path / "m"
    model.save(str(path))
    loaded = TextClassifier.load(str(path))
    assert loaded.counts.is_closed
    assert saved(loaded, tmp_path) == path.read_bytes()


def test_a_pruned_model_learns_no_new_terms_and_new_classes_by_those_it_has() -> None:
    model = pruned(fitted({}, [("x", "ant bee"), ("x", "ant"), ("y", "bee fox")]), 2, 1.0)
    model.partial_fit(["gnu bee", "fox"], ["z", "z"])
    assert plain(model.statistics).occurrences == {("x", "ant"): 2, ("x", "bee"): 1, ("y", "bee"): 1, ("z", "bee"): 1}
    assert model.classes_ == ["x", "y", "z"]
    assert not model.fit(["new words"], ["x"]).counts.is_closed


def test_what_ngrams_are_made_of_stays() -> None:
    corpus = [("x", "red ant"), ("x", "red ant"), ("y", "red bee"), ("y", "red")]
    model = pruned(fitted({"ngrams": 2}, corpus), 2, 0.5)
    assert {term for _, term in plain(model.statistics).occurrences} == {"red", "ant", "red ant"}


def test_of_pruned_models_merged_the_common_terms_stay() -> None:
    first, second = [("x", "ant bee cat"), ("x", "ant bee")], [("y", "bee cat"), ("y", "bee cat ant")]
    models = [pruned(fitted({}, corpus), 2, 1.0) for corpus in (first, second)]
    for whole in (merged(models, "ab"), merged(models[::-1], "ba")):
        assert plain(whole.statistics).occurrences == {("x", "bee"): 2, ("y", "bee"): 2}
        assert whole.counts.is_closed
    with_open = merged([fitted({}, first), models[1]], "ab")
    assert plain(with_open.statistics).occurrences == {("x", "bee"): 2, ("x", "cat"): 1, ("y", "bee"): 2, ("y", "cat"): 2}


def test_nothing_can_be_pruned_away() -> None:
    with pytest.raises(UsageError, match="none of the 2 terms is left; lower --min-df or raise --max-df"):
        pruned(fitted({}, [("x", "ant bee")]), 2, 1.0)
