"""What a model knows of terms: by class, and the words that they come from.

Also tests `inspection/overview.py`.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtext import TextClassifier
from nbtext.errors import UsageError
from nbtext.inspection import terms as module
from nbtext.inspection.terms import (
    TERM_MEASURES,
    _ProbabilityMeaning,
    collect_class_details,
    count_surface_forms,
    find_most_frequent_forms,
    rank_next_terms,
)
from nbtext.model.description import describe_model
from nbtext.text.words import load_stemmer
from tests import strategies
from tests.process import SERVICE_DESK, in_json, succeed
from tests.profiles import examples
from tests.textbook import CHINA

if TYPE_CHECKING:
    from pathlib import Path

    from tests.oracle import Labelled


def trained(documents: list[Labelled], **parameters: Any) -> TextClassifier:
    model = TextClassifier(stemmer="none", stop_words="none", calibration="none", **parameters)
    return model.fit([" ".join(terms) for _, terms in documents], [label for label, _ in documents])


def test_bernoulli_class_details_match_the_textbook() -> None:
    """Example 13.2: θ is the share of documents that hold a term; mutual information stays that of the language models."""
    found = collect_class_details(trained(CHINA, smoothing=1, classifier="bernoulli"), ["yes"], 10)[
        "yes"
    ]
    assert found.probability_of == _ProbabilityMeaning(
        "θ", "that a document of the class contains the term"
    )
    probability, lifts = (
        {of.term: of.value for of in getattr(found, name)} for name in ("probability", "lift")
    )
    assert probability == pytest.approx(
        {
            "chinese": 4 / 5,
            "beijing": 2 / 5,
            "macao": 2 / 5,
            "shanghai": 2 / 5,
            "japan": 1 / 5,
            "tokyo": 1 / 5,
        }
    )
    assert lifts["chinese"] == pytest.approx(4 / 5 / (3 / 4 * 4 / 5 + 1 / 4 * 2 / 3))
    assert lifts["japan"] == pytest.approx(1 / 5 / (3 / 4 * 1 / 5 + 1 / 4 * 2 / 3))
    assert (
        found.mutual_information
        == collect_class_details(trained(CHINA, smoothing=1), ["yes"], 10)["yes"].mutual_information
    )


@examples(6)
@given(strategies.corpora)
def test_class_details_match_a_slow_twin(documents: list[Labelled]) -> None:
    model = trained(documents, smoothing=0.5)
    if not model.fitted.statistics.n_terms:
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "MAX_PROBABILITIES_IN_MEMORY", 3)
        found = collect_class_details(model, model.classes, 5)
    phi = model.fitted.language_models.compute_probability(
        np.flatnonzero(model.fitted.language_models.selected)
    ).tolist()
    prior = model.fitted.classifier.prior.tolist()
    for k, label in enumerate(model.classes):
        own = [terms for of, terms in documents if of == label]
        assert (found[label].documents, found[label].tokens, found[label].prior) == (
            len(own),
            sum(map(len, own)),
            prior[k],
        )
        rows: dict[str, list[float]] = {name: [] for name in TERM_MEASURES}
        for of_term in phi:
            corpus = sum(p * pi for p, pi in zip(of_term, prior, strict=True))
            rows["probability"].append(of_term[k])
            rows["lift"].append(of_term[k] / corpus)
            rows["mutual_information"].append(of_term[k] * prior[k] * math.log(of_term[k] / corpus))
        for name in TERM_MEASURES:
            values = [of.value for of in getattr(found[label], name)]
            assert values == pytest.approx(
                sorted((value for value in rows[name] if value > 0), reverse=True)[: len(values)]
            )
            assert len(values) <= 5
            vocabulary = model.fitted.statistics.vocabulary
            for of in getattr(found[label], name):
                assert of.value == pytest.approx(rows[name][vocabulary.find([of.term])[0]])


@pytest.mark.parametrize("classifier", ["multinomial", "bernoulli"])
def test_information_is_minus_the_logarithm_of_the_probability(classifier: Any) -> None:
    model = trained(CHINA, smoothing=1, classifier=classifier)
    found = rank_next_terms(model, ["yes", "no"], 4)
    numerators = Counter({"chinese": 6, "beijing": 2, "macao": 2, "shanghai": 2})
    denominator = 14  # IIR, example 13.1
    if classifier == "bernoulli":
        numerators["chinese"] = 4
        denominator = 5  # example 13.2
    ranked = [each for each in found.terms if each.label == "yes"]
    assert [(each.rank, each.term) for each in ranked] == list(enumerate(numerators, start=1))
    for each in ranked:
        p = numerators[each.term] / denominator
        values = (each.probability, each.nats, each.bits)
        assert values == pytest.approx((p, -math.log(p), math.log(1 / p) / math.log(2)))
    assert [each.label for each in found.terms] == ["yes"] * 4 + ["no"] * 4


def test_impossible_terms_have_no_rank() -> None:
    model = trained(CHINA, estimate="ml")
    assert [each.term for each in rank_next_terms(model, ["no"], 9).terms] == [
        "chinese", "japan", "tokyo",
    ]  # fmt: skip


def test_term_only_possible_in_a_class_with_prior_zero_has_infinite_lift() -> None:
    model = trained(CHINA, estimate="ml", class_prior={"yes": 0.0, "no": 1.0})
    found = collect_class_details(model, ["yes"], 10)["yes"]
    assert {of.term: of.value for of in found.lift} == {
        "beijing": math.inf, "macao": math.inf, "shanghai": math.inf, "chinese": pytest.approx(5 / 8 * 3),
    }  # fmt: skip
    assert found.mutual_information == []


def test_zero_terms_give_empty_lists_and_unknown_class_is_refused() -> None:
    model = trained(CHINA)
    assert collect_class_details(model, ["no"], 0)["no"].lift == []
    with pytest.raises(UsageError, match="no class 'maybe'"):
        collect_class_details(model, ["no", "maybe"], 3)


WORDS = [
    "printer",
    "printers",
    "printing",
    "printed",
    "print",
    "happy",
    "happiness",
    "the",
    "Lamps",
    "lamp",
    "2024",
]
TEXTS = st.lists(
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=8).map(" ".join), min_size=2, max_size=6
)


def fitted(texts: list[str], **parameters: Any) -> TextClassifier:
    return TextClassifier(surface_forms=True, **parameters).fit(
        texts, ["ab"[number % 2] for number in range(len(texts))]
    )


@given(TEXTS, st.sampled_from([{}, {"ngrams": 2}, {"char_ngrams": "3"}, {"stemmer": "porter"}]))
def test_surface_forms_are_counted_exactly(texts: list[str], parameters: dict[str, Any]) -> None:
    model = fitted(texts, **parameters)
    words = [word.lower() for text in texts for word in text.split() if word != "the"]
    stems = load_stemmer(model.settings["stemmer"], "english")(words)
    wanted: dict[str, Counter[str]] = {}
    for word, stem in zip(words, stems, strict=True):
        wanted.setdefault(stem, Counter())[word] += 1
    found = {
        model.fitted.statistics.vocabulary.get_term(term): dict(forms)
        for term, forms in count_surface_forms(model).items()
    }
    assert found == {stem: dict(forms) for stem, forms in wanted.items() if set(forms) != {stem}}
    for term, form in find_most_frequent_forms(model).items():
        forms = wanted[model.fitted.statistics.vocabulary.get_term(term)]
        assert forms[form] == max(forms.values())


@examples(3)
@given(TEXTS, TEXTS)
def test_surface_forms_do_not_change_predictions(texts: list[str], more: list[str]) -> None:
    model, plain = (
        fitted(texts),
        TextClassifier().fit(texts, ["ab"[number % 2] for number in range(len(texts))]),
    )
    asked = [*more, "printers of happy people", ""]
    assert model.predict_log_proba(asked).tolist() == plain.predict_log_proba(asked).tolist()
    assert describe_model(model.fitted) == describe_model(plain.fitted)


def test_models_without_stemming_have_no_surface_forms() -> None:
    assert count_surface_forms(fitted(["printers print", "lamps"], stemmer="none")) == {}
    assert count_surface_forms(TextClassifier().fit(["printers print", "lamps"], ["a", "b"])) == {}


def test_surface_forms_are_shown_instead_of_stems(tmp_path: Path) -> None:
    train = ("train", SERVICE_DESK / "train")
    succeed(*train, "--surface-forms", "-m", "forms")
    succeed(*train, "-m", "stems")
    draw = ("generate", "-n", "5", "--length", "60", "--seed", "1")
    forms, stems = (succeed(*draw, "-m", model).text.split() for model in ("forms", "stems"))
    assert len(forms) == len(stems)
    stem = load_stemmer("snowball", "english")
    assert [form for form, stemmed in zip(forms, stems, strict=True) if form != stemmed]
    assert all(
        form == stemmed or stem([form]) == [stemmed]
        for form, stemmed in zip(forms, stems, strict=True)
    )
    shown = in_json("inspect --term lamps -m forms")
    (term,) = shown["words"][0]["terms"]
    assert sum(term["forms"].values()) == sum(of["count"] for of in term["classes"].values())
    assert "occurs as" in succeed("inspect --term lamps -m forms").text
