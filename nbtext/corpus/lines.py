"""Read the formats with one document per line: ``lines``, ``fasttext``, ``svmlight``, ``jsonl``.

A ``jsonl`` file may also be one JSON array of objects.
"""

from __future__ import annotations

import json
import os
import re
from codecs import BOM_UTF8
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
    needs_cleaning,
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
    from nbtext.type_names import Fields, Names

    LineParser = Callable[[str, bytes], Document | None]
    """Turns the name of a document and a line into the document; returns None to skip the line."""
    BlockParser = Callable[[bytes], LabelledBlock | None]
    """Turns plain lines into a block; returns None if they must be parsed one by one."""
    RecordParser = Callable[[str, dict[str, object]], Document]
    """Turns the name of a document and a JSON object into the document."""

LABEL_PREFIX = FORMATS["fasttext"].first_bytes

_MISSING = object()
"""The value at a key that a record does not have."""

_MAX_MARGIN_BYTES = 1 << 10
"""Maximum amount of white space before a JSON array."""

_NOT_AN_OBJECT = "not a JSON object"

_MAX_LISTED_KEYS = 10
_MAX_KEY_CHARS = 30
"""Maximum number of keys in a message, and of characters of a key."""

_MIN_POSITIVE_MARK = 0.5
"""Minimum mark of a label for the record to have the label. A mark is a number from 0 to 1."""

_FEATURE = re.compile(rb"\S+")
_COUNTED_FEATURE = re.compile(rb"[^\s:][^\s]*:0*[1-9][0-9]{0,8}")


def read_each_line(
    path: str,
    options: ReaderOptions,
    parse_line: LineParser,
    parse_block: BlockParser | None = None,
) -> Iterator[Document | LabelledBlock]:
    """Yield the document that ``parse_line`` makes of each line; it is named ``path:line``.

    An exception from ``parse_line`` becomes the document's problem. Lines end only at LF. If
    ``options`` allow blocks, and lines are plain (see `normalize_plain_lines`), yield the block
    that ``parse_block`` makes of them, if it makes one.
    """
    limit = options.max_document_bytes
    with open_stream(path, options) as stream:
        for lines_before, content, lines in read_line_blocks(stream, options):
            block = None
            if content is not None and parse_block is not None:
                plain = normalize_plain_lines(content)
                if plain is not None:
                    block = parse_block(plain)
            if block is not None:
                yield block
                continue
            for number, line in enumerate_lines(lines, limit, lines_before):
                name = f"{path}:{number}"
                try:
                    if line is None:
                        # Like any exception in this block, it becomes the document's problem.
                        raise create_size_error(limit)  # noqa: TRY301
                    document = parse_line(name, line)
                except Exception as exception:  # noqa: BLE001 - one line must not end a run
                    document = Document(name, problem=to_document_error(exception))
                if document is not None:
                    yield document


def read_lines(path: str, options: ReaderOptions) -> Iterator[Document | LabelledBlock]:
    """Yield a document for each line of a file, or of the files in a folder.

    If labels are needed, the class is the name of the file, and empty lines are skipped.
    """
    if os.path.isdir(path):
        files = _list_files(path)
        return chain.from_iterable(read_lines(file, options) for file in files)
    if not options.labelled:
        return read_each_line(path, options, lambda name, line: Document(name, None, line))
    from nbtext.corpus.mailboxes import get_path_class

    label = get_path_class(path, options, ".txt", ".text")

    def parse_line(name: str, line: bytes) -> Document | None:
        return Document(name, label, line) if line.strip() else None

    return read_each_line(path, options, parse_line)


def _list_files(folder: str) -> list[str]:
    """Return the regular files in a folder. In a `LabelledFolder`, they have the folder's class."""
    from nbtext.corpus.directory import walk_files

    files = [file for file, _, problem in walk_files(folder) if problem is None]
    if isinstance(folder, LabelledFolder):
        return [LabelledFolder(file, folder.label) for file in files]
    return files


def read_fasttext(path: str, options: ReaderOptions) -> Iterator[Document | LabelledBlock]:
    """Yield a document for each line of ``__label__x text``; labels are not part of the text.

    If labels are needed, empty lines are skipped, and a line without a label is a problem.
    """
    encoding = options.reading.encoding

    def parse_line(name: str, line: bytes) -> Document | None:
        encoded_labels, text = _split_fasttext_line(line)
        if not options.labelled:
            return Document(name, None, text)
        if not encoded_labels:
            if not text.strip():
                return None
            raise DocumentError("no label: the line does not begin with __label__")
        labels = [decode_name(label, encoding) for label in encoded_labels]
        label = labels[0] if len(labels) == 1 else _create_label_set(labels)
        return Document(name, label, text)

    return read_each_line(path, options, parse_line, _parse_fasttext_block)


