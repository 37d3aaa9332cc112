"""Inspect a corpus before training, in one pass, for `nbtext doctor`.

Report its format, classes, lengths, encodings and language, and warn of anything unusual.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nbtext.corpus.collection import Corpus
from nbtext.corpus.detection.columns import describe_columns
from nbtext.corpus.detection.formats import (
    detect_text_kinds,
    find_corpus_warnings,
    find_text_kind_warnings,
    resolve_reading,
)
from nbtext.counts.counting import Analysis, count_labelled_documents
from nbtext.errors import PASSED, WARNING, Finding, NoDocumentsError, format_quantity, format_sizes
from nbtext.model.description import check_corpus_statistics
from nbtext.model.operations import find_contradictions, find_last_equal
from nbtext.prediction.labels import Label, list_labels
from nbtext.settings import KIND_BY_NAME, LANGUAGES, Reading, Settings
from nbtext.store.ledger import compute_fingerprint
from nbtext.text.analyzer import UNKNOWN_TERM
from nbtext.text.words import load_stop_words

if TYPE_CHECKING:
    from nbtext.corpus.document import Document
    from nbtext.counts.statistics import ClassStatistics
    from nbtext.type_names import Ints, Names

MAX_NAMED = 10
"""Number of classes, and of unreadable documents, that are listed by name."""

MIN_CLASS_DOCUMENTS = 5
"""A class of fewer documents causes a warning."""

MAX_REPEATED_PROPORTION = 0.01
"""A larger proportion of documents with the text of another document causes a warning."""

# There is a warning of another language if its stop words reach all of the next three minimums.
MIN_STOP_WORD_PROPORTION = 0.15
"""Minimum number of stop words, relative to all words."""

MIN_STOP_WORDS = 20
"""Minimum number of stop words."""

MIN_STOP_WORD_RATIO = 2
"""Minimum number of stop words, relative to the stop words of the expected language."""

SIMILAR_LANGUAGE_RATIO = 0.8
"""The warning names each language with at least this proportion of the most stop words."""

DIGEST_DTYPE = np.dtype("<u8")
"""The first 8 bytes of a text's fingerprint as a number, which is compared with other texts."""


class _Unreadable(NamedTuple):
    """A document that could not be read, and why."""

    id: str
    error: str


@dataclass(frozen=True)
class CorpusOverview:
    """A corpus as a command would read it. The names of the fields are keys of the JSON output."""

    format: str
    kind: str
    """``text``, ``html`` or ``mail``."""
    columns: str | None
    """The columns of a table, or keys of JSON, that are read."""
    class_sizes: dict[str, int]
    """Number of readable documents by label, largest first. Empty for a format without labels."""
    documents: int
    """Number of documents that could be read."""
    empty: int
    """Number of documents without text."""
    median_bytes: int
    """Bytes of text per document, in UTF-8."""
    most_bytes: int
    """Bytes of the longest text."""
    unreadable: int
    """Number of documents that could not be read."""
    first_unreadable: tuple[_Unreadable, ...]
    not_utf8: int
    """Number of documents that were not valid UTF-8 and were read as Windows-1252."""


@dataclass
class _CorpusScan:
    """Properties of the documents of a corpus, which `observe` collects as a side effect."""

    sizes: array[int] = field(default_factory=lambda: array("q"))
    """Bytes of text of each readable document."""
    digests: bytearray = field(default_factory=bytearray)
    """The bytes of a `DIGEST_DTYPE` for each readable document that has text."""
    ids: list[str] = field(default_factory=list)
    """Ids of the documents of ``digests``, in the same order."""
    labels: list[Label] = field(default_factory=list)
    """Labels of the documents of ``digests``, in the same order."""
    class_sizes: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    """Number of documents that look like mail, HTML and so on."""
    n_unreadable: int = 0
    first_unreadable: list[_Unreadable] = field(default_factory=list)

    def observe(self, documents: Iterable[Document]) -> Iterator[Document]:
        """Yield the readable documents, and add each of them to this object."""
        shared_labels: dict[Label, Label] = {}
        for document in documents:
            if document.problem is not None:
                self.n_unreadable += 1
                if len(self.first_unreadable) < MAX_NAMED:
                    unreadable = _Unreadable(document.id, document.problem.line)
                    self.first_unreadable.append(unreadable)
                continue
            content = document.content_bytes
            label = document.label or ""
            label = shared_labels.setdefault(label, label)  # equal labels share memory
            self.sizes.append(len(content))
            self.class_sizes.update(list_labels(label))
            if content:  # empty texts are not reported as equal texts
                self.digests.extend(compute_fingerprint(content)[: DIGEST_DTYPE.itemsize])
                self.ids.append(document.id)
                self.labels.append(label)
            self.kinds.update(detect_text_kinds(document.text))
            yield document


