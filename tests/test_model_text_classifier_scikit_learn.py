"""`TextClassifier` among scikit-learn's tools."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone, is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import StackingClassifier, VotingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.metrics import f1_score, make_scorer, roc_auc_score
from sklearn.model_selection import (
    GridSearchCV,
    StratifiedKFold,
    cross_val_predict,
    cross_val_score,
)
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.validation import check_is_fitted

from nbtext import TextClassifier, UsageError
from tests.process import SERVICE_DESK, run, write

if TYPE_CHECKING:
    from collections.abc import Sequence

Corpus = tuple[list[str], list[str]]


def read(part: str) -> Corpus:
    files = sorted((SERVICE_DESK / part).glob("*/*"))
    return [file.read_text(encoding="utf-8") for file in files], [
        file.parent.name for file in files
    ]


@pytest.fixture(scope="module")
def desk() -> Corpus:
    return read("train")


@pytest.fixture(scope="module")
def two_classes(desk: Corpus) -> Corpus:
    pairs = [
        (text, label)
        for text, label in zip(*desk, strict=True)
        if label in {"taxes-and-fees", "waste-collection"}
    ]
    return [text for text, _ in pairs], [label for _, label in pairs]


def folds() -> StratifiedKFold:
    return StratifiedKFold(3, shuffle=True, random_state=0)


def lower(texts: Sequence[str]) -> list[str]:
    return [text.lower().replace("the", "") for text in texts]


def test_text_classifier_is_a_scikit_learn_classifier(desk: Corpus) -> None:
    model = TextClassifier()
    assert is_classifier(model)
    with pytest.raises(NotFittedError):
        check_is_fitted(model)
    check_is_fitted(model.fit(*desk))
    with pytest.raises(NotFittedError):
        check_is_fitted(clone(model))


def test_cross_val_score_equals_manual_folds(desk: Corpus) -> None:
    texts, labels = np.array(desk[0], object), np.array(desk[1])
    wanted = []
    for train, test in folds().split(texts, labels):
        model = TextClassifier().fit(texts[train].tolist(), labels[train].tolist())
        wanted.append(
            np.mean(np.array(model.predict(texts[test].tolist()).tolist()) == labels[test])
        )
    for given in (desk, (texts, labels)):
        assert cross_val_score(TextClassifier(), *given, cv=folds()).tolist() == pytest.approx(
            wanted
        )


def test_cross_val_predict_gives_labels_and_probabilities(desk: Corpus) -> None:
    found = cross_val_predict(TextClassifier(), *desk, cv=folds())
    assert found.shape == (len(desk[0]),)
    assert np.mean(found == np.array(desk[1])) > 0.4
    probabilities = cross_val_predict(TextClassifier(), *desk, cv=folds(), method="predict_proba")
    np.testing.assert_array_equal(np.unique(desk[1])[probabilities.argmax(axis=1)], found)


@pytest.mark.parametrize(
    "tool",
    [
        VotingClassifier(
            [("counts", TextClassifier()), ("log", TextClassifier(weighting="log"))], voting="soft"
        ),
        StackingClassifier(
            [("counts", TextClassifier()), ("log", TextClassifier(weighting="log"))], cv=3
        ),
        OneVsRestClassifier(TextClassifier()),
        CalibratedClassifierCV(TextClassifier(), cv=3),
    ],
    ids=lambda tool: type(tool).__name__,
)
def test_meta_estimators_that_encode_labels_work(tool: Any, desk: Corpus) -> None:
    texts, labels = np.array(desk[0], object)[::2], np.array(desk[1])[::2]
    tool.fit(texts, labels)
    assert tool.score(texts, labels) > 0.8
    assert set(tool.predict(texts)) <= set(labels)
    assert tool.predict_proba(texts[:3]).sum(axis=1).tolist() == pytest.approx([1] * 3)


def test_probability_columns_are_in_numeric_order_of_labels() -> None:
    texts, numbers = ["cat purr", "dog bark", "frog croak", "fish swim"], [10, 9, 100, -1]
    model = TextClassifier(smoothing=0.1).fit(texts, numbers)
    assert model.classes_.tolist() == [-1, 9, 10, 100]
    assert model.classes == ["-1", "10", "100", "9"]
    assert model.predict_proba(texts).argmax(axis=1).tolist() == [2, 1, 3, 0]
    assert (
        model.predict_log_proba(texts).argmax(axis=1).tolist()
        == model.joint_log_likelihood(texts).argmax(axis=1).tolist()
        == [2, 1, 3, 0]
    )
    assert model.predict(texts).tolist() == numbers
    assert model.score(texts, numbers) == 1
    assert model.score(texts, [10, 9, 100, 9], sample_weight=[1, 1, 1, 5]) == 3 / 8


def test_grid_search_over_smoothing_works(desk: Corpus) -> None:
    search = GridSearchCV(
        TextClassifier(), {"smoothing": [0.01, 0.5, 50.0]}, cv=folds(), scoring="neg_log_loss"
    ).fit(*desk)
    by_hand = [
        cross_val_score(
            TextClassifier(smoothing=a), *desk, cv=folds(), scoring="neg_log_loss"
        ).mean()
        for a in (0.01, 0.5, 50.0)
    ]
    assert search.cv_results_["mean_test_score"].tolist() == pytest.approx(by_hand)
    assert search.best_params_ == {"smoothing": (0.01, 0.5, 50.0)[int(np.argmax(by_hand))]}
    assert search.best_estimator_.fitted.statistics == TextClassifier().fit(*desk).fitted.statistics
    assert search.score(*desk) < 0


def test_pipeline_with_text_cleaning_works(desk: Corpus) -> None:
    pipeline = Pipeline([("clean", FunctionTransformer(lower)), ("classify", TextClassifier())])
    pipeline.fit(*desk)
    model = TextClassifier().fit(lower(desk[0]), desk[1])
    np.testing.assert_array_equal(
        pipeline.predict_proba(desk[0]), model.predict_proba(lower(desk[0]))
    )
    assert pipeline.predict(desk[0]).tolist() == model.predict(lower(desk[0])).tolist()
    assert pipeline.score(*desk) == model.score(lower(desk[0]), desk[1])
    assert pipeline.classes_.tolist() == model.classes
    search = GridSearchCV(
        pipeline, {"classify__smoothing": [0.1, 1.0], "classify__ngrams": [1, 2]}, cv=folds()
    ).fit(*desk)
    assert len(search.cv_results_["params"]) == 4
    assert "TextClassifier" in repr(pipeline)


@pytest.mark.parametrize(
    "scoring", ["roc_auc", "f1_macro", make_scorer(f1_score, pos_label="taxes-and-fees")], ids=str
)
def test_two_class_scorers_work(two_classes: Corpus, scoring: object) -> None:
    assert cross_val_score(TextClassifier(), *two_classes, cv=folds(), scoring=scoring).min() > 0.5


def test_roc_auc_uses_the_second_class(two_classes: Corpus) -> None:
    texts, labels = np.array(two_classes[0], object), np.array(two_classes[1])
    wanted = []
    for train, test in folds().split(texts, labels):
        model = TextClassifier().fit(texts[train], labels[train])
        wanted.append(
            roc_auc_score(
                labels[test] == "waste-collection", model.predict_proba(texts[test])[:, 1]
            )
        )
    assert cross_val_score(
        TextClassifier(), texts, labels, cv=folds(), scoring="roc_auc"
    ).tolist() == pytest.approx(wanted)


def test_labels_of_an_array_become_plain_python_values(desk: Corpus) -> None:
    model = TextClassifier().fit(np.array(desk[0], object), np.array(desk[1]))
    assert {type(label) for label in model.classes_.tolist()} == {str}
    assert {type(label) for label in model.predict(desk[0]).tolist()} == {str}
    assert model.classes == sorted(set(desk[1]))
    one: Any = desk[1][0]
    assert (model.classes_ == one).tolist() == [label == one for label in model.classes]


@pytest.mark.fresh_interpreters("what is imported")
def test_package_does_not_import_scikit_learn(tmp_path: Path) -> None:
    write("sklearn.py", "raise SystemExit('imported')")
    code = "from nbtext import TextClassifier; TextClassifier().fit(['purr', 'bark'], ['cat', 'dog']).score(['purr'], ['cat'])"
    done = run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": f"{tmp_path}:{Path(__file__).parent.parent}"},
    )
    assert (done.status, done.out, done.err) == (0, b"", b"")


TEXTS, LABELS = (
    ["the cat purrs", "it purrs", "the dog barks", "it barks"] * 3,
    ["cats", "cats", "dogs", "dogs"] * 3,
)


def test_sample_weights_of_any_type_are_rounded_to_thousandths() -> None:
    weights = np.linspace(0.1, 2, 12) ** 3
    given = TextClassifier().fit(TEXTS, LABELS, sample_weight=weights)
    alikes: list[Any] = [
        weights.astype(np.float32),
        weights.round(3),
        [f"{weight:.3f}" for weight in weights],
    ]
    for alike in alikes:
        assert (
            TextClassifier().fit(TEXTS, LABELS, sample_weight=alike).fitted.statistics
            == given.fitted.statistics
        )


def test_sample_weights_are_routed_to_fit_on_request() -> None:
    weights = np.linspace(0.2, 2, 12)
    with sklearn.config_context(enable_metadata_routing=True):
        model = TextClassifier().set_fit_request(sample_weight=True)
        found = (
            GridSearchCV(model, {"smoothing": [1]}, cv=2)
            .fit(TEXTS, LABELS, sample_weight=weights)
            .best_estimator_
        )
        assert (
            found.fitted.statistics
            == TextClassifier().fit(TEXTS, LABELS, weights).fitted.statistics
        )
        with pytest.raises(TypeError, match="sample_weight"):
            GridSearchCV(TextClassifier(), {"smoothing": [1]}, cv=2).fit(
                TEXTS, LABELS, sample_weight=weights
            )


def test_partial_fit_accepts_future_classes_and_refuses_others() -> None:
    classes = np.array(["cats", "dogs", "fish"])
    model = TextClassifier().partial_fit(TEXTS[:2], LABELS[:2], classes=classes)
    assert (
        model.partial_fit(TEXTS[2:], LABELS[2:], classes=classes).fitted.statistics
        == TextClassifier().fit(TEXTS, LABELS).fitted.statistics
    )
    with pytest.raises(
        ValueError, match=r"labels\[1\]: the label 'bird' is not one of the classes"
    ):
        model.partial_fit(["purrs", "sings"], ["cats", "bird"], classes=classes)
    assert model.classes_.tolist() == ["cats", "dogs"]
    model.partial_fit(["both"], [["cats", "dogs"]], classes=classes)


def test_columns_of_a_data_frame_are_texts_and_labels() -> None:
    table = pd.DataFrame({"text": TEXTS, "label": LABELS})
    wanted = TextClassifier().fit(TEXTS, LABELS)
    for texts, labels in (
        (table["text"], table["label"]),
        (table[["text"]], table[["label"]]),
        (table["text"].astype("string"), table["label"].astype("category")),
    ):
        assert TextClassifier().fit(texts, labels).fitted.statistics == wanted.fitted.statistics
    with pytest.raises(
        ValueError, match=r"2 columns where one of texts is wanted; .* df\['text'\]"
    ):
        TextClassifier().fit(table, LABELS)


def test_notebook_shows_parameters_and_numbers_of_classes_and_documents() -> None:
    model = TextClassifier(class_prior={"a<b": 2, "cats": 1})
    assert (
        model._repr_html_()
        == "<pre>TextClassifier(class_prior={&#x27;a&lt;b&#x27;: 2.0, &#x27;cats&#x27;: 1.0})\nnot trained</pre>"
    )
    assert (
        TextClassifier().fit(TEXTS, LABELS)._repr_html_()
        == "<pre>TextClassifier()\n2 classes, 12 documents</pre>"
    )


def test_frames_with_columns_can_be_cross_validated_and_searched() -> None:
    frame = pd.DataFrame({"text": TEXTS, "channel": ["a", "b", "a", "b"] * 3})
    labels = pd.Series(LABELS, dtype="category")
    model = TextClassifier(categorical="channel", smoothing=1, stop_words=None)
    rows: Any = np.array(frame.to_dict("records"), object)
    wanted = cross_val_score(model, rows, np.array(LABELS), cv=folds())
    assert cross_val_score(model, frame, labels, cv=folds()).tolist() == wanted.tolist()
    search = GridSearchCV(model, {"smoothing": [0.1, 1], "stop_words": [None, ["the"]]}, cv=3).fit(
        frame, labels
    )
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.score(frame, labels) == 1


def desk_frame(desk: Corpus) -> tuple[pd.DataFrame, pd.Series[str]]:
    """Texts with a category and a number that tell the classes apart a little."""
    texts, labels = desk
    frame = pd.DataFrame(
        {
            "body": texts,
            "office": [label[:1] for label in labels],
            "length": [float(len(text)) for text in texts],
        }
    )
    return frame, pd.Series(labels)


def frame_pipeline(**parameters: Any) -> Pipeline:
    """A pipeline that renames the text, changes the numbers and drops nothing."""
    columns = ColumnTransformer(
        [
            ("text", FunctionTransformer(lambda part: part.rename(columns={"body": "text"})), ["body"]),
            ("number", FunctionTransformer(np.log1p, feature_names_out="one-to-one"), ["length"]),
            ("rest", "passthrough", ["office"]),
        ],
        verbose_feature_names_out=False,
    ).set_output(transform="pandas")  # fmt: skip
    model = TextClassifier(categorical="office", numeric="length", **parameters)
    return Pipeline([("columns", columns), ("classify", model)])


def test_column_transformer_passes_text_and_columns(desk: Corpus) -> None:
    frame, labels = desk_frame(desk)
    pipeline = frame_pipeline().fit(frame, labels)
    rows = [
        {"text": text, "office": office, "length": np.log1p(length)}
        for text, office, length in frame.itertuples(index=False)
    ]
    direct = TextClassifier(categorical="office", numeric="length").fit(rows, labels)
    np.testing.assert_array_equal(pipeline.predict_proba(frame), direct.predict_proba(rows))
    assert pipeline.classes_.tolist() == direct.classes_.tolist()
    shuffled = frame.sample(frac=1, random_state=0)
    assert pipeline.score(shuffled, labels[shuffled.index]) == pipeline.score(frame, labels)


def test_frame_pipeline_is_cross_validated_searched_and_calibrated(desk: Corpus) -> None:
    frame, labels = desk_frame(desk)
    scores = cross_val_score(frame_pipeline(), frame, labels, cv=folds())
    texts_only = cross_val_score(TextClassifier(), frame["body"], labels, cv=folds())
    assert scores.mean() > texts_only.mean()  # the first letter of the class helps

    grid = {"classify__smoothing": ["auto", 0.5], "classify__stop_words": ["auto", None]}
    search = GridSearchCV(frame_pipeline(), grid, cv=folds()).fit(frame, labels)
    assert search.best_score_ >= scores.mean()
    assert search.predict(frame[:3]).shape == (3,)

    calibrated = CalibratedClassifierCV(frame_pipeline(), cv=3).fit(frame, labels)
    assert calibrated.predict_proba(frame[:3]).sum(axis=1).tolist() == pytest.approx([1] * 3)
    assert calibrated.score(frame, labels) > 0.8


def test_weights_of_some_classes_are_searched(desk: Corpus) -> None:
    frame, labels = desk_frame(desk)
    weights = [None, {"taxes-and-fees": 2}, "balanced"]
    search = GridSearchCV(TextClassifier(), {"class_weight": weights}, cv=folds())
    search.fit(frame["body"], labels)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    with pytest.raises(UsageError, match="the model has no class 'taxes'"):
        TextClassifier(class_weight={"taxes": 2}).fit(frame["body"], labels)


def test_single_column_of_a_frame_is_a_text_for_a_column_transformer(desk: Corpus) -> None:
    frame, labels = desk_frame(desk)
    columns = ColumnTransformer([("text", "passthrough", ["body"])])
    pipeline = Pipeline([("columns", columns), ("classify", TextClassifier())]).fit(frame, labels)
    alone = TextClassifier().fit(frame["body"], labels)
    np.testing.assert_array_equal(pipeline.predict_proba(frame), alone.predict_proba(frame["body"]))
    names = pipeline[-1].get_feature_names_out()
    assert pipeline[-1].feature_log_prob_.shape == (len(pipeline.classes_), len(names))
