"""What holds of every trained classifier, whatever its settings."""

from __future__ import annotations

import inspect
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, get_args

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from sklearn.base import clone

from nbtext import TextClassifier, settings
from nbtext.document_fields import NON_TEXT_SETTINGS
from nbtext.errors import UsageError
from nbtext.settings import CRITERIA, READING, TRAINING
from tests import oracle, strategies
from tests.count_tables import to_dictionaries
from tests.models import split_labelled
from tests.profiles import examples

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from random import Random

TEXTS = [
    "The engine stalls on cold mornings", "engine oil and brakes", "The brakes squeal; the engine knocks", "tyres",
    "The goalkeeper saves a penalty", "a penalty in the last minute", "goals, goals and the goalkeeper", "the match ended",
    "Sow the seeds in spring", "water the seedlings in spring", "seeds & roses", "",
]  # fmt: skip
LABELS = ["cars"] * 4 + ["football"] * 4 + ["garden"] * 4
ASKED = [
    "engine penalty",
    "spring roses and the goalkeeper",
    "",
    "nothing known",
    "Seeds! Oil? brakes",
]

SETTINGS: dict[str, dict[str, Any]] = {
    "defaults": {},
    "trigrams": {"ngrams": 3},
    "background": {"prior_shape": "background"},
    "map": {"estimate": "map", "smoothing": 0.2},
    "ml": {"estimate": "ml"},
    "top": {"top": 5},
    "limits": {"min_df": 2, "max_df": 0.5, "ngrams": 2},
    "uniform": {"class_prior": "uniform"},
    "smoothed": {"class_prior": "smoothed:0.5"},
    "given": {"class_prior": {"cars": 1, "football": 2, "garden": 4}},
    "porter": {"stemmer": "porter", "stop_words": "none"},
    **{by: {"criterion": by, "top": 4} for by in CRITERIA},
}
EVERY = pytest.mark.parametrize("setting", SETTINGS.values(), ids=list(SETTINGS))


@pytest.fixture
def saved(tmp_path: Path) -> Callable[[TextClassifier], bytes]:
    def save(model: TextClassifier) -> bytes:
        path = tmp_path / "model.joblib"
        model.save(str(path))
        return path.read_bytes()

    return save


@EVERY
def test_parameters_are_returned_and_clonable_by_scikit_learn(
    setting: dict[str, Any],
) -> None:
    model = TextClassifier(**setting)
    assert sorted(model.get_params()) == sorted(
        [*(parameter.name for parameter in TRAINING), *NON_TEXT_SETTINGS]
    )
    assert {name: model.get_params()[name] for name in setting} == setting
    assert TextClassifier(**model.get_params()).get_params() == model.get_params()
    assert TextClassifier().set_params(**setting).get_params() == model.get_params()
    assert clone(model).get_params() == model.get_params()
    assert clone(model) is not model


def test_model_with_an_aliased_classifier_name_can_be_cloned() -> None:
    model = TextClassifier(classifier="dirichlet-multinomial")  # type: ignore[arg-type] # not for editors
    assert model.get_params()["classifier"] == "multinomial"
    assert clone(model).get_params() == model.get_params() == TextClassifier().get_params()


def test_signature_matches_the_declared_parameters() -> None:
    signature = {
        name: parameter.default
        for name, parameter in inspect.signature(TextClassifier).parameters.items()
    }
    attributes = {
        parameter.name: parameter for parameter in READING if parameter.name in NON_TEXT_SETTINGS
    }
    assert list(signature.items()) == [
        (each.name, each.default) for each in (*TRAINING, *attributes.values())
    ]
    described = re.findall(r"^    (\w+(?:, \w+)*) : ", TextClassifier.__doc__ or "", re.MULTILINE)
    assert ", ".join(described).split(", ") == list(signature)


def test_annotations_contain_the_choices_of_parameters() -> None:
    annotations = {
        name: parameter.annotation.removesuffix(" | None")
        for name, parameter in inspect.signature(TextClassifier).parameters.items()
    }
    known = {
        name: get_args(getattr(settings, kind))
        for name, kind in annotations.items()
        if hasattr(settings, kind)
    }
    others = {
        "language",
        "stemmer",
        "smoothing",
        "l2",
        "shrinkage",
        "class_prior",
        "class_weight",
    }  # many words, or words and numbers
    assert known == {
        each.name: each.choices for each in TRAINING if each.choices and each.name not in others
    }


def test_unknown_parameter_is_refused() -> None:
    with pytest.raises(TypeError, match="'alpha'"):
        TextClassifier(alpha=1)  # type: ignore[call-arg]
    with pytest.raises(UsageError, match=r"'alpha'.*smoothing"):
        TextClassifier().set_params(alpha=1)


def test_repr_shows_the_differences_from_the_defaults() -> None:
    assert repr(TextClassifier()) == "TextClassifier()"
    assert (
        repr(TextClassifier(ngrams=2, class_prior={"a": 1.0}, count="n"))
        == "TextClassifier(ngrams=2, class_prior={'a': 1.0}, count='n')"
    )
    model = TextClassifier(stemmer="none").fit(TEXTS, LABELS)
    model.reading = replace(model.reading, format="csv")
    assert repr(model) == "TextClassifier(stemmer='none')"


@examples(6, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    corpus=st.lists(
        st.tuples(strategies.labels.filter(bool), strategies.texts), min_size=1, max_size=8
    ),
    asked=st.lists(strategies.texts, max_size=4),
    random=st.randoms(),
)
def test_any_corpus_matches_the_slow_twin_in_any_order(
    corpus: list[tuple[str, str]], asked: list[str], random: Random, saved: Callable[..., bytes]
) -> None:
    given: dict[str, Any] = {"stemmer": "none", "stop_words": "none", "ngrams": 2, "smoothing": 0.5}
    labels, texts = [label for label, _ in corpus], [text for _, text in corpus]
    model = TextClassifier(**given).fit(texts, labels)
    counts = oracle.count(
        [(label, oracle.terms(text.encode(), split=oracle.pairs)) for label, text in corpus], 2
    )
    assert to_dictionaries(model.fitted.statistics) == counts
    shuffled = random.sample(corpus, len(corpus))
    assert saved(TextClassifier(**given).fit(*split_labelled(shuffled))) == saved(model)
    models = oracle.language_models(counts, counts.terms, 0.5, "symmetric", "mean")
    prior = oracle.class_prior(counts)
    sequences = [
        oracle.ngrams(oracle.terms(text.encode(), split=oracle.pairs), 2) for text in asked
    ]
    wanted = [
        list(oracle.joint_log_likelihood(models, prior, sequence).values())
        for sequence in sequences
    ]
    assert model.joint_log_likelihood(asked).tolist() == [
        pytest.approx(row, rel=1e-12) for row in wanted
    ]


@pytest.mark.parametrize(
    "call", ["predict", "predict_proba", "predict_log_proba", "joint_log_likelihood"]
)
def test_predicting_before_training_is_refused(call: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not trained"):
        getattr(TextClassifier(), call)(["text"])
    with pytest.raises(UsageError, match="not trained"):
        TextClassifier().save("model.joblib")


@pytest.mark.parametrize("attribute", ["classes_", "fitted", "counts"])
def test_fitted_attributes_are_not_available_before_training(attribute: str) -> None:
    with pytest.raises(UsageError, match="not trained"):
        getattr(TextClassifier(), attribute)
