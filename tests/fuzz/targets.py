"""What a fuzzer throws bytes at: the loader and each reader. A target returns for whatever is refused as it should be, and raises for anything else.

The tests throw a few hundred inputs at each (test_fuzz.py); `run.py` beside this file goes on as long as one likes. What it found stays as a seed.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nbtext.corpus.document import Notices
from nbtext.corpus.reading import read_corpus
from nbtext.errors import DocumentError, ModelError, PathError, UsageError
from nbtext.model import TextClassifier
from nbtext.model.state import decode_model, encode_model
from nbtext.prediction.labels import format_label, list_labels
from nbtext.settings import FORMATS, Reading
from nbtext.store.model_file import FORMAT_VERSION, _decode_index
from tests.model_bytes import FIELDS, HEAD, OPCODES, join_model_bytes, outcome
from tests.models import train_on
from tests.test_corpus_reading_shards import in_shards, read_whole

if TYPE_CHECKING:
    from collections.abc import Callable

    from nbtext.corpus.document import Document

SEEDS = Path(__file__).parent / "seeds"
FIXTURES = Path(__file__).parents[1] / "fixtures"

FOLDER = tempfile.TemporaryDirectory()
FILE = Path(FOLDER.name, "fuzzed")


def sealed(content: bytes) -> bytes:
    """A model file whose lengths and digest are right for the index and the payload that are in it, so that the checks behind them are reached."""
    if len(content) <= HEAD:
        return content
    length = min(FIELDS.unpack_from(content, OPCODES.size)[2], len(content) - HEAD - 1)
    return join_model_bytes(
        content[HEAD : HEAD + length].rstrip(b" "), content[HEAD + length + 1 :]
    )


def model(content: bytes) -> None:
    """A model file is refused, or it is a model that answers and whose overview ends."""
    for candidate in (content, sealed(content)):
        outcome(FILE, candidate)


def index(content: bytes) -> None:
    """The index of a model file is refused, or its arrays lie inside the payload."""
    payload_length = 1 << 12
    try:
        spans = _decode_index(content, payload_length, FORMAT_VERSION).spans
    except ModelError:
        return
    assert all(0 <= span.offset < span.end <= payload_length for span in spans.values())


def of_format(file_format: str, *variants: dict[str, Any]) -> Callable[[bytes], None]:
    """The target of a format: the first byte chooses among variants of reading settings, the others are the file."""
    return lambda content: (
        reader(content[1:], {"format": file_format, **variants[content[0] % len(variants)]})
        if content
        else None
    )


def reader(content: bytes, reading: dict[str, Any]) -> None:
    """A file is refused, or every document in it has a name, a class, and a text in UTF-8 that can be counted, or a problem."""
    FILE.write_bytes(content)
    for labelled in (True, False):
        try:
            documents = list(
                read_corpus([str(FILE)], Reading.from_values(reading), Notices(), labelled=labelled)
            )
        except (PathError, UsageError) as problem:
            _readable(str(problem))
            continue
        assert len(documents) <= len(content) + 1 or content[:2] in (b"\x1f\x8b", b"BZ", b"\xfd7")
        for document in documents:
            _well_formed(document, labelled=labelled)
        counted = [document for document in documents if document.problem is None]
        if labelled and counted:
            train(counted, reading)


def _well_formed(document: Document, *, labelled: bool) -> None:
    document.id.encode("utf-8", "surrogateescape")
    if document.problem is not None:
        assert isinstance(document.problem, DocumentError)
        _readable(str(document.problem))
        assert not document.text
        return
    document.text.decode()
    if labelled:
        assert document.label
        format_label(document.label).encode()


def train(documents: list[Document], reading: dict[str, Any]) -> None:
    """Documents that were read can be learnt from, and what was learnt becomes settings and arrays and comes back."""
    model = TextClassifier(smoothing=1, calibration="none")
    model.reading = Reading.from_values(reading)
    train_on(model, ((document.label or "", document.text) for document in documents))
    plain = encode_model(model.fitted)
    state = decode_model(*plain)
    assert state.counts.table == model.counts.table
    assert state.classes == sorted(
        {label for document in documents if document.label for label in list_labels(document.label)}
    )


def _readable(message: str) -> None:
    """A message is one line, short, and can be printed."""
    assert len(message) < 1000
    assert message.encode("utf-8", "surrogateescape")


BY_LINE = [name for name, layout in FORMATS.items() if layout.has_line_per_document]


def cut(content: bytes) -> None:
    """A file of lines read in parts gives what it gives as a whole; the first byte chooses the format, the second the size of a part."""
    if len(content) < 2:
        return
    FILE.write_bytes(content[2:])
    file_format = BY_LINE[content[0] % len(BY_LINE)]
    for labelled in (True, False):
        results = []
        for read in (read_whole, lambda paths, **how: in_shards(paths, 1 + content[1] % 64, **how)):
            try:
                documents, notices, *_ = read([str(FILE)], labelled=labelled, format=file_format)
            except (PathError, UsageError) as problem:
                results.append(str(problem))
            else:
                results.append(repr((documents, notices.transcoded)))
        assert results[0] == results[1]


DOCUMENTS: tuple[dict[str, Any], ...] = (
    {},
    {"document": "html"},
    {"document": "mail"},
    {"encoding": "latin-1"},
    {"max_document_size": 20},
)

ATTRIBUTES = {"text_column": "2", "categorical": "3,4", "count": "5", "numeric": "6"}

TARGETS: dict[str, Callable[[bytes], None]] = {
    "model": model,
    "index": index,
    "csv": of_format(
        "csv",
        *DOCUMENTS,
        {"header": True},
        {"label_column": "label", "text_column": "text"},
        {"delimiter": ";", "id_column": 1},
    ),
    "tsv": of_format(
        "tsv",
        *DOCUMENTS,
        {"header": True},
        {"label_column": "label", "text_column": "text", "id_column": "id"},
    ),
    "jsonl": of_format(
        "jsonl",
        *DOCUMENTS,
        {"label_column": "a.b", "id_column": "id"},
        {"categorical": "c", "count": "n", "numeric": "x.y"},
    ),
    "lines": of_format("lines", *DOCUMENTS),
    "json": of_format("jsonl", *DOCUMENTS, {"label_column": "a.b", "text_column": "c,d"}),
    "fasttext": of_format("fasttext", *DOCUMENTS),
    "svmlight": of_format("svmlight", {}, {"max_document_size": 20}),
    "cut": cut,
    "mbox": of_format(
        "mbox",
        {},
        {"headers": "from,subject"},
        {"drop_quotes": True, "drop_signatures": True},
        {"encoding": "latin-1"},
    ),
    "mail": lambda content: of_file(content, {"document": "mail"}),
    "html": lambda content: of_file(content, {"document": "html"}),
    "text": lambda content: of_file(content, {}),
    "gzip": lambda content: reader(gzip.compress(content)[:-1] + content[:1], {"format": "lines"}),
    "packed": lambda content: reader(content, {"format": "lines", "max_unpacked_size": "1M"}),
}
"""By name; seeds are in a folder of the same name."""


def of_file(content: bytes, reading: dict[str, Any]) -> None:
    """One file that is one document."""
    FILE.write_bytes(content)
    (document,) = read_corpus(
        [str(FILE)], Reading.from_values({"format": "dir", **reading}), Notices(), labelled=False
    )
    _well_formed(document, labelled=False)
    if document.problem is None:
        train([document._replace(label="a")], {})


def seeds(name: str) -> list[bytes]:
    """The inputs that a target begins with."""
    if name == "model":
        return [path.read_bytes() for path in sorted(FIXTURES.glob("format-*/*.model"))]
    if name == "cut":
        return [
            bytes([number, 7]) + content[1:]
            for number, file_format in enumerate(BY_LINE)
            for content in seeds(file_format)
        ]
    found = [path.read_bytes() for path in sorted((SEEDS / name).glob("*"))]
    if name == "packed":
        found += [pack(b"one\ntwo\n") for pack in (gzip.compress, bz2.compress, lzma.compress)]
    return found