def _parse_fasttext_block(content: bytes) -> LabelledBlock | None:
    """Return the documents of plain lines; None unless each line has one label, at its start."""
    lines = [line.partition(b" ") for line in content.split(b"\n")]
    labels, _, texts = zip(*lines, strict=True)
    if content.count(LABEL_PREFIX) != len(labels):  # a line may have several labels, or none
        return None
    for label in set(labels):
        if not label.startswith(LABEL_PREFIX) or b"\t" in label or label == LABEL_PREFIX:
            return None
    return LabelledBlock.from_labels(
        labels, texts, lambda label: label.removeprefix(LABEL_PREFIX).decode()
    )


def _split_fasttext_line(line: bytes) -> tuple[list[bytes], bytes]:
    """Return the labels of a line, and its text.

    >>> _split_fasttext_line(b"__label__spam win a prize")
    ([b'spam'], b'win a prize')
    """
    if LABEL_PREFIX not in line:
        return [], line
    first, _, text = line.partition(b" ")
    # Nearly all lines have one label, at the start.
    if line.startswith(LABEL_PREFIX) and LABEL_PREFIX not in text and b"\t" not in first:
        return [first.removeprefix(LABEL_PREFIX)], text
    labels = []
    words = []
    for token in line.split():
        if token.startswith(LABEL_PREFIX):
            labels.append(token.removeprefix(LABEL_PREFIX))
        else:
            words.append(token)
    return labels, b" ".join(words)


def read_svmlight(path: str, options: ReaderOptions) -> Iterator[Document | LabelledBlock]:
    """Yield a document for each line of ``label name:count name:count # comment``.

    The text of the document is ``name:count name:count``. A name may contain colons. Lines that are
    empty or only a comment are skipped. If labels are not needed, a label is dropped.
    """
    encoding = options.reading.encoding

    def parse_line(name: str, line: bytes) -> Document | None:
        features = replace_separators(line.partition(b"#")[0]).strip()
        if not features:
            return None
        label = None
        first = features.split(None, 1)[0]
        if not _COUNTED_FEATURE.fullmatch(first):
            label = decode_name(first, encoding)
            features = features.removeprefix(first).lstrip()
        _check_counts(features)
        if options.labelled and label is None:
            raise DocumentError("no label: the line begins with a count")
        return Document(name, label if options.labelled else None, features)

    return read_each_line(path, options, parse_line)


def _check_counts(features: bytes) -> None:
    """Raise `DocumentError` for a feature that is not ``name:count``."""
    # A list of the features of a long line would take ten times its memory.
    for match in _FEATURE.finditer(features):
        feature = match[0]
        if not _COUNTED_FEATURE.fullmatch(feature):
            start = feature[:40].decode("utf-8", "replace")
            raise DocumentError(
                f"{start!r} is not name:count with a whole count from 1 to 999,999,999"
            )


def read_jsonl(path: str, options: ReaderOptions) -> Iterator[Document | LabelledBlock]:
    """Yield a document for each line with a JSON object, or for each object of an array.

    The document is named by its id, else ``path:line``. Empty lines are skipped. Label, text, id
    and columns are at keys; ``a.b`` is the key b of the object at a.
    """
    reading = options.reading
    parse_object = _create_record_parser(options)
    is_array = reading.records is not None
    if not is_array and options.byte_range.start == 0:
        is_array = JSON_ARRAY_START.match(peek_start(path, _MAX_MARGIN_BYTES)) is not None
    if is_array:
        return _read_array(path, options, parse_object)

    def parse_line(name: str, line: bytes) -> Document | None:
        if not line.strip():
            return None
        record, is_transcoded = parse_record(line, reading.encoding)
        if is_transcoded:
            options.notices.transcoded += 1
        return parse_object(name, record)

    text_keys = options.list_text_columns("text")
    parse_block = None
    if len(text_keys) == 1:
        label_key = reading.label_column or "label"
        parse_block = partial(
            _parse_record_block,
            label_key=label_key,
            text_key=text_keys[0],
            id_key=reading.id_column,
        )
    return read_each_line(path, options, parse_line, parse_block)