def inspect_corpus(
    paths: Sequence[str],
    reading: Reading,
    language: str,
    condition: str | None = None,
    allowed_folder: str | None = None,
) -> tuple[CorpusOverview, list[Finding]]:
    """Return an overview of a corpus, and the findings about it.

    ``condition`` is a condition that rows must meet. ``allowed_folder`` is a folder that must
    contain all files. Raise `PathError` or `UsageError` if the corpus cannot be read for training.
    """
    resolved_reading = resolve_reading(reading, paths, labelled=True)
    corpus = Corpus(
        paths, resolved_reading, labelled=True, condition=condition, allowed_folder=allowed_folder
    )
    scan = _CorpusScan()
    settings = _make_counting_settings(resolved_reading, language)
    content_findings: list[Finding] = []
    with suppress(NoDocumentsError):  # the overview then shows why there are no documents
        counts = count_labelled_documents(scan.observe(corpus), Analysis(settings))
        content_findings = _check_contents(counts.labelled_statistics, scan, settings)
    corpus.raise_deferred()  # the error that ended the reading early, which counting does not raise

    columns = None
    if resolved_reading.layout.has_columns:
        columns = describe_columns(resolved_reading)
    sizes = np.array(scan.sizes)
    overview = CorpusOverview(
        format=resolved_reading.format,
        kind=resolved_reading.document,  # the settings call the kind of documents ``document``
        columns=columns,
        class_sizes=dict(scan.class_sizes.most_common()),
        documents=sizes.size,
        empty=int((sizes == 0).sum()),
        median_bytes=int(np.median(sizes)) if sizes.size else 0,
        most_bytes=int(sizes.max(initial=0)),
        unreadable=scan.n_unreadable,
        first_unreadable=tuple(scan.first_unreadable),
        not_utf8=corpus.notices.transcoded,
    )
    findings = [
        *_describe_overview(overview, corpus.notices.replaced),
        *find_corpus_warnings(paths, reading, resolved_reading),
        *corpus.notices.warnings,  # about paths, from reading them
        *corpus.notices.findings,  # numbers of unusual documents
        *content_findings,
    ]
    return overview, findings


def _make_counting_settings(reading: Reading, language: str) -> Settings:
    """Return settings that count all words as they are written, stop words included."""
    return Settings(
        reading=reading,
        language=language,
        stemmer="none",
        stop_words="none",
        unspaced="words",  # no pairs of characters
        keep_documents=0,  # no documents are kept for calibration
    )


def _check_contents(
    statistics: ClassStatistics, scan: _CorpusScan, settings: Settings
) -> list[Finding]:
    """Return warnings about classes, repeated texts, kinds of documents and language."""
    reading = settings.reading
    warnings = list(check_corpus_statistics(statistics, reading, n_terms=statistics.n_terms))
    has_wrong_columns = any(warning.check == "columns" for warning in warnings)
    if not has_wrong_columns:  # otherwise the sizes of classes are meaningless
        warnings += _check_class_sizes(scan.class_sizes)
    digests = np.frombuffer(scan.digests, DIGEST_DTYPE)
    last_equal_rows = find_last_equal(digests)
    warnings += _check_repeated_texts(last_equal_rows, scan.ids)
    if statistics.posterior_type.is_exclusive:
        warnings += find_contradictions(last_equal_rows, scan.labels, scan.ids)
    if reading.document in ("text", KIND_BY_NAME):
        warnings += find_text_kind_warnings(scan.kinds, len(scan.sizes))
    if not reading.is_counted:  # counted features need not be words
        warnings += _check_language(statistics, settings.language)
    return warnings


