"""Seed words: the file of them, and their pseudo-counts as statistics."""

from __future__ import annotations

from math import lgamma
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtext import TextClassifier
from nbtext.cli.option_files import read_seeds
from nbtext.counts.counting import Analysis
from nbtext.counts.statistics import (
    DEFAULT_SEED_PSEUDO_COUNT,
    CountWeights,
    SeedTerm,
    count_seeds,
    estimate_statistics,
    expand_negative_seeds,
)
from nbtext.errors import PathError
from nbtext.inspection.criteria import compute_criteria, estimate_labelled_classifier
from nbtext.inspection.generation import DocumentGenerator
from nbtext.inspection.terms import collect_word_details, format_term_name, rank_model_terms
from nbtext.model.training import resolve_seed_terms
from nbtext.settings import Settings
from tests import strategies
from tests.count_tables import dense, statistics_of
from tests.models import count_documents, split_labelled
from tests.process import fail, write

if TYPE_CHECKING:
    from pathlib import Path


def test_negated_seed_word_is_a_seed_word_of_all_other_classes(tmp_path: Path) -> None:
    write("s", "a\tant\nb\tred bee\t3\n\nc\t!ant\t2\n")
    seeds = read_seeds("s")
    assert seeds == [
        SeedTerm("a", ("ant",), DEFAULT_SEED_PSEUDO_COUNT),
        SeedTerm("b", ("red bee",), 3),
        SeedTerm("c", ("ant",), -2),
    ]
    assert expand_negative_seeds(seeds, "abcd") == [
        SeedTerm("a", ("ant",), 2), SeedTerm("a", ("ant",), DEFAULT_SEED_PSEUDO_COUNT), SeedTerm("b", ("ant",), 2), SeedTerm("b", ("red bee",), 3), SeedTerm("d", ("ant",), 2),
    ]  # fmt: skip
    assert expand_negative_seeds(seeds, ["c"]) == []


def test_seed_words_with_the_same_term_add(tmp_path: Path) -> None:
    analysis = Analysis.from_settings(Settings(stop_words="none", stemmer="snowball"))
    table, _ = count_documents([("a", b"ant"), ("b", b"bee")], analysis)
    for second in (5.0, 4.0):
        write("s", f"a\tant\t5\na\tants\t5\nb\t!ant\t{second}\n")
        seeds = resolve_seed_terms(read_seeds("s"), analysis)
        assert dense(count_seeds(seeds, table))[0].tolist() == [10 + second, 0]


@pytest.mark.parametrize(
    "text",
    [
        "a ant\nb\tbee\n",
        "a\tant\n",
        "",
        "a\tant\t0\nb\tbee\n",
        "a\tant\tx\nb\tbee\n",
        "a\t!\nb\tbee\n",
        "\tant\n",
    ],
)
def test_invalid_seed_lines_are_refused_with_their_number(text: str, tmp_path: Path) -> None:
    write("s", text)
    with pytest.raises(PathError, match=r"line \d is not a class|at least 2 classes"):
        read_seeds("s")


def test_one_class_of_seeds_is_enough_with_labels(tmp_path: Path) -> None:
    path = tmp_path / "s"
    path.write_text("a\tant\n")
    assert read_seeds(str(path), min_classes=1) == [
        SeedTerm("a", ("ant",), DEFAULT_SEED_PSEUDO_COUNT)
    ]
    path.write_text("")
    with pytest.raises(PathError, match="at least 1 class"):
        read_seeds(str(path), min_classes=1)


def test_seed_pseudo_counts_do_not_change_the_counts() -> None:
    analysis = Analysis.from_settings(Settings(stop_words="none", stemmer="none", weighting="log"))
    table, _ = count_documents([("x", b"ant bee"), ("y", b"bee cat")], analysis)
    seeds = [
        SeedTerm("x", ("bee",), 2.0),
        SeedTerm("x", ("bee",), 1.0),
        SeedTerm("y", ("ant",), 0.5),
        SeedTerm("y", ("unknown",), 9.0),
    ]
    found = dense(count_seeds(seeds, table))
    assert found.tolist() == [[0, 0.5], [3, 0], [0, 0]]
    both = estimate_statistics(
        table, CountWeights(seeds=[*seeds, SeedTerm("no such class", ("bee",), 1.0)])
    )
    assert both.get_dense_counts(np.arange(3)).tolist() == [[1, 0.5], [4, 1], [0, 1]]
    assert both.class_documents.tolist() == [1, 1]
    assert both.table is table


TEXTS = [
    ("x", "ant bee bee"),
    ("x", "ant"),
    ("y", "bee cow"),
    ("y", "cow cow dog"),
    ("x", "dog ant"),
]
SEEDS = [
    SeedTerm("x", ("ant",), 3.1),
    SeedTerm("y", ("cow",), 0.1),
    SeedTerm("y", ("emu",), 2.0),
    SeedTerm("y", ("bee",), -1.5),
]


def fitted(seeds: list[SeedTerm], **parameters: Any) -> TextClassifier:
    model = TextClassifier(
        stemmer="none", stop_words="none", **{"calibration": "none", "smoothing": 0.5, **parameters}
    )
    return model.begin_with(seeds).fit(*split_labelled(TEXTS))


