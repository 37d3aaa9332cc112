"""Pseudo-counts given word by word: which terms the words are, and models that are estimated with them.

Also tests `corpus/streams.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtext import TextClassifier
from nbtext.classifiers.with_attributes import AttributedClassifier
from nbtext.cli.option_files import read_parameter_value
from nbtext.errors import PathError, UsageError
from nbtext.inspection.generation import DocumentGenerator
from nbtext.settings import Reading
from tests.model_changes import corpora, fitted, saved
from tests.models import require_sound
from tests.process import write
from tests.profiles import examples

if TYPE_CHECKING:
    from pathlib import Path

Labelled = tuple[str, str]

TEXTS = [
    "the printer jams",
    "printers out of paper",
    "the network is down",
    "network cable and printer cable",
]
LABELS = ["paper", "paper", "net", "net"]
GIVEN = {"*": 0.5, "printers": 4.0, "cable": 0.25}


def term_pseudo_counts(model: TextClassifier) -> dict[str, float]:
    """The pseudo-counts of terms that have one of their own, by term."""
    learnt = model.fitted.parameters.own_pseudo_counts
    return {
        model.fitted.statistics.vocabulary.get_term(term): number
        for term, number in zip(learnt.terms.tolist(), learnt.pseudo_counts, strict=True)
    }


def trained(smoothing: dict[str, float], **parameters: Any) -> TextClassifier:
    return TextClassifier(smoothing=smoothing, **{"stop_words": "default", **parameters}).fit(
        TEXTS, LABELS
    )


def test_word_is_mapped_to_its_term() -> None:
    model = trained({"*": 0.5, "PRINTERS": 4, "Cable,": 0.25, "paper": 0.5, "toner": 9})
    assert term_pseudo_counts(model) == {"cabl": 0.25, "printer": 4.0}
    assert model.fitted.parameters.smoothing == 0.5
    printer = np.array(model.fitted.statistics.vocabulary.find(["printer", "cabl", "paper"]))
    tokens, total = (
        model.fitted.language_models.class_tokens,
        4 + 0.25 + 0.5 * (model.fitted.statistics.n_terms - 2),
    )
    m = model.fitted.statistics.get_dense_counts(printer)
    assert model.fitted.language_models.compute_probability(printer) == pytest.approx(
        (m + np.array([[4], [0.25], [0.5]])) / (tokens + total)
    )


def test_words_of_fields_have_the_field_name_as_prefix() -> None:
    mails = [
        {"subject": "Offers", "text": "an offer"},
        {"subject": "minutes: offer", "text": "the meeting"},
    ]
    model = TextClassifier(
        smoothing={"*": 1, "Subject:offers": 3, "offers": 2, "subject:minutes": 4},
        tag_fields="subject",
    ).fit(mails, ["a", "b"])
    assert term_pseudo_counts(model) == {"offer": 2.0, "subject:offer": 3.0, "subject:minut": 4.0}
    with pytest.raises(UsageError, match="2 terms"):
        trained({"*": 1, "subject:offers": 3})


def test_several_words_are_an_ngram() -> None:
    model = trained(
        {
            "*": 1,
            "printer jams": 3,
            "a cable and the printers": 5,
            "network is down": 2,
            "jam paper": 7,
        },
        ngrams=2,
    )
    assert term_pseudo_counts(model) == {"printer jam": 3.0, "cabl printer": 5.0, "network": 2.0}
    assert term_pseudo_counts(trained({"*": 1, "network and cable and printers": 7}, ngrams=3)) == {
        "network cabl printer": 7.0
    }


def test_character_ngrams_and_counted_features_are_named_unchanged() -> None:
    assert term_pseudo_counts(
        trained({"*": 1, "pr*": 3, "*le": 5, "*int*": 4, "printers": 2}, char_ngrams=3)
    ) == {
        "pr*": 3.0,
        "*le": 5.0,
        "*int*": 4.0,
        "printer": 2.0,
    }
    model = TextClassifier(smoothing={"*": 1, "the": 3, "printers": 5, "nothere": 2})
    model.reading = Reading(format="svmlight")
    model.fit(["the:2 printers:1", "printer:3"], ["a", "b"])
    assert term_pseudo_counts(model) == {"printers": 5.0, "the": 3.0}


@pytest.mark.parametrize(
    ("smoothing", "message"),
    [
        (
            {"*": 1, "printer": 2, "printers": 3},
            "two numbers for 'printer', by 'printer' and 'printers'",
        ),
        ({"*": 1, "the": 2}, "'the', which is not a term: it is a stop word"),
        ({"*": 1, "?!": 2}, "'\\?!', which is not a term: it contains no word"),
        ({"*": 1, "printer jam": 2}, "'printer jam', which is 2 terms; train with ngrams 2"),
        ({"*": 1, "print*": 2}, "'print\\*', and no term has an asterisk"),
        ({"printer": 2}, "smoothing must be"),
        ({"*": 1, "printer": -2}, "smoothing must be"),
        ({"*": 1, "printer": float("nan")}, "smoothing must be"),
        ({"*": 1, "printer": True}, "smoothing must be"),
        ({"*": 1, "": 2}, "smoothing must be"),
        ({"*": 1, "a\nb": 2}, "smoothing must be"),
        ({"*": 1, "\ud800": 2}, "smoothing must be"),
    ],
    ids=str,
)
def test_invalid_terms_and_numbers_are_named(smoothing: dict[str, float], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        trained(smoothing)


def test_same_number_twice_for_a_term_is_accepted() -> None:
    assert term_pseudo_counts(trained({"*": 1, "printer": 3, "printers": 3})) == {"printer": 3.0}


@pytest.mark.parametrize(
    "smoothing", [{"*": 0.0, "printer": 1.0}, {"*": 1.0, "printer": 0.0}], ids=str
)
def test_complement_needs_a_positive_number_for_every_term(smoothing: dict[str, float]) -> None:
    with pytest.raises(UsageError, match="complement needs smoothing"):
        trained(smoothing, classifier="complement")


def test_maximum_likelihood_ignores_pseudo_counts() -> None:
    model, without = trained(GIVEN, estimate="ml"), TextClassifier(estimate="ml").fit(TEXTS, LABELS)
    assert (term_pseudo_counts(model), model.fitted.parameters.smoothing) == ({}, 0.0)
    assert np.array_equal(model.joint_log_likelihood(TEXTS), without.joint_log_likelihood(TEXTS))


KINDS: dict[str, dict[str, Any]] = {
    "multinomial": {},
    "map": {"estimate": "map"},
    "bigrams": {"ngrams": 2, "top": 10},
    "tf-idf": {"weighting": "tfidf"},
    "bernoulli": {"classifier": "bernoulli"},
    "complement": {"classifier": "complement"},
    "complement tf-idf": {"classifier": "complement", "weighting": "tfidf"},
}


@pytest.mark.parametrize("kind", KINDS)
@examples(3)
@given(
    corpora,
    st.sampled_from([0.1, 0.3, 1.0, 2.5]),
    st.sets(st.sampled_from(["ant", "bees", "cat", "running", "zebra"])),
)
def test_equal_numbers_for_all_terms_equal_a_single_number(
    kind: str, corpus: list[Labelled], number: float, named: set[str]
) -> None:
    """Exactly: the models, what they say of left-out documents, and so their calibration."""
    one = fitted({"smoothing": number, **KINDS[kind]}, corpus)
    each = fitted(
        {"smoothing": {"*": number, **dict.fromkeys(named, number)}, **KINDS[kind]}, corpus
    )
    asked = [text for _, text in corpus] + ["ant bee zebra", ""]
    assert np.array_equal(each.joint_log_likelihood(asked), one.joint_log_likelihood(asked))
    assert np.array_equal(
        each.predict_log_proba(asked), one.predict_log_proba(asked), equal_nan=True
    )
    assert each.fitted.parameters.calibration_quality == one.fitted.parameters.calibration_quality


@pytest.mark.parametrize("kind", KINDS)
def test_term_pseudo_count_changes_scores_and_is_stored(kind: str, tmp_path: Path) -> None:
    model = trained(GIVEN, **KINDS[kind])
    first = saved(model, tmp_path)
    loaded = TextClassifier.load("saved")
    assert (loaded.settings, term_pseudo_counts(loaded)) == (
        model.settings,
        term_pseudo_counts(model),
    )
    assert np.array_equal(loaded.joint_log_likelihood(TEXTS), model.joint_log_likelihood(TEXTS))
    assert saved(loaded, tmp_path) == first
    assert saved(trained(dict(reversed(GIVEN.items())), **KINDS[kind]), tmp_path) == first
    require_sound("saved")
    plain = TextClassifier(smoothing=0.5, **KINDS[kind]).fit(TEXTS, LABELS)
    assert not np.array_equal(plain.joint_log_likelihood(TEXTS), model.joint_log_likelihood(TEXTS))


def test_loaded_model_uses_the_stop_list_of_training(
    tmp_path: Path,
) -> None:
    write("stop", "jams")
    model = trained({"*": 1, "the": 3}, stop_words="stop")
    model.save("model")
    (tmp_path / "stop").unlink()
    loaded = TextClassifier.load("model").partial_fit(["the end"], ["net"])
    assert term_pseudo_counts(loaded) == {"the": 3.0}


def test_term_pseudo_counts_can_be_set_and_reset_after_training() -> None:
    model = TextClassifier(smoothing=0.5).fit(TEXTS, LABELS)
    before = model.joint_log_likelihood(TEXTS)
    assert term_pseudo_counts(model.set_params(smoothing=GIVEN)) == {"cabl": 0.25, "printer": 4.0}
    assert np.array_equal(
        model.joint_log_likelihood(TEXTS), trained(GIVEN).joint_log_likelihood(TEXTS)
    )
    assert np.array_equal(model.set_params(smoothing=0.5).joint_log_likelihood(TEXTS), before)


def test_sampled_parameters_use_term_pseudo_counts() -> None:
    """A pseudo-count of a million holds a coin at one half, and a term of none that its class does not contain is never drawn."""
    coins = DocumentGenerator(
        trained({"*": 1, "printer": 1e6}, classifier="bernoulli"), sample_parameters=True
    )
    assert coins.get_word_probabilities(0)[coins.words.index("printer")] == pytest.approx(
        0.5, abs=0.01
    )
    terms = DocumentGenerator(trained({"*": 1, "printer": 1e6, "jams": 0}), sample_parameters=True)
    assert terms.get_word_probabilities(0)[terms.words.index("printer")] > 0.999
    assert terms.get_word_probabilities(0)[terms.words.index("jam")] == 0


def test_categories_have_pseudo_counts_by_evidence() -> None:
    rows = [{"text": text, "site": site} for text, site in zip(TEXTS, "aabb", strict=True)]
    smoothing = []
    for setting in (GIVEN, "auto"):
        model = TextClassifier(smoothing=setting, categorical="site").fit(rows, LABELS)
        assert isinstance(model.fitted.classifier, AttributedClassifier)
        smoothing.append(
            model.fitted.classifier.likelihoods.categorical[0].language_models.smoothing
        )
    assert smoothing[0] == smoothing[1]


def test_smoothing_file_sets_a_number_per_term(tmp_path: Path) -> None:
    path = tmp_path / "alpha.tsv"
    path.write_bytes(
        "\ufeffprinter\t0.25\r\nprinter jam\t3\n*\t1e-3\nété\t2\nwith\ttab\t5".encode()
    )
    assert read_parameter_value("smoothing", str(path)) == {
        "printer": 0.25,
        "printer jam": 3.0,
        "*": 0.001,
        "été": 2.0,
        "with\ttab": 5.0,
    }


@pytest.mark.parametrize("line", ["a", "a 1", "a\tone", "a\t", "a\t-1", "a\tnan", "a\tinf", ""])
def test_invalid_line_is_reported_by_its_number(tmp_path: Path, line: str) -> None:
    path = tmp_path / "alpha.tsv"
    path.write_text(f"*\t1\n{line}\nb\t1\n")
    with pytest.raises(PathError, match="line 2 is not a term, a tab and a number from 0"):
        read_parameter_value("smoothing", str(path))


def test_term_on_two_lines_must_have_the_same_number(tmp_path: Path) -> None:
    path = tmp_path / "alpha.tsv"
    path.write_text("*\t1\na\t2\na\t2\n")
    assert read_parameter_value("smoothing", str(path)) == {"*": 1, "a": 2}
    path.write_text("*\t1\na\t2\na\t3\n")
    with pytest.raises(PathError, match="line 3 has a second number for 'a'"):
        read_parameter_value("smoothing", str(path))
