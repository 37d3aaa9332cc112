from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nbtext import TextClassifier
from nbtext.corpus.lines import _MISSING, _get_value
from nbtext.prediction.labels import clean_label, make_label_set
from tests.corpus_reader import documents, problems, texts
from tests.process import fail, nbtext, succeed, write

if TYPE_CHECKING:
    from pathlib import Path

GOOD = b'{"label": "a", "text": "fine words"}'
BAD = {
    b"{": "not valid JSON (expecting property name enclosed in double quotes at column 2)",
    b'{"label": "a", "text": "x': "not valid JSON (unterminated string starting at column 24)",
    b'{"label": "a", "text": "\x01"}': "not valid JSON (invalid control character at column 25)",
    b'{"label": "a", "text": "x"} {}': "not valid JSON (extra data at column 29)",
    b'{"label": "a", "text": "x", "n": NaN}': "not valid JSON (NaN is not a JSON number)",
    b'{"label": "a", "text": "x", "n": -Infinity}': "not valid JSON (-Infinity is not a JSON number)",
    b'{"label": "a", "text": "x", "text": "y"}': "not valid JSON (the key 'text' is repeated)",
    b'{"label": "a", "text": "x", "in": {"b": 1, "b": 1}}': "not valid JSON (the key 'b' is repeated)",
    b'{"label": "a", "text": "x", "n": '
    + b"[" * 100_000
    + b"]" * 100_000
    + b"}": "JSON nested too deeply",
    b'{"label": "a", "text": "x", "n": ' + b"9" * 5000 + b"}": "not valid JSON (Exceeds the limit",
    b'{"label": "a"}': "no value at the key 'text'; see --text-column",
    b'{"label": "a", "text": null}': "no value at the key 'text'; see --text-column",
    b'{"label": "a", "text": []}': "no value at the key 'text'; see --text-column",
    b'{"label": "a", "text": ["x"]}': "the value at the key 'text' is not text; see --text-column",
    b'{"label": "a", "text": 1}': "the value at the key 'text' is not text; see --text-column",
    b'{"text": "x"}': "no value at the key 'label'; see --label-column",
    b'{"label": null, "text": "x"}': "no value at the key 'label'; see --label-column",
    b'{"label": {"a": "b"}, "text": "x"}': "the value at the key 'label' is not text, a number, true or false; inside are label.a",
    b'{"label": ["a", ["b"]], "text": "x"}': "the value at the key 'label' is not text, a number, true or false; label.0 is its first item",
    b'{"label": ["a", null], "text": "x"}': "one of the labels is empty",
    b'{"label": 1e999, "text": "x"}': "the number at the key 'label' is too large",
    b'{"label": "", "text": "x"}': "the label is empty",
    b"[1, 2]": "not a JSON object",
    b'"text"': "not a JSON object",
    b"{\x00}": "not valid JSON (expecting property name enclosed in double quotes at column 2)",
}


def lines(*content: bytes) -> Path:
    return write("c.jsonl", b"\n".join(content))


@pytest.mark.parametrize("line", BAD, ids=range(len(BAD)))
def test_bad_line_is_one_problem_and_the_others_are_read(tmp_path: Path, line: bytes) -> None:
    path = lines(GOOD, line, GOOD)
    found = problems(path)
    assert list(found) == [f"{path}:2"]
    assert (
        found[f"{path}:2"]
        .replace("the keys are label; ", "")
        .replace("the keys are text; ", "")
        .startswith(BAD[line])
    )
    assert [document.id for document in documents(path) if document.problem is None] == [
        f"{path}:1",
        f"{path}:3",
    ]


def test_repeated_key_is_found_in_linear_time(tmp_path: Path) -> None:
    """Each key counted in all others took the square of their number: of these, minutes. A long key is cut in the message."""
    keys = [*(b'"k%d":1' % number for number in range(100_000)), b'"%b":1' % (b"k" * 200)]
    found = problems(lines(b"{" + b",".join([*keys, keys[-1]]) + b"}", GOOD))
    assert list(found.values()) == [f"not valid JSON (the key '{'k' * 100}' is repeated)"]


def test_bad_lines_are_reported_by_the_command(pets: Path) -> None:
    path = lines(GOOD, *BAD, GOOD)
    result = nbtext("classify", path.name, "--format", "jsonl")
    assert result.status == 1
    assert [row[0] for row in result.rows] == [
        f"c.jsonl:{number}" for number in range(1, len(BAD) + 3)
    ]
    needs_no_label = [why for why in BAD.values() if "label" in why]
    assert sum(row[1] == "" for row in result.rows) == len(BAD) - len(needs_no_label)
    assert 8 <= len(result.notes) <= 11  # of the same problem three have a line


