"""Format ``jsonl``: one JSON object a line, with label, text and id at keys; ``a.b`` is the key b of the object at a."""

from __future__ import annotations

import json
from codecs import BOM_UTF8
from typing import TYPE_CHECKING, Any, NamedTuple

from nbtext.attributes import NO_TEXT
from nbtext.corpus.decoding import to_utf8
from nbtext.corpus.document import RawDocument
from nbtext.corpus.lines import each_line
from nbtext.errors import DocumentError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nbtext.corpus.document import Source

LABEL, TEXT = "label", "text"
"""The default keys."""

_ABSENT = object()


class _Keys(NamedTuple):
    """The keys to look up in each record; None for what is not wanted."""

    label: str | None
    text: str | None
    id: str | None
    attributes: tuple[str, ...]
    """These may be missing."""
    columns: tuple[str, ...]


def jsonl(path: str, source: Source) -> Iterator[RawDocument]:
    """Yield a document for each line that is not empty, named by its id or else ``path:line``."""
    reading = source.reading
    label = (reading.label_column or LABEL) if source.labelled else None
    text = None if reading.text_column == NO_TEXT else reading.text_column or TEXT
    n_attributes = len(source.attributes.names)
    keys = _Keys(label, text, reading.id_column, source.columns[:n_attributes], source.columns[n_attributes:])

    def document(name: str, line: bytes) -> RawDocument | None:
        if not line or line.isspace():
            return None
        record, transcoded = parsed(line, reading.encoding)
        source.notices.transcoded += transcoded
        return _document(name, record, keys)

    return each_line(path, source, document)


def _document(name: str, record: dict[str, Any], keys: _Keys) -> RawDocument:
    try:
        if keys.id is not None:
            name = _scalar(record, keys.id) or name
        label = None if keys.label is None else _label(record, keys.label)
        columns = (*(_scalar(record, key) or "" for key in keys.attributes), *(_column(record, key) for key in keys.columns))
        return RawDocument(name, label, b"" if keys.text is None else _text(record, keys.text), decoded=True, columns=columns)
    except DocumentError as problem:
        return RawDocument(name, None, b"", problem)


def _label(record: dict[str, Any], key: str) -> str:
    label = _scalar(record, key)
    if label is None:
        raise DocumentError(f"no value at the key {key!r}", hint="see --label-column")
    return label


def _column(record: dict[str, Any], key: str) -> str:
    """Return the value of a column: null is empty, like a cell of a table; a missing key may be a mistake in the name."""
    value = _scalar(record, key)
    if value is None and value_at(record, key) is _ABSENT:
        raise DocumentError(f"no value at the key {key!r}")
    return value or ""


def _text(record: dict[str, Any], key: str) -> bytes:
    text = value_at(record, key)
    if isinstance(text, str):
        return text.encode("utf-8", "replace")
    problem = f"no value at the key {key!r}" if text is None or text is _ABSENT else f"the value at the key {key!r} is not text"
    raise DocumentError(problem, hint="see --text-column")


def value_at(record: dict[str, Any], key: str) -> object:
    """Return the value at a key, or if there is none and the key has dots, inside the objects on the way; else a sentinel."""
    if key in record:
        return record[key]
    head, dot, rest = key.partition(".")
    inside = record.get(head) if dot else None
    return value_at(inside, rest) if isinstance(inside, dict) else _ABSENT


def _scalar(record: dict[str, Any], key: str) -> str | None:
    """Return text, or a number or truth value as JSON writes it; None for null and for a missing key."""
    value = value_at(record, key)
    if value is None or value is _ABSENT:
        return None
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "replace").decode()
    if isinstance(value, (dict, list)):
        raise DocumentError(f"the value at the key {key!r} is no text, number or truth value")
    try:
        return json.dumps(value, allow_nan=False)
    except ValueError:
        raise DocumentError(f"the number at the key {key!r} is too large") from None


def parsed(line: bytes, encoding: str) -> tuple[dict[str, Any], bool]:
    """Return the object on a line, and whether the line was read as Windows-1252; raise `DocumentError` if there is none."""
    try:
        body, transcoded = to_utf8(line.removeprefix(BOM_UTF8), encoding)  # each line is a JSON text; RFC 8259 (8.1) allows a mark
        record = _DECODER.decode(body.decode())
    except RecursionError:
        raise DocumentError("JSON nested too deeply") from None
    except json.JSONDecodeError as problem:
        raise DocumentError(f"not valid JSON ({problem.msg.lower()} at column {problem.pos + 1})") from None
    except ValueError as problem:
        raise DocumentError(f"not valid JSON ({str(problem).partition(';')[0]})") from None
    if not isinstance(record, dict):
        raise DocumentError("a JSON value that is no object")
    return record, transcoded


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) != len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"the key {next(key for key in keys if keys.count(key) > 1)!r} stands twice")
    return record


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON number")


_DECODER = json.JSONDecoder(object_pairs_hook=_distinct, parse_constant=_refuse_constant)
