"""Settings to be tried: all combinations, the portfolio, and what cannot be."""

from __future__ import annotations

from itertools import groupby

import pytest

from nbtext.cli.option_files import from_file
from nbtext.errors import UsageError
from nbtext.evaluation.candidates import (
    MOST_SETTINGS,
    PORTFOLIO,
    Values,
    _portfolio,
    combinations,
    possible,
)
from nbtext.exclusions import needs_documents
from nbtext.settings import Reading, Settings


def values(**base: object) -> Values:
    return Values(base, from_file)


def texts(*tries: str) -> list[dict[str, str | None]]:
    return [candidate.texts for candidate in combinations(tries, values())]


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
    assert possible(candidates, Reading())[1] == []
    analyses = [candidate.analysis() for candidate in candidates]
    assert len([key for key, _ in groupby(analyses)]) == len(set(analyses))
    assert candidates[0].settings == Settings()


def test_what_the_user_gave_holds_for_the_whole_portfolio() -> None:
    candidates = _portfolio(values(stop_words="none", classifier="logistic"))
    assert {(candidate.settings.stop_words, candidate.settings.classifier) for candidate in candidates} == {("none", "logistic")}
    assert len({repr(candidate.settings) for candidate in candidates}) == len(candidates) < len(PORTFOLIO)
    left, out = possible(candidates, Reading())
    assert len(left) + len(out) == len(candidates)
    assert {left_out.candidate.settings.weighting for left_out in out} == {"binary", "log"}


def test_those_that_cannot_be_are_left_out_unless_all_are() -> None:
    candidates = combinations(["classifier=bernoulli,multinomial", "weighting=counts,tfidf,binary"], values())
    left, out = possible(candidates, Reading())
    assert len(left) + len(out) == 6
    assert {each.settings.weighting for each in left if each.settings.classifier == "multinomial"} == {
        "counts",
        "tfidf",
        "binary",
    }
    assert out
    assert all("with classifier=bernoulli" in str(each.named()) for each in out)
    with pytest.raises(UsageError, match="with classifier=bernoulli weighting=tfidf: classifier bernoulli and weighting tfidf"):
        possible(combinations(["classifier=bernoulli", "weighting=tfidf"], values()), Reading())


def test_counted_features_have_no_words() -> None:
    left, out = possible(_portfolio(values()), Reading(format="svmlight"))
    assert {candidate.settings.ngrams for candidate in left} == {1}
    assert any("features are counted already" in str(each.named()) for each in out)


def test_updatable_models_need_no_documents() -> None:
    left, out = possible(_portfolio(values()), Reading(), updatable=True)
    assert left
    assert not any(needs_documents(candidate.settings) for candidate in left)
    assert all(needs_documents(each.candidate.settings) for each in out)
