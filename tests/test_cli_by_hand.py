"""`nbtext explain --by-hand`: Bayes' rule with its numbers, equal to the posterior of classify.

Also tests `explain/by_hand.py` and `report/calculations.py`.
"""

from __future__ import annotations

import re
from fractions import Fraction
from math import prod
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from nbtext import Document, TextClassifier, UsageError
from nbtext.explain.by_hand import (
    MAX_EXACT_POWERS,
    MAX_SHOWN_FACTORS,
    BayesCalculation,
    BayesCalculator,
    multiply,
)
from nbtext.report.calculations import write_calculations
from tests.process import SERVICE_DESK, fail, succeed, write
from tests.profiles import examples
from tests.textbook import CHINA, CHINA_ASKED, DATING, model_of_china

if TYPE_CHECKING:
    from pathlib import Path

PLAIN = "--stop-words none --stemmer none --calibration none"
ASKED = " ".join(CHINA_ASKED)


def calculate(model: TextClassifier, text: str, values: tuple[str, ...] = ()) -> BayesCalculation:
    """Return the calculation of one document."""
    document = Document("a document", None, text.encode(), values=values)
    [calculation] = BayesCalculator(model.fitted).calculate([document])
    return calculation


def cells(table: str) -> dict[str, list[str]]:
    """Return the cells of a table for people, or of Markdown, by the first cell of their row."""
    rows = [
        re.split(r" {3,}|  (?=\S)", line.strip())
        if not line.startswith("|")
        else [cell.strip() for cell in line.strip("|").split(" | ")]
        for line in table.splitlines()
    ]
    return {row[0].strip(): row[1:] for row in rows if len(row) > 1}


@pytest.fixture
def china() -> None:
    """The training documents of IIR, table 13.1, as train.tsv."""
    write("train.tsv", "".join(f"{label}\t{' '.join(terms)}\n" for label, terms in CHINA))


@pytest.mark.usefixtures("china", "tmp_path")
def test_multinomial_example_of_the_textbook_is_printed_with_its_numbers() -> None:
    """IIR, example 13.1."""
    succeed(f"train train.tsv --smoothing 1 {PLAIN}")
    wanted = {
        "factor": ["no", "yes"],
        "prior": ["1/4", "3/4"],
        "chinese": ["((1 + 1)/(3 + 6))³", "((5 + 1)/(8 + 6))³"],
        "japan": ["(1 + 1)/(3 + 6)", "(0 + 1)/(8 + 6)"],
        "tokyo": ["(1 + 1)/(3 + 6)", "(0 + 1)/(8 + 6)"],
        "product": ["8/59049 ≈ 0.000135481", "81/268912 ≈ 0.000301214"],
        "posterior = product/sum": [
            "2151296/6934265 ≈ 0.310241",
            "4782969/6934265 ≈ 0.689759",
        ],
    }
    done = succeed("explain --by-hand --text", ASKED)
    assert {name: row for name, row in cells(done.text).items() if name in wanted} == wanted
    assert done.text.endswith("\nSum over the classes: 6934265/15878984688 ≈ 0.000436694\n")
    assert succeed("explain --by-hand -o table --text", ASKED).out == done.out
    markdown = succeed("explain --by-hand -o markdown --text", ASKED).text
    assert {name: row for name, row in cells(markdown).items() if name in wanted} == {
        name: [cell.removesuffix(" |") for cell in row] for name, row in wanted.items()
    }
    [[_, label, probability]] = succeed("classify --text", ASKED).rows
    assert (label, probability) == ("yes", "0.689759")


