"""What a model says of itself: `inspection/overview.py`, `model/description.py` and `inspection/terms.py`."""

from __future__ import annotations

from importlib.metadata import version

import pytest

from nbtext import TextClassifier, __version__
from nbtext.inspection.overview import CategoriesOverview, build_overview
from nbtext.inspection.terms import format_term_name, rank_model_terms
from nbtext.model.description import describe_model, list_warnings
from nbtext.model.label_findings import MAX_SHOWN_LABELS, describe_similar_labels
from nbtext.model.state import list_versions
from nbtext.settings import Settings
from tests.textbook import CHINA_LABELS, CHINA_TEXTS, model_of_china


def test_settings_of_another_classifier_give_a_warning() -> None:
    assert list_warnings(TextClassifier(l2=3, latent=5).fit(CHINA_TEXTS, CHINA_LABELS).fitted) == [
        "--classifier multinomial ignores --set l2, --set latent"
    ]
    assert (
        list_warnings(
            TextClassifier(classifier="gaussian", latent=2).fit(CHINA_TEXTS, CHINA_LABELS).fitted
        )
        == []
    )


def test_overview_contains_sizes_and_top_terms_of_each_class() -> None:
    found = build_overview(model_of_china(), 2)
    assert (found.documents, found.tokens, found.terms, found.ngrams) == (4, 11, 6, 0)
    assert found.classes["no"].top_terms == ["japan", "tokyo"]
    assert found.classes["yes"].top_terms[0] == "chinese"
    assert [found.classes[label].tokens for label in ("no", "yes")] == [3, 8]
    assert build_overview(model_of_china(), 0).classes["no"].top_terms == []


def test_describe_model_fits_one_line() -> None:
    assert (
        describe_model(model_of_china().fitted)
        == "2 classes, 4 documents, 11 tokens, 6 terms, smoothing 1"
    )
    assert (
        describe_model(model_of_china(top=2).fitted)
        == "2 classes, 4 documents, 11 tokens, 2 terms, smoothing 1"
    )
    one = model_of_china(smoothing={"*": 0.5, "tokyo": 3})
    assert describe_model(one.fitted).endswith(", 6 terms, smoothing 0.5, 1 term with its own")
    both = model_of_china(smoothing={"*": 0.5, "tokyo": 3, "japan": 2})
    assert describe_model(both.fitted).endswith(", smoothing 0.5, 2 terms with their own")


def test_attributes_without_values_give_a_warning() -> None:
    rows = [{"text": "cat", "legs": 4, "colour": "", "kilos": ""}, {"text": "fish", "legs": 0}]
    model = TextClassifier(categorical="colour", count="legs", numeric="kilos").fit(
        rows, ["cats", "fish"]
    )
    assert ", 3 attributes, " in describe_model(model.fitted)
    assert list_warnings(model.fitted) == [
        "no document has a value of colour, kilos; remove it, or name another column"
    ]


@pytest.mark.parametrize(
    ("labels", "found"),
    [
        ([], None),
        (["cats", "cat", "c ats"], None),
        (["Cats", "cats", "dogs"], "'Cats' and 'cats'"),
        (["straße", "STRASSE"], "'straße' and 'STRASSE'"),
        (
            ["two words", "two  words ", "two\xa0words"],
            "'two words' and 'two  words ' and 'two\\xa0words'",
        ),
        (["caf\u00e9", "cafe\u0301"], "'caf\u00e9' and 'cafe\u0301'"),
        (["ﬁsh", "b", "fish", "B"], "'ﬁsh' and 'fish', 'b' and 'B'"),
    ],
)
def test_similar_labels_are_described(labels: list[str], found: str | None) -> None:
    assert describe_similar_labels(labels) == found


def test_long_list_of_similar_labels_is_shortened() -> None:
    labels = [
        form for number in range(MAX_SHOWN_LABELS + 1) for form in (f"a{number}", f"A{number}")
    ]
    assert describe_similar_labels(labels[:-2]) == ", ".join(
        f"'a{number}' and 'A{number}'" for number in range(MAX_SHOWN_LABELS)
    )
    assert describe_similar_labels(labels) == f"{describe_similar_labels(labels[:-2])} and others"


def test_attribute_distributions_match_hand_computation() -> None:
    """One pseudo-count for each colour; one pseudo-document with 2 legs, the mean, and one of 3 kilos with the corpus's variance of 8/3."""
    rows = [
        {"text": "purr", "colour": "red", "legs": 4, "kilos": 3.0},
        {"text": "purr", "colour": "red", "legs": 2, "kilos": 5.0},
        {"text": "swim", "colour": "blue", "legs": 0, "kilos": 1.0},
    ]
    model = TextClassifier(categorical="colour", count="legs", numeric="kilos", smoothing=1).fit(
        rows, ["cats", "cats", "fish"]
    )
    found = build_overview(model, 2)
    assert found.terms == 2
    colour, legs, kilos = (found.attributes[name] for name in ("colour", "legs", "kilos"))
    assert isinstance(colour, CategoriesOverview)
    assert (colour.kind, colour.documents, colour.values) == ("categorical", 3, 2)
    cats, fish = (colour.classes[label]["probability"] for label in ("cats", "fish"))
    assert colour.smoothing == 1
    assert cats == pytest.approx({"blue": 1 / 4, "red": 3 / 4})
    assert fish == pytest.approx({"blue": 2 / 3, "red": 1 / 3})
    assert (legs.kind, legs.documents) == ("count", 3)
    assert legs.classes["cats"] == pytest.approx({"rate": (6 + 2) / 3})
    assert legs.classes["fish"] == pytest.approx({"rate": (0 + 2) / 2})
    assert (kilos.kind, kilos.documents) == ("numeric", 3)
    assert kilos.classes["cats"] == pytest.approx(
        {"mean": (8 + 3) / 3, "standard_deviation": 4 / 3}
    )
    assert kilos.classes["fish"] == pytest.approx(
        {"mean": (1 + 3) / 2, "standard_deviation": (7 / 3) ** 0.5}
    )
    assert sorted(
        format_term_name(model, term)
        for term in rank_model_terms(model, "mutual-information").terms.tolist()
    ) == [
        "colour=blue",
        "colour=red",
        "purr",
        "swim",
    ]


def test_written_by_lists_nbtext_and_the_stemmer_package() -> None:
    assert list_versions(Settings(stemmer="none")) == {"nbtext": __version__}
    assert list_versions(Settings(stemmer="snowball")).keys() == {"nbtext", "PyStemmer"}
    assert list_versions(Settings(stemmer="lancaster")) == {
        "nbtext": __version__,
        "nltk": version("nltk"),
    }
    assert (
        model_of_china().fitted.written_by
        == build_overview(model_of_china(), 0).written_by
        == {"nbtext": __version__}
    )
