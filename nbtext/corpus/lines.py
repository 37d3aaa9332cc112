"""Formats of one document a line: ``lines`` without labels, ``fasttext``, ``svmlight`` and ``jsonl``."""

from __future__ import annotations

import json
import re
from codecs import BOM_UTF8
from typing import TYPE_CHECKING

from nbtext.corpus.decoding import decoded_name, plain_lines, to_utf8
from nbtext.corpus.document import WHOLE_RECORD, Document, Source, problem_of, too_large
from nbtext.corpus.streams import line_blocks, numbered_lines, open_stream
from nbtext.document_parts import FIELDS_KEY, NO_TEXT, fields_of_pairs, holds_separators, without_separators
from nbtext.errors import DocumentError
from nbtext.label_sets import MARK, label_set, one_label
from nbtext.ragged import LabelledBlock
from nbtext.settings import FORMATS
from nbtext.strict_json import DECODER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from io import BufferedReader

    from nbtext.type_names import Fields

PREFIX = FORMATS["fasttext"].beginning

_ABSENT = object()
"""In place of the value at a key that a record does not have."""

_ITEM = re.compile(rb"\S+")
_COUNTED = re.compile(rb"[^\s:][^\s]*:0*[1-9][0-9]{0,8}")


def each_line(
    path: str,
    source: Source,
    document: Callable[[str, bytes], Document | None],
    block_of: Callable[[bytes], LabelledBlock | None] | None = None,
) -> Iterator[Document | LabelledBlock]:
    """Yield the document made of each line and its name ``path:line``, if any; report what making it raises as the document's problem.

    Lines end at LF alone. Where blocks may be yielded, ``block_of`` makes one of lines that are plain (`plain_lines`), or returns None if one of them
    needs a closer look.
    """
    with open_stream(path, source.unpacked_limit, source.part, ahead=source.blocks) as stream:
        if block_of is None or not source.in_blocks:
            yield from _one_by_one(path, source, document, stream, source.lines_before)
            return
        for lines_before, content, again in line_blocks(stream, source.limit, source.lines_before):
            plain = None if content is None or len(content) > source.limit else plain_lines(content)
            block = None if plain is None else block_of(plain)
            if block is None:
                yield from _one_by_one(path, source, document, again, lines_before)
            else:
                yield block


def _one_by_one(
    path: str, source: Source, document: Callable[[str, bytes], Document | None], stream: BufferedReader, lines_before: int
) -> Iterator[Document]:
    limit = source.limit
    for number, line in numbered_lines(stream, limit, lines_before):
        name = f"{path}:{number}"
        if line is None:
            yield Document(name, problem=too_large(limit))
            continue
        try:
            found = document(name, line.removeprefix(BOM_UTF8) if number == 1 else line)
        except Exception as raised:  # noqa: BLE001 - one line never ends a run
            found = Document(name, problem=problem_of(raised))
        if found is not None:
            yield found


def lines(path: str, source: Source) -> Iterator[Document | LabelledBlock]:
    """Yield a document for each line, also for an empty one."""
    return each_line(path, source, lambda name, line: Document(name, None, line))


def fasttext(path: str, source: Source) -> Iterator[Document | LabelledBlock]:
    """Yield a document for each line of ``__label__x text``; labels are not part of the text.

    If labels are wanted, skip empty lines, and report lines without one.
    """
    encoding = source.reading.encoding

    def document(name: str, line: bytes) -> Document | None:
        labels, text = _split_labels(line)
        if not source.labelled:
            return Document(name, None, text)
        if not labels and not text.strip():
            return None
        if not labels:
            raise DocumentError("no label: the line does not begin with __label__")
        decoded = [decoded_name(label, encoding) for label in labels]
        return Document(name, _set_of(decoded) if len(decoded) > 1 else decoded[0], text)

    return each_line(path, source, document, _block_of_fasttext)


