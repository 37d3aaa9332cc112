"""`nbtext tokens`: every word of a document with its place, and with the reason if it does not count.

Also tests `report/explanations.py`.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from nbtext import TextClassifier
from tests.process import corpus, succeed, write
from tests.test_cli_terminal import on_terminal

if TYPE_CHECKING:
    from pathlib import Path

TEXT = "The CAFÉ's cats—purr, 3.14 and don't bark. X unicorns"


def list_tokens(*arguments: str | Path, stdin: bytes = b"") -> list[dict[str, Any]]:
    return succeed("tokens", *arguments, "--output", "jsonl", stdin=stdin).records


def test_tokens_lists_each_word_with_its_position_and_fate(pets: Path) -> None:
    corpus(pets, {"doc.txt": TEXT})
    model = TextClassifier.load("nbtext.joblib")
    (cat,) = model.fitted.statistics.vocabulary.find(["cat"])
    tokens = list_tokens("doc.txt")
    assert {token["id"] for token in tokens} == {"doc.txt"}
    assert all(
        TEXT.encode()[token["start"] : token["end"]].decode() == token["form"] for token in tokens
    )
    became = [(token["form"], token["word"], token["term"], token["dropped"]) for token in tokens]
    assert became == [
        ("The", "the", None, "stop-word"),
        ("CAFÉ's", "café's", "café", "not-in-model"),
        ("cats—purr", "cats", "cat", None),
        ("cats—purr", "purr", "purr", None),
        ("3", "3", None, "too-short"),
        ("14", "14", "14", "not-in-model"),
        ("and", "and", None, "stop-word"),
        ("don't", "don't", None, "stop-word"),
        ("bark", "bark", "bark", None),
        ("X", "x", None, "too-short"),
        ("unicorns", "unicorns", "unicorn", "not-in-model"),
    ]
    assert tokens[2]["term_id"] == cat
    assert [token["term_id"] for token in tokens if token["dropped"]] == [None] * 8


def test_ngrams_are_listed_with_their_first_word(pets: Path) -> None:
    succeed("train pets --ngrams 3 --char-ngrams 3 -m more")
    tokens = list_tokens("-", "-m", "more", stdin=b"the cat purrs on ice")
    cat = next(token for token in tokens if token["word"] == "cat")
    assert [(of["term"], of["end"], of["dropped"]) for of in cat["ngrams"]] == [
        ("cat purr", 13, None),
        ("cat purr ice", 20, "not-in-model"),
    ]
    assert [of["term"] for of in cat["char_ngrams"]] == ["ca*", "*cat*", "*at"]
    assert all(of["dropped"] is None and of["term_id"] >= 0 for of in cat["char_ngrams"])
    rows = succeed("tokens - -m more -o tsv", stdin=b"the cat purrs on ice").rows
    assert [row[3] for row in rows if row[1] == "4"] == [
        "word",
        "ngram",
        "ngram",
        "char-ngram",
        "char-ngram",
        "char-ngram",
    ]
    assert [
        "-",
        "4",
        "13",
        "ngram",
        "",
        "",
        "cat purr",
        str(cat["ngrams"][0]["term_id"]),
        "",
    ] in rows
    assert [row for row in rows if row[4] == "the"] == [
        ["-", "0", "3", "word", "the", "the", "", "", "stop-word"]
    ]


def test_unselected_terms_are_marked_as_dropped(pets: Path) -> None:
    succeed("train pets --top 2 -m few")
    dropped = Counter(
        token["dropped"] for token in list_tokens("pets/cats/1", "pets/dogs/1", "-m", "few")
    )
    assert dropped["not-selected"] >= 1
    assert dropped["not-in-model"] == 0
    assert sum(count for why, count in dropped.items() if why is None) >= 1


def test_tokens_works_without_a_model(tmp_path: Path) -> None:
    analysis = (
        "--no-model",
        "--language",
        "german",
        "--stop-words",
        "none",
        "--stemmer",
        "none",
        "--ngrams",
        "2",
        "--char-ngrams",
        "4",
    )
    tokens = list_tokens(*analysis, "-", stdin="Die Häuser".encode())
    assert [
        (token["word"], token["term"], token["term_id"], token["dropped"]) for token in tokens
    ] == [
        ("die", "die", None, None),
        ("häuser", "häuser", None, None),
    ]
    assert tokens[0]["ngrams"] == [
        {"term": "die häuser", "term_id": None, "dropped": None, "end": 11}
    ]
    assert [of["term"] for of in tokens[0]["char_ngrams"]] == ["die*", "*die"]


def test_documents_are_read_like_the_training_documents(pets: Path) -> None:
    write("t.csv", "label,body\na,one dog\nb,two cats\n")
    succeed("train t.csv --label-column label --text-column body -m t")
    assert [(token["id"], token["form"]) for token in list_tokens("t.csv", "-m", "t")] == [
        ("t.csv:2", "one"), ("t.csv:2", "dog"), ("t.csv:3", "two"), ("t.csv:3", "cats"),
    ]  # fmt: skip
    assert list_tokens("-", "-m", "t", "--format", "lines", stdin=b"x\ny z\n")[1]["id"] == "-:2"


def test_attribute_values_and_counted_features_are_listed(tmp_path: Path) -> None:
    write("t.csv", "label,text,city,age\na,the dog,Rome,3\nb,cats,Oslo,4\n")
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
    succeed("train t.csv", *columns, "-m", "t")
    write("new.csv", "text,city,age\ndog,Rome,7\n,Paris,\n,,1\n")
    found = [
        (of["kind"], of["form"], of["term"], of["dropped"])
        for of in list_tokens("new.csv", "-m", "t")
    ]
    assert found == [
        ("word", "dog", "dog", None), ("category", "Rome", "city=Rome", None), ("number", "7.0", "age", None),
        ("category", "Paris", "city=Paris", "not-in-model"), ("number", "", "age", "missing"),
        ("category", "", None, "missing"), ("number", "1.0", "age", None),
    ]  # fmt: skip
    write("t.svm", "x red:2 round:1\ny green:3\n")
    succeed("train t.svm -m s")
    features = list_tokens("t.svm", "-m", "s")
    assert [(of["kind"], of["form"], of["term"], of["dropped"]) for of in features][:2] == [
        ("feature", "red:2", "red", None), ("feature", "round:1", "round", None),
    ]  # fmt: skip


def test_long_text_is_listed_completely_and_in_order(pets: Path) -> None:
    words = [f"word{number % 700}" for number in range(20_000)]
    write("long.txt", " ".join(words))
    rows = succeed("tokens long.txt").rows
    assert [row[4] for row in rows] == words
    table = succeed("tokens long.txt -o table").text
    assert "counts: 0 of 20,000; 20,000 not-in-model" in table


def test_output_is_a_table_on_a_terminal_and_tsv_in_a_pipe(pets: Path) -> None:
    write("a\x1b[31m.txt", "cats \u202ebark")
    status, screen = on_terminal("tokens", "a\x1b[31m.txt")
    assert status == 0
    assert "\x1b[31m" not in screen
    assert "\u202e" not in screen
    assert "counts: 2 of 2" in screen
    lines = screen.splitlines()
    assert [head in lines[1] for head in ("bytes", "as written", "word", "term id", "dropped")] == [
        True
    ] * 5
    assert succeed("tokens pets/cats/1").rows[0][1:6] == ["0", "3", "word", "the", "the"]
