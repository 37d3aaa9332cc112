"""Fields from Python: documents as mappings, and models with fields that are updated, merged, and forget."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from nbtext import TextClassifier
from nbtext.errors import UsageError
from nbtext.model.operations import merge_models, prune_terms
from tests.model_changes import WORDS, saved
from tests.profiles import examples

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from nbtext.settings import ClassifierName

    Mails = list[tuple[str, Mapping[str, object]]]

contents = st.lists(st.sampled_from(WORDS), max_size=4).map(" ".join)
mails = st.lists(
    st.tuples(
        st.sampled_from("xy"),
        st.fixed_dictionaries(
            {"text": contents}, optional={"subject": contents, "Head Line": contents}
        ),
    ),
    min_size=1,
    max_size=8,
)
SETTINGS: dict[str, dict[str, Any]] = {
    "multinomial": {},
    "bigrams and characters": {"ngrams": 2, "char_ngrams": "2", "surface_forms": True},
    "bernoulli": {"classifier": "bernoulli", "top": 5},
    "with a colour": {"categorical": "colour"},
}
EVERY = pytest.mark.parametrize("setting", SETTINGS.values(), ids=list(SETTINGS))
FEW = examples(4, suppress_health_check=[HealthCheck.function_scoped_fixture])


def model_of(setting: dict[str, Any], labelled: Mails) -> TextClassifier:
    return TextClassifier(tag_fields="subject,Head Line", **setting).fit(
        [mail for _, mail in labelled], [label for label, _ in labelled]
    )


@EVERY
@FEW
@given(first=mails, second=mails)
def test_updates_merges_and_forget_with_fields_equal_training(
    setting: dict[str, Any], first: Mails, second: Mails, tmp_path: Path
) -> None:
    both, one, other = (model_of(setting, part) for part in (first + second, first, second))
    split_labelled = [mail for _, mail in second], [label for label, _ in second]
    assert saved(merge_models([one, other], ["one", "other"]), tmp_path) == saved(both, tmp_path)
    assert saved(model_of(setting, first).partial_fit(*split_labelled), tmp_path) == saved(
        both, tmp_path
    )
    assert saved(both.forget(*split_labelled), tmp_path) == saved(
        model_of(setting, first), tmp_path
    )


def test_fields_are_keys_of_a_mapping() -> None:
    texts = [
        {"text": "cats purr", "subject": "dogs", "Head Line": "the fish"},
        {"subject": "cats", "text": ""},
        {"text": "dogs cat"},
    ]
    model = TextClassifier(tag_fields="subject,Head Line", calibration="none").fit(
        texts, list("aba")
    )
    assert model.fitted.statistics.vocabulary.list_single_terms() == [
        "cat",
        "dog",
        "head_line:fish",
        "head_line:the\x1f",
        "purr",
        "subject:cat",
        "subject:dog",
    ]
    assert model.predict(
        [{"subject": "cat"}, {"text": "cat"}, "cat", {"Head Line": "fish", "other": 3}]
    ).tolist() == ["b", "a", "a", "a"]
    assert prune_terms(model, 2, 1.0).fitted.statistics.vocabulary.list_single_terms() == ["cat"]


@pytest.mark.parametrize("classifier", ["logistic", "average", "gaussian", "complement"])
def test_every_classifier_is_trained_on_fields(classifier: ClassifierName) -> None:
    texts = [
        {"text": "same words", "subject": f"{word} offer"}
        for word in ("free", "cheap", "free", "meeting", "agenda", "meeting")
    ]
    model = TextClassifier(tag_fields="subject", classifier=classifier, latent=2).fit(
        texts, list("ssshhh")
    )
    proba = model.predict_proba([{"subject": "free"}, {"subject": "agenda meeting"}])
    assert np.argmax(proba, axis=1).tolist() == [1, 0]


def test_columns_of_a_data_frame_are_fields() -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"subject": ["free", "agenda"], "text": ["same words", "same words"]})
    model = TextClassifier(tag_fields="subject", calibration="none").fit(frame, ["spam", "ham"])
    assert "subject:free" in model.fitted.statistics.vocabulary.list_single_terms()
    assert model.predict(frame).tolist() == ["spam", "ham"]
    with pytest.raises(UsageError, match="no column is called 'text'; there are subject, body"):
        model.predict(frame.rename(columns={"text": "body"}))
    with pytest.raises(UsageError, match="there are 2 columns where one of texts is wanted"):
        TextClassifier().fit(frame, ["spam", "ham"])


def test_invalid_document_is_refused_with_its_index() -> None:
    model = TextClassifier(tag_fields="subject")
    with pytest.raises(
        UsageError,
        match=r"texts\[1\]: 3 is not a document; pass a mapping with the keys text, subject, or a text",
    ):
        model.fit(["a", 3], ["x", "y"])  # type: ignore[list-item]
    with pytest.raises(UsageError, match=r"texts\[0\]: 3 is not a text"):
        model.fit([{"subject": 3}], ["x"])
