"""Formats of one document a line: ``lines``, ``fasttext``, ``svmlight`` and ``jsonl``."""

from __future__ import annotations

import json
import os
import re
from codecs import BOM_UTF8
from contextlib import suppress
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, cast

from nbtext.corpus.decoding import decode_name, normalize_plain_lines, to_utf8
from nbtext.corpus.document import (
    RECORD_COLUMN,
    Document,
    LabelledFolder,
    ReaderOptions,
    create_size_error,
    to_document_error,
)
from nbtext.corpus.shards import JSON_ARRAY_START
from nbtext.corpus.streams import (
    MAX_FIRST_LINE_BYTES,
    enumerate_lines,
    open_stream,
    peek_start,
    read_line_blocks,
)
from nbtext.document_fields import (
    FIELDS_KEY,
    contains_separators,
    parse_field_pairs,
    replace_separators,
)
from nbtext.errors import DocumentError, PathError, join_names
from nbtext.prediction.label_lists import is_label_marks, select_marked_labels
from nbtext.prediction.labels import LABEL_MARK, clean_label, make_label_set
from nbtext.ragged import LabelledBlock
from nbtext.settings import FORMATS
from nbtext.strict_json import STRICT_DECODER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from nbtext.prediction.labels import Label
    from nbtext.settings import Reading
    from nbtext.type_names import Fields, Names

LABEL_PREFIX = FORMATS["fasttext"].first_bytes

_ABSENT = object()
"""In place of the value at a key that a record does not have."""

_LONGEST_MARGIN = 1 << 10
"""White space before an array, at most."""

_NO_OBJECT = "not a JSON object"

_ITEM = re.compile(rb"\S+")
_COUNTED = re.compile(rb"[^\s:][^\s]*:0*[1-9][0-9]{0,8}")


def read_each_line(
    path: str,
    source: ReaderOptions,
    document: Callable[[str, bytes], Document | None],
    block_of: Callable[[bytes], LabelledBlock | None] | None = None,
) -> Iterator[Document | LabelledBlock]:
    """Yield the document made of each line and its name ``path:line``, if any; report what making it raises as the document's problem.

    Lines end at LF alone. Where blocks may be yielded, ``block_of`` makes one of lines that are plain (`normalize_plain_lines`), or returns None if one of them
    needs a closer look.
    """
    limit = source.max_document_bytes
    with open_stream(path, source) as stream:
        for lines_before, content, again in read_line_blocks(stream, source):
            plain = None if content is None or block_of is None else normalize_plain_lines(content)
            if (
                plain is not None
                and block_of is not None
                and (block := block_of(plain)) is not None
            ):
                yield block
                continue
            for number, line in enumerate_lines(again, limit, lines_before):
                name = f"{path}:{number}"
                try:
                    if line is None:
                        # A problem of the document, as all that making it raises.
                        raise create_size_error(limit)  # noqa: TRY301
                    found = document(name, line.removeprefix(BOM_UTF8) if number == 1 else line)
                except Exception as raised:  # noqa: BLE001 - one line never ends a run
                    found = Document(name, problem=to_document_error(raised))
                if found is not None:
                    yield found


def lines(path: str, source: ReaderOptions) -> Iterator[Document | LabelledBlock]:
    """Yield a document for each line of a file, or of the files in a folder.

    If labels are wanted, the class is the name of the file, and an empty line is no document.
    """
    if os.path.isdir(path):
        from nbtext.corpus.directory import walk_files

        below = [file for file, problem in walk_files(path) if problem is None]
        named = (
            [LabelledFolder(file, path.label) for file in below]
            if isinstance(path, LabelledFolder)
            else below
        )
        return chain.from_iterable(lines(file, source) for file in named)
    if not source.labelled:
        return read_each_line(path, source, lambda name, line: Document(name, None, line))
    from nbtext.corpus.mailboxes import get_path_class

    label = get_path_class(path, source, ".txt", ".text")
    return read_each_line(
        path, source, lambda name, line: Document(name, label, line) if line.strip() else None
    )


def fasttext(path: str, source: ReaderOptions) -> Iterator[Document | LabelledBlock]:
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
        decoded = [decode_name(label, encoding) for label in labels]
        return Document(name, _set_of(decoded) if len(decoded) > 1 else decoded[0], text)

    return read_each_line(path, source, document, _block_of_fasttext)


def _block_of_fasttext(content: bytes) -> LabelledBlock | None:
    """Return the documents of plain lines if each has one label, at its beginning."""
    parts = [line.partition(b" ") for line in content.split(b"\n")]
    labels = [label for label, _, _ in parts]
    if content.count(LABEL_PREFIX) != len(parts) or not all(
        label.startswith(LABEL_PREFIX) and b"\t" not in label and label != LABEL_PREFIX
        for label in dict.fromkeys(labels)
    ):
        return None
    return LabelledBlock.from_labels(
        labels, [text for _, _, text in parts], lambda label: label[len(LABEL_PREFIX) :].decode()
    )


