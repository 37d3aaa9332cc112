"""What `TextClassifier` says of itself: metrics, explanations in a notebook, the parameters of scikit-learn, and hints.

Also tests `model/keyword_hints.py`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.naive_bayes import MultinomialNB

from nbtext import TextClassifier, UsageError
from tests.process import SERVICE_DESK, nbtext

if TYPE_CHECKING:
    from pathlib import Path

Corpus = tuple[list[str], list[str]]

TEXTS = ["the cat purrs", "a cat hisses", "the dog barks", "a dog growls", "cats and dogs"] * 4
LABELS = ["cats", "cats", "dogs", "dogs", "dogs"] * 4


def read(part: str) -> Corpus:
    files = sorted((SERVICE_DESK / part).glob("*/*"))
    return [file.read_text(encoding="utf-8") for file in files], [
        file.parent.name for file in files
    ]


def json_of(command: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(nbtext(command).text)
    return found


def plain(value: dict[str, Any]) -> dict[str, Any]:
    """The value after JSON, which has lists instead of tuples."""
    found: dict[str, Any] = json.loads(json.dumps(value))
    return found


def test_evaluate_equals_the_command(service_desk_model: Path) -> None:
    expected = json_of(f"evaluate {SERVICE_DESK / 'test'} -m {service_desk_model} -o json")
    del expected["sampled_leaks"]
    result = TextClassifier.load(str(service_desk_model)).evaluate(*read("test"))
    assert plain(result.to_dict()) == expected
    assert f"<td>{expected['accuracy']:.3f}</td>" in result._repr_html_()


@pytest.mark.parametrize("options", [{}, {"folds": 4, "seed": 7}, {"folds": 3, "repeats": 2}])
def test_cross_validate_equals_the_command(options: dict[str, Any], tmp_path: Path) -> None:
    words = " ".join(f"--{name} {value}" for name, value in options.items())
    expected = json_of(f"cross-validate {SERVICE_DESK / 'train'} -o json {words}")
    model = TextClassifier()
    assert plain(model.cross_validate(*read("train"), **options).to_dict()) == expected
    with pytest.raises(UsageError, match="not trained"):
        model.predict(["x"])


def test_cross_validate_keeps_groups_together(tmp_path: Path) -> None:
    groups = [number % 5 for number in range(len(TEXTS))]
    rows = [
        f"{label}\t{text}\t{group}"
        for label, text, group in zip(LABELS, TEXTS, groups, strict=True)
    ]
    (tmp_path / "c.tsv").write_text("\n".join(["label\ttext\tgroup", *rows]) + "\n")
    expected = json_of("cross-validate c.tsv --group-column group --folds 3 -o json")
    del expected["folds"]["column"]
    result = TextClassifier().cross_validate(TEXTS, LABELS, 3, groups=groups)
    assert plain(result.to_dict()) == expected
    assert result.folds.n == 3
    with pytest.raises(UsageError, match="there are 2 groups for 20 texts"):
        TextClassifier().cross_validate(TEXTS, LABELS, groups=[1, 2])


def test_cross_validate_has_parameters_and_weights_of_documents() -> None:
    model = TextClassifier(smoothing={"*": 0.5, "cat": 2})
    weighted = model.cross_validate(TEXTS, LABELS, 4, sample_weight=[2] * len(TEXTS))
    assert weighted.n == len(TEXTS)
    with pytest.raises(UsageError, match="too few for 30 folds"):
        model.cross_validate(TEXTS, LABELS, 30)


def test_explanations_show_escaped_coloured_words_in_a_notebook() -> None:
    model = TextClassifier().fit(TEXTS, LABELS)
    text = "<script>the cat & the dog</script>"
    explained = model.explain(text)
    assert len(explained) == len(model.explain([text])) == 1
    page = explained._repr_html_()
    assert page == explained[0]._repr_html_()
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert page.count("<mark ") >= 2
    assert "class=" not in page
    assert model.explain([text, "dogs"])._repr_html_().count("<div>") == 2


def test_impossible_document_is_explained_in_a_notebook() -> None:
    model = TextClassifier(estimate="ml", stop_words="none").fit(
        ["red ink", "blue sky"], ["x", "<y>"]
    )
    page = model.explain(["red sky"])._repr_html_()
    assert "No prediction" in page
    assert "&lt;y&gt;" in page


def test_log_probabilities_of_terms_equal_scikit_learn() -> None:
    model = TextClassifier(
        smoothing=1, stop_words="none", stemmer="none", calibration="none", ngrams=2
    ).fit(TEXTS, LABELS)
    vectorizer = CountVectorizer(ngram_range=(1, 2))
    peer = MultinomialNB(alpha=1).fit(vectorizer.fit_transform(TEXTS), LABELS)
    names = model.get_feature_names_out().tolist()
    column_of_term = vectorizer.vocabulary_
    assert set(names) == set(column_of_term)
    columns = [column_of_term[name] for name in names]
    np.testing.assert_allclose(model.feature_log_prob_, peer.feature_log_prob_[:, columns])
    assert model.classes_.tolist() == peer.classes_.tolist()


def test_rows_of_log_probabilities_are_in_the_order_of_classes() -> None:
    model = TextClassifier(smoothing=1, top=2).fit(
        ["purr purr", "bark bark bark", "croak"], [10, 9, 100]
    )
    assert model.classes_.tolist() == [9, 10, 100]
    assert model.feature_log_prob_.shape == (3, len(model.get_feature_names_out())) == (3, 2)
    np.testing.assert_allclose(np.exp(model.feature_log_prob_).sum(axis=1), 1)
    [bark] = np.flatnonzero(model.get_feature_names_out() == "bark")
    assert model.feature_log_prob_[:, bark].argmax() == 0


def test_values_of_columns_are_no_features() -> None:
    rows = [{"text": text, "channel": "mail"} for text in TEXTS]
    model = TextClassifier(categorical="channel").fit(rows, LABELS)
    assert "channel=mail" not in model.get_feature_names_out()
    np.testing.assert_allclose(np.exp(model.feature_log_prob_).sum(axis=1), 1)


@pytest.mark.parametrize("classifier", ["logistic", "complement", "gaussian", "average"])
def test_other_classifiers_have_no_log_probabilities(classifier: Any) -> None:
    model = TextClassifier(classifier=classifier).fit(TEXTS, LABELS)
    assert not hasattr(model, "feature_log_prob_")
    assert len(model.get_feature_names_out())


def test_bernoulli_has_the_probability_of_presence() -> None:
    model = TextClassifier(classifier="bernoulli", smoothing=1).fit(TEXTS, LABELS)
    [cat] = np.flatnonzero(model.get_feature_names_out() == "cat")
    assert np.exp(model.feature_log_prob_[0, cat]) == pytest.approx((8 + 1) / (8 + 2))


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("alpha", "'alpha'; use smoothing"),
        ("ngram_range", "'ngram_range'; use ngrams"),
        ("min_probability", "'min_probability'; it is an argument of predict_records"),
        ("threshold", "'threshold'; min_probability: it is an argument of predict_records"),
        ("smothing", r"'smothing' \(did you mean 'smoothing'\?\)"),
        ("colour", "'colour'$"),
    ],
)
def test_wrong_parameter_is_reported_with_the_right_one(name: str, hint: str) -> None:
    with pytest.raises(TypeError, match=hint):
        TextClassifier(**{name: 1})  # type: ignore[arg-type]


def test_wrong_argument_of_a_prediction_is_reported_with_the_right_one() -> None:
    model: Any = TextClassifier().fit(TEXTS, LABELS)
    with pytest.raises(TypeError, match="'min_probability'; it is an argument of predict_records"):
        model.predict(["x"], min_probability=0.5)
    with pytest.raises(TypeError, match="'min_proba'; use min_probability"):
        model.predict_records(["x"], min_proba=0.5)


def test_class_weight_of_missing_labels_is_1() -> None:
    model = TextClassifier(class_weight={"cats": 2}).fit(TEXTS, LABELS)
    weighted = TextClassifier().fit(
        TEXTS, LABELS, sample_weight=[1 + (label == "cats") for label in LABELS]
    )
    np.testing.assert_allclose(
        model.predict_proba(TEXTS[:5]), weighted.predict_proba(TEXTS[:5]), rtol=0.2
    )