def _read_array(
    path: str, options: ReaderOptions, parse_object: RecordParser
) -> Iterator[Document]:
    """Yield a document for each element of a JSON array, named by its id, else ``path:number``.

    If an element has a list of texts, yield a document for each text, named ``path:number.number``.
    The complete array is read into memory.
    """
    with open_stream(path, options) as stream:
        try:
            elements, is_transcoded = _parse_text(stream.read(), options.reading.encoding)
        except DocumentError as problem:
            raise PathError(problem.message, where=path) from None
    if is_transcoded:
        options.notices.transcoded += 1
    if options.reading.records is not None:
        elements = _find_array(elements, options.reading.records, path)
    text_keys = options.list_text_columns("text")
    for number, element in enumerate(cast("list[object]", elements), 1):
        name = f"{path}:{number}"
        if not isinstance(element, dict):
            yield Document(name, problem=DocumentError(_NOT_AN_OBJECT))
            continue
        texts = None
        if len(text_keys) == 1:
            texts = _get_value(element, text_keys[0])
        if isinstance(texts, list) and texts:  # examples of one class
            for text_number, text in enumerate(texts, 1):
                # A complete key takes precedence over a dotted path, so this replaces the list.
                yield parse_object(f"{name}.{text_number}", {**element, text_keys[0]: text})
        else:
            yield parse_object(name, element)


def _find_array(value: object, key: str, path: str) -> list[object]:
    """Return the array at a key of a JSON object. Raise `PathError` if it is missing."""
    array = _get_value(value, key) if isinstance(value, dict) else _MISSING
    if not isinstance(array, list):
        raise PathError(
            f"no array at the key {key!r}",
            where=path,
            hint=suggest_records_key(value) or "use --set records=KEY",
        )
    return array


def suggest_records_key(value: object) -> str | None:
    """Return a hint that lists the keys of arrays of objects in a JSON value; None without keys."""
    keys = [
        key
        for key, member in _iter_members(value)
        if isinstance(member, list) and member and isinstance(member[0], dict)
    ]
    if not keys:
        return None
    names = join_names(keys, _MAX_LISTED_KEYS)
    return f"use --set records=KEY with the key of the documents: {names}"


def suggest_json_options(path: str) -> str:
    """Return a hint for a JSON file that is neither one object per line nor an array of objects.

    The hint states how to read the file, or where the file is invalid.
    """
    content = peek_start(path, MAX_FIRST_LINE_BYTES)
    hint = None
    if len(content) < MAX_FIRST_LINE_BYTES:
        try:
            hint = suggest_records_key(_parse_text(content, "auto")[0])
        except DocumentError as problem:
            return f"it begins like JSON and is {problem.message}"
    return hint or "make it an array of objects, as with jq .data FILE, or an object a line"


def peek_array_records(path: str, key: str, encoding: str) -> list[dict[str, object]]:
    """Return the objects of the array at a key of the JSON object in a file.

    Return an empty list if the array is missing or invalid; reading the file reports the reason.
    """
    try:
        value, _ = _parse_text(peek_start(path, MAX_FIRST_LINE_BYTES), encoding)
        elements = _find_array(value, key, path)
    except (DocumentError, PathError):
        return []
    return [element for element in elements if isinstance(element, dict)]


def _iter_members(value: object, prefix: str = "") -> Iterator[tuple[str, object]]:
    """Yield the key and the value of each member of nested objects; keys are joined by dots.

    Yield nothing for a value that is no object.
    """
    if not isinstance(value, dict):
        return
    for key, member in value.items():
        yield prefix + key, member
        yield from _iter_members(member, f"{prefix}{key}.")


def _create_record_parser(options: ReaderOptions) -> RecordParser:
    """Return a function from a name and a JSON object to a document."""
    reading = options.reading
    label_key = reading.label_column or "label"
    text_keys = options.list_text_columns("text")
    n_optional = options.column_positions.tags.stop
    optional_keys = options.columns[:n_optional]  # attributes and tag columns
    required_keys = options.columns[n_optional:]

    def parse_object(name: str, record: dict[str, object]) -> Document:
        try:
            if reading.id_column is not None:
                name = _get_scalar(record, reading.id_column) or name
            label: Label | None = None
            if options.labelled:
                label = _read_label(record, label_key)
            optional_values = [_get_scalar(record, key) or "" for key in optional_keys]
            required_values = [_get_column(record, key) for key in required_keys]
            fields = _parse_fields(record)
            text = b"\n".join([_get_text(record, key) for key in text_keys])
            columns = (*optional_values, *required_values)
            return Document(name, label, text, fields, columns=columns)
        except DocumentError as problem:
            return Document(name, problem=problem)

    return parse_object


