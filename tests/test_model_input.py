"""What `TextClassifier` takes and refuses, and what stays as it was when it does: `model/text_classifier.py` and `model/python_input.py`."""

from __future__ import annotations

import copy
import pickle
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer

import nbtext as package
from nbtext import DecisionRule, TextClassifier
from nbtext.errors import UsageError
from nbtext.model.operations import relabel_class
from tests.textbook import model_of_china

if TYPE_CHECKING:
    from pathlib import Path

TEXTS, LABELS = ["purr purr", "bark", "purr mouse", "fetch bark"], ["cats", "dogs", "cats", "dogs"]


@pytest.mark.parametrize("label", ["", "\udc80", None])
def test_labels_that_cannot_be_stored_are_refused(label: Any) -> None:
    with pytest.raises(UsageError, match="cannot be a label"):
        TextClassifier().fit(["purr", "bark"], ["cats", label])


@pytest.mark.parametrize(
    ("texts", "labels", "message"),
    [
        (["a", "b"], ["x"], "fewer labels"),
        (["a"], ["x", "y"], "more labels"),
        ([], [], "no texts"),
        ("purr", ["x", "x", "x", "x"], "one text"),
        (b"purr", ["x"], "one text"),
    ],
)
def test_texts_and_labels_must_have_the_same_length(
    texts: Any, labels: list[str], message: str
) -> None:
    for call in (
        TextClassifier().fit,
        TextClassifier().partial_fit,
        TextClassifier().fit(TEXTS, LABELS).score,
    ):
        with pytest.raises(UsageError, match=message):
            call(texts, labels)


def test_single_text_instead_of_a_list_is_refused() -> None:
    with pytest.raises(UsageError, match="list"):
        TextClassifier().fit(TEXTS, LABELS).predict("purr").tolist()


def test_impossible_document_has_no_prediction() -> None:
    model = TextClassifier(estimate="ml").fit(TEXTS, LABELS)
    assert model.predict(["purr bark", "mouse"]).tolist() == [None, "cats"]


def test_new_class_without_a_prior_is_refused_and_the_model_unchanged() -> None:
    model = TextClassifier(class_prior={"cats": 1, "dogs": 3}).fit(TEXTS, LABELS)
    before = model.fitted.statistics
    with pytest.raises(UsageError, match="fish"):
        model.partial_fit(["swim"], ["fish"])
    assert model.fitted.statistics == before
    with pytest.raises(UsageError, match="dogs"):
        model.set_params(class_prior={"cats": 1})
    assert model.predict(["purr"]).tolist() == ["cats"]
    assert model.get_params()["class_prior"] == {"cats": 1, "dogs": 3}


def test_set_params_of_counting_unfits_and_of_estimation_refits() -> None:
    model = TextClassifier().fit(TEXTS, LABELS)
    assert model.set_params(smoothing=3).fitted.parameters.smoothing == 3
    assert model.predict(["purr"]).tolist() == ["cats"]
    model.set_params(stemmer="none")
    with pytest.raises(UsageError, match="not trained"):
        model.predict(["purr"]).tolist()
    assert model.fit(TEXTS, LABELS).predict(["purr"]).tolist() == ["cats"]


@pytest.mark.parametrize("text", [None, float("nan"), 3, ["purr"]], ids=repr)
def test_values_that_are_not_text_are_refused(text: Any) -> None:
    """An empty cell of a table is None or NaN in Python; as str() writes it, it would be a word."""
    model = TextClassifier().fit(TEXTS, LABELS)
    for call in (
        lambda: TextClassifier().fit(["purr", text], ["cats", "dogs"]),
        lambda: model.predict([text]).tolist(),
    ):
        with pytest.raises(UsageError, match="is not a text"):
            call()
    with pytest.raises(UsageError, match="is not a text"):
        TextClassifier(categorical="colour").fit(
            [{"colour": "red", "text": text}, {"colour": "blue", "text": "purr"}], ["cats", "dogs"]
        )
    assert model.predict([""]).tolist() == ["cats"]


def test_trained_model_can_be_pickled_and_copied_before_and_after_predicting() -> None:
    """The counter that it keeps for answers holds a stemmer, which cannot be pickled."""
    model = TextClassifier().fit(TEXTS, LABELS)
    for _ in range(2):
        for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
            assert other.predict_proba(TEXTS).tolist() == model.predict_proba(TEXTS).tolist()
            assert other.partial_fit(["swim"], ["fish"]).classes == ["cats", "dogs", "fish"]
        assert model.classes == ["cats", "dogs"]