def _block_of_fasttext(content: bytes) -> LabelledBlock | None:
    """Return the documents of plain lines if each has one label, at its beginning."""
    parts = [line.partition(b" ") for line in content.split(b"\n")]
    labels = [label for label, _, _ in parts]
    distinct = dict.fromkeys(labels)
    if content.count(PREFIX) != len(parts) or not all(
        label.startswith(PREFIX) and b"\t" not in label and label != PREFIX for label in distinct
    ):
        return None
    names = {label: label[len(PREFIX) :].decode() for label in distinct}
    return LabelledBlock.of([names[label] for label in labels], [text for _, _, text in parts])


def _split_labels(line: bytes) -> tuple[list[bytes], bytes]:
    """Return the fastText labels of a line, and the rest of it.

    >>> _split_labels(b"__label__spam win a prize")
    ([b'spam'], b'win a prize')
    """
    if PREFIX not in line:
        return [], line
    label, _, text = line.partition(b" ")
    if line.startswith(PREFIX) and PREFIX not in text and b"\t" not in label:  # nearly all lines
        return [label[len(PREFIX) :]], text
    tokens = line.split()
    labels = [token[len(PREFIX) :] for token in tokens if token.startswith(PREFIX)]
    return labels, b" ".join(token for token in tokens if not token.startswith(PREFIX))


def svmlight(path: str, source: Source) -> Iterator[Document | LabelledBlock]:
    """Yield a document for each line of ``label name:count name:count # comment``; its text is ``name:count name:count``.

    Skip lines that are empty or only a comment. A name is the text before the last colon. If labels are not wanted, drop a first item that
    is no count.
    """
    encoding = source.reading.encoding

    def document(name: str, line: bytes) -> Document | None:
        features = without_separators(line.partition(b"#")[0]).strip()
        if not features:
            return None
        label = None
        first, *rest = features.split(None, 1)
        if not _COUNTED.fullmatch(first):
            label, features = decoded_name(first, encoding), b"".join(rest)
        for item in _ITEM.finditer(features):  # a list of the items of a long line would take ten times its memory
            if not _COUNTED.fullmatch(item[0]):
                shown = item[0][:40].decode("utf-8", "replace")
                raise DocumentError(f"{shown!r} is not name:count with a whole count from 1 to 999,999,999")
        if source.labelled and label is None:
            raise DocumentError("no label: the line begins with a count")
        return Document(name, label if source.labelled else None, features)

    return each_line(path, source, document)


def jsonl(path: str, source: Source) -> Iterator[Document | LabelledBlock]:
    """Yield a document for each line of one JSON object, named by its id or else ``path:line``; skip empty lines.

    Label, text, id and columns are at keys; ``a.b`` is the key b of the object at a.
    """
    reading = source.reading
    label_key = reading.label_column or "label"
    text_keys = [] if reading.text_column == NO_TEXT else source.text_columns or (["text"] if reading.text_column is None else [])
    n_attributes = len(source.attributes.names) + len(source.tagged)
    attributes, others = source.columns[:n_attributes], source.columns[n_attributes:]

    def document(name: str, line: bytes) -> Document | None:
        if not line or line.isspace():
            return None
        record, transcoded = parsed_record(line, reading.encoding)
        if transcoded:
            source.notices.transcoded += 1
        if reading.id_column is not None:
            name = _scalar(record, reading.id_column) or name
        try:
            label = _label(record, label_key) if source.labelled else None
            if source.labelled and label is None:
                return Document(name, problem=DocumentError(f"no value at the key {label_key!r}", hint="see --label-column"))
            columns = (*(_scalar(record, key) or "" for key in attributes), *(_column(record, key) for key in others))
            fields = _fields_of(record) if reading.document == "text" else ()
            return Document(name, label, b"\n".join([_text_at(record, key) for key in text_keys]), fields, columns=columns)
        except DocumentError as problem:
            return Document(name, problem=problem)

    def block(content: bytes) -> LabelledBlock | None:
        return _block_of_records(content, label_key, text_keys[0]) if len(text_keys) == 1 else None

    return each_line(path, source, document, block)


