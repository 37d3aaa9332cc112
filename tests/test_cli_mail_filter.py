"""`nbtext classify --mail-filter`: a message goes through whole, whatever happens, and its header tells the answer.

Also tests `format_mail_header` of `report/predictions.py` and `read_bytes` of `corpus/reading.py`.
"""

from __future__ import annotations

import email.header
import email.policy
import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtext import TextClassifier
from nbtext.report.predictions import format_mail_header
from nbtext.scoring import Answer
from tests.process import LITTLE_MEMORY, corpus, error_line, nbtext, succeed, write

if TYPE_CHECKING:
    from pathlib import Path

LETTER = b"From: ann@example.org\nSubject: win\n\na prize for you\n"


@pytest.fixture(scope="module")
def mail(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a model of two classes of mail."""
    folder = corpus(
        tmp_path_factory.mktemp("mail"),
        {
            "spam/1": "Subject: prize\n\nyou win a prize\n",
            "spam/2": "Subject: win\n\nclaim your prize\n",
            "ham/1": "Subject: lunch\n\nlunch at noon\n",
            "ham/2": "Subject: minutes\n\nof our meeting\n",
        },
    )
    corpus(
        folder,
        {
            "all/ham/1": (folder / "ham/1").read_bytes(),
            "all/spam/1": (folder / "spam/1").read_bytes(),
        },
    )
    succeed("train all --document mail --headers subject", cwd=folder)
    return folder


def split_header(out: bytes) -> tuple[str, bytes]:
    """The value of the header in front, and the message behind it."""
    header, _, message = out.partition(b"\n")
    name, _, value = header.decode().partition(": ")
    assert name == "X-Nbtext"
    return value, message


def test_message_is_printed_with_its_prediction(mail: Path) -> None:
    value, message = split_header(succeed("classify --mail-filter", cwd=mail, stdin=LETTER).out)
    label, probability, model = value.split("; ")
    assert (label, message) == ("spam", LETTER)
    fingerprint = json.loads(succeed("inspect --output json", cwd=mail).out)["fingerprint"]
    assert model == f"model={fingerprint}"
    (mail / "letter").write_bytes(LETTER)
    row = succeed("classify letter", cwd=mail).rows[0]
    assert probability == f"probability={row[2]}"


def test_forged_header_is_removed(mail: Path) -> None:
    forged = b"X-Nbtext: ham; probability=1\n"
    assert (
        nbtext("classify --mail-filter", cwd=mail, stdin=forged + LETTER).out.count(b"X-Nbtext")
        == 1
    )
    failed = nbtext("classify --mail-filter -m none", cwd=mail, stdin=forged + LETTER)
    assert split_header(failed.out) == ("; reason=error", LETTER)


def test_existing_header_does_not_change_the_prediction(mail: Path) -> None:
    once = succeed("classify --mail-filter", cwd=mail, stdin=LETTER).out
    assert (
        succeed("classify --mail-filter", cwd=mail, stdin=b"From ann Sat\n" + once).out
        == b"From ann Sat\n" + once
    )


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        ("-m none", 3),
        ("-m damaged", 3),
        ("-m all", 3),
        ("--max-document-size 20", 1),
        ("--costs none", 4),
        ("letter", 2),
        ("--lines", 2),
        ("--output tsv", 2),
        ("--format mbox", 2),
        ("--no-such-option", 2),
        ("--text x", 2),
        ("-q -v", 2),
        ("--config damaged", 4),
        ("--min-probability 2", 2),
    ],
)
def test_message_is_printed_unchanged_on_any_failure_with_its_exit_status(
    mail: Path, arguments: str, status: int
) -> None:
    (mail / "damaged").write_bytes((mail / "nbtext.joblib").read_bytes()[:-9] + b"x" * 9)
    done = nbtext(f"classify --mail-filter {arguments}", cwd=mail, stdin=LETTER)
    assert split_header(done.out) == ("; reason=error", LETTER)
    error_line(done._replace(out=b""), status)


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        ("-m none", 3),
        ("letter", 2),
        ("--no-such-option", 2),
        ("--by-class", 2),
        ("-q -v", 2),
        ("--min-probability 2", 2),
        ("--set nothing", 2),
    ],
)
@pytest.mark.parametrize("source", ["[classify]\nmail-filter = true", "mail_filter = true", ""])
def test_filter_by_default_prints_the_message_on_any_failure_too(
    mail: Path, tmp_path: Path, source: str, arguments: str, status: int
) -> None:
    write("nbtext.toml", source)
    env = {} if source else {"NBTEXT_MAIL_FILTER": "yes"}
    model = str(mail / "nbtext.joblib")
    assert split_header(succeed("classify -m", model, stdin=LETTER, env=env).out)[1] == LETTER
    done = nbtext(f"classify {arguments}", stdin=LETTER, env=env)
    assert split_header(done.out) == ("; reason=error", LETTER)
    error_line(done._replace(out=b""), status)


@pytest.mark.parametrize(
    "defaults",
    [
        "mail-filter = true\nno-such-option = 0",
        "[classify]\nmail-filter = true\nmin-probability = 2",
    ],
)
def test_filter_by_default_survives_other_wrong_defaults(tmp_path: Path, defaults: str) -> None:
    write("nbtext.toml", defaults)
    done = nbtext("classify", stdin=LETTER)
    assert split_header(done.out) == ("; reason=error", LETTER)
    error_line(done._replace(out=b""), 2)


@pytest.mark.parametrize(
    ("source", "arguments"),
    [
        ("mail-filter = true", "--lines --no-such-option"),
        ("mail-filter = true", "-o csv --no-such-option"),
        ("mail-filter = true", "--no-config --no-such-option"),
        ("mail-filter = false", "--no-such-option"),
        ("mail-filter = 7", "--no-such-option"),
        ("mail-filter = 'perhaps'", "--no-such-option"),
        ("mail-filter", "--no-such-option"),
        ("classify = 7", "--no-such-option"),
    ],
)
def test_other_runs_print_no_message(tmp_path: Path, source: str, arguments: str) -> None:
    write("nbtext.toml", source)
    done = nbtext(f"classify {arguments}", stdin=LETTER)
    assert (done.out, done.status in (2, 4)) == (b"", True)


def test_config_for_other_runs_does_not_break_the_filter(mail: Path, tmp_path: Path) -> None:
    write("nbtext.toml", '[classify]\noutput = "jsonl"\nformat = "dir"\n')
    model = str(mail / "nbtext.joblib")
    assert split_header(succeed("classify --mail-filter -m", model, stdin=LETTER).out)[1] == LETTER


def test_abstained_prediction_has_its_reason_in_the_header(mail: Path) -> None:
    asked = ("classify", "--mail-filter", "--min-probability", "0.99")
    value, message = split_header(succeed(*asked, cwd=mail, stdin=LETTER).out)
    assert (value.startswith("; reason=low-probability; model="), message) == (True, LETTER)
    value, _ = split_header(succeed(*asked[:2], cwd=mail, stdin=b"\n").out)
    assert "; reason=empty; model=" in value
    value, _ = split_header(succeed(*asked[:2], cwd=mail, stdin=b"\nzzz").out)
    assert "; reason=no-known-terms; model=" in value


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"\n",
        b"\0",
        b"no header\n\nprize",
        b"Subject: prize",
        b"To: a\r\n\r\nprize\r\n",
        b"\xff\xfe: \x1b\n\n\x1c\x1d\x1e",
    ],
)
def test_unusual_messages_are_printed_byte_for_byte(mail: Path, message: bytes) -> None:
    done = nbtext("classify --mail-filter", cwd=mail, stdin=message)
    end = b"\r\n" if b"\r" in message else b"\n"
    assert done.status in (0, 1)
    assert done.out.partition(end)[2] == message


def test_message_larger_than_memory_is_streamed(mail: Path) -> None:
    message = LETTER + b"0123456789abcde\n" * (5 << 20)
    done = nbtext(
        "classify --mail-filter --max-document-size 1M",
        cwd=mail,
        stdin=message,
        limits=LITTLE_MEMORY,
    )
    assert (done.status, split_header(done.out)) == (1, ("; reason=error", message))


def test_message_longer_than_the_first_block_is_read_to_its_end(mail: Path) -> None:
    letter = b"Subject: a\n\n" + b"lunch\n" + b"zzz " * (1 << 19) + b"prize prize win claim\n"
    value, message = split_header(succeed("classify --mail-filter", cwd=mail, stdin=letter).out)
    assert (value.startswith("spam; "), message == letter) == (True, True)


def test_models_of_files_and_of_tables_read_a_message_as_they_read_documents(
    mail: Path,
) -> None:
    corpus(
        mail, {"raw/a/1": "Sender: sun", "raw/b/1": "Sender: moon", "table.csv": "a,sun\nb,moon\n"}
    )
    letter = b"Sender: moon\nContent-Transfer-Encoding: base64\n\nc3Vu\n"
    succeed("train raw -m raw.joblib", cwd=mail)
    succeed("train table.csv -m table.joblib", cwd=mail)
    assert split_header(
        succeed("classify --mail-filter -m raw.joblib", cwd=mail, stdin=letter).out
    )[0].startswith("b; ")
    table = ("classify", "--mail-filter", "-m", "table.joblib", "--headers", "subject")
    assert split_header(succeed(*table, cwd=mail, stdin=letter).out)[0].startswith("a; ")


def test_labels_with_special_characters_are_decoded_from_the_header(tmp_path: Path) -> None:
    label = "Müll; probability=1\r\nTo: all"
    TextClassifier().fit(["win a prize", "lunch at noon"], [label, "ham"]).save("nbtext.joblib")
    out = succeed("classify --mail-filter", stdin=LETTER).out
    assert out.endswith(LETTER)
    found = str(email.message_from_bytes(out, policy=email.policy.default)["X-Nbtext"])
    assert found.startswith("Müll; probability=1")


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=200))
def test_header_is_ascii_in_short_lines_and_keeps_the_label(label: str) -> None:
    value = format_mail_header(Answer("1", (label,), (0.25,), notice="empty"))
    lines = f"X-Nbtext: {value}".split("\n")
    assert value.isascii()
    assert all(line.isprintable() and len(line) <= 78 for line in lines)
    assert all(line.startswith(" ") for line in lines[1:])
    written, probability, reason = value.replace("\n ", " ").rsplit("; ", 2)
    assert (probability, reason) == ("probability=0.25", "reason=empty")
    pieces = [
        piece.encode() if isinstance(piece, str) else piece
        for piece, _ in email.header.decode_header(written)
    ]
    assert b"".join(pieces).decode() == label


@pytest.mark.parametrize("label", ["spam", "Customer service", "a/b (c)", "x" * 52])
def test_plain_labels_are_not_encoded(label: str) -> None:
    assert format_mail_header(Answer("1", (label,), (0.5,))).startswith(f"{label};")


def test_multiple_labels_are_separated_by_a_bar() -> None:
    assert (
        format_mail_header(Answer("1", ("bills", "home"), (0.9, 0.6)))
        == "bills|home; probability=0.9"
    )