def _read_label(record: dict[str, object], label_key: str) -> Label:
    """Return the label of a record.

    If ``label_key`` lists several keys, return the set of the keys that have a mark. Raise
    `DocumentError` if the label, or the mark at one of the keys, is missing.
    """
    lists_keys = "," in label_key and label_key not in record
    if lists_keys:
        marks = ((key, _get_column(record, key)) for key in label_key.split(","))
        return make_label_set(select_marked_labels(marks))
    label = _get_label(record, label_key)
    if label is None:
        raise _create_missing_value_error(record, label_key, "--label-column")
    return label


def _parse_record_block(
    content: bytes, label_key: str, text_key: str, id_key: str | None
) -> LabelledBlock | None:
    """Return the documents of plain lines; None if they must be parsed one by one.

    Each line must be an object with one label, a text and no fields, and with a valid id if there
    is a key of ids.
    """
    labels = []
    texts = []
    try:
        for line in content.decode().split("\n"):
            record, end = STRICT_DECODER.raw_decode(line)
            label = record[label_key]
            text = record[text_key]
            is_plain_label = type(label) is str and label != "" and LABEL_MARK not in label
            if not is_plain_label or FIELDS_KEY in record or end != len(line):
                return None
            if id_key is not None:
                _get_scalar(record, id_key)  # raises for an object or a list
            labels.append(label)
            texts.append(text.encode())
        "".join(set(labels)).encode()  # raises for a lone surrogate
    except (AttributeError, DocumentError, KeyError, TypeError, ValueError, RecursionError):
        return None  # a line is not such an object
    if needs_cleaning(b" ".join(texts)):
        return None
    return LabelledBlock.from_labels(labels, texts)


def _parse_fields(record: dict[str, object]) -> Fields:
    """Return the list of fields in a record that nbtext wrote; an empty tuple for other records."""
    if FIELDS_KEY not in record:
        return ()
    try:
        return parse_field_pairs(record[FIELDS_KEY])
    except ValueError:
        raise DocumentError(
            f"the value at the key {FIELDS_KEY!r} is not a list of names and contents"
        ) from None


def _get_column(record: dict[str, object], key: str) -> str:
    """Return the value of a column as text. Null becomes an empty text, like an empty cell.

    Raise `DocumentError` for a missing key, because the name of the column may be wrong.
    """
    if key == RECORD_COLUMN:
        return json.dumps(record)
    if _get_value(record, key) is _MISSING:
        raise DocumentError(f"no value at the key {key!r}")
    return _get_scalar(record, key) or ""


def _get_text(record: dict[str, object], key: str) -> bytes:
    """Return the text at a key. Raise `DocumentError` if the value is missing or not a text."""
    text = _get_value(record, key)
    if isinstance(text, str):
        return text.encode("utf-8", "replace")
    if text is None or text is _MISSING or text == []:  # an empty list of texts
        raise _create_missing_value_error(record, key, "--text-column")
    hint = suggest_records_key(record) or "see --text-column"
    raise DocumentError(f"the value at the key {key!r} is not text", hint=hint)


def _create_missing_value_error(record: dict[str, object], key: str, option: str) -> DocumentError:
    """Return the error for a missing key, or for a key with an empty value."""
    hint = f"see {option}"
    if _get_value(record, key) is _MISSING:
        advice = suggest_records_key(record) or hint
        hint = f"the keys are {_format_keys(record)}; {advice}"
    return DocumentError(f"no value at the key {key!r}", hint=hint)


def _format_keys(record: dict[str, object]) -> str:
    """Return the keys of an object for a message, lone surrogates as escapes."""
    from nbtext.corpus.detection.columns import list_record_keys, shorten

    keys = (key.encode("utf-8", "backslashreplace").decode() for key in list_record_keys(record))
    return join_names([shorten(key, _MAX_KEY_CHARS) for key in keys], _MAX_LISTED_KEYS)


def _get_value(record: dict[str, object], key: str) -> object:
    """Return the value at a key, or at a dotted path through nested objects, else `_MISSING`.

    A key that itself contains dots takes precedence over a path.
    """
    value: object = record
    remaining_path = key
    while remaining_path:
        if isinstance(value, dict) and remaining_path in value:
            return value[remaining_path]
        step, _, remaining_path = remaining_path.partition(".")
        value = _get_member(value, step)
    return value


