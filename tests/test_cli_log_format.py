"""`--log-format json`: every line on standard error is a JSON object, whatever happens.

Also tests `cli/messages.py`.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from nbtext.cli.main import COMMAND_SUMMARIES
from tests.process import corpus, fail, nbtext, python, succeed, write

if TYPE_CHECKING:
    from pathlib import Path

    from tests.process import Result

AS_JSON = ["--log-format", "json"]


def parse_log_lines(result: Result) -> list[dict[str, Any]]:
    """Return the lines of standard error as objects without their time, which is checked."""
    lines = [json.loads(note) for note in result.notes]
    for line in lines:
        assert line["level"] in ("error", "warning", "notice")
        assert isinstance(line["message"], str)
        time = datetime.fromisoformat(line.pop("time"))
        assert abs(datetime.now(UTC) - time) < timedelta(minutes=10)
        assert set(line) <= {"level", "message", "where", "document", "hint", "model"}
    return lines


def test_unreadable_documents_are_json_lines(pets: Path) -> None:
    corpus(pets, {"bin\x1b[31m\n\u202e": b"\0", "large": "x" * 20})
    done = nbtext(
        "classify pets", "bin\x1b[31m\n\u202e", "large", "--max-document-size", "16", *AS_JSON
    )
    assert done.status == 1
    assert not any(byte < 0x20 and byte != 0x0A for byte in done.err)
    lines = parse_log_lines(done)
    fingerprint = json.loads(succeed("inspect --output json").out)["fingerprint"]
    assert [line["level"] for line in lines] == ["error"] * 5
    assert {line.pop("model") for line in lines} == {fingerprint}
    assert lines[3] == {
        "level": "error",
        "message": "binary, not text (first control byte at position 0)",
        "document": "bin\x1b[31m\n\u202e",
    }
    assert lines[0]["hint"] == "raise --set max-document-size=SIZE"
    assert lines[4] == {
        "level": "error",
        "message": "2 more unreadable documents: larger than 16 bytes",
    }


def test_warnings_and_notices_are_json_lines(tmp_path: Path) -> None:
    corpus(tmp_path, {"c/only/1": b"caf\xe9"})
    lines = parse_log_lines(nbtext("train c -v", *AS_JSON))
    assert [line["level"] for line in lines] == ["notice", "warning", "notice", "notice"]
    assert (
        lines[1]["message"]
        == "there is only one class, only, so it is always predicted; add documents of another class"
    )
    assert nbtext("train c -q", *AS_JSON).err == b""


@pytest.mark.parametrize(
    ("arguments", "status", "expected"),
    [
        (["inspect", "-m", "none"], 3, {"where": "none"}),
        (
            ["classify", "none.csv", "--format", "csv"],
            4,
            {"where": "none.csv", "message": "cannot read: no such file or directory"},
        ),
        (["train", "pets", "--ngrams", "x"], 2, {"level": "error"}),
        (["train"], 2, {"hint": "see nbtext train --help"}),
        (["train", "pets", "--nope"], 2, {"hint": "see nbtext train --help"}),
        (["trane"], 2, {"hint": "see nbtext --help"}),
        ([], 2, {"hint": "see nbtext --help"}),
    ],
    ids=str,
)
def test_failures_are_json_lines_wherever_the_option_is(
    pets: Path, arguments: list[str], status: int, expected: dict[str, str]
) -> None:
    for given in (
        [*AS_JSON, *arguments],
        [*arguments[:1], *AS_JSON, *arguments[1:]],
        [*arguments, "--log-format=json"],
    ):
        if given[:1] == ["trane"]:
            continue  # whatever follows an unknown command is its own
        done = nbtext(*given)
        assert (done.status, done.out) == (status, b"")
        [line] = parse_log_lines(done)
        assert {"level": "error", **expected}.items() <= line.items()


@pytest.mark.parametrize("command", COMMAND_SUMMARIES)
def test_every_command_has_log_format(command: str) -> None:
    assert b"--log-format" in nbtext(command, "--help-all").out
    assert "--log-format must be one of text, json, not 'xml'" in fail(
        2, command, "--log-format", "xml"
    )


def test_text_is_the_default_log_format(pets: Path) -> None:
    plain = nbtext("classify none")
    assert nbtext("classify none --log-format text") == plain
    assert nbtext("classify --log-format json none --log-format text") == plain
    assert nbtext("classify -- none --log-format json").notes[0] == plain.notes[0]


def test_internal_error_is_json_with_its_traceback(pets: Path) -> None:
    code = (
        "import sys; import nbtext.inspection.overview as o; from nbtext.cli.main import run\n"
        "def broken(*_): raise ZeroDivisionError('a\\x1b[31m\\nb')\n"
        "o.build_overview = broken; sys.exit(run(sys.argv[1:]))"
    )
    done = python(code, "--debug", *AS_JSON, "inspect")
    lines = parse_log_lines(done)
    assert done.status == 70
    assert (lines[0]["level"], lines[0]["message"]) == (
        "notice",
        "Traceback (most recent call last):",
    )
    assert (lines[-1]["level"], lines[-1]["message"]) == (
        "error",
        "internal error: ZeroDivisionError: a\x1b[31m\nb",
    )


LONG = "x" * 5_000


@pytest.mark.parametrize(
    ("arguments", "listed"),
    [
        ("classify --files-from list", f"{LONG}\n"),
        ("classify --text x --prior-shape", None),
        (f"train pets --stop-words {LONG}", None),
        (f"relabel {LONG} cats", None),
        ("relabel " + "'" + "x y " * 2_000 + "' cats", None),
    ],
)
@pytest.mark.parametrize("form", ["text", "json"])
def test_long_invalid_values_are_shortened_in_messages(
    pets: Path, arguments: str, listed: str | None, form: str
) -> None:
    if listed is not None:
        write("list", listed)
    done = nbtext(arguments, "-m", "m", f"--log-format={form}")
    assert done.status != 0
    assert done.err.count(b"\n") == 1
    assert len(done.err) < (2_000 if form == "text" else 6_000)