def test_keys_of_any_depth_are_read(tmp_path: Path) -> None:
    record = {
        "a": {"b": {"c": "deep"}, "x.y": "dots"},
        "a.b.d": "flat",
        "n": 7,
        "yes": True,
        "half": 0.5,
    }
    path = lines(json.dumps(record).encode())
    for key, label in (
        ("a.b.c", "deep"),
        ("a.x.y", "dots"),
        ("a.b.d", "flat"),
        ("n", "7"),
        ("yes", "true"),
        ("half", "0.5"),
    ):
        assert texts(path, label_column=key, text_column="a.b.c") == [(label, "deep")]
        assert documents(path, label_column="n", text_column="a.b.c", id_column=key)[0].id == label
    assert (
        documents(path, label_column="n", text_column="a.b.c", id_column="none")[0].id
        == f"{path}:1"
    )
    objects = {
        "labels": [{"name": "bug"}, {"name": "ui"}, {}],
        "value": [{"choices": ["a", "b"]}, {"choices": ["c"]}],
        "none": [],
    }
    for key, value in (
        ("labels.name", ["bug", "ui"]), ("labels.1.name", "ui"), ("labels.name.1", "ui"), ("value.choices", ["a", "b", "c"]),
        ("value.1.choices.0", "c"), ("value.choices.2", "c"), ("none.name", []),
    ):  # fmt: skip
        assert _get_value(objects, key) == value
    assert all(
        _get_value(objects, key) is _MISSING
        for key in ("labels.2.name", "labels.3", "labels.id", "none.0", "none.name.0")
    )
    assert _get_value({"a": None}, "a.b") is not None
    assert _get_value({"a": None}, "a") is None


def test_lines_end_only_at_line_feeds(tmp_path: Path) -> None:
    text = "x\u2028\x85\x0b\x0c\x1b\u2029y"
    line = json.dumps({"label": "a", "text": text}, ensure_ascii=False).encode()
    path = lines(b"\xef\xbb\xbf" + line + b"\r", b"", b"  ", line)
    assert texts(path) == [("a", text)] * 2
    assert [document.id for document in documents(path)] == [f"{path}:1", f"{path}:4"]


def test_lone_surrogates_become_question_marks(tmp_path: Path) -> None:
    path = lines(rb'{"label": "\udc80", "text": "a\ud800b", "id": "\ud9ab"}')
    assert texts(path) == [("?", "a?b")]
    assert documents(path, id_column="id")[0].id == "?"


def test_lone_surrogates_in_keys_are_escaped(pets: Path) -> None:
    lines(b'{"\\udfaa": 0}')
    succeed("train pets -m m")
    [[_, label, why]] = nbtext("classify c.jsonl --text-column text -m m").rows
    assert (label, why) == (
        "",
        "no value at the key 'text'; the keys are \\\\udfaa; see --text-column",
    )
    assert "the keys are \\udfaa; see --label-column" in nbtext("train c.jsonl").notes[0]


def test_nul_characters_in_json_text_separate_words(tmp_path: Path) -> None:
    assert texts(lines(rb'{"label": "a", "text": "x\u0000y\u001ez"}')) == [("a", "x y z")]


unicode_texts = st.text(st.characters(exclude_characters="\x1b"))
"""Without the character that begins the control sequences of terminals, which are dropped."""

scalars = (
    unicode_texts
    | st.integers(-(10**30), 10**30)
    | st.booleans()
    | st.floats(allow_nan=False, allow_infinity=False)
)


@pytest.mark.usefixtures("tmp_path")
@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture]
)  # each example writes the file anew
@given(
    st.lists(
        st.tuples(
            scalars.filter(lambda value: value != ""),
            unicode_texts,
            st.dictionaries(st.text(), st.none() | scalars),
        ),
        max_size=6,
    ),
    st.booleans(),
)
def test_records_written_by_the_json_module_are_read_back(
    rows: list[tuple[Any, str, dict[str, Any]]], ascii_only: bool
) -> None:
    records = [{**more, "label": label, "text": text} for label, text, more in rows]
    path = lines(
        *(
            json.dumps(record, ensure_ascii=ascii_only).encode("utf-8", "replace")
            for record in records
        )
    )
    spaces = str.maketrans("\0\x1c\x1d\x1e\x1f", "     ")
    labels = [
        clean_label(label) if isinstance(label, str) else json.dumps(label) for label, *_ in rows
    ]
    wanted = [
        (label, text.translate(spaces)) for label, (_, text, _) in zip(labels, rows, strict=True)
    ]
    assert texts(path) == [
        tuple(part.encode("utf-8", "replace").decode() for part in row) for row in wanted
    ]


