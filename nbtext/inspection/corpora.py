"""Look at a corpus before training, in one pass: what it is read as, its classes, lengths and encodings, and what is unusual in it."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nbtext.corpus.collection import Corpus
from nbtext.corpus.columns import describe_columns
from nbtext.corpus.reading import (
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
from nbtext.text.words import load_stop_words

if TYPE_CHECKING:
    from nbtext.corpus.document import Document
    from nbtext.counts.statistics import ClassStatistics
    from nbtext.type_names import Ints, Names

NAMED = 10
LONGEST = 50
"""Classes and documents that are named, the others are counted; characters of a class that are shown."""

MIN_CLASS_DOCUMENTS = 5
"""A class of fewer documents is small."""

REPEATED = 0.01
"""Share of documents with the text of another from which there is a warning."""

LIKELY = 0.15
FEWEST_WORDS = 20
"""Share of the words of a text that are stop words of its language, at least, and their least number."""

NEARLY = 0.8
"""Languages with this share of the stop words of the likeliest are as likely."""


class _Unreadable(NamedTuple):
    """The name of a document, and why it could not be read."""

    id: str
    error: str


@dataclass(frozen=True)
class CorpusOverview:
    """A corpus as a command would read it."""

    format: str
    kind: str
    """``text``, ``format_html`` or ``mail``."""
    columns: str | None
    """The columns of a table, or keys of JSON, that are read."""
    class_sizes: dict[str, int]
    """Documents of each class, or with each label, that could be read, the largest class first; empty for a format without classes."""
    documents: int
    """Documents that could be read."""
    empty: int
    """Those without a byte of text."""
    median_bytes: int
    """Bytes of text, in UTF-8."""
    most_bytes: int
    unreadable: int
    first_unreadable: tuple[_Unreadable, ...]
    not_utf8: int
    """Documents that were not valid UTF-8 and were read as Windows-1252."""


def inspect_corpus(
    paths: Sequence[str],
    reading: Reading,
    language: str,
    where: str | None = None,
    files_within: str | None = None,
) -> tuple[CorpusOverview, list[Finding]]:
    """Return sizes of a corpus, and what was found in it; raise `PathError` or `UsageError` if training could not read it."""
    found = resolve_reading(reading, paths, labelled=True)
    layout = found.layout
    settings = Settings(
        reading=found,
        language=language,
        stemmer="none",
        stop_words="none",
        unspaced="words",
        sample=0,
    )
    corpus = Corpus(paths, found, labelled=True, condition=where, allowed_folder=files_within)
    sizes = array("q")
    digests = bytearray()
    names = list[str]()
    labels = list[Label]()
    seen: dict[Label, Label] = {}
    classes = Counter[str]()
    kinds = Counter[str]()
    unreadable = list[_Unreadable]()

    def readable() -> Iterator[Document]:
        """Yield the documents to count, and note some numbers of each."""
        for document in corpus:
            if document.problem is not None:
                kinds["unreadable"] += 1
                unreadable.extend(
                    [_Unreadable(document.id, document.problem.line)][: NAMED - len(unreadable)]
                )
                continue
            content = document.digest_bytes
            label = document.label or ""
            label = seen.setdefault(label, label)  # one object for all documents of a label
            sizes.append(len(content))
            classes.update(list_labels(label))
            if content:  # empty texts are all equal
                digests.extend(compute_fingerprint(content)[:8])
                names.append(document.id)
                labels.append(label)
            kinds.update(detect_text_kinds(document.text))
            yield document

    findings: list[Finding] = []
    with suppress(NoDocumentsError):
        statistics = count_labelled_documents(readable(), Analysis(settings)).labelled_statistics
        findings += check_corpus_statistics(statistics, found, n_terms=statistics.n_terms)
        if all(each.check != "columns" for each in findings):
            findings += _small_classes(classes)
        last = find_last_equal(np.frombuffer(digests, "<u8"))
        findings += _repeated_texts(last, names)
        if statistics.posterior_type.is_exclusive:
            findings += find_contradictions(last, labels, names)
        if found.document in ("text", KIND_BY_NAME):
            findings += find_text_kind_warnings(kinds, len(sizes))
        if not found.is_counted:
            findings += _language(statistics, settings.language)
    corpus.raise_deferred()
    lengths = np.array(sizes)
    overview = CorpusOverview(
        format=found.format,
        kind=found.document,
        columns=describe_columns(found) if layout.has_columns else None,
        class_sizes=dict(classes.most_common()),
        documents=lengths.size,
        empty=int((lengths == 0).sum()),
        median_bytes=int(np.median(lengths)) if lengths.size else 0,
        most_bytes=int(lengths.max(initial=0)),
        unreadable=kinds["unreadable"],
        first_unreadable=tuple(unreadable),
        not_utf8=corpus.notices.transcoded,
    )
    of_reading = [*corpus.notices.warnings, *corpus.notices.findings]
    of_layout = [
        *_sizes(overview, corpus.notices.replaced),
        *find_corpus_warnings(paths, reading, found),
    ]
    return overview, [*of_layout, *of_reading, *findings]


def _small_classes(classes: Counter[str]) -> Iterator[Finding]:
    """Yield a warning of classes with fewer than `FEW` documents."""
    few = {label: size for label, size in classes.items() if size < MIN_CLASS_DOCUMENTS}
    if few:
        detail = (
            f"{format_quantity(len(few), 'class')} with fewer than {MIN_CLASS_DOCUMENTS} documents: "
            f"{format_sizes(few, NAMED)}"
        )
        remedy = "add documents, join such classes, or leave them out"
        yield Finding("classes", WARNING, detail, remedy)


def _repeated_texts(last: Ints, names: Names) -> Iterator[Finding]:
    """Yield a warning if many documents have the text of another, given the last document with the text of each."""
    repeated = np.flatnonzero(last != np.arange(last.size))
    if repeated.size > REPEATED * last.size:
        first = names[repeated[0]]
        other = names[last[repeated[0]]]
        detail = (
            f"with the text of another: {format_quantity(repeated.size, 'document')}; first "
            f"{first}, like {other}"
        )
        remedy = "to count each text once, give --once to train"
        yield Finding("documents", WARNING, detail, remedy)


def _sizes(corpus: CorpusOverview, n_replaced: int) -> Iterator[Finding]:
    """Yield what a corpus is read as, and its documents and classes; ``n_replaced`` have bytes that do not fit their charset."""
    yield Finding("format", PASSED, f"{corpus.format}, each document {corpus.kind}")
    if corpus.columns is not None:
        yield Finding("columns", PASSED, corpus.columns)
    lengths = (
        f"{format_quantity(corpus.documents, 'document')}, bytes of text: median "
        f"{corpus.median_bytes:,}, most {corpus.most_bytes:,}"
    )
    yield Finding("documents", PASSED if corpus.documents else WARNING, lengths)
    if sizes := corpus.class_sizes:
        detail = f"{format_quantity(len(sizes), 'class')}: {format_sizes(sizes, NAMED)}"
        if (n_labels := sum(sizes.values())) != corpus.documents:
            mean = f"{n_labels / corpus.documents:.2f}"
            detail += f"; {mean} labels a document"
        yield Finding("classes", PASSED, detail)
    if not (corpus.not_utf8 or n_replaced):
        yield Finding("encoding", PASSED, "all valid in their encoding")
    if corpus.empty:
        yield Finding(
            "documents",
            WARNING,
            f"without text: {format_quantity(corpus.empty, 'document')}",
            "see --text-column and --document",
        )
    if corpus.unreadable:
        identity, why = corpus.first_unreadable[0]
        yield Finding(
            "documents",
            WARNING,
            f"could not be read: {format_quantity(corpus.unreadable, 'document')}; first {identity}: "
            f"{why}",
            "mend or remove them; train leaves them out",
        )


def _language(statistics: ClassStatistics, language: str) -> Iterator[Finding]:
    """Yield the finding that the texts are of another language, if their stop words show it clearly."""
    counts = np.append(statistics.term_counts, 0)
    words = statistics.vocabulary  # a word that is not there has the last number, −1
    found = {each: counts[words.find(load_stop_words(each, each))].sum() for each in LANGUAGES}
    most = max(found.values())
    if most >= max(FEWEST_WORDS, LIKELY * counts.sum(), 2 * found.get(language, 0)):
        likely = " or ".join(each for each, n in found.items() if n >= NEARLY * most)
        yield Finding(
            "texts",
            WARNING,
            f"by its stop words the language is {likely}, not {language}",
            f"give --language {likely}",
        )
