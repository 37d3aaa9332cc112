"""Define what every corpus reader shares: documents, notices, byte ranges and reader options."""

from __future__ import annotations

from dataclasses import field
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple, Self

from nbtext.document_fields import (
    NO_ATTRIBUTES,
    NO_TEXT,
    WEIGHT_UNIT,
    Attributes,
    render_document,
    serialise_document,
)
from nbtext.errors import (
    PASSED,
    WARNING,
    DocumentError,
    Finding,
    NbtextError,
    PathError,
    format_quantity,
    join_names,
)
from nbtext.fast_dataclasses import dataclass
from nbtext.settings import Reading, parse_size

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from nbtext.prediction.labels import Label
    from nbtext.type_names import Fields

RECORD_COLUMN = "\0"
"""Name of a virtual column that contains the complete record as JSON."""

_MAX_MESSAGE_CHARS = 300


class Document(NamedTuple):
    """A document with its name, its label if it has one, and its text or its problem."""

    id: str
    """The name of the document, such as ``path:line``."""
    label: Label | None = None
    text: bytes = b""
    """The text in valid UTF-8; before decoding, the stored bytes."""
    fields: Fields = ()
    """Pairs of a name and a content; see `nbtext.document_fields`."""
    values: tuple[str, ...] = ()
    """Attribute values, normalised by `Attributes.normalise_values`; empty before decoding."""
    problem: DocumentError | None = None
    """Why the document could not be read; None if it could."""
    columns: tuple[str, ...] = ()
    """Values of the extra columns that the caller requested; empty if the document is unreadable.

    Before decoding, the field contains the values of all `ReaderOptions.columns`.
    """
    weight: int = WEIGHT_UNIT
    """Number of documents that this document counts for, in units of 1 / `WEIGHT_UNIT`."""

    @property
    def content_bytes(self) -> bytes:
        """Text, fields and values in one byte string, from which digests are computed."""
        return serialise_document(self.text, self.fields, self.values)

    @property
    def display_text(self) -> str:
        """The document for people: the text, and each field as a line. Values are omitted."""
        return render_document(self.text, self.fields).decode()


def count_document_bytes(document: Document) -> int:
    """Return the total size of text, fields and values, without separators."""
    return len(document.text) + sum(map(len, chain(*document.fields, document.values)))


def collect_contents(
    documents: Sequence[Document],
) -> tuple[list[bytes], list[Fields], list[tuple[str, ...]]]:
    """Return the lists of the texts, of the fields and of the values of documents."""
    return (
        [document.text for document in documents],
        [document.fields for document in documents],
        [document.values for document in documents],
    )


@dataclass()
class Notices:
    """Observations during reading that are not failures."""

    transcoded: int = 0
    """Number of documents that were not valid UTF-8 and were decoded as Windows-1252."""
    replaced: int = 0
    """Number of documents with bytes that are invalid in the charset that they declare."""
    unlabelled: list[str] = field(default_factory=list)
    """Files that belong to no class and were skipped in training."""
    warnings: list[Finding] = field(default_factory=list)
    n_unnamed: int = 0
    """Number of unreadable documents that are not reported by name, because there are many."""
    relabelled_ids: list[str] = field(default_factory=list)
    """Ids of documents whose label `ReaderOptions.relabel` replaced."""

    @property
    def findings(self) -> Iterator[Finding]:
        """Findings from these notices. They rarely need any action."""
        if self.transcoded:
            n_documents = format_quantity(self.transcoded, "document")
            detail = f"not valid UTF-8 and read as Windows-1252: {n_documents}"
            yield Finding("encoding", WARNING, detail, "if letters look wrong, see --encoding")
        if self.replaced:
            n_documents = format_quantity(self.replaced, "document")
            detail = f"with bytes that do not fit their charset, read as U+FFFD: {n_documents}"
            yield Finding("encoding", WARNING, detail)
        if self.unlabelled:
            detail = f"{join_names(self.unlabelled, 1)}: outside the class folders, ignored"
            yield Finding("documents", PASSED, detail)

    def add(self, other: Notices) -> None:
        """Add the notices of a later shard to this object."""
        self.transcoded += other.transcoded
        self.replaced += other.replaced
        self.unlabelled += other.unlabelled
        self.warnings += other.warnings
        self.n_unnamed += other.n_unnamed
        self.relabelled_ids += other.relabelled_ids


class LabelledFolder(str):
    """Path of a folder or an mbox whose documents all have the class ``label``."""

    __slots__ = ("label",)
    label: str

    def __new__(cls, path: str, label: str = "") -> Self:
        """Create the path with its class. Unpickling omits the class and sets it afterwards."""
        folder = super().__new__(cls, path)
        folder.label = label
        return folder


class ByteRange(NamedTuple):
    """Complete records of a file: the bytes from ``start`` to ``end`` of its unpacked content."""

    start: int = 0
    end: int | None = None
    """End of the range; None: the end of the file."""
    lines_before: int = 0
    """Number of lines of the file before the range."""
    records_before: int = 0
    """Number of records of the file before the range."""
    content: bytes | None = None
    """The unpacked bytes of the range; None: the reader reads them from the file."""
    n_compressed_bytes: int = 0
    """Number of bytes of the compressed file that were read to unpack this range."""
    failure: PathError | None = None
    """Why the file cannot be read beyond ``content``; None if it can."""
    reads_from_start: bool = False
    """Whether the reader can reach the range only if it reads the file from its start."""


WHOLE_FILE = ByteRange(reads_from_start=True)