@pytest.mark.usefixtures("china", "tmp_path")
def test_bernoulli_example_of_the_textbook_has_absent_terms() -> None:
    """IIR, example 13.2."""
    succeed(f"train train.tsv --classifier bernoulli --smoothing 1 {PLAIN}")
    found = cells(succeed("explain --by-hand --text", ASKED).text)
    assert found["chinese"] == ["(1 + 1)/(1 + 2)", "(3 + 1)/(3 + 2)"]
    assert found["tokyo"] == ["(1 + 1)/(1 + 2)", "(0 + 1)/(3 + 2)"]
    for name in ("beijing", "macao", "shanghai"):
        assert found[f"without {name}"] == ["(1 + 1)/(1 + 2)", "(2 + 1)/(3 + 2)"]
    assert found["product"] == ["16/729 ≈ 0.0219479", "81/15625 = 0.005184"]


def test_latex_has_the_fractions_below_names(tmp_path: Path) -> None:
    path = tmp_path / "m"
    model_of_china(calibration="none").save(str(path))
    text = succeed("explain --by-hand -o latex --text", ASKED, "-m", path).text
    assert (
        r"P(\text{yes})\,P(d \mid \text{yes}) &= \underbrace{\frac{3}{4}}_{\text{prior}} \cdot "
        r"\underbrace{\left(\frac{5 + 1}{8 + 6}\right)^{3}}_{\text{chinese}} \cdot "
        r"\underbrace{\frac{0 + 1}{8 + 6}}_{\text{japan}} \cdot "
        r"\underbrace{\frac{0 + 1}{8 + 6}}_{\text{tokyo}} \\" in text
    )
    assert r"P(\text{yes} \mid d) &= \frac{4782969}{6934265} \approx 0.689759" in text


def test_people_are_calculated_from_columns() -> None:
    """V. Honavar's notes: a tall, dark person with eyes w is liked with odds 2000/147."""
    names = ("height", "hair", "eye")
    rows = [{"text": "", **dict(zip(names, row[:3], strict=True))} for row in DATING]
    model = TextClassifier(categorical=",".join(names), smoothing=1, calibration="none").fit(
        rows, [row[3] for row in DATING]
    )
    calculation = calculate(model, "", ("t", "d", "w"))
    by_class = dict(zip(calculation.classes, calculation.posterior, strict=True))
    assert by_class == {"+": Fraction(2000, 2147), "-": Fraction(147, 2147)}
    assert [factor.name for factor in calculation.factors] == [
        "prior",
        "height=t",
        "hair=d",
        "eye=w",
    ]


SETTINGS = st.fixed_dictionaries(
    {
        "classifier": st.sampled_from(["multinomial", "bernoulli"]),
        "weighting": st.sampled_from(["counts", "binary"]),
        "smoothing": st.sampled_from([1, 0.1, 0.37, 2.5, 0, "auto"]),
        "estimate": st.sampled_from(["mean", "map", "ml"]),
        "class_prior": st.sampled_from(["empirical", "uniform", "smoothed:0.5"]),
        "ngrams": st.sampled_from([1, 2]),
    }
)
COLUMNS = st.tuples(
    st.sampled_from(["red", "blue", "green", ""]),
    st.sampled_from(["0", "1", "7", ""]),
    st.sampled_from(["-1.5", "0", "3.25", ""]),
)
TEXTS = st.lists(st.sampled_from(["ant", "bee", "cat", "dog", "eel"]), max_size=8).map(" ".join)
ROWS = st.lists(st.tuples(st.sampled_from("xyz"), TEXTS, COLUMNS), min_size=2, max_size=8)