def _split_labels(line: bytes) -> tuple[list[bytes], bytes]:
    """Return the fastText labels of a line, and the rest of it.

    >>> _split_labels(b"__label__spam win a prize")
    ([b'spam'], b'win a prize')
    """
    if LABEL_PREFIX not in line:
        return [], line
    label, _, text = line.partition(b" ")
    if (
        line.startswith(LABEL_PREFIX) and LABEL_PREFIX not in text and b"\t" not in label
    ):  # nearly all lines
        return [label[len(LABEL_PREFIX) :]], text
    tokens = line.split()
    labels = [token[len(LABEL_PREFIX) :] for token in tokens if token.startswith(LABEL_PREFIX)]
    return labels, b" ".join(token for token in tokens if not token.startswith(LABEL_PREFIX))


def svmlight(path: str, source: ReaderOptions) -> Iterator[Document | LabelledBlock]:
    """Yield a document for each line of ``label name:count name:count # comment``; its text is ``name:count name:count``.

    Skip lines that are empty or only a comment. A name is the text before the last colon. If labels are not wanted, drop a first item that
    is no count.
    """
    encoding = source.reading.encoding

    def document(name: str, line: bytes) -> Document | None:
        features = replace_separators(line.partition(b"#")[0]).strip()
        if not features:
            return None
        label = None
        first, *rest = features.split(None, 1)
        if not _COUNTED.fullmatch(first):
            label = decode_name(first, encoding)
            features = b"".join(rest)
        for item in _ITEM.finditer(
            features
        ):  # a list of the items of a long line would take ten times its memory
            if not _COUNTED.fullmatch(item[0]):
                shown = item[0][:40].decode("utf-8", "replace")
                raise DocumentError(
                    f"{shown!r} is not name:count with a whole count from 1 to 999,999,999"
                )
        if source.labelled and label is None:
            raise DocumentError("no label: the line begins with a count")
        return Document(name, label if source.labelled else None, features)

    return read_each_line(path, source, document)


def jsonl(path: str, source: ReaderOptions) -> Iterator[Document | LabelledBlock]:
    """Yield a document for each line of one JSON object, named by its id or else ``path:line``; skip empty lines.

    Label, text, id and columns are at keys; ``a.b`` is the key b of the object at a. A file may also be an array of objects.
    """
    reading = source.reading
    of_record = _record_reader(source)
    if reading.records is not None or (
        not source.byte_range.start and JSON_ARRAY_START.match(peek_start(path, _LONGEST_MARGIN))
    ):
        return _each_element(path, source, of_record)

    def document(name: str, line: bytes) -> Document | None:
        if not line.strip():
            return None
        record, transcoded = parse_record(line, reading.encoding)
        source.notices.transcoded += transcoded
        return of_record(name, record)

    text_keys = source.list_text_columns("text")
    block = (
        partial(_block_of_records, label_key=reading.label_column or "label", text_key=text_keys[0])
        if len(text_keys) == 1
        else None
    )
    return read_each_line(path, source, document, block)


def _each_element(
    path: str, source: ReaderOptions, of_record: Callable[[str, dict[str, object]], Document]
) -> Iterator[Document]:
    """Yield a document for each element of an array, named by its id or else ``path:number``; the whole array is in memory."""
    with open_stream(path, source) as stream:
        try:
            elements, transcoded = _parsed(stream.read(), source.reading.encoding)
        except DocumentError as problem:
            raise PathError(problem.message, where=path) from None
    source.notices.transcoded += transcoded
    if (key := source.reading.records) is not None:
        elements = _array_at(elements, key, path)
    text_keys = source.list_text_columns("text")
    for number, element in enumerate(cast("list[object]", elements), 1):
        name = f"{path}:{number}"
        if not isinstance(element, dict):
            yield Document(name, problem=DocumentError(_NO_OBJECT))
            continue
        texts = _value_at(element, text_keys[0]) if len(text_keys) == 1 else None
        if not isinstance(texts, list) or not texts:
            yield of_record(name, element)
            continue
        for place, text in enumerate(texts, 1):  # examples of one class
            yield of_record(f"{name}.{place}", {**element, text_keys[0]: text})


def _array_at(value: object, key: str, path: str) -> list[object]:
    """Return the array at a key of a JSON object; raise `PathError` if there is none."""
    found = _value_at(value, key) if isinstance(value, dict) else _ABSENT
    if not isinstance(found, list):
        raise PathError(
            f"no array at the key {key!r}",
            where=path,
            hint=suggest_records_key(value) or "give --set records=KEY",
        )
    return found