@pytest.mark.parametrize("prior", ["smoothed:1", {"cats": 1, "dogs": 3}], ids=str)
def test_class_prior_is_refused_by_complement(prior: Any) -> None:
    with pytest.raises(UsageError, match="class_prior cannot be used with classifier complement"):
        TextClassifier(classifier="complement", class_prior=prior).fit(TEXTS, LABELS)
    priorless = [
        TextClassifier(classifier="complement", class_prior=kind).fit(TEXTS, LABELS)
        for kind in ("empirical", "uniform")
    ]
    assert priorless[0].predict_proba(TEXTS).tolist() == priorless[1].predict_proba(TEXTS).tolist()


@pytest.mark.parametrize("given", [None, 3, float("nan"), ["purr"]], ids=repr)
def test_invalid_document_with_columns_is_reported_with_its_index(given: Any) -> None:
    model = TextClassifier(categorical="colour").fit(
        [{"text": "purr", "colour": "red"}, {"text": "bark"}], ["cats", "dogs"]
    )
    for call in (
        lambda: model.predict([{"text": "purr"}, given]).tolist(),
        lambda: model.score([{"text": "purr"}, given], ["cats", "dogs"]),
    ):
        with pytest.raises(
            UsageError,
            match=r"^texts\[1\]: .* is not a document; pass a mapping with the keys text, colour, or a text$",
        ):
            call()


@pytest.mark.parametrize(
    "labels",
    [[1, 0], [True, False], [2.5, -1.0], np.array([3, 12]), np.array([True, False])],
    ids=repr,
)
def test_labels_keep_their_type(labels: Any, tmp_path: Path) -> None:
    wanted = list(np.array(labels).tolist())
    model = TextClassifier().fit(["purr", "bark"], labels)
    model.save("model")
    loaded = TextClassifier.load("model")
    assert (
        loaded.partial_fit(["purr purr"], labels[:1])
        .forget(["purr purr"], labels[:1])
        .fitted.statistics
        == model.fitted.statistics
    )
    for each in (model, loaded, copy.copy(model)):
        assert [(answer, type(answer)) for answer in each.predict(["purr", "bark"]).tolist()] == [
            (label, type(label)) for label in wanted
        ]
        assert each.classes_.tolist() == sorted(wanted)
        with pytest.raises(UsageError, match=r"labels\[0\]: the label 'cat' is no"):
            each.partial_fit(["mew"], ["cat"])
    assert TextClassifier().fit(["purr", "bark"], labels).fit(TEXTS, LABELS).classes_.tolist() == [
        "cats",
        "dogs",
    ]


@pytest.mark.parametrize(
    "labels", [["cats", 1], [1, True], [None, "cats"], [float("nan"), 1.0], [1.5, 2]], ids=repr
)
def test_labels_of_mixed_or_missing_type_are_refused(labels: list[Any]) -> None:
    with pytest.raises(
        UsageError, match=r"use one type for all labels|labels are texts, numbers or booleans"
    ):
        TextClassifier().fit(["purr", "bark"], labels)


def test_non_numeric_new_class_turns_all_classes_into_texts() -> None:
    """As when files bring new classes to a model of numbers."""
    model = TextClassifier().fit(["purr", "bark"], [10, 9])
    assert model.learn(relabel_class(model, "9", "dogs").counts).classes_.tolist() == ["10", "dogs"]


def test_data_frames_are_accepted() -> None:
    frame = pd.DataFrame({"text": TEXTS, "weight": [4.0, None, 30.0, 25.0]})
    plain = TextClassifier().fit(TEXTS, LABELS)
    for texts in (frame["text"], frame[["text"]], frame[["text"]].to_numpy()):
        assert (
            TextClassifier().fit(texts, pd.Series(LABELS)).fitted.statistics
            == plain.fitted.statistics
        )
        assert plain.predict(texts).tolist() == plain.predict(TEXTS).tolist()
    with pytest.raises(UsageError, match="there are 2 columns where one of texts is wanted"):
        plain.predict(frame)
    weighed = TextClassifier(numeric=["weight"]).fit(frame, LABELS)
    rows = [
        {name: value for name, value in row.items() if not pd.isna(value)}
        for row in frame.to_dict("records")
    ]
    assert (
        weighed.fitted.statistics
        == TextClassifier(numeric="weight").fit(rows, LABELS).fitted.statistics
    )


def test_invalid_input_is_reported_with_its_index() -> None:
    with pytest.raises(UsageError, match=r"^texts\[2\]: None is not a text"):
        TextClassifier().fit(TEXTS, LABELS).predict(["purr", "bark", None]).tolist()  # type: ignore[list-item]
    with pytest.raises(
        UsageError, match=r"^texts\[1\]: the value 'heavy' at 'weight' is not a number"
    ):
        TextClassifier(numeric="weight").fit([{"weight": 1}, {"weight": "heavy"}], ["cats", "dogs"])


