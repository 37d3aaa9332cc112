"""One document never ends a run: whatever reading it raises becomes its record.

Also tests `corpus/document_decoder.py`.
"""

from __future__ import annotations

import codecs
import random
import re
import sys
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtext import TextClassifier
from nbtext.corpus.document import Document, to_document_error
from nbtext.errors import DocumentError, PathError, UsageError
from nbtext.settings import FORMATS
from tests.corpus_reader import documents
from tests.fuzz.run import changed
from tests.fuzz.targets import seeds
from tests.process import ENVIRONMENT, nbtext, run, write
from tests.profiles import examples

if TYPE_CHECKING:
    from pathlib import Path

    from _typeshed import ReadableBuffer as Buffer

KINDS = ("text", "html", "mail")
SEPARATORS = (b"\0", b"\x1c", b"\x1d", b"\x1e", b"\x1f")
NUMBER = b"<p>&#" + b"9" * 4301 + b"; moon"


def parts(document: Document) -> list[bytes]:
    """The text of a document and its fields."""
    return [document.text, *(part for field in document.fields for part in field)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("file_format", FORMATS)
def test_readers_return_records_or_refuse_the_file(
    file_format: str, kind: str, tmp_path: Path
) -> None:
    folders = {"dir": "a", "maildir": "cur"}
    beginnings = (seeds(file_format) if file_format not in folders else []) + (
        seeds(kind) if kind != "text" else [b"a text"]
    )
    for name in ("cur", "new", "tmp", "a"):
        (tmp_path / name).mkdir()
    file = tmp_path / folders.get(file_format, ".") / "fuzzed"
    path = tmp_path if file_format in folders else file

    @examples(6)
    @given(
        st.integers(0, 2**32).map(lambda number: changed(beginnings, random.Random(number))),
        st.booleans(),
    )
    def of_inputs(content: bytes, labelled: bool) -> None:
        file.write_bytes(content)
        try:
            found = documents(path, labelled=labelled, format=file_format, document=kind)
        except PathError as problem:
            # A text may happen to begin like UTF-16, compressed data, or an array of JSON.
            refusals = "UTF-16|file is (damaged|cut short)|not valid JSON"
            may_be_refused = re.search(refusals, str(problem))
            assert file_format in ("csv", "json", "mbox") or may_be_refused
            return
        except UsageError as problem:
            assert file_format in ("csv", "tsv")
            assert "it is not clear which column is the" in str(problem)  # noqa: PT017
            return
        assert all(
            isinstance(document, Document) and isinstance(document.problem, DocumentError | None)
            for document in found
        )
        assert len(found) == 1 or file_format not in folders
        assert not any(
            separator in part
            for document in found
            for part in parts(document)
            for separator in SEPARATORS
        )

    of_inputs()


class Broken(Exception):  # noqa: N818 - stands for any exception that nobody thought of
    """What a decoder raises that has a defect."""


def codec(raised: BaseException) -> str:
    """The name of an encoding whose decoder raises for every text with a question mark in it, and is ASCII else."""

    def decode(body: Buffer, errors: str = "strict", /) -> tuple[str, int]:
        if b"?" in bytes(body):
            raise raised
        return codecs.ascii_decode(body, errors)

    name = f"nbtext_{type(raised).__name__.lower()}"
    codecs.register(
        lambda wanted: (
            codecs.CodecInfo(codecs.ascii_encode, decode, name=name) if wanted == name else None
        )
    )
    return name


FILES = {
    "csv": b'label,text\na,moon\na,"sun?"\nb,star\n',
    "tsv": b"a\tmoon\na?\tsun\nb\tstar\n",
    "jsonl": b'{"label":"a","text":"moon"}\n{"label":"a","text":"sun?"}\n{"label":"b","text":"star"}\n',
    "fasttext": b"__label__a moon\n__label__a? sun\n__label__b star\n",
    "svmlight": b"a moon:1\na? sun:1\nb star:1\n",
}


@pytest.mark.parametrize("file_format", FILES)
def test_any_decoder_exception_is_a_problem_of_its_document(
    file_format: str, tmp_path: Path
) -> None:
    file = tmp_path / "file"
    file.write_bytes(FILES[file_format])
    columns: dict[str, Any] = (
        {"text_column": "text", "label_column": "label"} if file_format in ("csv", "jsonl") else {}
    )
    found = documents(
        file, format=file_format, encoding=codec(Broken("division of the moon")), **columns
    )
    assert [(document.label, document.problem is None) for document in found if document.label] in (
        [("a", True), ("b", True)],
        [("a", True), ("a", False), ("b", True)],
    )
    (problem,) = [document.problem.line for document in found if document.problem is not None]
    assert "Broken: division of the moon" in problem
    assert "report" in problem


@pytest.mark.parametrize(
    "raised",
    [
        MemoryError(),
        OSError(5, "Input/output error"),
        UsageError("no such encoding"),
        KeyboardInterrupt(),
    ],
)
def test_fatal_exceptions_end_the_run(raised: BaseException, tmp_path: Path) -> None:
    write("a.txt", b"sun?")
    with pytest.raises(type(raised)):
        documents(tmp_path / "a.txt", labelled=False, format="lines", encoding=codec(raised))


def test_problem_has_one_short_message() -> None:
    unreadable = DocumentError("empty")
    assert to_document_error(unreadable) is unreadable
    assert len(to_document_error(Broken("x" * 10_000)).message) == 300


def test_command_continues_after_a_defective_decoder(tmp_path: Path) -> None:
    """The decoder is a real one of Python's registry, put there before the command runs."""
    for label, text in (("a", b"moon"), ("b", b"star"), ("a", b"sun?")):
        (tmp_path / "c" / label).mkdir(parents=True, exist_ok=True)
        (tmp_path / "c" / label / text.strip(b"?").decode()).write_bytes(text)
    code = (
        "import codecs, sys\n"
        "def decode(body, errors='strict'):\n"
        "    if b'?' in bytes(body): raise ZeroDivisionError('of the moon')\n"
        "    return codecs.ascii_decode(body, errors)\n"
        "codecs.register(lambda name: codecs.CodecInfo(codecs.ascii_encode, decode, name=name) if name == 'broken' else None)\n"
        "from nbtext.cli.main import run\n"
        "sys.exit(run(sys.argv[1:]))\n"
    )
    command = [sys.executable, "-c", code]
    trained = run([*command, "train", "c", "-m", "m", "--encoding", "broken"], env=ENVIRONMENT)
    assert (trained.status, trained.out) == (1, b"")
    (note,) = trained.notes
    assert note.startswith("nbtext: c/a/sun: cannot be read: ZeroDivisionError: ")
    assert note.endswith("of the moon); this is a defect of nbtext; please report it")
    answered = run(
        [*command, "classify", "-m", "m", "c/a/moon", "c/a/sun", "c/b/star"], env=ENVIRONMENT
    )
    assert answered.status == 1
    assert [row[:2] for row in answered.rows] == [
        ["c/a/moon", "a"],
        ["c/a/sun", ""],
        ["c/b/star", "b"],
    ]
    assert "ZeroDivisionError" in answered.rows[1][2]


SPAM = b"win a \0prize\x1d\x1fnow"


@pytest.mark.parametrize(
    ("file_format", "content", "given_reading"),
    [
        ("dir", SPAM, {}),
        ("dir", b"<p>" + SPAM, {"document": "html"}),
        ("dir", b"Subject: win\0ner\n\n" + SPAM, {"document": "mail"}),
        ("dir", b"Content-Type: text/plain\0; charset=utf-8\n\n" + SPAM, {"document": "mail"}),
        ("dir", b"Content-Type: text/html\n\n<b>" + SPAM, {"document": "mail"}),
        ("dir", b"Subject: x\n\n" + SPAM + b"\0" * 1000, {"document": "mail"}),
        ("maildir", b"Subject: =?utf-8?q?=00win?=\n\n" + SPAM, {}),
        ("mbox", b"From a@b\nSubject: x\n\n" + SPAM, {}),
        ("csv", b'ham,"' + SPAM + b'"\n', {}),
        ("tsv", b"ham\t" + SPAM + b"\n", {}),
        ("tsv", b"ham\t" + SPAM + b"\n", {"encoding": "koi8-r"}),
        ("tsv", b"lab\0el\t" + SPAM + b"\n", {"label_column": "2", "text_column": "2"}),
        ("jsonl", b'{"text": "win a \\u0000prize\\u001enow"}\n', {}),
        ("lines", SPAM + b"\n", {}),
        ("fasttext", b"__label__ham " + SPAM + b"\n", {}),
    ],
)
def test_control_bytes_do_not_hide_a_document(
    file_format: str, content: bytes, given_reading: dict[str, Any], tmp_path: Path
) -> None:
    file = tmp_path / "document"
    file.write_bytes(content)
    (document,) = documents(file, labelled=False, format=file_format, **given_reading)
    assert document.problem is None
    assert b"win a  prize" in document.text
    assert not any(separator in part for part in parts(document) for separator in SEPARATORS)


def test_counted_feature_cannot_imitate_a_category(tmp_path: Path) -> None:
    file = tmp_path / "document"
    file.write_bytes(b"ham a:1 \x1fsender\x1fboss:9\nham \x1fb:2\n")
    refused, found = documents(file, format="svmlight")
    assert (
        str(refused.problem)
        == "'sender' is not name:count with a whole count from 1 to 999,999,999"
    )
    assert found.text == b"b:2"


def test_document_with_control_bytes_is_classified_from_every_source(pets: Path) -> None:
    text = "the \0cat\x1e purrs"
    write("cat", text)
    wanted = nbtext("classify -", stdin=b"the  cat  purrs").rows[0][1:]
    assert nbtext("classify cat").rows == [["cat", *wanted]]
    assert nbtext("classify -", stdin=text.encode()).rows == [["-", *wanted]]
    assert nbtext("classify --lines", stdin=text.encode()).rows == [["-:1", *wanted]]
    model = TextClassifier.load("nbtext.joblib")
    assert model.predict([text, text.encode()]).tolist() == [wanted[0]] * 2


def test_binary_file_types_are_named(tmp_path: Path) -> None:
    kinds = {
        "PNG image": b"\x89PNG\r\n\x1a\n\0",
        "ZIP archive or Office document": b"PK\x03\x04\x14\0",
        "MP4 recording": b"\0\0\0\x18ftypmp42",
    }
    for number, content in enumerate(kinds.values()):
        write(f"{number}", content + b"with words inside" * 100)
    for kind in ("text", "html", "mail"):
        found = documents(tmp_path, labelled=False, format="dir", document=kind)
        assert [
            document.problem.line.removeprefix("binary, not text (a").lstrip("n ")
            for document in found
            if document.problem
        ] == [f"{name})" for name in kinds]


NAMES = (b"From: %b@example.co", b"Content-Type: text/%b", b"Content-Type: text/html\n\n<x%b>")