@given(
    strategies.corpora,
    st.lists(st.tuples(st.sampled_from(strategies.WORDS), st.floats(0.1, 50)), max_size=4),
)
def test_observed_counts_exclude_seeds(corpus: list[Any], pairs: list[tuple[str, float]]) -> None:
    statistics = statistics_of(corpus)
    seeds = [SeedTerm(statistics.classes[0], (word,), amount) for word, amount in pairs]
    observed, terms = (
        estimate_statistics(statistics.table, CountWeights(seeds=seeds)).observed_counts,
        np.arange(statistics.n_terms),
    )
    assert np.array_equal(observed.get_dense_counts(terms), statistics.get_dense_counts(terms))
    assert np.array_equal(
        observed.get_dense_documents(terms), statistics.get_dense_documents(terms)
    )
    assert np.array_equal(observed.class_documents, statistics.class_documents)
    assert observed.n_documents == statistics.n_documents


@pytest.mark.parametrize("by", ["presence", "chi2"])
def test_feature_selection_by_document_tables_ignores_seeds(by: str) -> None:
    of_both = [
        {
            format_term_name(model, term): score
            for term, score in zip(*rank_model_terms(model, by)[:2], strict=True)
        }
        for model in (fitted(SEEDS), fitted([]))
    ]
    assert of_both[0].pop("emu") == 0
    assert of_both[0] == pytest.approx(of_both[1])


def test_mutual_information_uses_the_smoothed_models() -> None:
    """φ_jk = (m_jk + A + A_jk)/(N_k + A·V + Σ_j A_jk), and I_j = Σ_k φ_jk π_k log(φ_jk / Σ_l φ_jl π_l)."""
    model = fitted(SEEDS)
    found = {
        format_term_name(model, term): score
        for term, score in zip(*rank_model_terms(model, "mutual-information")[:2], strict=True)
    }
    phi = np.array([(3 + 0.5 + 3.1) / (6 + 2.5 + 4.6), 0.5 / (5 + 2.5 + 2.1)])
    pi = np.array([3 / 5, 2 / 5])
    assert found["ant"] == pytest.approx((phi * pi * np.log(phi / (phi @ pi))).sum())


def test_held_out_documents_are_scored_without_their_counts_but_with_seeds() -> None:
    model = fitted(SEEDS, class_prior="uniform", calibration="none")
    unseen = model.fitted.classifier.leave_one_out(model.counts.sample.documents)
    texts = {}
    for label, text in TEXTS:
        forgotten = fitted(SEEDS, class_prior="uniform").forget([text], [label])
        texts[label, text] = forgotten.joint_log_likelihood([text])[0].tolist()
    found = sorted(unseen.scores.tolist())
    assert found == [pytest.approx(each) for each in sorted(texts.values())]


def test_generated_documents_are_not_lengthened_by_seeds() -> None:
    drawn = [
        [len(document.terms) for document in DocumentGenerator(fitted(seeds)).generate(200, "x")]
        for seeds in ([], [SeedTerm("x", ("ant",), 500.0)])
    ]
    assert drawn[0] == drawn[1]


def test_seed_of_a_column_is_a_seed_of_its_value(tmp_path: Path) -> None:
    rows = [
        {"height": height, "hair": hair} for height, hair in ("td", "sd", "tb", "tr", "sb", "tb")
    ]
    columns: dict[str, Any] = {"categorical": "height,hair", "smoothing": 1, "calibration": "none"}
    model = (
        TextClassifier(**columns)
        .begin_with([SeedTerm("+", ("height=t",), 3.0), SeedTerm("-", ("height=xl",), 2.0)])
        .fit(rows, [*"++----"])
    )
    prior = {"+": 2 / 6, "-": 4 / 6}
    heights = {
        "+": {"t": (1 + 1 + 3) / 8, "s": 2 / 8, "xl": 1 / 8},
        "-": {"t": (3 + 1) / 9, "s": 2 / 9, "xl": 3 / 9},
    }
    for height in ("t", "s", "xl"):
        joint = [prior[label] * heights[label][height] for label in "+-"]
        assert model.predict_proba([{"height": height}])[0] == pytest.approx(
            [each / sum(joint) for each in joint]
        )
    [details] = collect_word_details(model, ["height=t"])
    assert [(each.count, each.documents) for each in details.terms[0].classes.values()] == [
        (1, 1),
        (3, 3),
    ]
    parts = {
        part.part: part for part in compute_criteria(estimate_labelled_classifier(model)).parts
    }
    heights_of = {"+": {"t": 4, "s": 1, "xl": 1}, "-": {"t": 1, "s": 1, "xl": 3}}
    counts = {"+": {"t": 1, "s": 1, "xl": 0}, "-": {"t": 3, "s": 1, "xl": 0}}
    evidence = sum(
        lgamma(sum(alpha.values())) - lgamma(sum(alpha.values()) + sum(counts[label].values()))
        + sum(lgamma(alpha[value] + counts[label][value]) - lgamma(alpha[value]) for value in alpha)
        for label, alpha in heights_of.items()
    )  # fmt: skip
    assert parts["height"].evidence == pytest.approx(evidence)
    assert parts["height"].observations == 6
    path = tmp_path / "model"
    model.save(str(path))
    assert (
        TextClassifier.load(str(path)).predict_proba([{"height": "xl"}]).tolist()
        == model.predict_proba([{"height": "xl"}]).tolist()
    )
    assert not model.forget([rows[0]], ["+"]).fitted.parameters.selected_terms.any()


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("age=3", "a number at 'age'"),
        ("heigth=t", "not a value of --categorical"),
        ("height=", "not a value of --categorical"),
    ],
)
def test_seed_that_no_column_can_contain_is_refused(word: str, said: str, tmp_path: Path) -> None:
    write("t.csv", "likes,height,age\n+,t,3\n-,s,4\n")
    write("s", f"+\t{word}\n")
    assert said in fail(
        2, "train t.csv --label-column likes --categorical height --numeric age --seeds s"
    )