def test_predicting_an_empty_list_gives_an_empty_result() -> None:
    assert model_of_china().predict([]).tolist() == []
    assert model_of_china().predict_proba([]).shape == (0, 2)


def test_invalid_unicode_is_ignored() -> None:
    model = model_of_china()
    assert (
        model.predict(["tokyo \udc80 japan", b"tokyo \xff\xfe japan"]).tolist()
        == model.predict(["tokyo japan"] * 2).tolist()
    )


def test_failed_set_params_changes_nothing() -> None:
    model = TextClassifier(top=5)
    with pytest.raises(UsageError, match="min_df"):
        model.set_params(top=7, min_df=0)
    assert model.get_params()["top"] == 5


def test_public_names_are_attributes_of_the_package() -> None:
    for name in package.__all__:
        assert name == "__version__" or getattr(package, name).__name__ == name
    assert package.UsageError is UsageError
    with pytest.raises(AttributeError, match="no attribute 'reason'"):
        package.reason  # noqa: B018


@pytest.mark.parametrize(
    "labels",
    [
        np.array([[1], [0], [1], [0]]),
        np.array([["cats"], ["dogs"], ["cats"], ["dogs"]]),
        np.array([["cats"], ["dogs"], ["cats"], ["dogs"]], object),
        pd.DataFrame({"label": [1, 0, 1, 0]}),
        pd.DataFrame({"label": pd.Categorical(LABELS)}),
        csr_matrix([[1], [0], [1], [0]]),
    ],
    ids=lambda labels: f"{type(labels).__name__} of {getattr(labels, 'dtype', 'columns')}",
)
def test_single_column_of_labels_is_accepted(labels: Any) -> None:
    column = (labels.toarray() if hasattr(labels, "toarray") else np.asarray(labels))[:, 0].tolist()
    model = TextClassifier().fit(TEXTS, labels)
    assert model.predict(TEXTS).tolist() == column
    assert model.score(TEXTS, labels) == 1


def test_word_counts_are_refused_as_texts() -> None:
    counts = CountVectorizer().fit_transform(TEXTS)
    model = TextClassifier().fit(TEXTS, LABELS)
    for given in (
        counts,
        counts.tocoo(),
        counts[:, :1],
        counts.toarray(),
        counts.toarray() / 2,
        pd.DataFrame(counts.toarray()),
    ):
        for call in (lambda: TextClassifier().fit(given, LABELS), lambda: model.predict(given)):  # noqa: B023 - called at once
            with pytest.raises(
                UsageError,
                match=r"^nbtext counts words itself; pass texts; remove CountVectorizer",
            ):
                call()
    with pytest.raises(
        UsageError, match=r"^texts\[0\]: \[0, 0.* is not a text; .*; nbtext counts words itself$"
    ):
        model.predict(counts.toarray().tolist())
    assert model.predict(pd.DataFrame({"text": []})).tolist() == []


@pytest.mark.parametrize(
    "given",
    ["purr", b"purr", np.str_("purr"), np.array("purr"), None, 3, {"text": ["purr"]}, {"purr"}],
    ids=repr,
)
def test_arguments_that_are_not_lists_are_refused_in_one_line(given: Any) -> None:
    model = TextClassifier().fit(TEXTS, LABELS)
    for call in (
        lambda: model.predict(given),
        lambda: model.score(given, LABELS),
        lambda: TextClassifier().fit(given, LABELS),
    ):
        with pytest.raises(
            UsageError,
            match=r"^texts are a list, an array or a column, not .*; put one text into a list$",
        ):
            call()
    with pytest.raises(
        UsageError,
        match=r"^labels are a list, an array or a column, not .*; put one label into a list$",
    ):
        TextClassifier().fit(TEXTS, given)


def test_missing_label_is_reported_with_its_index() -> None:
    for labels in (
        pd.Series(["cats", None, "cats", "dogs"]),
        pd.Series([1, None, 1, 0], dtype="Int64"),
        np.array([1.0, np.nan, 1, 0]),
    ):
        with pytest.raises(UsageError, match=r"^labels\[1\]: .*(nan|<NA>).* cannot be a label"):
            TextClassifier().fit(TEXTS, labels)


