"""Settings to be tried: all combinations, the portfolio, and what cannot be."""

from __future__ import annotations

from itertools import groupby
from typing import Any

import pytest

from nbtext.cli.option_files import from_file
from nbtext.cli.tune import BY
from nbtext.errors import UsageError
from nbtext.evaluation.candidates import (
    MOST_SETTINGS,
    PORTFOLIO,
    Candidate,
    Values,
    _portfolio,
    _require_comparable,
    combinations,
    possible,
)
from nbtext.exclusions import needs_documents
from nbtext.settings import TRAINING, Reading, Settings


def values(**base: object) -> Values:
    return Values(base, from_file)


def texts(*tries: str) -> list[dict[str, str | None]]:
    return [candidate.texts for candidate in combinations(tries, values())]


def differing(name: str, *settings: dict[str, Any]) -> list[Candidate]:
    """Candidates of these settings that differ in one parameter."""
    return [Candidate({name: str(number)}, Settings.of(each)) for number, each in enumerate(settings)]


def test_combinations_are_all_of_them_the_last_fastest() -> None:
    assert texts() == [{}]
    assert texts("ngrams=1,2", "--smoothing=0.1,auto,0.1") == [{"ngrams": n, "smoothing": a} for n in "12" for a in ("0.1", "auto")]
    assert texts("top=5,none") == [{"top": "5"}, {"top": None}]
    assert texts("stop-words=none") == [{"stop_words": "none"}]
    numbers = ",".join(map(str, range(1, MOST_SETTINGS // 10 + 1)))
    assert len(texts(f"min-df={numbers}", "ngrams=1,2,3,4,5,6,7,8,9,10")) == MOST_SETTINGS
    with pytest.raises(UsageError, match="1,010 settings"):
        texts(f"min-df={numbers},101", "ngrams=1,2,3,4,5,6,7,8,9,10")


def test_candidates_are_spelt_as_options() -> None:
    [first, second] = combinations(["top=5,none"], values(char_ngrams="2-3"))
    assert (first.spelt(), second.spelt()) == ({"top": "5"}, {"top": "none"})
    assert (first.arguments(), second.arguments()) == (["--top", "5"], [])
    assert (first.settings.char_ngrams, first.settings.top, second.settings.top) == ("2-3", 5, None)


def test_the_portfolio_holds_different_settings_by_analysis() -> None:
    candidates = _portfolio(values())
    assert len(candidates) == len(PORTFOLIO)
    assert possible(candidates, "cross-validation", Reading())[1] == []
    analyses = [candidate.analysis() for candidate in candidates]
    assert len([key for key, _ in groupby(analyses)]) == len(set(analyses))
    assert candidates[0].settings == Settings()


def test_what_the_user_gave_holds_for_the_whole_portfolio() -> None:
    candidates = _portfolio(values(stop_words="none", classifier="logistic"))
    assert {(candidate.settings.stop_words, candidate.settings.classifier) for candidate in candidates} == {("none", "logistic")}
    assert len({repr(candidate.settings) for candidate in candidates}) == len(candidates) < len(PORTFOLIO)
    left, out = possible(candidates, "cross-validation", Reading())
    assert len(left) + len(out) == len(candidates)
    assert {left_out.candidate.settings.weighting for left_out in out} == {"binary", "log"}


def test_those_that_cannot_be_are_left_out_unless_all_are() -> None:
    candidates = combinations(["classifier=bernoulli,multinomial", "weighting=counts,tfidf,binary"], values())
    left, out = possible(candidates, "cross-validation", Reading())
    assert len(left) + len(out) == 6
    assert {each.settings.weighting for each in left if each.settings.classifier == "multinomial"} == {
        "counts",
        "tfidf",
        "binary",
    }
    assert out
    assert all("with classifier=bernoulli" in str(each.named()) for each in out)
    with pytest.raises(UsageError, match="with classifier=bernoulli weighting=tfidf: classifier bernoulli and weighting tfidf"):
        possible(combinations(["classifier=bernoulli", "weighting=tfidf"], values()), "cross-validation", Reading())


def test_counted_features_have_no_words() -> None:
    left, out = possible(_portfolio(values()), "cross-validation", Reading(format="svmlight"))
    assert {candidate.settings.ngrams for candidate in left} == {1}
    assert any("features are counted already" in str(each.named()) for each in out)


def test_updatable_models_need_no_documents() -> None:
    left, out = possible(_portfolio(values()), "cross-validation", Reading(), updatable=True)
    assert left
    assert not any(needs_documents(candidate.settings) for candidate in left)
    assert all(needs_documents(each.candidate.settings) for each in out)


@pytest.mark.parametrize("by", ["evidence", "aic", "bic"])
@pytest.mark.parametrize(
    "name",
    sorted(
        {parameter.name for parameter in TRAINING}
        - {"smoothing", "prior_shape", "estimate", "class_prior", "covariance", "covariance_shape"}
    ),
)
def test_criteria_of_counts_compare_no_other_counts(by: str, name: str) -> None:
    with pytest.raises(UsageError, match=f"by {by} cannot compare {name}: "):
        _require_comparable(by, differing(name, {}, {}))


@pytest.mark.parametrize("by", BY)
def test_smoothing_and_prior_shape_compare_by_everything(by: str) -> None:
    candidates = combinations(["smoothing=1,auto", "prior-shape=symmetric,background", "estimate=mean,map"], values())
    _require_comparable(by, candidates)
    assert len(possible(candidates, by, Reading())[0]) == 8


@pytest.mark.parametrize(
    ("by", "settings", "message"),
    [
        ("evidence", {"classifier": "complement"}, "classifier multinomial"),
        ("leave-one-out", {"classifier": "bernoulli"}, "classifier multinomial"),
        ("leave-one-out", {"weighting": "tfidf"}, "leave-one-out and weighting tfidf exclude each other"),
    ],
)
def test_what_a_criterion_cannot_judge_is_left_out(by: str, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        possible([Candidate({}, Settings.of(settings))], by, Reading())


def test_leave_one_out_compares_no_selections_and_evidence_no_maximum_likelihood() -> None:
    with pytest.raises(UsageError, match="selected from all documents"):
        _require_comparable("leave-one-out", differing("top", {"top": 1}, {"top": 2}))
    with pytest.raises(UsageError, match="no evidence to compare"):
        _require_comparable("evidence", differing("class_prior", {"class_prior": "uniform"}, {}))
