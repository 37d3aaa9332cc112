"""Settings to be tried: all combinations, the settings known to be good, the default, and what cannot be."""

from __future__ import annotations

from itertools import groupby

import pytest

from nbtext.cli.option_files import read_parameter_value
from nbtext.compatibility import needs_documents
from nbtext.errors import UsageError
from nbtext.evaluation.candidates import (
    MAX_SETTINGS,
    PORTFOLIO,
    Candidate,
    expand_combinations,
    make_candidates,
    select_trainable,
)
from nbtext.settings import Reading, Settings

READING = Reading()


def candidates(*tries: str, reading: Reading = READING, **given: object) -> list[Candidate]:
    return make_candidates(tries, given, reading, read_parameter_value)


def test_expand_combinations_varies_the_last_setting_fastest() -> None:
    assert expand_combinations((), {}) == [{}]
    found = expand_combinations(["ngrams=1,2", "--smoothing=0.1,auto,0.1"], {})
    assert found == [{"ngrams": n, "smoothing": a} for n in "12" for a in ("0.1", "auto")]
    assert expand_combinations(["top=5,none"], {}) == [{"top": "5"}, {"top": None}]
    assert expand_combinations(["stop-words=none"], {}) == [{"stop_words": "none"}]
    numbers = ",".join(map(str, range(1, MAX_SETTINGS // 10 + 1)))
    assert (
        len(expand_combinations([f"min-df={numbers}", "ngrams=1,2,3,4,5,6,7,8,9,10"], {}))
        == MAX_SETTINGS
    )
    with pytest.raises(UsageError, match="1,010 settings"):
        expand_combinations([f"min-df={numbers},101", "ngrams=1,2,3,4,5,6,7,8,9,10"], {})


def test_candidates_are_written_as_options() -> None:
    [first, second] = candidates("top=5,none", char_ngrams="2-3")
    assert (first.to_options(), second.to_options()) == ({"top": "none"}, {"top": "5"})
    assert (first.to_arguments(), second.to_arguments()) == ([], ["--top", "5"])
    assert (first.settings.char_ngrams, first.settings.top, second.settings.top) == ("2-3", None, 5)


@pytest.mark.parametrize(
    ("tries", "texts"),
    [
        (("smoothing=1,2",), [{}, {"smoothing": "1"}, {"smoothing": "2"}]),
        (("smoothing=1,auto",), [{"smoothing": "auto"}, {"smoothing": "1"}]),
        (("ngrams=2,1", "top=none"), [{"ngrams": "1", "top": None}, {"ngrams": "2", "top": None}]),
        (("smoothing=1,1.0",), [{}, {"smoothing": "1"}]),
    ],
)
def test_default_is_tried_first_and_no_setting_twice(
    tries: tuple[str, ...], texts: list[dict[str, str | None]]
) -> None:
    found = candidates(*tries)
    assert [candidate.raw_values for candidate in found] == texts
    assert [candidate.is_default for candidate in found] == [True, *[False] * (len(texts) - 1)]


def test_default_candidate_has_the_users_settings() -> None:
    [default, other] = candidates(
        "smoothing=2", classifier="complement", reading=Reading(format="csv")
    )
    assert default.settings == Settings(classifier="complement", reading=Reading(format="csv"))
    assert (other.settings.classifier, other.settings.smoothing) == ("complement", 2)


def test_portfolio_has_different_settings_grouped_by_analysis() -> None:
    found = candidates()
    assert len(found) == len(PORTFOLIO)
    assert select_trainable(found)[1] == []
    analyses = [candidate.counting_key for candidate in found]
    assert len([key for key, _ in groupby(analyses)]) == len(set(analyses))
    assert found[0].settings == Settings(reading=Reading())


def test_user_settings_apply_to_every_candidate() -> None:
    found = candidates(stop_words="none", classifier="logistic")
    assert {
        (candidate.settings.stop_words, candidate.settings.classifier) for candidate in found
    } == {("none", "logistic")}
    assert len({candidate.name for candidate in found}) == len(found) < len(PORTFOLIO)
    left, out = select_trainable(found)
    assert len(left) + len(out) == len(found)
    assert all(
        f"weighting {weighting}" in " ".join(map(str, out)) for weighting in ("binary", "log")
    )


def test_invalid_combinations_are_skipped_unless_all_are() -> None:
    found = candidates("classifier=bernoulli,multinomial", "weighting=counts,tfidf,binary")
    left, out = select_trainable(found)
    assert len(left) + len(out) == 6
    assert {
        each.settings.weighting for each in left if each.settings.classifier == "multinomial"
    } == {"counts", "tfidf", "binary"}
    assert out
    assert all("with classifier=bernoulli" in str(each) for each in out)
    with pytest.raises(
        UsageError,
        match=(
            "with classifier=bernoulli weighting=tfidf: "
            "classifier bernoulli cannot be used with weighting tfidf"
        ),
    ):
        select_trainable(
            [
                each
                for each in found
                if each.to_options() == {"classifier": "bernoulli", "weighting": "tfidf"}
            ]
        )


def test_candidates_for_counted_features_have_no_ngrams() -> None:
    left, out = select_trainable(candidates(reading=Reading(format="svmlight")))
    assert {candidate.settings.ngrams for candidate in left} == {1}
    assert any("features are counted already" in str(each) for each in out)


def test_updatable_candidates_need_no_documents() -> None:
    found = candidates()
    left, out = select_trainable(found, updatable=True)
    assert left
    assert out
    assert [needs_documents(candidate.settings) for candidate in found].count(False) == len(left)


def test_settings_that_differ_only_in_what_the_classifier_ignores_are_tried_once() -> None:
    found = candidates("classifier=multinomial,gaussian,logistic", "covariance=shared,separate")
    assert [one.to_options() for one in found] == [
        {"classifier": "multinomial"},
        {"classifier": "gaussian", "covariance": "shared"},
        {"classifier": "gaussian", "covariance": "separate"},
        {"classifier": "logistic"},
    ]
    [default, other] = candidates("covariance=shared,separate")  # training warns of these
    assert other.to_options() == {"covariance": "separate"}
    assert default.is_default