def test_missing_columns_of_a_frame_are_refused_and_others_read() -> None:
    frame = pd.DataFrame({"text": TEXTS, "channel": ["a", "b", "a", "b"]})
    model = TextClassifier(categorical="channel").fit(frame, LABELS)
    assert model.score(frame, LABELS) == 1
    with pytest.raises(
        UsageError,
        match=r"no column is called 'chanel' \(did you mean 'channel'\?\); there are text, channel",
    ):
        TextClassifier(categorical="chanel").fit(frame, LABELS)
    with pytest.raises(UsageError, match="no column is called 'channel'"):
        model.predict(frame[["text"]].assign(other=1))
    with pytest.raises(UsageError, match=r"no column is called 'text'; there are message, channel"):
        TextClassifier(categorical="channel").fit(frame.rename(columns={"text": "message"}), LABELS)
    unread = frame.assign(place=[3, 4, 5, 6])
    for call in (
        lambda: TextClassifier(categorical="channel").fit(unread, LABELS),
        lambda: model.score(unread, LABELS),
    ):
        with pytest.warns(
            UserWarning,
            match="unused columns of the data frame: place; the column of the texts is called 'text'",
        ) as seen:
            call()
        assert len(seen) == 1
    numbered = frame.rename(columns={"channel": 3})
    found = TextClassifier(categorical="3").fit(numbered, LABELS).predict_proba(numbered)
    assert found.tolist() == model.predict_proba(frame).tolist()


def test_missing_value_of_a_column_is_not_a_category() -> None:
    missing = [None, float("nan"), pd.NA, pd.NaT]
    rows = [{"colour": colour, "text": "purr"} for colour in ["red", *missing]]
    model = TextClassifier(categorical="colour").fit(rows, ["a", "a", "b", "b", "b"])
    assert len({str(model.predict_proba([row]).tolist()) for row in rows[1:]}) == 1
    assert [
        term
        for term in model.fitted.statistics.vocabulary.list_single_terms()
        if "NA" in term or "NaT" in term
    ] == []


def test_stop_words_may_be_a_list_or_none(tmp_path: Path) -> None:
    texts = ["the Purr sea", "the bark sea"] * 6
    (tmp_path / "stop.txt").write_text("The sea")
    wanted = TextClassifier(stop_words=str(tmp_path / "stop.txt")).fit(texts, ["a", "b"] * 6)
    for given in (["The", "sea"], ("sea", "The"), {"sea", "The"}, frozenset({"The", "sea"})):
        model = TextClassifier(stop_words=given).fit(texts, ["a", "b"] * 6)
        assert model.fitted.statistics.vocabulary.list_single_terms() == ["bark", "purr"]
        assert model.predict_proba(texts).tolist() == wanted.predict_proba(texts).tolist()
        model.save("model")
        assert TextClassifier.load("model").get_params()["stop_words"] == ("The", "sea")
        assert clone(TextClassifier.load("model")).get_params() == model.get_params()
    nothing: Any
    for nothing in (None, [], "none"):
        assert TextClassifier(stop_words=nothing).get_params()["stop_words"] == "none"
    with pytest.raises(UsageError, match="stop_words must be"):
        TextClassifier(stop_words=[3])  # type: ignore[list-item]


def test_class_weights_are_weights_of_their_documents(tmp_path: Path) -> None:
    texts, labels = TEXTS * 3, [{"cats": 1, "dogs": 0}[label] for label in LABELS * 3]
    weighed = TextClassifier(class_weight={1: 2.5}).fit(texts, labels)
    assert clone(weighed).get_params() == weighed.get_params()
    alike = TextClassifier().fit(
        texts, labels, sample_weight=[2.5 if label else 1 for label in labels]
    )
    np.testing.assert_allclose(
        weighed.joint_log_likelihood(texts), alike.joint_log_likelihood(texts)
    )
    assert weighed.fitted.classifier.prior.tolist() == pytest.approx([1 / 3.5, 2.5 / 3.5])
    weighed.save("model")
    assert (
        TextClassifier.load("model").predict_proba(texts).tolist()
        == weighed.predict_proba(texts).tolist()
    )
    with pytest.raises(
        UsageError, match=r"class_weight: the model has no class 'cat' \(did you mean 'cats'\?\)"
    ):
        TextClassifier(class_weight={"cat": 2}).fit(TEXTS, LABELS)
    wrong: Any
    for wrong in ({"cats": -1}, {"cats": 0}, {}, "balance", {"cats": "two"}):
        with pytest.raises(UsageError, match="class_weight must be balanced or a number"):
            TextClassifier(class_weight=wrong)


def test_answer_accepts_a_minimum_probability() -> None:
    model = TextClassifier().fit(TEXTS, LABELS)
    by_rule = model.predict_records(["purr", "purr bark"], DecisionRule(min_probability=0.6))
    assert model.predict_records(["purr", "purr bark"], min_probability=0.6) == by_rule
    assert {answer.abstained for answer in model.predict_records(TEXTS, min_probability=1)} == {
        "low-probability"
    }
    for wrong in (60, -0.1, float("nan")):
        with pytest.raises(UsageError, match="min_probability must be from 0 to 1"):
            model.predict_records(TEXTS, min_probability=wrong)
