"""A document, the parts that a file of lines is cut into, and what a reader is given."""

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
"""The name of a column that is all of a record, as JSON."""

_LONGEST_MESSAGE = 300


class Document(NamedTuple):
    """A document: its name as given or found, its class if known, what it says as valid UTF-8, or why it could not be read."""

    id: str
    label: Label | None = None
    text: bytes = b""
    """As a reader yields it, bytes of unknown kind and encoding, unless the format's documents are `decoded`."""
    fields: Fields = ()
    values: tuple[str, ...] = ()
    """Of the attributes, in their order, as `Attributes.checked` returns them; a reader yields them as the first of the columns."""
    problem: DocumentError | None = None
    columns: tuple[str, ...] = ()
    """Values of the further columns that were asked for, in that order; none if the document could not be read."""
    weight: int = WEIGHT_UNIT
    """As how many documents it counts, in units of 1 / `WEIGHT_UNIT`."""

    @property
    def digest_bytes(self) -> bytes:
        """Text, fields and values as one value of bytes, of which digests are made."""
        return serialise_document(self.text, self.fields, self.values)

    @property
    def display_text(self) -> str:
        """The document as people read it: without values, its fields as lines."""
        return render_document(self.text, self.fields).decode()


def count_document_bytes(document: Document) -> int:
    """Return the bytes of a document, with its fields and values and without what stands between them."""
    return len(document.text) + sum(map(len, chain(*document.fields, document.values)))


def collect_contents(
    documents: Sequence[Document],
) -> tuple[list[bytes], list[Fields], list[tuple[str, ...]]]:
    """Return texts, fields and values of documents, as they are counted."""
    return (
        [document.text for document in documents],
        [document.fields for document in documents],
        [document.values for document in documents],
    )


@dataclass()
class Notices:
    """What a reader noticed that is no failure."""

    transcoded: int = 0
    """Documents that were not valid UTF-8 and were read as Windows-1252."""
    replaced: int = 0
    """Documents with bytes that do not fit the charset that they declare."""
    unlabelled: list[str] = field(default_factory=list)
    """Files that are of no class and were left out of training."""
    warnings: list[Finding] = field(default_factory=list)
    n_unnamed: int = 0
    """Documents that could not be read and are not named, because many of the same shard are."""
    relabelled_ids: list[str] = field(default_factory=list)
    """Documents that `ReaderOptions.relabel` gave another label."""

    @property
    def findings(self) -> Iterator[Finding]:
        """What mostly needs no action."""
        if self.transcoded:
            detail = f"not valid UTF-8 and read as Windows-1252: {format_quantity(self.transcoded, 'document')}"
            yield Finding("encoding", WARNING, detail, "if letters look wrong, see --encoding")
        if self.replaced:
            detail = (
                "with bytes that do not fit their charset, read as U+FFFD: "
                f"{format_quantity(self.replaced, 'document')}"
            )
            yield Finding("encoding", WARNING, detail)
        if self.unlabelled:
            yield Finding(
                "documents", PASSED, f"{join_names(self.unlabelled, 1)}: of no class, left out"
            )

    def add(self, other: Notices) -> None:
        """Add the notices of a later shard."""
        self.transcoded += other.transcoded
        self.replaced += other.replaced
        self.unlabelled += other.unlabelled
        self.warnings += other.warnings
        self.n_unnamed += other.n_unnamed
        self.relabelled_ids += other.relabelled_ids


class LabelledFolder(str):
    """The path of a folder, or of an mbox, whose documents are all of one class that need not be its name."""

    __slots__ = ("label",)
    label: str

    def __new__(cls, path: str, label: str = "") -> Self:
        """Return the path with its class, which another process sets afterwards."""
        folder = super().__new__(cls, path)
        folder.label = label
        return folder


class ByteRange(NamedTuple):
    """Whole records of a file: bytes from ``start`` to ``end``, None for the end of the file, of what it unpacks to if it is compressed."""

    start: int
    end: int | None
    lines_before: int
    records_before: int
    content: bytes | None = None
    """The bytes themselves, if the file is compressed."""
    n_compressed_bytes: int = 0
    """Bytes of the compressed file that were read for them."""
    failure: PathError | None = None
    """Why no more than the content can be read."""
    reads_from_start: bool = False
    """True if the file is read and unpacked from its beginning to find the part, not as it stands."""


WHOLE_FILE = ByteRange(0, None, 0, 0, reads_from_start=True)