def test_label_lists_give_label_sets(tmp_path: Path) -> None:
    given = [
        ["wheat", "grain", "wheat"],
        ["corn"],
        [],
        "corn",
        [7, True],
        "\x1fcorn",
        {"corn": 1, "oil": 0.4, "wheat": 0.5},
    ]
    path = lines(*(json.dumps({"label": label, "text": "x"}).encode() for label in given))
    expected = [
        make_label_set(["grain", "wheat"]),
        make_label_set(["corn"]),
        make_label_set([]),
        "corn",
        make_label_set(["7", "true"]),
        " corn",
        make_label_set(["corn", "wheat"]),
    ]
    assert [label for label, _ in texts(path)] == expected


def test_label_lists_give_the_same_model_as_fit(tmp_path: Path) -> None:
    given = [
        ("corn rose", ["corn", "grain"]),
        ("oil fell", ["crude"]),
        ("wheat corn", ["grain"]),
        ("hello", []),
    ] * 3
    path = lines(*(json.dumps({"label": labels, "text": text}).encode() for text, labels in given))
    read, fitted = (
        TextClassifier().fit_corpus(path),
        TextClassifier().fit(*zip(*given, strict=True)),
    )
    assert read.classes == ["corn", "crude", "grain"]
    assert read.predict_proba(["corn"]).tolist() == fitted.predict_proba(["corn"]).tolist()


EXPORTS: dict[str, object] = {
    "GitHub": {"title": "x", "body": "it purrs", "labels": [{"id": "7", "name": "cats"}]},
    "doccano": {"id": 7, "text": "it purrs", "label": ["cats"]},
    "Label Studio": {
        "id": 7,
        "data": {"text": "it purrs"},
        "annotations": [{"result": [{"value": {"choices": ["cats"]}}]}],
    },
    "Label Studio, several": {"id": 7, "text": "it purrs", "topic": {"choices": ["cats"]}},
    "Argilla": {"inputs": {"text": "it purrs"}, "annotation": ["cats"], "prediction": None},
    "Argilla 2": {
        "fields": {"text": "it purrs"},
        "responses": {"label": [{"value": "cats", "user_id": "7"}]},
    },
    "Argilla 2, answered": {
        "fields": {"text": "it purrs"},
        "responses": [{"values": {"label": {"value": "cats"}}}],
    },
}


@pytest.mark.parametrize("name", EXPORTS)
def test_exports_of_annotation_tools_are_read(tmp_path: Path, name: str) -> None:
    write("export.json", json.dumps([EXPORTS[name]] * 3))
    assert texts("export.json") == [(make_label_set(["cats"]), "it purrs")] * 3


def test_keys_are_taken_from_the_record_with_most_keys(tmp_path: Path) -> None:
    write(
        "issues.json",
        json.dumps([{"body": "it", "labels": []}, {"body": "purrs", "labels": [{"name": "cats"}]}]),
    )
    assert texts("issues.json") == [(make_label_set([]), "it"), (make_label_set(["cats"]), "purrs")]


def test_record_without_examples_is_reported(tmp_path: Path) -> None:
    write(
        "bot.json",
        json.dumps(
            {
                "intents": [
                    {"tag": "cats", "patterns": ["it", "purrs"]},
                    {"tag": "dogs", "patterns": []},
                ]
            }
        ),
    )
    assert [document.problem is None for document in documents("bot.json", records="intents")] == [
        True,
        True,
        False,
    ]
    assert problems("bot.json", records="intents") == {
        "bot.json:2": "no value at the key 'patterns'; see --text-column"
    }
    assert "use --set records=KEY with the key of the documents: intents" in fail(
        2, "train bot.json --text-column intents.patterns --label-column intents.tag"
    )


@pytest.mark.parametrize("form", ["[%s]", "%s"], ids=["array", "lines"])
def test_record_whose_id_is_no_scalar_is_a_problem_of_its_own(tmp_path: Path, form: str) -> None:
    records = [
        b'{"id": {"x": "y"}, "label": "a", "text": "sun"}',
        b'{"id": 2, "label": "b", "text": "moon"}',
        b'{"id": [1], "label": "a", "text": "sun"}',
    ]
    separator = b"," if form == "[%s]" else b"\n"
    path = write("c.jsonl", form.encode() % separator.join(records))
    message = "the value at the key 'id' is not text, a number, true or false; "
    hints = {f"{path}:1": "inside are id.x", f"{path}:3": "id.0 is its first item"}
    found = problems(path, id_column="id")
    assert found == {name: message + hint for name, hint in hints.items()}
    assert documents(path, id_column="id")[1].id == "2"
    done = nbtext("train", path, "--id-column", "id")
    assert done.status == 1
    assert sum(message in note for note in done.notes) == 2
    assert f"{path}:1: {message}" in fail(1, "train", path, "--id-column=id", "--on-error=fail")