def suggest_records_key(value: object) -> str | None:
    """Return how to read the arrays of objects inside a JSON object; None if there are none."""
    arrays = [
        key
        for key, inside in _members(value)
        if isinstance(inside, list) and inside and isinstance(inside[0], dict)
    ]
    return (
        f"give --set records=KEY with the key of the documents: {join_names(arrays, 10)}"
        if arrays
        else None
    )


def suggest_json_options(path: str) -> str:
    """Return how to read a file that is JSON, but neither an object a line nor an array of objects; or where it is not valid."""
    content = peek_start(path, MAX_FIRST_LINE_BYTES)
    hint = None
    if len(content) < MAX_FIRST_LINE_BYTES:
        try:
            hint = suggest_records_key(_parsed(content, "auto")[0])
        except DocumentError as problem:
            return f"it begins like JSON and is {problem.message}"
    return hint or "make it an array of objects, as with jq .data FILE, or an object a line"


def peek_array_records(path: str, reading: Reading) -> list[dict[str, object]]:
    """Return the objects of the array that ``reading.records`` names, as far as there are any; reading them reports what is wrong."""
    with suppress(DocumentError, PathError):
        value, _ = _parsed(peek_start(path, MAX_FIRST_LINE_BYTES), reading.encoding)
        return [
            each for each in _array_at(value, reading.records or "", path) if isinstance(each, dict)
        ]
    return []


def _members(value: object, before: str = "") -> Iterator[tuple[str, object]]:
    """Yield the values inside objects, with their keys, dots between those of objects inside."""
    for key, inside in value.items() if isinstance(value, dict) else ():
        yield before + key, inside
        yield from _members(inside, f"{before}{key}.")


def _record_reader(source: ReaderOptions) -> Callable[[str, dict[str, object]], Document]:
    """Return a function from a name and a JSON object to the document that it is."""
    reading = source.reading
    label_key = reading.label_column or "label"
    text_keys = source.list_text_columns("text")
    label_keys = label_key.split(",")
    n_attributes = len(source.attributes.names) + len(source.tag_columns)
    attributes = source.columns[:n_attributes]
    others = source.columns[n_attributes:]

    def document(name: str, record: dict[str, object]) -> Document:
        if reading.id_column is not None:
            name = _scalar(record, reading.id_column) or name
        try:
            label: Label | None = None
            if source.labelled and len(label_keys) > 1 and label_key not in record:
                label = make_label_set(
                    select_marked_labels((key, _column(record, key)) for key in label_keys)
                )
            elif source.labelled:
                label = _label(record, label_key)
            if source.labelled and label is None:
                raise _without_value(record, label_key, "--label-column")
            columns = (
                *(_scalar(record, key) or "" for key in attributes),
                *(_column(record, key) for key in others),
            )
            fields = _fields_of(record) if reading.document == "text" else ()
            return Document(
                name,
                label,
                b"\n".join([_text_at(record, key) for key in text_keys]),
                fields,
                columns=columns,
            )
        except DocumentError as problem:
            return Document(name, problem=problem)

    return document


def _block_of_records(content: bytes, label_key: str, text_key: str) -> LabelledBlock | None:
    """Return the documents of plain lines if each is an object with a label and a text."""
    labels = []
    texts = []
    try:
        for line in content.decode().split("\n"):
            record, end = STRICT_DECODER.raw_decode(line)
            label = record[label_key]
            text = record[text_key]
            if (
                end != len(line)
                or not label
                or type(label) is not str
                or LABEL_MARK in label
                or FIELDS_KEY in record
            ):
                return None
            labels.append(label)
            texts.append(text.encode())
        "".join(set(labels)).encode()
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
        return None  # no such record, or one with a surrogate
    return (
        None if contains_separators(b" ".join(texts)) else LabelledBlock.from_labels(labels, texts)
    )


def _fields_of(record: dict[str, object]) -> Fields:
    """Return the fields beside a text that nbtext wrote."""
    if FIELDS_KEY not in record:
        return ()
    try:
        return parse_field_pairs(record[FIELDS_KEY])
    except ValueError:
        raise DocumentError(
            f"the value at the key {FIELDS_KEY!r} is not a list of names and contents"
        ) from None


def _column(record: dict[str, object], key: str) -> str:
    """Return the value of a column: null is empty, like a cell of a table; a missing key may be a mistake in the name."""
    if key == RECORD_COLUMN:
        return json.dumps(record)
    if _value_at(record, key) is _ABSENT:
        raise DocumentError(f"no value at the key {key!r}")
    return _scalar(record, key) or ""