@given(SETTINGS, ROWS, TEXTS, COLUMNS, st.booleans())
@examples(150)
def test_posterior_is_that_of_the_model(
    settings: dict[str, Any],
    rows: list[tuple[str, str, tuple[str, str, str]]],
    text: str,
    values: tuple[str, str, str],
    has_columns: bool,
) -> None:
    names = ("colour", "n", "size")
    columns: dict[str, Any] = {}
    if has_columns:
        columns = {"categorical": "colour=5", "count": "n", "numeric": "size"}

    def to_document(content: str, cells: tuple[str, str, str]) -> Any:
        return {"text": content, **dict(zip(names, cells, strict=True))} if columns else content

    classifier = TextClassifier(
        stop_words="none", stemmer="none", calibration="none", **settings, **columns
    )
    try:
        model = classifier.fit(
            [to_document(content, cells) for _, content, cells in rows],
            [label for label, _, _ in rows],
        )
    except UsageError:  # such as a number that does not vary in a class, without smoothing
        assume(False)
    calculation = calculate(model, text, values if columns else ())
    scores = model.joint_log_likelihood([to_document(text, values)])[0]
    if not calculation.posterior:
        assert all(score == float("-inf") for score in scores)
        return
    wanted = model.predict_proba([to_document(text, values)])[0].tolist()
    assert [float(p) for p in calculation.posterior] == pytest.approx(wanted, abs=1e-12)
    assert sum(calculation.posterior) == pytest.approx(1, abs=1e-12)
    assert calculation.calibrated == pytest.approx(wanted, abs=1e-15)
    shown, rest = calculation.split_factors()
    for index, product in enumerate(calculation.joint):
        assert float(product) == pytest.approx(
            float(multiply(shown, index)) * float(multiply(rest, index)), rel=1e-12
        )


def test_products_are_exact_unless_they_are_long() -> None:
    model = model_of_china(calibration="none", smoothing=0.1)
    short, long = (calculate(model, " ".join(CHINA_ASKED * n)) for n in (1, MAX_EXACT_POWERS))
    assert short.joint[1] == Fraction(3, 4) * Fraction(51, 86) ** 3 * Fraction(1, 86) ** 2
    assert sum(short.posterior) == 1
    assert [float(p) for p in long.posterior] == pytest.approx(
        model.predict_proba([" ".join(CHINA_ASKED * MAX_EXACT_POWERS)])[0].tolist(), rel=1e-9
    )
    assert len(f"{long.joint[0]}") < 70  # 50 digits and an exponent


def test_largest_contributions_of_many_factors_are_shown(tmp_path: Path) -> None:
    words = [f"word{number:02d}" for number in range(40)]
    rows = [("a", word) for word in words] + [("b", " ".join(words[:35]))] * 2
    model = TextClassifier(
        classifier="bernoulli", stop_words="none", stemmer="none", smoothing=1, calibration="none"
    ).fit([text for _, text in rows], [label for label, _ in rows])
    calculation = calculate(model, "word36 word37")
    shown, rest = calculation.split_factors()
    assert (len(shown), len(rest)) == (MAX_SHOWN_FACTORS + 1, 40 - MAX_SHOWN_FACTORS)
    assert min(factor.log_range for factor in shown[1:]) >= max(f.log_range for f in rest)
    for index, product in enumerate(calculation.joint):
        factors = [multiply(shown, index), multiply(rest, index)]
        assert product == prod(factors)
    model.save(str(tmp_path / "m"))
    for output in ("table", "markdown", "latex"):
        text = succeed("explain --by-hand --text word36 -o", output, "-m", tmp_path / "m").text
        assert text.count("10 more factors") == (2 if output == "latex" else 1)


EVIL = r"50%_off & {x} #1 ~y^z \w $5 | *b* <i> `c`"


