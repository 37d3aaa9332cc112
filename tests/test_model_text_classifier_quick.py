"""Quick changes of a model: the counts of an exact change, and the choices of the last training."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from nbtext import TextClassifier
from nbtext.errors import UsageError
from nbtext.model.training import fit_parameters
from nbtext.ragged import take_known
from tests.model_changes import ADDITIVE, NOT_ADDITIVE, Corpus, corpora, fitted, saved
from tests.models import split_labelled
from tests.profiles import examples

if TYPE_CHECKING:
    from pathlib import Path

    from nbtext.counts.corpus_counts import CorpusCounts
    from nbtext.counts.documents import DocumentSample

KINDS = {
    **ADDITIVE,
    "frequent terms": {"min_df": 2, "max_df": 0.9},
    "balanced": {"class_weight": "balanced"},
    "not calibrated": {"calibration": "none"},
}
EVERY = pytest.mark.parametrize("setting", KINDS.values(), ids=list(KINDS))
FEW = examples(2, suppress_health_check=[HealthCheck.function_scoped_fixture])

LABEL_SETS = [("cat", "pet"), ("dog", "pet"), (), ("bird",), ("bird", "pet"), ("cat",)]
"""Labels of documents, repeated in this order."""

NAMES = ("ant", "bee", "cat", "dog", "eel", "fox")


def train(setting: dict[str, Any], corpus: Corpus, folder: Path) -> TextClassifier:
    """Return a loaded model. With limits of frequency, the model has documents that keep terms."""
    if "min_df" in setting:
        corpus = [("x", "ant bee"), ("y", "ant eel"), ("z", "bee eel"), *corpus]
    saved(fitted(setting, corpus), folder)
    return TextClassifier.load(str(folder / "saved"))


def reload(model: TextClassifier, folder: Path) -> TextClassifier:
    saved(model, folder)
    return TextClassifier.load(str(folder / "saved"))


@EVERY
@FEW
@given(corpus=corpora, more=corpora, size=st.sampled_from([4096, 3]))
def test_quick_update_counts_exactly_and_the_next_choice_equals_training(
    setting: dict[str, Any], corpus: Corpus, more: Corpus, size: int, tmp_path: Path
) -> None:
    setting = {"keep_documents": size, **setting}
    start = train(setting, corpus, tmp_path)
    before = start.fitted.parameters
    exact = copy(start).partial_fit(*split_labelled(more))
    quick = reload(copy(start).partial_fit(*split_labelled(more), quick=True), tmp_path)
    assert quick.counts.table == exact.counts.table
    after = quick.fitted.parameters
    assert after.unseen is not None
    assert after.unseen.documents == len(more)
    assert (after.smoothing, after.choices) == (before.smoothing, before.choices)
    assert after.calibration.scale == before.calibration.scale
    assert after.calibration.exponent == before.calibration.exponent
    assert after.classifier_arrays.keys() == before.classifier_arrays.keys()
    for name, array in before.classifier_arrays.items():
        assert np.array_equal(array, after.classifier_arrays[name])
    assert saved(quick.learn(), tmp_path) == saved(exact, tmp_path)


@EVERY
@FEW
@given(corpus=corpora, more=corpora, size=st.sampled_from([4096, 14]))
def test_quick_forget_of_the_same_documents_gives_the_bytes_before(
    setting: dict[str, Any], corpus: Corpus, more: Corpus, size: int, tmp_path: Path
) -> None:
    setting = {"keep_documents": size, **setting}
    model = train(setting, corpus, tmp_path)
    before = saved(model, tmp_path)
    for labelled in (more[:1], more[1:]):
        if labelled:
            model.partial_fit(*split_labelled(labelled), quick=True)
            model = reload(model, tmp_path)
    for labelled in (more[1:], more[:1]):
        if labelled:
            model.forget(*split_labelled(labelled), quick=True)
            model = reload(model, tmp_path)
    assert model.fitted.parameters.unseen is None
    assert saved(model, tmp_path) == before


@EVERY
@FEW
@given(kept=corpora, gone=corpora)
def test_quick_forget_counts_exactly_and_can_be_saved(
    setting: dict[str, Any], kept: Corpus, gone: Corpus, tmp_path: Path
) -> None:
    start = train(setting, kept + gone, tmp_path)
    exact = copy(start).forget(*split_labelled(gone))
    quick = reload(start.forget(*split_labelled(gone), quick=True), tmp_path)
    assert quick.counts.table == exact.counts.table
    assert quick.fitted.parameters.unseen is not None
    assert quick.predict_proba(["ant bee"]).shape == (1, len(exact.classes))
    assert saved(quick.learn(), tmp_path) == saved(exact, tmp_path)


def multi_label_corpus(n_documents: int) -> tuple[list[str], list[tuple[str, ...]]]:
    texts = [f"{NAMES[n % 6]} {NAMES[n % 5]} {NAMES[n % 4]}" for n in range(n_documents)]
    return texts, [LABEL_SETS[n % len(LABEL_SETS)] for n in range(n_documents)]


@pytest.mark.parametrize("calibration", ["auto", "none"])
def test_quick_update_of_label_sets_calibrates_old_labels_as_before(
    calibration: Any, tmp_path: Path
) -> None:
    texts, labels = multi_label_corpus(90)
    model = TextClassifier(calibration=calibration, stemmer="none").fit(texts, labels)
    before = saved(model, tmp_path)
    quick = TextClassifier.load(str(tmp_path / "saved"))
    quick.partial_fit(["gnu eel", "gnu"], [("cow", "pet"), ("cow",)], quick=True)
    quick = reload(quick, tmp_path)
    assert quick.classes == ["bird", "cat", "cow", "dog", "pet"]
    old, new = model.fitted.parameters.calibration, quick.fitted.parameters.calibration
    known: Any = [0, 1, 3, 4]
    assert np.array_equal(new.slopes[known], old.slopes)  # type: ignore[attr-defined]
    assert new.slopes[2] == 1  # type: ignore[attr-defined]
    if calibration == "auto":
        assert np.array_equal(new.offsets[known], old.offsets)  # type: ignore[attr-defined]
    profile = quick.fitted.parameters.profile
    assert (profile is None) == (calibration == "none")
    if profile is not None:
        assert profile.predictions[2] == 0
    # Of the words, the new label follows from the counts alone.
    assert quick.predict_proba(["gnu gnu"])[0, 2] > 0.5
    exact = TextClassifier(calibration=calibration, stemmer="none")
    exact.fit([*texts, "gnu eel", "gnu"], [*labels, ("cow", "pet"), ("cow",)])
    assert saved(copy(quick).learn(), tmp_path) == saved(exact, tmp_path)
    quick.forget(["gnu eel", "gnu"], [("cow", "pet"), ("cow",)], quick=True)
    assert saved(quick, tmp_path) == before


def test_quick_update_of_columns_and_weights(tmp_path: Path) -> None:
    rows = [{"text": name, "colour": "red", "age": n} for n, name in enumerate(NAMES * 3)]
    labels = ["x", "y", "x"] * 6
    more = [{"text": "gnu", "colour": "blue", "age": 2.5}]
    given: dict[str, Any] = {"categorical": ["colour"], "numeric": ["age"]}
    model = TextClassifier(**given).fit(rows, labels)
    before = saved(model, tmp_path)
    quick = copy(model).partial_fit(more, ["z"], quick=True)
    quick = reload(quick, tmp_path)
    exact = TextClassifier(**given).fit(rows + more, [*labels, "z"])
    assert quick.fitted.statistics.moments is not None
    assert saved(copy(quick).learn(), tmp_path) == saved(exact, tmp_path)
    assert saved(quick.forget(more, ["z"], quick=True), tmp_path) == before

    weighted = TextClassifier().fit(NAMES, ["x", "y"] * 3)
    before = saved(weighted, tmp_path)
    weighted.partial_fit(["gnu"], ["x"], [0.25], quick=True)
    assert weighted.fitted.parameters.unseen is not None
    assert weighted.fitted.parameters.unseen.documents == 0.25
    assert saved(weighted.forget(["gnu"], ["x"], [0.25], quick=True), tmp_path) == before


def test_new_terms_are_used_unless_top_selected_the_terms() -> None:
    texts, labels = ["ant bee", "cat dog", "ant", "cat"], ["x", "y", "x", "y"]
    for top, used in ((None, True), (2, False)):
        model = TextClassifier(top=top, stemmer="none").fit(texts, labels)
        model.partial_fit(["gnu ant"], ["x"], quick=True)
        names = model.get_feature_names_out().tolist()
        assert ("gnu" in names) == used
        assert "ant" in names


def test_quick_change_gives_the_classifier_that_training_makes_with_these_choices() -> None:
    """The slow way: fit all parameters again, with the pseudo-count as if the user had set it."""
    texts = [f"{NAMES[n % 6]} {NAMES[n % 5]} the" for n in range(80)]
    labels = ["xy"[n % 2] for n in range(80)]
    model = TextClassifier(calibration="none").fit(texts, labels)
    model.partial_fit(["ant gnu the"], ["y"], quick=True)
    parameters = model.fitted.parameters
    settings = replace(model.settings, smoothing=parameters.smoothing)
    slow = fit_parameters(model.counts, settings, choices=parameters.choices)
    assert np.array_equal(slow.selected_terms, parameters.selected_terms)
    as_trained = replace(model.fitted, settings=settings, parameters=slow)
    matrix = model.fitted.count_texts([b"ant gnu the", b"bee"])
    assert np.array_equal(
        as_trained.score_counts(matrix).scores, model.fitted.score_counts(matrix).scores
    )


@pytest.mark.parametrize("setting", NOT_ADDITIVE.values(), ids=list(NOT_ADDITIVE))
def test_models_of_documents_are_refused(setting: dict[str, Any]) -> None:
    model = TextClassifier(**setting).fit(["ant bee", "cat dog", "ant", "cat"], ["x", "y"] * 2)
    with pytest.raises(UsageError, match="does not follow from sums of counts"):
        model.partial_fit(["gnu"], ["x"], quick=True)
    with pytest.raises(UsageError, match="does not follow from sums of counts"):
        model.forget(["ant bee"], ["x"], quick=True)


def test_first_label_sets_are_refused() -> None:
    model = TextClassifier().fit(["ant bee", "cat dog"], ["x", "y"])
    added = TextClassifier().fit(["gnu"], [("x", "y")]).counts
    with pytest.raises(UsageError, match="first documents with several labels"):
        model.recount(model.counts + added, 1)
    assert model.fitted.parameters.unseen is None


def test_snapshots_do_not_change() -> None:
    model = TextClassifier().fit(["ant bee", "cat dog"], ["x", "y"])
    snapshot = model.fitted
    expected = snapshot.score([b"ant gnu"]).scores
    model.partial_fit(["gnu"], ["z"], quick=True)
    assert model.fitted is not snapshot
    assert np.array_equal(snapshot.score([b"ant gnu"]).scores, expected)


def sample_of(counts: CorpusCounts) -> DocumentSample:
    return counts.sample


@given(corpus=corpora, more=corpora, size=st.integers(0, 8))
def test_trimmed_sample_is_that_of_training(corpus: Corpus, more: Corpus, size: int) -> None:
    given = {"keep_documents": size}
    roomy = sample_of(fitted(given, corpus).counts.with_sample_room() + fitted(given, more).counts)
    whole = sample_of(fitted(given, corpus + more).counts)
    trimmed = roomy.trim()
    assert len(roomy.documents) <= 2 * size
    assert (trimmed.bound, trimmed.room) == (whole.bound, 1)
    assert trimmed.documents.hashes.tolist() == whole.documents.hashes.tolist()


def test_known_values_are_taken_from_an_empty_array() -> None:
    default = np.array([1.5, 2.5])
    assert take_known(np.empty(0), np.array([-1, -1]), default).tolist() == [1.5, 2.5]