def _block_of_records(content: bytes, label_key: str, text_key: str) -> LabelledBlock | None:
    """Return the documents of plain lines if each is an object with a label and a text."""
    labels, texts = [], []
    try:
        for line in content.decode().split("\n"):
            record, end = DECODER.raw_decode(line)
            label, text = record[label_key], record[text_key]
            if end != len(line) or not label or type(label) is not str or MARK in label or FIELDS_KEY in record:
                return None
            labels.append(label)
            texts.append(text.encode())
        "".join(set(labels)).encode()
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
        return None  # no such record, or one with a surrogate
    return None if holds_separators(b" ".join(texts)) else LabelledBlock.of(labels, texts)


def _fields_of(record: dict[str, object]) -> Fields:
    """Return the fields beside a text that nbtext wrote."""
    if FIELDS_KEY not in record:
        return ()
    try:
        return fields_of_pairs(record[FIELDS_KEY])
    except ValueError:
        raise DocumentError(f"the value at the key {FIELDS_KEY!r} is not a list of names and contents") from None


def _column(record: dict[str, object], key: str) -> str:
    """Return the value of a column: null is empty, like a cell of a table; a missing key may be a mistake in the name."""
    if key == WHOLE_RECORD:
        return json.dumps(record)
    if _value_at(record, key) is _ABSENT:
        raise DocumentError(f"no value at the key {key!r}")
    return _scalar(record, key) or ""


def _text_at(record: dict[str, object], key: str) -> bytes:
    text = _value_at(record, key)
    if isinstance(text, str):
        return text.encode("utf-8", "replace")
    problem = f"no value at the key {key!r}" if text is None or text is _ABSENT else f"the value at the key {key!r} is not text"
    raise DocumentError(problem, hint="see --text-column")


def _value_at(record: dict[str, object], key: str) -> object:
    """Return the value at a key, or if there is none and the key has dots, inside the objects on the way; else a sentinel."""
    if key in record:
        return record[key]
    head, dot, rest = key.partition(".")
    inside = record.get(head) if dot else None
    return _value_at(inside, rest) if isinstance(inside, dict) else _ABSENT


def _label(record: dict[str, object], key: str) -> str | None:
    """Return the label at a key, of a list the set of its labels."""
    value = _value_at(record, key)
    if not isinstance(value, list):
        label = _as_text(value, key)
        return label and one_label(label)
    return _set_of([_as_text(each, key) or "" for each in value])


def _set_of(labels: Sequence[str]) -> str:
    if "" in labels:
        raise DocumentError("one of the labels is empty")
    return label_set(labels)


def _scalar(record: dict[str, object], key: str) -> str | None:
    return _as_text(_value_at(record, key), key)


def _as_text(value: object, key: str) -> str | None:
    """Return text, or a number or truth value as JSON writes it; None for null and for a missing key."""
    if value is None or value is _ABSENT:
        return None
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "replace").decode()
    if isinstance(value, (dict, list)):
        raise DocumentError(f"the value at the key {key!r} is not text, a number, true or false")
    try:
        return json.dumps(value, allow_nan=False)
    except ValueError:
        raise DocumentError(f"the number at the key {key!r} is too large") from None


def parsed_record(line: bytes, encoding: str) -> tuple[dict[str, object], bool]:
    """Return the object on a line, and whether the line was read as Windows-1252; raise `DocumentError` if there is none."""
    try:
        body, transcoded = to_utf8(line.removeprefix(BOM_UTF8), encoding)  # each line is a JSON text; RFC 8259 (8.1) allows a mark
        record = DECODER.decode(body.decode())
    except RecursionError:
        raise DocumentError("JSON nested too deeply") from None
    except json.JSONDecodeError as problem:
        raise DocumentError(f"not valid JSON ({problem.msg.lower().removesuffix(' at')} at column {problem.pos + 1})") from None
    except ValueError as problem:
        raise DocumentError(f"not valid JSON ({str(problem).partition(';')[0]})") from None
    if not isinstance(record, dict):
        raise DocumentError("not a JSON object")
    return record, transcoded