@pytest.mark.parametrize("output", ["latex", "markdown", "table"])
@pytest.mark.parametrize("settings", [{}, {"calibration": "auto", "count": "n", "numeric": "size"}])
def test_names_are_escaped(
    output: str, settings: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [
        {"text": "ant bee", "size": 1, "n": 1, "kind": EVIL},
        {"text": "ant", "size": 2, "n": 2, "kind": EVIL},
        {"text": "bee eel", "size": 7, "n": 0, "kind": "}"},
        {"text": "eel\x1b", "size": 9, "n": 3, "kind": "\\"},
    ]
    model = TextClassifier(categorical="kind", **settings).fit(rows, [EVIL, EVIL, "x_", "x_"])
    values = (EVIL, "3000", "1e9")[: 3 if settings else 1]
    document = Document(f"a\n{EVIL}", None, b"ant ant eel fox", values=values)
    write_calculations(BayesCalculator(model.fitted).calculate([document]), output)
    text = capsys.readouterr().out
    assert "\x1b" not in text
    if output == "latex":
        bare = re.sub(r"\\[{}%_&#$\\]", "", text)
        assert bare.count("{") == bare.count("}") > 10
        assert not set(bare) & set("%#$~")
        # In mathematics & aligns, and _ and ^ begin an index and an exponent.
        words = re.sub(r"\\text\{\}", "", "".join(re.findall(r"\\text\{(?:[^{}]|\{\})*\}", bare)))
        assert not set(words) & set("&_^")
        assert all(line.count("&") <= 1 for line in bare.splitlines())
        assert len(re.findall(r"\\begin\{align\*\}", text)) == text.count(r"\end{align*}") == 1
    if output == "markdown":
        table = [line for line in text.splitlines() if line.startswith("|")]
        assert {len(re.findall(r"(?<!\\)\|", line)) for line in table} == {4}


def test_calibration_is_described_on_the_last_line(tmp_path: Path) -> None:
    path = tmp_path / "m"
    succeed("train", SERVICE_DESK / "train", "-m", path)
    letter = SERVICE_DESK / "test/waste-collection/new-day-not-told.txt"
    *_, last = succeed("explain --by-hand", letter, "-m", path).text.splitlines()
    assert last.startswith("Calibration raises each product to the power 1/2.51")
    [[_, label, probability]] = succeed("classify", letter, "-m", path).rows
    assert f" {label} {probability}" in last


@pytest.mark.usefixtures("china", "tmp_path")
def test_impossible_document_has_no_posterior() -> None:
    succeed(f"train train.tsv --set estimate=ml {PLAIN}")
    text = succeed("explain --by-hand --text", "beijing tokyo").text
    assert cells(text)["tokyo"] == ["1/3", "0/8"]
    assert "posterior =" not in text
    assert text.endswith("Every class has probability 0, so the posterior is not defined.\n")


@pytest.mark.usefixtures("china", "tmp_path")
def test_unknown_words_and_unreadable_documents_are_reported() -> None:
    succeed(f"train train.tsv --smoothing 1 {PLAIN}")
    assert "The model ignores 2 tokens.\n" in succeed("explain --by-hand --text", "foo bar").text
    assert "missing" in fail(4, "explain --by-hand missing.txt")


@pytest.mark.usefixtures("china", "tmp_path")
@pytest.mark.parametrize(
    "settings",
    [
        "--classifier complement",
        "--classifier logistic",
        "--classifier average",
        "--classifier gaussian",
        "--weighting tfidf",
        "--weighting log",
    ],
)
def test_models_without_fractions_are_refused_in_one_line(settings: str) -> None:
    succeed("train train.tsv", *settings.split())
    refusal = fail(2, "explain --by-hand --text tokyo")
    assert f"--by-hand cannot be used with {settings}: the probability is not a product" in refusal


@pytest.mark.usefixtures("tmp_path")
def test_multi_label_models_and_other_outputs_are_refused() -> None:
    write("t.jsonl", '{"label": ["a"], "text": "purrs"}\n{"label": ["a", "b"], "text": "barks"}\n')
    succeed("train t.jsonl")
    assert "documents of several labels cannot be used with --by-hand" in fail(
        2, "explain --by-hand --text purrs"
    )
    for options in ("--against a", "--why-not a", "--to page.html", "-n 3", "-o tsv", "-o jsonl"):
        assert "cannot be used with --by-hand" in fail(2, f"explain --text x --by-hand {options}")
    assert "--output latex needs --by-hand" in fail(2, "explain --text x -o latex")