def _get_member(value: object, step: str) -> object:
    """Return the value at one step of a dotted path, or `_MISSING`.

    A step is a key of an object, or an index of a list, from 0. For a key and a list of objects,
    return the list of the values at the key in all objects, with lists among the values flattened.
    For a key and an empty list, return an empty list.
    """
    if isinstance(value, dict):
        return value.get(step, _MISSING)
    if not isinstance(value, list):
        return _MISSING
    if step.isdecimal() and step.isascii():
        return value[int(step)] if int(step) < len(value) else _MISSING
    all_members = [_get_member(element, step) for element in value]
    members = [member for member in all_members if member is not _MISSING]
    if value and not members:
        return _MISSING
    items: list[object] = []
    for member in members:
        if isinstance(member, list):
            items += member
        else:
            items.append(member)
    return items


def _get_label(record: dict[str, object], key: str) -> Label | None:
    """Return the label at a key; the set of labels for a list, or for an object of marks.

    Return None for null and for a missing key.
    """
    value = _get_value(record, key)
    if isinstance(value, dict):
        value = value.get("choices", value)  # Label Studio writes several labels in this way
    if is_label_marks(value):
        marks = cast("dict[str, float]", value)
        return make_label_set(label for label, mark in marks.items() if mark >= _MIN_POSITIVE_MARK)
    if isinstance(value, list):
        return _create_label_set([_to_text(element, key) or "" for element in value])
    label = _to_text(value, key)
    return None if label is None else clean_label(label)


def _create_label_set(labels: Names) -> Label:
    """Return the set of labels. Raise `DocumentError` if one of them is empty."""
    if "" in labels:
        raise DocumentError("one of the labels is empty")
    return make_label_set(labels)


def _get_scalar(record: dict[str, object], key: str) -> str | None:
    """Return the value at a key as text; see `_to_text`."""
    return _to_text(_get_value(record, key), key)


def _to_text(value: object, key: str) -> str | None:
    """Return the text of a value: a text unchanged, a number or truth value as in JSON.

    Return None for null and `_MISSING`. Raise `DocumentError` for an object or a list, with ``key``
    in its message.
    """
    if value is None or value is _MISSING:
        return None
    if isinstance(value, str):
        # Encoding replaces lone surrogates.
        return value if value.isascii() else value.encode("utf-8", "replace").decode()
    if isinstance(value, (dict, list)):
        keys = _format_keys({key: value})
        has_inner_keys = keys != key
        hint = f"inside are {keys}" if has_inner_keys else f"{key}.0 is its first item"
        raise DocumentError(
            f"the value at the key {key!r} is not text, a number, true or false", hint=hint
        )
    try:
        return json.dumps(value, allow_nan=False)
    except ValueError:
        raise DocumentError(f"the number at the key {key!r} is too large") from None


def parse_record(line: bytes, encoding: str) -> tuple[dict[str, object], bool]:
    """Return the JSON object on a line, and whether the line was decoded as Windows-1252.

    Raise `DocumentError` if the line is invalid, or another JSON value.
    """
    record, is_transcoded = _parse_text(line, encoding)
    if not isinstance(record, dict):
        raise DocumentError(_NOT_AN_OBJECT)
    return record, is_transcoded


def _parse_text(content: bytes, encoding: str) -> tuple[object, bool]:
    """Return the value of a JSON text, and whether it was decoded as Windows-1252.

    Raise `DocumentError` if the text is invalid.
    """
    # RFC 8259 (8.1) allows readers to ignore a byte order mark at the start of a JSON text.
    try:
        text, is_transcoded = to_utf8(content.removeprefix(BOM_UTF8), encoding)
        return STRICT_DECODER.decode(text.decode()), is_transcoded
    except RecursionError:
        raise DocumentError("JSON nested too deeply") from None
    except json.JSONDecodeError as problem:
        message = problem.msg.lower().removesuffix(" at")  # "unterminated string starting at"
        line = f"line {problem.lineno}, " if problem.lineno > 1 else ""
        raise DocumentError(f"not valid JSON ({message} at {line}column {problem.colno})") from None
    except ValueError as problem:
        reason, _, _ = str(problem).partition(";")  # after it, advice for programmers
        raise DocumentError(f"not valid JSON ({reason})") from None