def _check_class_sizes(class_sizes: Counter[str]) -> Iterator[Finding]:
    """Yield a warning if classes have fewer than `MIN_CLASS_DOCUMENTS` documents."""
    small_classes = {
        label: size for label, size in class_sizes.items() if size < MIN_CLASS_DOCUMENTS
    }
    if small_classes:
        detail = (
            f"{format_quantity(len(small_classes), 'class')} with fewer than {MIN_CLASS_DOCUMENTS} "
            f"documents: {format_sizes(small_classes, MAX_NAMED)}"
        )
        fix = "add documents, join such classes, or remove them"
        yield Finding("classes", WARNING, detail, fix)


def _check_repeated_texts(last_equal_rows: Ints, ids: Names) -> Iterator[Finding]:
    """Yield a warning if many documents have the text of another document.

    A row is the index of a document. ``last_equal_rows`` has for each document the last row with
    the same text, from `find_last_equal`. ``ids`` are the ids of the documents.
    """
    repeated_rows = np.flatnonzero(last_equal_rows != np.arange(last_equal_rows.size))
    if repeated_rows.size > MAX_REPEATED_PROPORTION * last_equal_rows.size:
        row = repeated_rows[0]
        detail = (
            f"with the text of another: {format_quantity(repeated_rows.size, 'document')}; first "
            f"{ids[row]}, like {ids[last_equal_rows[row]]}"
        )
        fix = "to count each text once, add --deduplicate to train"
        yield Finding("documents", WARNING, detail, fix)


def _describe_overview(overview: CorpusOverview, n_replaced: int) -> Iterator[Finding]:
    """Yield the format of a corpus, its columns, documents, classes and encodings.

    ``n_replaced`` is the number of documents with bytes that are invalid in their charset.
    """
    yield Finding("format", PASSED, f"{overview.format}, each document {overview.kind}")
    if overview.columns is not None:
        yield Finding("columns", PASSED, overview.columns)
    detail = (
        f"{format_quantity(overview.documents, 'document')}, bytes of text: median "
        f"{overview.median_bytes:,}, most {overview.most_bytes:,}"
    )
    yield Finding("documents", PASSED if overview.documents else WARNING, detail)

    class_sizes = overview.class_sizes
    if class_sizes:
        classes = format_quantity(len(class_sizes), "class")
        detail = f"{classes}: {format_sizes(class_sizes, MAX_NAMED)}"
        n_labels = sum(class_sizes.values())
        if n_labels != overview.documents:
            mean = f"{n_labels / overview.documents:.2f}"
            detail += f"; {mean} labels a document"
        yield Finding("classes", PASSED, detail)

    if overview.not_utf8 == 0 and n_replaced == 0:  # otherwise the notices have a warning
        yield Finding("encoding", PASSED, "all valid in their encoding")
    if overview.empty:
        detail = f"without text: {format_quantity(overview.empty, 'document')}"
        yield Finding("documents", WARNING, detail, "see --text-column and --document")
    if overview.unreadable:
        document_id, error = overview.first_unreadable[0]
        documents = format_quantity(overview.unreadable, "document")
        detail = f"could not be read: {documents}; first {document_id}: {error}"
        fix = "mend or remove them; train leaves them out"
        yield Finding("documents", WARNING, detail, fix)


def _check_language(statistics: ClassStatistics, language: str) -> Iterator[Finding]:
    """Yield a warning if the stop words clearly indicate another language."""
    term_counts = statistics.term_counts
    stop_word_counts = {}
    for name in LANGUAGES:
        terms = statistics.vocabulary.find(load_stop_words(name, language=name))
        stop_word_counts[name] = sum(term_counts[term] for term in terms if term != UNKNOWN_TERM)
    max_count = max(stop_word_counts.values())
    required_count = max(
        MIN_STOP_WORDS,
        MIN_STOP_WORD_PROPORTION * term_counts.sum(),
        # a language that is written without spaces has no stop words
        MIN_STOP_WORD_RATIO * stop_word_counts.get(language, 0),
    )
    if max_count >= required_count:
        likely_languages = " or ".join(
            name
            for name, n_words in stop_word_counts.items()
            if n_words >= SIMILAR_LANGUAGE_RATIO * max_count
        )
        detail = f"by its stop words the language is {likely_languages}, not {language}"
        yield Finding("texts", WARNING, detail, f"use --language {likely_languages}")