class ColumnPositions(NamedTuple):
    """Positions of columns in `ReaderOptions.columns`, by the purpose of the column."""

    attributes: slice
    tags: slice
    weight: int
    """Position of the weight; meaningful only if weights are read."""
    condition: int
    """Position of the condition column; meaningful only if a column has the row condition."""
    extra: slice
    """Positions of the extra columns that the caller requested."""


@dataclass(frozen=True)
class ReaderOptions:
    """Arguments of a corpus reader: reading settings, and what the caller needs."""

    reading: Reading
    notices: Notices
    """The reader adds its notices here."""
    labelled: bool
    """Whether documents need labels."""
    columns: tuple[str, ...] = ()
    """Columns to read in addition to label, text and id.

    The order is: attributes, tag columns, weight, condition column, extra columns. JSON records may
    lack the values of attributes and tag columns.
    """
    attributes: Attributes = NO_ATTRIBUTES
    tag_columns: tuple[str, ...] = ()
    """Columns that become fields."""
    weight_column: str | None = None
    """The column of document weights; None if weights are not read."""
    byte_range: ByteRange = WHOLE_FILE
    """The part of the file that is read."""
    accepts_blocks: bool = False
    """Whether the caller accepts blocks of labelled texts without names."""
    on_error: str = "record"
    """Treatment of unreadable documents.

    ``record``: yield documents with their problem. ``skip``: report problems to ``on_unreadable``.
    ``fail``: raise the problem.
    """
    on_unreadable: Callable[[str, DocumentError], object] | None = None
    """Called with the name and the problem of each skipped document."""
    relabel: Callable[[Document, Notices], Document] | None = None
    """Returns a document with its label replaced, and may add notices; None: keep all labels."""
    row_condition: tuple[str, bool] | None = None
    """The condition on a column or mail header that documents must meet; None: read all documents.

    The condition is a value, and a flag: True if documents must have the value, False if they must
    not have it.
    """
    condition_header: str = ""
    """The mail header that must meet ``row_condition``; empty: a column must meet it."""
    is_only_path: bool = False
    """Whether the corpus consists of a single path."""
    allowed_folder: str | None = None
    """Real path of the folder that must contain the files that a table names; None: any folder."""

    def list_text_columns(self, default: str) -> list[str]:
        """Return the columns to join into the text, or ``default`` if no text column is set.

        Tag columns are excluded, because they become fields. The list is empty for `NO_TEXT`.
        """
        names = self.reading.text_column
        if names is None:
            return [default]
        if names == NO_TEXT:
            return []
        return [name for name in names.split(",") if name not in self.tag_columns]

    @cached_property
    def column_positions(self) -> ColumnPositions:
        """Positions of the values in the ``columns`` of a document that is not yet decoded."""
        n_attributes = len(self.attributes.names)
        tags_end = n_attributes + len(self.tag_columns)
        weight_end = tags_end
        if self.weight_column is not None:
            weight_end += 1
        condition_end = weight_end
        if self.row_condition is not None and not self.condition_header:
            condition_end += 1
        return ColumnPositions(
            attributes=slice(n_attributes),
            tags=slice(n_attributes, tags_end),
            weight=tags_end,
            condition=weight_end,
            extra=slice(condition_end, None),
        )

    @cached_property
    def can_yield_blocks(self) -> bool:
        """Whether readers may yield blocks of documents instead of single documents.

        The caller must accept blocks, and each document must consist of a label and a text in
        UTF-8.
        """
        reading = self.reading
        return (
            self.accepts_blocks
            and self.labelled
            and not self.columns
            and self.relabel is None
            and reading.document == "text"
            and reading.encoding in ("auto", "utf-8")
            and not (reading.file_column or reading.label_source)
        )

    @cached_property
    def max_document_bytes(self) -> int:
        """Maximum size of a document."""
        return parse_size(self.reading.max_document_size)

    @cached_property
    def max_unpacked_bytes(self) -> int:
        """Maximum unpacked size of a compressed file of documents."""
        return parse_size(self.reading.max_unpacked_size)


def get_delimiter(reading: Reading) -> str:
    """Return the character between the cells of a table: the setting, else the format's default."""
    return reading.delimiter or ("," if reading.format == "csv" else "\t")


def to_document_error(exception: Exception) -> DocumentError:
    """Return the reason why a document is unreadable, given the exception from reading it.

    Re-raise exceptions that concern the whole run: invalid settings, an unreadable path, or too
    little memory. Any other exception is a defect of nbtext, so the message includes it.
    """
    if isinstance(exception, DocumentError):
        return exception
    if isinstance(exception, (NbtextError, OSError, MemoryError)):
        raise exception
    return DocumentError(
        f"cannot be read: {type(exception).__name__}: {exception}"[:_MAX_MESSAGE_CHARS],
        hint="this is a defect of nbtext; please report it",
    )


def format_byte_size(size: int) -> str:
    """Return a size in the largest unit that divides it.

    >>> format_byte_size(1 << 20), format_byte_size(1 << 20 | 1)
    ('1 MiB', '1,048,577 bytes')
    """
    for unit, n_bytes in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size % n_bytes == 0:
            return f"{size // n_bytes:,} {unit}"
    return f"{size:,} bytes"


def create_size_error(limit: int) -> DocumentError:
    """Return the error for a document of more than ``limit`` bytes."""
    return DocumentError(
        f"larger than {format_byte_size(limit)}", hint="raise --set max-document-size=SIZE"
    )
