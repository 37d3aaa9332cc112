"""`nbtext inspect`: the overview, evidence, and what the model knows of words, classes and held-out documents.

Also tests `inspection/overview.py`, `inspection/terms.py`, `report/models.py` and `report/rankings.py`.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import pytest
from scipy.stats import beta

from nbtext import __version__
from tests.process import SERVICE_DESK, corpus, fail, in_json, nbtext, succeed, succeeded, write
from tests.textbook import CHINA, DATING

if TYPE_CHECKING:
    from pathlib import Path


LOG_2, LOG_3 = math.log(2), math.log(3)


def test_overview_shows_the_contents_of_the_model(service_desk_model: Path) -> None:
    said = in_json("inspect -m", service_desk_model, "--limit", "3")
    assert said["documents"] == 222
    assert said["written_by"]["nbtext"] == __version__
    assert sum(of["documents"] for of in said["classes"].values()) == 222
    assert sum(of["tokens"] for of in said["classes"].values()) == said["tokens"]
    assert sum(of["prior"] for of in said["classes"].values()) == pytest.approx(1)
    assert [len(of["top_terms"]) for of in said["classes"].values()] == [3] * 6
    text = succeed("inspect -m", service_desk_model, "--limit", "3").text
    for label, of in said["classes"].items():
        assert any(
            label in line and ", ".join(of["top_terms"]) in line for line in text.split("\n")
        )
    assert (
        in_json("inspect -m", service_desk_model, "--limit", "0")["classes"][label]["top_terms"]
        == []
    )


def test_overview_begins_with_classes_and_ends_with_changed_settings(pets: Path) -> None:
    succeed("train pets --ngrams 2")
    text = succeed("inspect").text
    assert text.index("terms that speak most") < text.index("fingerprint")
    [training] = [line for line in text.splitlines() if line.startswith("training")]
    assert training.split(maxsplit=1)[1] == "ngrams 2"
    assert "written by" not in text
    everything = succeed("inspect --all").text
    assert "classifier multinomial, language english" in everything
    assert "written by" in everything
    assert in_json("inspect --all") == in_json("inspect")


def test_criteria_compare_the_model_with_others_of_the_same_counts(
    service_desk_model: Path, tmp_path: Path
) -> None:
    said = in_json("inspect -m", service_desk_model, "--criteria")
    models = said["models"]
    assert [each["log_evidence"] for each in models] == sorted(
        (each["log_evidence"] for each in models), reverse=True
    )
    assert sum(each["probability"] for each in models) == pytest.approx(1)
    assert models[0]["smoothing"] == said["smoothing"]
    assert models[0]["log_evidence"] == pytest.approx(said["criteria"]["evidence"])
    [pooled] = [each for each in models if each["language_models"] == "one for all classes"]
    for each in models[1:]:
        assert each["log_bayes_factor"] == pytest.approx(
            models[0]["log_evidence"] - each["log_evidence"]
        )
        assert each["evidence_for_best"] == "very strong"
        if each is not pooled:
            succeed("train", SERVICE_DESK / "train", "--smoothing", str(each["smoothing"]))
            alone = in_json("inspect --criteria")
            assert each["log_evidence"] == pytest.approx(alone["criteria"]["evidence"])
    text = succeed("inspect -m", service_desk_model, "--criteria").text
    assert "models of the same data (text), equally probable before" in text


def test_criteria_without_a_prior_omit_evidence_or_are_refused(pets: Path) -> None:
    succeed("train pets --estimate ml --class-prior uniform")
    said = in_json("inspect --criteria")
    found = said["criteria"]
    assert "models" not in said
    assert (found["evidence"], found["evidence_of_classes"]) == (None, None)
    assert found["evidence_of_labels"] == pytest.approx(4 * math.log(1 / 2))
    assert "not defined, because its parameters have no prior" in succeed("inspect --criteria").text
    succeed("train pets --classifier complement")
    assert "--classifier multinomial" in fail(2, "inspect --criteria")


def test_criteria_include_the_columns(tmp_path: Path) -> None:
    corpus(tmp_path, {"people.csv": "\n".join(["height,hair,eye,likes", *map(",".join, DATING)])})
    options = ("people.csv", "--label-column", "likes", "--categorical", "height,hair,eye")
    succeed("train", *options, "--smoothing", "1")
    said = in_json("inspect --criteria")
    found = said["criteria"]
    assert found["parameters"] == 2 * (1 + 2 + 1) + 1
    assert [found[name] for name in ("log_likelihood", "aic", "bic")] == pytest.approx(
        [-19.207, 56.41, 57.13], abs=0.005
    )
    assert [each["log_evidence"] for each in said["models"][:2]] == pytest.approx(
        [-20.808, -21.887], abs=5e-4
    )
    assert found["evidence"] == pytest.approx(sum(each["evidence"] or 0 for each in found["parts"]))
    assert [each["part"] for each in found["parts"]] == ["class prior", "height", "hair", "eye"]
    assert [
        sum(each[name] for each in found["parts"]) for name in ("parameters", "aic", "bic")
    ] == pytest.approx([9, found["aic"], found["bic"]])
    assert "hair" in succeed("inspect --criteria").text


def test_criteria_of_numbers_without_variance_are_refused(tmp_path: Path) -> None:
    corpus(tmp_path, {"t.csv": "label,age,size\na,1,1\na,1,2\nb,2,3\nb,3,4\n"})
    succeed("train t.csv --label-column label --numeric age,size")
    assert "not defined for age:" in fail(2, "inspect --criteria")


def test_every_printed_term_can_be_passed_to_term(tmp_path: Path) -> None:
    texts = {
        "c/stalls/1": "two horses, expensive coffee",
        "c/stalls/2": "expensive cheese; street lamps",
        "c/lamps/1": "the street lamp is undone",
    }
    corpus(tmp_path, texts)
    succeed("train c --char-ngrams 3-4 --ngrams 2")
    printed = [row[1] for row in succeed("select-features --limit 1000 -o tsv").rows]
    assert {"un*", "*eap*", "street lamp", "hors", "two hors"} - set(printed) == {"*eap*"}
    arguments = [argument for term in printed for argument in ("--term", term)]
    words = in_json("inspect", *arguments)["words"]
    for word in words:
        assert word["word"] in [term["term"] for term in word["terms"] if term["known"]], word
    by_word = {word["word"]: [term["term"] for term in word["terms"]] for word in words}
    assert by_word["un*"] == ["un*"]
    assert by_word["street lamp"] == ["street", "street lamp", "lamp"]
    assert by_word["two hors"] == ["two hors", "two"]
    assert "un*  " in succeed("inspect --term un*").text
    unknown, no_text = in_json("inspect --term zz* --term", b"h\xff*")["words"]
    assert [(term["term"], term["known"]) for term in unknown["terms"] + no_text["terms"]] == [
        ("zz*", False),
        ("h?*", False),
    ]


def test_asterisk_matches_only_itself_without_character_ngrams(pets: Path) -> None:
    succeed("train pets")
    word = in_json("inspect --term bark*")["words"][0]
    assert [term["term"] for term in word["terms"]] == ["bark"]


def test_term_may_have_the_name_of_a_column(tmp_path: Path) -> None:
    corpus(tmp_path, {"c/cats/1": "count count purr", "c/dogs/1": "count bark"})
    succeed("train c")
    lines = succeed("inspect --term count").text.splitlines()
    place = next(place for place, line in enumerate(lines) if "95 % credible" in line)
    assert lines[place].split()[:2] == ["count", "count"]
    assert [line.split()[:2] for line in lines[place + 2 : place + 4]] == [
        ["cats", "2"],
        ["dogs", "1"],
    ]


def test_term_shows_counts_and_probabilities_of_words(pets: Path) -> None:
    succeed("train pets --smoothing 0.5")
    arguments = ("inspect", "--term", "Barking", "--term", "the", "--term", "unicorns")
    said = in_json(*arguments)
    barking, the, unicorns = said["words"]
    assert (barking["word"], [term["term"] for term in barking["terms"]]) == ("Barking", ["bark"])
    dogs = barking["terms"][0]["classes"]["dogs"]
    tokens, n_terms = said["classes"]["dogs"]["tokens"], said["terms"]
    assert (dogs["count"], dogs["documents"]) == (2, 2)
    assert dogs["probability"] == pytest.approx(2.5 / (tokens + 0.5 * n_terms))
    assert dogs["interval"] == pytest.approx(
        beta.ppf([0.025, 0.975], 2.5, tokens - 2 + 0.5 * (n_terms - 1))
    )
    assert dogs["posterior"] == pytest.approx([2.5, tokens - 2 + 0.5 * (n_terms - 1)])
    assert barking["terms"][0]["classes"]["cats"]["count"] == 0
    assert the["terms"] == []
    assert unicorns["terms"] == [
        {"term": "unicorn", "forms": {}, "known": False, "selected": False, "classes": {}}
    ]
    text = succeed(*arguments).text
    assert (
        f"{dogs['probability']:.3g}   {dogs['interval'][0]:.3g} to {dogs['interval'][1]:.3g}"
        in text
    )
    head, first, second = text[text.index("posterior density of φ from 0 to ") :].splitlines()[:3]
    assert head.endswith(f"from 0 to {1.25 * dogs['interval'][1]:.3g}, each class on its own scale")
    assert (first.split()[0], second.split()[0]) == ("dogs", "cats")
    assert max(map(len, (first, second))) <= 80
    assert first.index("█") > second.index(
        "█"
    )  # the class that uses the term has its mode further to the right
    assert "none: it is a stop word" in text
    assert "in no training document" in text


CHINESE: dict[str, tuple[str, str, list[float], list[tuple[float, float]] | None]] = {
    "multinomial": ("φ", "that a token of the class is the term", [2 / 9, 3 / 7], [(2, 7), (6, 8)]),
    "multinomial --weighting binary": (
        "φ", "that a token of the class is the term, each document counting a term once", [2 / 9, 4 / 12], [(2, 7), (4, 8)],
    ),
    "multinomial --weighting log": (
        "φ", "the term's proportion of the log weights of the class", [(LOG_2 + 1) / (3 * LOG_2 + 6), (2 * LOG_3 + LOG_2 + 1) / (2 * LOG_3 + 4 * LOG_2 + 6)], None,
    ),
    "bernoulli": ("θ", "that a document of the class contains the term", [2 / 3, 4 / 5], [(2, 1), (4, 1)]),
    "bernoulli --estimate map": ("θ", "that a document of the class contains the term", [2 / 3, 4 / 5], [(3, 2), (5, 2)]),
    "bernoulli --estimate ml": ("θ", "that a document of the class contains the term", [1, 1], None),
    **{
        name: ("φ", f"that a token of the class is the term; {name} does not score by it", [2 / 9, 3 / 7], [(2, 7), (6, 8)])
        for name in ("complement", "gaussian", "logistic")
    },
}  # fmt: skip
"""What each classifier believes of "Chinese" in table 13.1 of IIR, with the pseudo-count 1: symbol, meaning, probability in "no" and "yes", the
parameters of their Beta posteriors."""


@pytest.mark.parametrize("classifier", CHINESE)
def test_term_probability_is_the_one_that_the_classifier_scores_with(
    classifier: str, tmp_path: Path
) -> None:
    symbol, meaning, probability, posteriors = CHINESE[classifier]
    write("china.csv", "".join(f"{label},{' '.join(terms)}\n" for label, terms in CHINA))
    smoothing = () if "ml" in classifier.split() else ("--smoothing", "1")
    train = (
        "train",
        "china.csv",
        "--no-header",
        "--stemmer",
        "none",
        "--stop-words",
        "none",
        *smoothing,
    )
    assert nbtext(*train, "--classifier", *classifier.split()).status == 0
    shown = nbtext("inspect --term Chinese --class yes -o json")
    word = json.loads(succeeded(shown).out)["words"][0]
    assert word["probability_of"] == {"symbol": symbol, "meaning": meaning}
    classes = word["terms"][0]["classes"]
    assert [classes[label]["probability"] for label in ("no", "yes")] == pytest.approx(probability)
    intervals: list[Any] = [
        pytest.approx(beta.ppf([0.025, 0.975], *parameters)) for parameters in posteriors or []
    ]
    assert [classes[label]["interval"] for label in ("no", "yes")] == (intervals or [None, None])
    of_class = json.loads(shown.out)["class_terms"]["yes"]
    assert of_class["probability_of"] == word["probability_of"]
    assert of_class["probability"][0] == {"term": "chinese", "value": pytest.approx(probability[1])}
    lines = succeed("inspect --term Chinese --class yes").text.splitlines()
    assert f"probability  {symbol}, {meaning}" in lines
    assert f"{symbol}     {meaning}" in lines
    assert any(line.split()[:4] == ["most", "probable", symbol, "above"] for line in lines)
    assert any(line.split()[:4] == ["yes", "5", "3", f"{probability[1]:.3g}"] for line in lines)


def test_words_of_several_terms_and_unselected_terms_are_shown(pets: Path) -> None:
    succeed("train pets --ngrams 2 --top 3")
    terms = in_json("inspect --term 'the dog barks flute'")["words"][0]["terms"]
    assert [(term["term"], term["known"]) for term in terms] == [
        ("dog", True), ("dog bark", True), ("bark", True), ("bark flute", False), ("flute", False),
    ]  # fmt: skip
    assert {term["selected"] for term in terms if term["known"]} == {True, False}
    left_out = next(term for term in terms if term["known"] and not term["selected"])
    assert [(of["probability"], of["interval"]) for of in left_out["classes"].values()] == [
        (None, None)
    ] * 2
    assert "not selected" in succeed("inspect --term 'the dog barks'").text
    succeed("train pets --estimate ml")
    assert "density" not in succeed("inspect --term dog").text


def test_features_are_found_by_name(tmp_path: Path) -> None:
    write("t.svm", "x red:2 round:1\ny green:3\n")
    succeed("train t.svm --format svmlight")
    word = in_json("inspect --term red")["words"][0]
    assert [of["count"] for of in word["terms"][0]["classes"].values()] == [2, 0]


def test_l2_and_its_held_out_loss_are_shown(service_desk_model: Path, tmp_path: Path) -> None:
    for options, words in (((), "automatic"), (("--l2", "0.5"), "given")):
        model = ("-m", tmp_path / "m")
        succeed("train", SERVICE_DESK / "train", "--classifier", "logistic", *options, *model)
        said = in_json("inspect", *model)
        (line,) = (
            line
            for line in succeed("inspect", *model).out.decode().splitlines()
            if line.startswith("penalty")
        )
        loss = said["calibration"]["after"]["log_loss"]
        assert (
            line.split(maxsplit=1)[1]
            == f"l2 {said['l2']:g} ({words}): log loss {loss:.4g} nats, calibrated, on 44 documents left out"
        )
    assert "l2" not in in_json("inspect -m", service_desk_model)


def inspect_json(*arguments: str | Path) -> Any:
    return in_json("inspect", *arguments)


def test_perplexity_of_held_out_documents_matches_hand_computation(tmp_path: Path) -> None:
    train = {
        f"train/{label}/{number}": " ".join(terms) for number, (label, terms) in enumerate(CHINA)
    }
    corpus(
        tmp_path,
        {
            **train,
            "test/yes/1": "Chinese Chinese Chinese Tokyo Japan",
            "test/yes/2": "Peking",
            "test/maybe/1": "Macao",
        },
    )
    succeed("train train --stemmer none --stop-words none --smoothing 1")
    done = nbtext("inspect --perplexity test -o json")
    assert (done.status, done.notes) == (
        0,
        ["nbtext: warning: labels that the model does not have: maybe"],
    )
    said = json.loads(done.out)["perplexity"]
    log_likelihood = 3 * math.log(3 / 7) + 3 * math.log(1 / 14)
    assert said["classes"]["yes"] == {
        "documents": 2, "tokens": 6, "unknown": 1, "log_likelihood": pytest.approx(log_likelihood), "perplexity": pytest.approx(math.exp(-log_likelihood / 6)),
    }  # fmt: skip
    assert said["classes"]["no"] == {
        "documents": 0,
        "tokens": 0,
        "unknown": 0,
        "log_likelihood": 0,
        "perplexity": None,
    }
    assert said["all"] == said["classes"]["yes"]
    assert said["unknown_labels"] == {"maybe": 1}
    text = nbtext("inspect --perplexity test").text
    assert f"{math.exp(-log_likelihood / 6):,.1f}" in text
    assert "16.7%" in text


def test_perplexity_under_maximum_likelihood_can_be_infinite(pets: Path) -> None:
    succeed("train pets --estimate ml -m ml")
    corpus(pets, {"test/cats/1": "a unicorn", "test/dogs/1": "dogs"})
    said = inspect_json("-m", "ml", "--perplexity", "test")["perplexity"]
    assert said["classes"]["cats"]["perplexity"] is None
    assert said["classes"]["dogs"]["perplexity"] > 1
    assert "infinite" in succeed("inspect -m ml --perplexity test").text


def test_perplexity_uses_reading_options_and_ignores_attributes(
    tmp_path: Path,
) -> None:
    write("t.csv", "label,text,city,age\na,the dog,Rome,3\nb,cats,Oslo,4\na,dogs,Rome,3\n")
    columns = (
        "--label-column",
        "label",
        "--text-column",
        "text",
        "--categorical",
        "city",
        "--numeric",
        "age",
    )
    succeed("train t.csv", *columns)
    write("new.csv", "klass,text,city,age\na,dog,Rome,7\nb,,Bonn,1\n")
    said = inspect_json("--perplexity", "new.csv", "--label-column", "klass")["perplexity"]
    assert (said["all"]["documents"], said["all"]["tokens"], said["all"]["unknown"]) == (2, 1, 0)


def test_sections_are_printed_in_a_fixed_order(pets: Path) -> None:
    text = succeed("inspect --criteria --class cats --perplexity pets").text
    places = [text.index(part) for part in ("AIC", "cats: 2 documents", "perplexity")]
    assert places == sorted(places)
    assert "calibration" not in text


def test_information_is_printed_in_all_formats(pets: Path) -> None:
    succeed("train pets")
    ranking = "inspect --class dogs --class cats --information --limit 2"
    [header, *rows] = succeed(f"{ranking} -o csv").text.splitlines()
    assert header == "label,rank,term,probability,nats,bits"
    records = [json.loads(line) for line in succeed(f"{ranking} -o jsonl").text.splitlines()]
    assert in_json(ranking)["next_terms"]["terms"] == records
    assert [record["label"] for record in records] == ["dogs"] * 2 + ["cats"] * 2
    assert rows == succeed(f"{ranking} -o tsv").text.replace("\t", ",").splitlines()
    for row, record in zip(rows, records, strict=True):
        label, rank, term, *numbers = row.split(",")
        assert (label, int(rank), term) == (record["label"], record["rank"], record["term"])
        p = record["probability"]
        expected = (p, -math.log(p), -math.log2(p))
        assert list(map(float, numbers)) == pytest.approx(expected, rel=1e-5)
        details = in_json("inspect --term", term)["words"][0]["terms"][0]
        assert details["classes"][label]["probability"] == pytest.approx(p)
    table = succeed(ranking).text
    assert "probability  φ, that a token of the class is the term\n" in table
    assert "--information needs --class" in fail(2, "inspect --information")
    assert "--output csv needs --information" in fail(2, "inspect --class dogs -o csv")
    assert "only the terms of --information" in fail(2, f"{ranking} -o csv --criteria")
