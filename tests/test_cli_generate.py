"""`nbtext generate`: documents drawn from a model, the same in every form.

Also tests `report/models.py`.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from nbtext import TextClassifier
from nbtext.inspection.generation import DocumentGenerator
from tests.process import PETS, corpus, fail, in_json, succeed, write

if TYPE_CHECKING:
    from pathlib import Path

ASKED = ("-n", "4", "--length", "6", "--seed", "7")


def test_generate_prints_the_same_documents_in_every_format(pets: Path) -> None:
    said = {
        output: succeed("generate", *ASKED, "--output", output).text
        for output in ("text", "tsv", "jsonl")
    }
    assert succeed("generate", *ASKED).text == said["text"]
    records = [json.loads(line) for line in said["jsonl"].splitlines()]
    assert [[record["label"], record["text"]] for record in records] == [
        line.split("\t") for line in said["tsv"].splitlines()
    ]
    lines = [f"{record['label']}: {record['text']}" for record in records]
    assert lines == said["text"].splitlines()
    generated = DocumentGenerator(TextClassifier.load("nbtext.joblib"), seed=7).generate(
        4, length=6
    )
    assert [(record["label"], record["text"].split()) for record in records] == [
        document[:2] for document in generated
    ]


def test_generate_prints_one_document_of_whole_words_by_default(pets: Path) -> None:
    succeed("train pets --estimate ml --ngrams 2 --char-ngrams 3")
    assert succeed("generate").text.count("\n") == 1
    assert succeed("generate -n 99").out != succeed("generate -n 99").out
    words = set(succeed("generate -n 50 --class cats --seed 0").text.split())
    assert words == {"cats:", "cat", "purr", "sofa", "climb", "scratch"}
    labels = {row[0] for row in succeed("generate -n 50 --seed 0 --output tsv").rows}
    assert labels == {"cats", "dogs"}


@pytest.mark.parametrize("output", ["tsv", "jsonl"])
@pytest.mark.parametrize("classifier", ["multinomial", "bernoulli"])
def test_generated_documents_can_be_trained_on(pets: Path, output: str, classifier: str) -> None:
    succeed("train pets --stop-words default --classifier", classifier)
    write(f"drawn.{output}", succeed("generate -n 300 --seed 0 --output", output).out)
    succeed("train", f"drawn.{output}", "--stemmer", "none", "--stop-words", "none", "-m", "again")
    before, after = (
        TextClassifier.load(str(pets / name)).fitted.statistics.vocabulary
        for name in ("nbtext.joblib", "again")
    )
    assert after == before


def test_stop_words_in_the_vocabulary_are_generated_as_words(tmp_path: Path) -> None:
    texts = "a\tthe end of the rope\nb\tif you see a rope\na\tof the sea\nb\tdo you see the sea\n"
    corpus(tmp_path, {"t.tsv": texts * 30})
    succeed("train t.tsv")
    words = re.split(
        "[ \n]", re.sub("^[ab]: ", "", succeed("generate -n 20 --seed 1").text, flags=re.MULTILINE)
    )
    assert {"of", "you", "rope"} < {*words} <= {"", *re.findall(r"\w+", texts)}


def test_counted_features_are_generated_by_their_names(tmp_path: Path) -> None:
    corpus(tmp_path, {"t.svm": "1 *a*:3 \x1b[31m:1\n2 x:2\n"})
    succeed("train t.svm --format svmlight --estimate ml")
    said = succeed("generate --class 1 --length 40 --seed 0").text
    assert set(said.split()) == {"1:", "*a*", "\x1b[31m"}


@pytest.mark.parametrize(
    ("training", "arguments", "message"),
    [
        (
            "--estimate ml",
            "--draw",
            "--draw needs a posterior, which maximum likelihood lacks; train with --set estimate=mean or map",
        ),
        (
            "--classifier bernoulli",
            "--length 5",
            "--length does not go with a bernoulli model: every word has a coin; remove --length",
        ),
    ],
)
def test_generate_refuses_impossible_requests_in_one_line(
    pets: Path, training: str, arguments: str, message: str
) -> None:
    corpus(pets / "pets", PETS)
    succeed(f"train pets {training}")
    assert message in fail(2, f"generate {arguments}")


@pytest.mark.parametrize("output", ["csv", "tsv", "jsonl"])
@pytest.mark.parametrize("text", ["", "--text-column about"])
def test_model_with_columns_evaluates_its_generated_records(
    tmp_path: Path, output: str, text: str
) -> None:
    rows = [
        f"{'tall' if n % 2 else 'short'},{n % 3},{50 + 20 * (n % 2) + n},word{n % 2} thing,{'yes' if n % 2 else 'no'}"
        for n in range(12)
    ]
    write("people.csv", "size,children,kg,about,likes\n" + "\n".join(rows) + "\n")
    succeed(
        "train people.csv --label-column likes --categorical size --count children --numeric kg",
        *text.split(),
    )
    write(f"drawn.{output}", succeed("generate -n 100 --seed 2 --output", output).out)
    result = in_json("evaluate", f"drawn.{output}")
    assert result["n"] == 100
    assert result["accuracy"] > 0.9
    succeed(
        f"train drawn.{output} --label-column likes --categorical size --count children --numeric kg -m again"
    )
    first = succeed("generate --seed 2").text.split()
    assert [cell.partition("=")[0] for cell in first[-3:]] == ["size", "children", "kg"]