def _text_at(record: dict[str, object], key: str) -> bytes:
    text = _value_at(record, key)
    if isinstance(text, str):
        return text.encode("utf-8", "replace")
    if text is None or text is _ABSENT or text == []:
        raise _without_value(record, key, "--text-column")
    raise DocumentError(
        f"the value at the key {key!r} is not text",
        hint=suggest_records_key(record) or "see --text-column",
    )


def _without_value(record: dict[str, object], key: str, option: str) -> DocumentError:
    if _value_at(record, key) is not _ABSENT:
        return DocumentError(f"no value at the key {key!r}", hint=f"see {option}")
    hint = suggest_records_key(record) or f"see {option}"
    return DocumentError(
        f"no value at the key {key!r}", hint=f"the keys are {_keys_in(record)}; {hint}"
    )


def _keys_in(record: dict[str, object]) -> str:
    """Return the keys of an object as a message shows them: half a character as its code."""
    from nbtext.corpus.columns import list_record_keys, shorten

    return join_names(
        [
            shorten(each.encode("utf-8", "backslashreplace").decode(), 30)
            for each in list_record_keys(record)
        ],
        10,
    )


def _value_at(record: dict[str, object], key: str) -> object:
    """Return the value at a key, or if there is none and the key has dots, inside the objects on the way; else a sentinel."""
    value: object = record
    while key:
        if isinstance(value, dict) and key in value:
            return value[key]
        part, _, key = key.partition(".")
        value = _value_inside(value, part)
    return value


def _value_inside(value: object, part: str) -> object:
    """Return the value at a key of an object, of the objects in a list the list of all their values, or with a number the item of that number, from 0."""
    if isinstance(value, dict):
        return value.get(part, _ABSENT)
    if not isinstance(value, list):
        return _ABSENT
    if part.isdecimal() and part.isascii():
        return value[int(part)] if int(part) < len(value) else _ABSENT
    found = [inside for each in value if (inside := _value_inside(each, part)) is not _ABSENT]
    if value and not found:
        return _ABSENT
    return [item for inside in found for item in (inside if isinstance(inside, list) else [inside])]


def _label(record: dict[str, object], key: str) -> Label | None:
    """Return the label at a key, of a list the set of its labels."""
    value = _value_at(record, key)
    if isinstance(value, dict):
        value = value.get("choices", value)  # as Label Studio writes several
    if is_label_marks(value):
        return make_label_set(
            label for label, mark in cast("dict[str, float]", value).items() if mark >= 0.5
        )
    if not isinstance(value, list):
        label = _as_text(value, key)
        return label and clean_label(label)
    return _set_of([_as_text(each, key) or "" for each in value])


def _set_of(labels: Names) -> Label:
    if "" in labels:
        raise DocumentError("one of the labels is empty")
    return make_label_set(labels)


def _scalar(record: dict[str, object], key: str) -> str | None:
    return _as_text(_value_at(record, key), key)


def _as_text(value: object, key: str) -> str | None:
    """Return text, or a number or truth value as JSON writes it; None for null and for a missing key."""
    if value is None or value is _ABSENT:
        return None
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "replace").decode()
    if isinstance(value, (dict, list)):
        inside = _keys_in({key: value})
        hint = f"{key}.0 is its first item" if inside == key else f"inside are {inside}"
        raise DocumentError(
            f"the value at the key {key!r} is not text, a number, true or false", hint=hint
        )
    try:
        return json.dumps(value, allow_nan=False)
    except ValueError:
        raise DocumentError(f"the number at the key {key!r} is too large") from None


def parse_record(line: bytes, encoding: str) -> tuple[dict[str, object], bool]:
    """Return the object on a line, and whether the line was read as Windows-1252; raise `DocumentError` if there is none."""
    record, transcoded = _parsed(line, encoding)
    if not isinstance(record, dict):
        raise DocumentError(_NO_OBJECT)
    return record, transcoded


def _parsed(content: bytes, encoding: str) -> tuple[object, bool]:
    """Return the value of a JSON text, and whether it was read as Windows-1252; raise `DocumentError` if it is none."""
    try:
        body, transcoded = to_utf8(
            content.removeprefix(BOM_UTF8), encoding
        )  # each line is a JSON text; RFC 8259 (8.1) allows a mark
        return STRICT_DECODER.decode(body.decode()), transcoded
    except RecursionError:
        raise DocumentError("JSON nested too deeply") from None
    except json.JSONDecodeError as problem:
        line = f"line {problem.lineno}, " if problem.lineno > 1 else ""
        raise DocumentError(
            f"not valid JSON ({problem.msg.lower().removesuffix(' at')} at {line}column "
            f"{problem.colno})"
        ) from None
    except ValueError as problem:
        raise DocumentError(f"not valid JSON ({str(problem).partition(';')[0]})") from None