class ColumnPositions(NamedTuple):
    """Which columns of a document, in the order of `ReaderOptions.columns`, are what."""

    attributes: slice
    fields: slice
    weight: int
    """If weights are read."""
    condition: int
    """If documents are chosen by a column."""
    extra: slice


@dataclass(frozen=True)
class ReaderOptions:
    """What a reader is given: how to read, and what its caller wants."""

    reading: Reading
    notices: Notices
    labelled: bool
    """Whether classes are wanted."""
    columns: tuple[str, ...] = ()
    """Further columns to read: first the attributes and those that are fields, which may be missing, then the weight and the others."""
    attributes: Attributes = NO_ATTRIBUTES
    tag_columns: tuple[str, ...] = ()
    """The columns that are fields; they follow the attributes."""
    weight_column: str | None = None
    """The column of weights, which follows these, if they are to be read."""
    byte_range: ByteRange = WHOLE_FILE
    """The part of a file of lines to read."""
    accepts_blocks: bool = False
    """Whether the caller takes labelled texts without names, many in a block."""
    on_error: str = "record"
    """What to do with documents that cannot be read: ``record`` yields them with their problem, ``skip`` passes them to ``leave_out``, ``fail`` raises."""
    on_unreadable: Callable[[str, DocumentError], object] | None = None
    relabel: Callable[[Document, Notices], Document] | None = None
    """Gives documents other labels."""
    row_condition: tuple[str, bool] | None = None
    """The value of the column before the others, and whether documents that have it are chosen, or the others; None for all."""
    condition_header: str = ""
    """The header that has this value in mail."""
    is_only_path: bool = False
    """Whether the corpus is a single path."""
    allowed_folder: str | None = None
    """The folder, without links, in which the files that a table names must be; None if they may be anywhere."""

    def list_text_columns(self, usual: str) -> list[str]:
        """Return the columns that are joined to the text, without those that are fields; the ``usual`` one if none is named."""
        named = self.reading.text_column
        if named is None:
            return [usual]
        return (
            []
            if named == NO_TEXT
            else [name for name in named.split(",") if name not in self.tag_columns]
        )

    @cached_property
    def column_positions(self) -> ColumnPositions:
        """Where the values of the columns are that a document carries."""
        fields = len(self.attributes.names)
        weight = fields + len(self.tag_columns)
        condition = weight
        if self.weight_column is not None:
            condition += 1
        others = condition
        if self.row_condition is not None and not self.condition_header:
            others += 1
        return ColumnPositions(
            slice(0, fields), slice(fields, weight), weight, condition, slice(others, None)
        )

    @cached_property
    def can_yield_blocks(self) -> bool:
        """Whether there may be blocks in place of documents: wanted, and documents are nothing but labels and texts in UTF-8."""
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
        """The most bytes of a document."""
        return parse_size(self.reading.max_document_size)

    @cached_property
    def max_unpacked_bytes(self) -> int:
        """The most bytes that a compressed file of documents may unpack to."""
        return parse_size(self.reading.max_unpacked_size)


def get_delimiter(reading: Reading) -> str:
    """Return what stands between two cells of a table."""
    return reading.delimiter or ("," if reading.format == "csv" else "\t")


def to_document_error(raised: Exception) -> DocumentError:
    """Return why one document cannot be read, given what reading or decoding it raised.

    Re-raise what concerns the whole run: wrong settings, a path that cannot be read, too little memory. Any other exception is a defect of
    nbtext, so the message names it.
    """
    if isinstance(raised, DocumentError):
        return raised
    if isinstance(raised, (NbtextError, OSError, MemoryError)):
        raise raised
    return DocumentError(
        f"cannot be read: {type(raised).__name__}: {raised}"[:_LONGEST_MESSAGE],
        hint="this is a defect of nbtext; please report it",
    )


def format_byte_size(size: int) -> str:
    """Return a number of bytes in the largest unit in which it is whole."""
    unit = next((unit for unit in (30, 20, 10) if size % (1 << unit) == 0), 0)
    return f"{size >> unit:,} {'KMG'[unit // 10 - 1] + 'iB' if unit else 'bytes'}"


def create_size_error(limit: int) -> DocumentError:
    """Return the problem of a document of more bytes than the limit."""
    return DocumentError(
        f"larger than {format_byte_size(limit)}", hint="give --set max-document-size=SIZE"
    )
