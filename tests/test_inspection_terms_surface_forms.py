"""Words as they stand in texts, kept beside their stems: counted exactly, without a say in any answer, shown in place of stems."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtext import TextClassifier
from nbtext.inspection.terms import most_frequent_forms, surface_forms
from nbtext.text.words import stemmer
from tests.budget import examples
from tests.process import SERVICE_DESK, in_json, succeed

if TYPE_CHECKING:
    from pathlib import Path

WORDS = ["printer", "printers", "printing", "printed", "print", "happy", "happiness", "the", "Lamps", "lamp", "2024"]
TEXTS = st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=8).map(" ".join), min_size=2, max_size=6)


def fitted(texts: list[str], **parameters: Any) -> TextClassifier:
    return TextClassifier(surface_forms=True, **parameters).fit(texts, ["ab"[number % 2] for number in range(len(texts))])


@given(TEXTS, st.sampled_from([{}, {"ngrams": 2}, {"char_ngrams": "3"}, {"stemmer": "porter"}]))
def test_forms_are_counted_exactly(texts: list[str], parameters: dict[str, Any]) -> None:
    model = fitted(texts, **parameters)
    words = [word.lower() for text in texts for word in text.split() if word != "the"]
    stems = stemmer(model.settings["stemmer"], "english")(words)
    wanted: dict[str, Counter[str]] = {}
    for word, stem in zip(words, stems, strict=True):
        wanted.setdefault(stem, Counter())[word] += 1
    found = {model.statistics.vocabulary.term(term): dict(forms) for term, forms in surface_forms(model).items()}
    assert found == {stem: dict(forms) for stem, forms in wanted.items() if set(forms) != {stem}}
    for term, form in most_frequent_forms(model).items():
        forms = wanted[model.statistics.vocabulary.term(term)]
        assert forms[form] == max(forms.values())


@examples(3)
@given(TEXTS, TEXTS)
def test_answers_stay_as_they_are_and_parts_add_up(texts: list[str], more: list[str]) -> None:
    model, plain = fitted(texts), TextClassifier().fit(texts, ["ab"[number % 2] for number in range(len(texts))])
    asked = [*more, "printers of happy people", ""]
    assert model.predict_log_proba(asked).tolist() == plain.predict_log_proba(asked).tolist()
    assert model.describe() == plain.describe()
    labels = ["a"] * len(more)
    together = TextClassifier(surface_forms=True).fit([*texts, *more], ["ab"[number % 2] for number in range(len(texts))] + labels)
    updated = model.partial_fit(more, labels)
    assert updated.statistics == together.statistics
    assert updated.forget(more, labels).statistics == fitted(texts).statistics


def test_without_stems_there_are_none() -> None:
    assert surface_forms(fitted(["printers print", "lamps"], stemmer="none")) == {}
    assert surface_forms(TextClassifier().fit(["printers print", "lamps"], ["a", "b"])) == {}


def test_words_are_shown_in_place_of_stems(tmp_path: Path) -> None:
    train = ("train", SERVICE_DESK / "train")
    succeed(*train, "--surface-forms", "-m", "forms")
    succeed(*train, "-m", "stems")
    draw = ("generate", "-n", "5", "--length", "60", "--seed", "1")
    forms, stems = (succeed(*draw, "-m", model).text.split() for model in ("forms", "stems"))
    assert len(forms) == len(stems)
    stem = stemmer("snowball", "english")
    assert [form for form, stemmed in zip(forms, stems, strict=True) if form != stemmed]
    assert all(form == stemmed or stem([form]) == [stemmed] for form, stemmed in zip(forms, stems, strict=True))
    shown = in_json("inspect --term lamps -m forms -o json")
    (term,) = shown["words"][0]["terms"]
    assert sum(term["forms"].values()) == sum(of["count"] for of in term["classes"].values())
    assert "occurs as" in succeed("inspect --term lamps -m forms").text
    assert succeed("inspect --verify -m forms").status == 0


@pytest.mark.parametrize("options", [("--jobs", "2"), ("--classifier", "logistic"), ("--classifier", "gaussian", "--latent", "5")])
def test_forms_go_with_every_way_of_counting(tmp_path: Path, options: tuple[str, ...]) -> None:
    succeed("train", SERVICE_DESK / "train", "--surface-forms", *options)
    assert "occurs as" in succeed("inspect --term lamps").text
