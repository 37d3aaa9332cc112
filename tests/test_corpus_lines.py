"""Formats fasttext and svmlight, and counting what is counted already.

Also tests `counts/counting.py`.
"""

from __future__ import annotations

import io
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from sklearn.datasets import dump_svmlight_file

from nbtext import TextClassifier
from nbtext.corpus.lines import _split_fasttext_line
from nbtext.corpus.streams import prepend_bytes
from nbtext.counts.counting import Analysis, DocumentCounter
from nbtext.counts.vocabulary import Vocabulary
from nbtext.prediction.labels import make_label_set
from nbtext.settings import Reading, Settings
from tests.corpus_reader import documents, problems, texts
from tests.count_tables import to_dictionaries
from tests.process import MEMORY, fail, nbtext, succeed, succeeded, write

if TYPE_CHECKING:
    from pathlib import Path


def test_fasttext_lines_are_read(tmp_path: Path) -> None:
    path = write(
        "c.ft", "\ufeff__label__a b c\r\n\n__label__café\t x\n y __label__z\n__label__empty\n"
    )
    assert texts(path) == [("a", "b c"), ("café", "x"), ("z", "y"), ("empty", "")]
    assert texts(path, labelled=False) == [
        (None, "b c"),
        (None, ""),
        (None, "x"),
        (None, "y"),
        (None, ""),
    ]
    assert [document.id for document in documents(path)] == [
        f"{path}:{number}" for number in (1, 3, 4, 5)
    ]


def test_fasttext_lines_with_several_labels_are_read(tmp_path: Path) -> None:
    path = write("c.ft", "__label__b __label__a x\n__label__a\ty __label__a z")
    assert texts(path) == [(make_label_set(["a", "b"]), "x"), (make_label_set(["a"]), "y z")]


def test_fasttext_lines_without_a_label_are_problems(tmp_path: Path) -> None:
    path = write("c.ft", "__label__ __label__b x\nno label\n__label__ x\n__label__a fine")
    assert problems(path) == {
        f"{path}:1": "one of the labels is empty",
        f"{path}:2": "no label: the line does not begin with __label__",
        f"{path}:3": "the label is empty",
    }
    assert texts(path, labelled=False)[0] == (None, "x")
    result = nbtext("train", path, "-m", "m")
    assert (result.status, len(result.notes)) == (1, 4)


@given(st.lists(st.sampled_from([b"__label__", b"a", b" ", b"\t", b"word"])).map(b"".join))
def test_fasttext_lines_match_the_slow_twin(line: bytes) -> None:
    tokens = [token for token in line.split() if token.startswith(b"__label__")]
    labels, rest = _split_fasttext_line(line)
    assert labels == [token.removeprefix(b"__label__") for token in tokens]
    assert rest.split() == [token for token in line.split() if not token.startswith(b"__label__")]


def test_svmlight_lines_are_read(tmp_path: Path) -> None:
    path = write("c.svm", "+1 3:2 10:1 # 4:4\n# only a comment\n\n-1 a:b:3\r\nx # no terms\n")
    assert texts(path) == [("+1", "3:2 10:1"), ("-1", "a:b:3"), ("x", "")]
    assert texts(path, labelled=False) == [(None, "3:2 10:1"), (None, "a:b:3"), (None, "")]
    assert texts(write("d.svm", "3:2 10:1\n"), labelled=False) == [(None, "3:2 10:1")]


@pytest.mark.parametrize(
    "item", ["a:0", "a:-1", "a:1.5", "a:x", "a", ":3", "a:", "a:1000000000", "a:1e3", "a:٣", "a:00"]
)
def test_svmlight_counts_must_be_positive_integers(tmp_path: Path, item: str) -> None:
    path = write("c.svmlight", f"x a:1\nx b:2 {item}\ny c:007\n")
    assert problems(path) == {
        f"{path}:2": f"{item!r} is not name:count with a whole count from 1 to 999,999,999"
    }
    assert len(documents(path)) == 3


def test_svmlight_line_without_a_label_is_a_problem_in_training(tmp_path: Path) -> None:
    path = write("c.svm", "a:1 b:2\n")
    assert problems(path) == {f"{path}:1": "no label: the line begins with a count"}


