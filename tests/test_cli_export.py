"""`nbtext export`: weights as a table reproduce the scores, and SQL the predictions of the model.

Also tests `report/export.py`, `report/export_sql.py` and `model/weights.py`.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
import sqlite3
import sys
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtext import TextClassifier
from nbtext.errors import UsageError
from nbtext.explain.token_trace import TokenTracer
from nbtext.model.weights import TermWeights
from nbtext.report.export_sql import iter_sql
from tests.process import SERVICE_DESK, content, fail, names, nbtext, succeed, write
from tests.profiles import examples

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

WORDS = [
    "rain",
    "o'hare",
    "does",
    "doe",
    "café",
    "naïve",
    "花园",
    "running",
    "runs",
    "being",
    "the",
]
LABELS = ["a'b", 'c"d', "é;", "x y\nz", "--"]
SINGLE_LABEL = [
    {"classifier": classifier, "weighting": weighting}
    for classifier, weightings in (
        ("multinomial", "counts binary log tfidf"),
        ("complement", "counts binary log tfidf"),
        ("bernoulli", "counts"),
        ("logistic", "counts"),
    )
    for weighting in weightings.split()
]
MULTI_LABEL = [
    {"classifier": classifier, "weighting": weighting}
    for classifier, weighting in (
        ("multinomial", "counts"), ("multinomial", "binary"), ("multinomial", "log"),
        ("bernoulli", "counts"), ("logistic", "tfidf"),
    )
]  # fmt: skip
texts = st.lists(st.sampled_from(WORDS), max_size=9).map(" ".join)


@st.composite
def models(draw: st.DrawFn, *, multi_label: bool) -> TextClassifier:
    """Return a model of a small random corpus."""
    settings: dict[str, Any] = dict(
        draw(st.sampled_from(MULTI_LABEL if multi_label else SINGLE_LABEL))
    )
    settings |= draw(
        st.fixed_dictionaries(
            {
                "ngrams": st.sampled_from([1, 2]),
                "stop_words": st.sampled_from(["auto", "none"]),
                "calibration": st.sampled_from(["auto", "none"]),
            }
        )
    )
    n_labels = draw(st.integers(1, len(LABELS)))
    label = st.sampled_from(LABELS[:n_labels])
    labels: Any = st.lists(label, unique=True) if multi_label else label
    rows = draw(st.lists(st.tuples(texts, labels), min_size=2, max_size=30))
    if multi_label:
        rows += [("rain", LABELS[:1]), ("sun", [])]  # no label of all documents
    return TextClassifier(**settings).fit([text for text, _ in rows], [y for _, y in rows])


def make_sql(model: TextClassifier) -> str:
    return "".join(iter_sql(TermWeights.from_model(model.fitted)))


def load_sql(sql: str, tokens: Sequence[Sequence[str]], ids: Sequence[str]) -> sqlite3.Connection:
    """Return a database with the model and the tokens, by the instructions in the SQL."""
    database = sqlite3.connect(":memory:")
    try:
        database.execute("SELECT EXP(1), LN(2), SQRT(4)")
    except sqlite3.OperationalError:  # a build without mathematical functions
        for name, function in (("EXP", math.exp), ("LN", math.log), ("SQRT", math.sqrt)):
            database.create_function(name, 1, function)
    database.executescript(sql)
    database.execute(
        "CREATE TABLE tokens (id, start, end, kind, form, word, term, term_id, dropped)"
    )
    database.executemany(f"INSERT INTO tokens VALUES ({', '.join('?' * 9)})", tokens)
    commented = re.search(r"--   (INSERT INTO documents \(.*?;)\n", sql, re.DOTALL)
    assert commented is not None
    database.execute(commented[1].replace("\n--", "\n"))
    known = {row[0] for row in database.execute("SELECT document FROM documents")}
    empty = [(name,) for name in ids if name not in known]
    database.executemany("INSERT INTO documents VALUES (?, '', 0)", empty)
    return database


def load_documents(model: TextClassifier, documents: Sequence[str]) -> sqlite3.Connection:
    """Return a database of documents, whose ids are their numbers."""
    tracer = TokenTracer.from_model(model.fitted)
    tokens = []
    for number, text in enumerate(documents):
        for token in tracer.trace_tokens(text.encode()):
            tokens += [
                ["" if cell is None else str(cell) for cell in cells]
                for cells in (
                    (number, "", "", "", "", "", token.term, token.term_id, token.dropped),
                    *(
                        (number, "", "", "", "", "", ngram.term, ngram.term_id, ngram.dropped)
                        for ngram in token.ngrams
                    ),
                )
            ]
    return load_sql(make_sql(model), tokens, [str(number) for number in range(len(documents))])


def require_equal_predictions(model: TextClassifier, documents: Sequence[str]) -> None:
    """Compare the views of the SQL with the model."""
    database = load_documents(model, documents)
    for view, expected, tolerance in (
        ("scores", model.joint_log_likelihood(documents), 1e-8),
        ("probabilities", model.predict_proba(documents), 1e-6),
    ):
        column = "score" if view == "scores" else "probability"
        found = np.full(expected.shape, np.nan)
        rows = database.execute(f"SELECT document, label, {column} FROM {view}")
        for document, label, value in rows:
            found[int(document), model.classes.index(label)] = value
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)
    predicted = defaultdict(list)
    for document, label, probability in database.execute("SELECT * FROM predictions"):
        predicted[int(document)].append((probability, label))
    columns = {label: index for index, label in enumerate(model.classes)}
    for number, answer in enumerate(model.predict_records(documents)):
        probabilities = model.predict_proba(documents)[number]
        found_labels = {label for _, label in predicted[number]}
        # Labels of equal probability can replace each other, by rounding.
        assert sorted(probabilities[columns[label]] for label in found_labels) == pytest.approx(
            sorted(answer.probabilities), abs=1e-9
        )
        assert sorted(p for p, _ in predicted[number]) == pytest.approx(
            sorted(answer.probabilities), abs=1e-6
        )


DOCUMENTS = st.lists(texts, min_size=1, max_size=6).map(lambda found: [*found, "", "xyzzy the"])


@examples(25)
@given(models(multi_label=False), DOCUMENTS)
def test_sql_predicts_the_class_and_its_probability(
    model: TextClassifier, documents: list[str]
) -> None:
    require_equal_predictions(model, documents)


@examples(20)
@given(models(multi_label=True), DOCUMENTS)
def test_sql_predicts_the_labels_and_their_probabilities(
    model: TextClassifier, documents: list[str]
) -> None:
    require_equal_predictions(model, documents)


@examples(25)
@given(st.booleans().flatmap(lambda several: models(multi_label=several)), DOCUMENTS)
def test_weights_reproduce_the_scores(model: TextClassifier, documents: list[str]) -> None:
    weights = TermWeights.from_model(model.fitted)
    classes = model.classes
    bias = np.zeros(len(classes))
    by_term: dict[int, np.ndarray[Any, Any]] = defaultdict(lambda: np.zeros(len(classes)))
    idf: dict[int, Any] = {}
    terms = set()
    for row in map(dict, (zip(weights.columns, row, strict=True) for row in weights.iter_rows())):
        label = classes.index(row["class"])
        if row["term"] is None:
            bias[label] = row["weight"]
        else:
            terms.add(row["term"])
            assert 0 <= row["probability"] <= 1
            by_term[row["term_id"]][label] = row["weight"]
            idf[row["term_id"]] = row.get("idf")
    assert len(terms) == len(by_term)  # names are distinct
    matrix = model.fitted.count_texts([text.encode() for text in documents])
    scores = []
    for number in range(len(documents)):
        found = matrix.take(np.array([number]))
        features = {
            term: float(count)
            for term, count in zip(found.terms.tolist(), found.counts.tolist(), strict=True)
            if term in by_term
        }
        if weights.weighting == "binary":
            features = dict.fromkeys(features, 1.0)
        elif weights.weighting == "log":
            features = {term: math.log(1 + count) for term, count in features.items()}
        elif weights.weighting == "tfidf":
            features = {term: math.log(1 + count) * idf[term] for term, count in features.items()}
            length = math.hypot(*features.values()) or 1
            features = {term: x / length for term, x in features.items()}
        scores.append(bias + sum(x * by_term[term] for term, x in features.items()))
    np.testing.assert_allclose(np.array(scores), model.joint_log_likelihood(documents), rtol=1e-9)


def test_every_format_has_the_same_rows(pets: Path) -> None:
    for suffix in ("csv", "tsv", "jsonl"):
        succeed(f"export --to weights.{suffix}")
    assert succeed("export").out == succeed("export --to -").out == content("weights.csv")
    rows = list(csv.reader(io.StringIO(content("weights.csv").decode(), newline="")))
    assert rows[0] == ["term", "class", "probability", "weight", "term_id"]
    assert [row[:2] for row in rows[1:3]] == [["", "cats"], ["", "dogs"]]
    assert [line.split("\t") for line in content("weights.tsv").decode().splitlines()] == rows
    for line, row in zip(content("weights.jsonl").decode().splitlines(), rows[1:], strict=True):
        record = json.loads(line)
        assert list(record) == rows[0]
        assert ["" if value is None else str(value) for value in record.values()] == row
        if record["term"]:
            assert math.exp(record["weight"]) == pytest.approx(record["probability"])
    [barks] = [row for row in rows if row[:2] == ["bark", "dogs"]]
    assert barks[4] == succeed("tokens --text barks -o csv").text.split(",")[-2]


def test_frame_has_the_rows_of_csv(pets: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import pandas as pd

    model = TextClassifier.load("nbtext.joblib")
    frame = model.weights_frame()
    read = pd.read_csv(io.BytesIO(succeed("export").out), dtype={"term_id": "Int64"})
    pd.testing.assert_frame_equal(frame, read, check_dtype=False)
    wide = frame.dropna(subset="term").pivot_table("weight", "term", "class")
    assert wide.loc["bark", "dogs"] > wide.loc["bark", "cats"]
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(UsageError, match="needs pandas"):
        model.weights_frame()


@pytest.mark.parametrize("label_option", ["", "--label-separator ;"])
def test_commands_in_the_file_predict_as_classify(tmp_path: Path, label_option: str) -> None:
    rows = [
        ("it's, \"wet\"", "rain and more rain"), ("it's, \"wet\"", "rain on the plain"),
        ("sunny\u2028day", "sun over the plain"), ("sunny\u2028day", "sun and sand"),
    ]  # fmt: skip
    text = io.StringIO()
    csv.writer(text).writerows([("label", "text"), *rows])
    write("t.csv", text.getvalue())
    succeed(f"train t.csv --header {label_option} -q")
    documents = {"a'b,1": "rain, sun and o'hare", 'c"': "unknown", "é": "sun", "empty": ""}
    for name, content_text in documents.items():
        write(name, content_text)
    succeed("export --to model.sql")
    printed = succeed("tokens -o csv", *documents).text
    header, *tokens = csv.reader(io.StringIO(printed, newline=""))
    assert header == ["id", "start", "end", "kind", "form", "word", "term", "term_id", "dropped"]
    database = load_sql(content("model.sql").decode(), tokens, list(documents))
    found = [
        (document, label, pytest.approx(probability, rel=1e-5))
        for document, label, probability in database.execute("SELECT * FROM predictions")
    ]
    expected = []
    for record in nbtext("classify -o jsonl -q", *documents).records:
        answers = record.get("labels", [record])
        expected += [(record["id"], one["label"], one["probability"]) for one in answers]
    assert sorted(expected) == sorted(found, key=lambda row: row[:2])


def test_class_that_the_prior_excludes_is_not_predicted() -> None:
    model = TextClassifier(class_prior={"a": 1, "b": 0, "c": 1}).fit(
        ["rain rain", "sun", "ice"], ["a", "b", "c"]
    )
    database = load_documents(model, ["sun", ""])
    labels = {row[0] for row in database.execute("SELECT label FROM probabilities")}
    assert labels == {"a", "c"}
    for document, label, probability in database.execute("SELECT * FROM probabilities"):
        [expected] = model.predict_proba([["sun", ""][int(document)]])
        assert probability == pytest.approx(expected[model.classes.index(label)], abs=1e-6)


def test_label_with_a_nul_byte_is_sql() -> None:
    model = TextClassifier().fit(["rain", "sun"], ["a\0'b", "c"])
    database = load_documents(model, ["rain"])
    assert database.execute("SELECT label FROM predictions").fetchall() == [("a\0'b",)]


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        ("--classifier gaussian", "an export of weights cannot be used with --classifier gaussian"),
        ("--classifier average", "an export of weights cannot be used with --classifier average"),
        ("--smoothing 0", "an export as SQL cannot be used with --smoothing 0"),
        ("--set estimate=ml", "an export as SQL cannot be used with --set estimate=ml"),
        ("--classifier bernoulli --smoothing some.tsv", "an export as SQL needs smoothing"),
    ],
)
def test_models_that_cannot_be_exported_are_refused(pets: Path, settings: str, line: str) -> None:
    write("some.tsv", "*\t1\nbark\t0\n")
    nbtext(f"train pets -m other -q --stop-words none {settings}")
    write("model.sql", "before")
    assert line in fail(2, "export -m other --to model.sql")
    assert content("model.sql") == b"before"
    assert not [name for name in names(pets) if "nbtext-" in name]
    if "SQL" in line:
        assert succeed("export -m other").out
    else:
        assert line in fail(2, "export -m other")


def test_term_whose_absence_is_impossible_is_refused() -> None:
    model = TextClassifier(classifier="bernoulli", smoothing={"*": 1, "rain": 0})
    model.fit(["rain and sun", "rain and ice"], ["a", "b"])
    with pytest.raises(UsageError, match="a single term makes a class impossible"):
        make_sql(model)


def test_columns_next_to_the_text_are_refused(tmp_path: Path) -> None:
    write("t.csv", "label,text,age\na,rain,1\nb,sun,2\na,rain,3\nb,sun,4\n")
    for classifier in ("multinomial", "logistic"):
        nbtext(f"train t.csv --header --numeric age --classifier {classifier} -q")
        assert "columns are not possible here" in fail(2, "export --to w.csv")
    assert names(tmp_path) == ["nbtext.joblib", "t.csv"]


def test_wrong_files_are_refused(pets: Path) -> None:
    assert "use .csv, .tsv, .jsonl, .sql" in fail(2, "export --to weights.xlsx")
    assert "use .csv, .tsv, .jsonl, .sql" in fail(2, "export --to nbtext.joblib")
    (pets / "m.csv").write_bytes(content("nbtext.joblib"))
    assert "would be read and overwritten" in fail(2, "export -m m.csv --to m.csv")
    assert "no-folder" in fail(4, "export --to no-folder/w.csv")
    assert "does not exist" in fail(3, "export -m none")


@pytest.mark.fresh_interpreters("the hash seed and the encoding matter at the start of Python")
def test_same_model_gives_the_same_bytes(tmp_path: Path) -> None:
    nbtext("train", SERVICE_DESK / "train")
    for form in ("csv", "sql"):
        succeed(
            f"export --to a.{form}",
        )
        succeed(f"export --to b.{form}", env={"PYTHONHASHSEED": "7", "PYTHONIOENCODING": "cp1252"})
        assert content(f"a.{form}") == content(f"b.{form}")