def test_svmlight_names_are_terms_and_large_counts_take_no_memory(tmp_path: Path) -> None:
    path = write("c.svm", "x The:999999999 running:3 1:1\ny the:2 runs:1 it's,odd:1\n" * 50)
    succeeded(nbtext("train", path, "-m", "m", limits=MEMORY))
    counts = to_dictionaries(TextClassifier.load("m").fitted.statistics)
    assert counts.occurrences[("x", "The")] == 999_999_999 * 50
    assert {term for _, term in counts.occurrences} == {
        "The",
        "running",
        "1",
        "the",
        "runs",
        "it's,odd",
    }
    answers = succeed("classify", path, "-m", "m")
    assert [row[1] for row in answers.rows] == ["x", "y"] * 50
    bare = nbtext("classify - --format lines -m", "m", stdin=b"runs the\nThe The:2\n")
    assert [row[1] for row in bare.rows] == ["y", "x"]


@pytest.mark.parametrize(
    "options",
    [
        ["--ngrams", "2"],
        ["--set", "char-ngrams=3"],
        ["--language", "german"],
        ["--stop-words", "german"],
        ["--stemmer", "porter"],
        ["--set", "surface-forms=true"],
    ],
    ids=" ".join,
)
def test_text_settings_are_refused_for_counted_features(options: list[str], tmp_path: Path) -> None:
    write("c.svm", "x red:2 round:1\ny green:3\n" * 4)
    expected = f"nbtext: svmlight's features are counted already, so {' '.join(options)} would change nothing; remove it"
    commands = [["train"], ["cross-validate", "--folds", "2"], ["tokens", "--no-model"]][
        : 2 if options == ["--set", "surface-forms=true"] else 3
    ]
    for command in commands:
        assert fail(2, *command, "c.svm", *options) == expected
    assert not (tmp_path / "nbtext.joblib").exists()


def test_settings_without_effect_on_counted_features_are_accepted(
    tmp_path: Path,
) -> None:
    write("c.svm", "x red:2 round:1\ny green:3\n")
    succeed("train c.svm --stop-words none --stemmer none --ngrams 1 --min-df 1")


@given(
    st.lists(
        st.lists(
            st.tuples(st.sampled_from(["a", "b:c", "é", "zz", "9"]), st.integers(1, 10**9)),
            max_size=6,
        ),
        max_size=5,
    )
)
def test_svmlight_counts_match_the_slow_twin(rows: list[list[tuple[str, int]]]) -> None:
    vocabulary = Vocabulary.from_terms(["a", "b:c", "é"])
    lines = [" ".join(f"{name}:{count}" for name, count in row).encode() for row in rows]
    matrix = (
        DocumentCounter(Analysis(Settings(reading=Reading(format="svmlight"))), vocabulary)
        .count(lines)
        .to_matrix()
    )
    for number, row in enumerate(rows):
        wanted: Counter[str] = Counter()
        for name, count in row:
            wanted[name] += count
        entries = slice(matrix.offsets[number], matrix.offsets[number + 1])
        found = {
            vocabulary.get_term(term): count
            for term, count in zip(
                matrix.terms[entries], matrix.counts[entries].tolist(), strict=True
            )
        }
        assert found == {name: count for name, count in wanted.items() if name in ("a", "b:c", "é")}
        assert matrix.unknown_tokens[number] == wanted["zz"] + wanted["9"]


def test_svmlight_written_by_scikit_learn_is_read(tmp_path: Path) -> None:
    table = np.random.default_rng(3).poisson(0.7, (20, 9))
    out = io.BytesIO()
    dump_svmlight_file(csr_matrix(table), np.arange(20) % 3, out, zero_based=False)
    found = texts(write("c.svmlight", out.getvalue()))
    assert [label for label, _ in found] == [str(number % 3) for number in range(20)]
    for row, (_, text) in zip(table.tolist(), found, strict=True):
        assert text.split() == [f"{column}:{count}" for column, count in enumerate(row, 1) if count]


def test_prepended_bytes_are_read_in_linear_time() -> None:
    """Each read copied what was left of the beginning: a line of 64 MB took most of a minute."""
    size = 1 << 26
    buffer = bytearray(1 << 16)
    again = prepend_bytes(bytes(size), io.BufferedReader(io.BytesIO(b"rest")))
    assert sum(iter(lambda: again.readinto(buffer), 0)) == size + len(b"rest")
