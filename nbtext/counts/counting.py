"""Counts documents: turns their texts, fields and attributes into postings and corpus counts.

`Analysis` has the settings, and builds the analyzers that split texts into terms.
`DocumentCounter` counts blocks of documents, for training and for prediction.
`count_labelled_documents` counts a training corpus. A run is text of a script without spaces
between words, such as Chinese. A segmentation is a way to split runs into terms.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import field, replace
from hashlib import sha256
from itertools import chain, groupby
from os import getpid
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

from nbtext.compatibility import needs_documents
from nbtext.corpus.document import Document, collect_contents, count_document_bytes
from nbtext.counts.corpus_counts import CorpusCounts
from nbtext.counts.count_table import TableBuilder, sum_cells
from nbtext.counts.documents import DocumentCollector
from nbtext.counts.matrix import Postings
from nbtext.counts.vocabulary import (
    INFLECTED_WORDS_ATTRIBUTE,
    SEGMENTATION_MARKS,
    GrowingVocabulary,
    Vocabulary,
    make_category_term,
    make_stop_word_term,
)
from nbtext.document_fields import WEIGHT_UNIT, Attributes, FieldColumns, serialise_document
from nbtext.errors import NoDocumentsError, UsageError
from nbtext.fast_dataclasses import dataclass
from nbtext.prediction.labels import (
    ALL_DOCUMENTS_LABEL,
    LABEL_MARK,
    LabelSets,
    contain_label_sets,
    list_labels,
)
from nbtext.ragged import BLOCK_BYTES, LabelledBlock, TextBlock, split_into_blocks
from nbtext.settings import ANALYSIS_NAMES, MIN_ENCODED_CHARS, TRAINING, Settings
from nbtext.text.analyzer import (
    Analyzer,
    InflectedWords,
    ItemAnalyzer,
    TermSequence,
    TextPiece,
    split_texts,
)
from nbtext.text.hashing import pair, unpair
from nbtext.text.surface_forms import PAIRS, SEPARATORS
from nbtext.text.words import load_stemmer, load_stop_words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from nbtext.text.analyzer import FindTerms
    from nbtext.text.ngrams import FindPairs
    from nbtext.type_names import AttributeValues, Fields, Ints, Keys, Names

_SPACE = re.compile(rb"[ \t-\r]")
"""The bytes at which `bytes.split` splits."""

MAX_COUNT_DIGITS = 17
"""Largest number of digits of the count in ``name:count``."""

WORD_SETTINGS = (*ANALYSIS_NAMES, "surface_forms")
"""Settings without effect on features that are already counted."""


@dataclass(frozen=True)
class Analysis:
    """The settings that decide how documents become counts, with the stop words."""

    settings: Settings = field(default_factory=Settings)
    stop_list: Names = ()
    """The stop words. They are dropped, or counted as terms of their own."""
    segmentations: Names = tuple(SEGMENTATION_MARKS)
    """The segmentations that are counted if the setting ``unspaced`` counts pairs and words."""

    @classmethod
    def from_settings(cls, settings: Settings) -> Analysis:
        """Return the analysis of some settings, with their stop words loaded.

        Raise `UsageError` or `PathError` if the stop list that the settings name does not exist.
        """
        name = "default" if settings.stop_words == "auto" else settings.stop_words
        return cls(settings, load_stop_words(name, settings.language))

    @property
    def dropped_words(self) -> Names:
        """The stop words if the settings drop stop words, else none."""
        if self.settings.counts_stop_words:
            return ()
        return self.stop_list

    def with_choices(self, *, keep_stop_words: bool, segmentations: Names) -> Analysis:
        """Return the analysis with the choices made for automatic settings."""
        settings = self.settings
        if settings.counts_stop_words and not keep_stop_words:
            settings = replace(settings, stop_words="default")
        return replace(self, settings=settings, segmentations=segmentations)

    def build_stemmer(self, segmentation: str | None = None) -> Callable[[list[str]], list[str]]:
        """Return a function that returns the terms of a list of words.

        The term of a word is its stem. If stop words are counted, the term of a stop word is the
        word with a mark. With a ``segmentation``, all terms have the mark of the segmentation.
        """
        stem = load_stemmer(self.settings.stemmer, self.settings.language)
        if segmentation is not None:
            mark = SEGMENTATION_MARKS[segmentation]
            return lambda words: [word_stem + mark for word_stem in stem(words)]
        if not self.settings.counts_stop_words:
            return stem
        stop_word_terms = {word: make_stop_word_term(word) for word in self.stop_list}

        def make_terms(words: list[str]) -> list[str]:
            stems = stem(words)
            if stop_word_terms.keys().isdisjoint(words):
                return stems
            return list(map(stop_word_terms.get, words, stems))  # the stem if not a stop word

        return make_terms

    def drop_encoded_lines(self, texts: TextBlock) -> tuple[Sequence[bytes], Ints | None]:
        """Return the texts without encoded lines, and the number of lines dropped from each text.

        If the settings keep all lines, return the texts unchanged, and None.
        """
        if self.settings.encoded_lines == "keep":
            return texts, None
        if len(texts.joined) < MIN_ENCODED_CHARS:  # then there are no encoded lines
            return texts, np.zeros(len(texts), np.int64)
        from nbtext.text.encoded_lines import drop_encoded_lines

        return drop_encoded_lines(texts)

    @property
    def unspaced(self) -> str:
        """The segmentation of runs if only one segmentation is counted."""
        if self.settings.unspaced == "auto":
            return PAIRS
        return self.settings.unspaced

    def build_analyzers(self, find_terms: FindTerms) -> list[Analyzer]:
        """Return the analyzer of words, and one for each segmentation if several are counted.

        ``find_terms`` returns the ids of terms. No two analyzers find the same term.
        """
        if not self.settings.counts_pairs_and_words:
            return [Analyzer(self.dropped_words, self.build_stemmer(), find_terms, self.unspaced)]
        # Only the analyzers of segmentations count words that are joined to a run. Counting these
        # words twice would raise the log loss of Japanese news from 0.103 to 0.119.
        analyzers = [Analyzer(self.dropped_words, self.build_stemmer(), find_terms, has_run=False)]
        for segmentation in self.segmentations:
            stem = self.build_stemmer(segmentation)
            analyzers.append(Analyzer(self.stop_list, stem, find_terms, segmentation, has_run=True))
        return analyzers


def check_word_settings(settings: Settings) -> None:
    """Raise `UsageError` if settings of words are used with features that are already counted."""
    if not settings.reading.is_counted:
        return
    for parameter in TRAINING:
        value = settings[parameter.name]
        is_set = value not in (parameter.default, "none")
        if parameter.name in WORD_SETTINGS and is_set:
            setting = " ".join(parameter.to_arguments(value))
            raise UsageError(
                f"{settings.reading.format}'s features are counted already, so {setting} would "
                "change nothing",
                hint="remove it",
            )


def split_name_and_count(item: bytes) -> tuple[bytes, int]:
    """Split ``name:count``. An item of another form is a name that occurs once."""
    name, _, count = item.rpartition(b":")
    if name and count.isdigit() and len(count) <= MAX_COUNT_DIGITS:
        return name, int(count)
    return item, 1


class DocumentCounter:
    """Counts blocks of documents.

    New terms are added to a `GrowingVocabulary`, but counted as unknown tokens with a `Vocabulary`.
    Documents are features ``name:count name:count``, or texts that may have fields and attributes.
    """

    def __init__(self, analysis: Analysis, vocabulary: Vocabulary | GrowingVocabulary) -> None:
        settings = analysis.settings
        self._analysis = analysis
        if isinstance(vocabulary, GrowingVocabulary):
            self._find_terms: FindTerms = vocabulary.intern
            self._find_pairs: FindPairs = vocabulary.intern_pairs
        else:
            self._find_terms = vocabulary.find
            self._find_pairs = vocabulary.find_pairs
        self._attributes = Attributes.from_settings(settings.reading)
        self._word_analyzers = list[Analyzer]()
        if not settings.reading.is_counted:
            self._word_analyzers = analysis.build_analyzers(self._find_terms)
        self._char_analyzers = list[Analyzer]()
        if settings.char_ngrams is not None:
            from nbtext.text.ngrams import CharNgramAnalyzer, parse_ngram_sizes

            sizes = parse_ngram_sizes(settings.char_ngrams)
            self._char_analyzers.append(
                CharNgramAnalyzer(analysis.stop_list, sizes, self._find_terms, settings.unspaced)
            )
        self._item_analyzer = ItemAnalyzer(self._find_terms)

    @property
    def n_forms(self) -> int:
        """The largest number of surface forms that an analyzer keeps in memory."""
        analyzers = (*self._word_analyzers, *self._char_analyzers, self._item_analyzer)
        return max(analyzer.n_forms for analyzer in analyzers)

    def count(
        self,
        texts: Sequence[bytes],
        fields: Sequence[Fields] = (),
        values: AttributeValues = (),
    ) -> Postings:
        """Count documents, given their texts in valid UTF-8.

        ``fields`` and ``values`` have an element for each text, or are empty if no text has fields
        or values. N-grams of words are counted, but not of the terms of segmentations.
        """
        settings = self._analysis.settings
        if settings.reading.is_counted:
            return self._count_features(texts)
        block, encoded_lines = self._analysis.drop_encoded_lines(TextBlock.from_texts(texts))
        first_analyzer, *segmentation_analyzers = self._word_analyzers
        postings = _count_terms(first_analyzer, block, self._find_pairs, settings.ngrams)
        for analyzer in (*segmentation_analyzers, *self._char_analyzers):
            postings = postings.merge_terms(_count_terms(analyzer, block, self._find_pairs))
        if any(fields):
            columns = FieldColumns.from_fields(fields)
            postings = postings.merge_terms(self._count_fields(columns, len(texts)))
        postings = postings._replace(encoded_lines=encoded_lines)
        if self._attributes.names:
            no_values = [()] * len(texts)
            return self._with_attributes(postings, values or no_values)
        return postings

    def _count_features(self, texts: Sequence[bytes]) -> Postings:
        """Count documents that are features ``name:count``."""
        # Each piece of the texts is summed first, so memory grows only with the distinct features.
        sums = map(self._sum_features, split_texts(texts, _SPACE))
        piece_keys, piece_counts = zip(*sums, strict=True)
        # sum again, because a document may be in several pieces
        keys, [counts] = sum_cells(np.concatenate(piece_keys), np.concatenate(piece_counts))
        terms, documents = unpair(keys)
        is_known = terms >= 0
        unknown_tokens = np.bincount(documents[~is_known], counts[~is_known], minlength=len(texts))
        return Postings(
            terms[is_known],
            documents[is_known],
            counts[is_known],
            unknown_tokens.astype(np.int64),
        )

    def _sum_features(self, piece: TextPiece) -> tuple[Keys, Ints]:
        """Return the distinct keys (term, document) of a piece, and the sum of their counts.

        A name may occur several times in a document. Unknown terms have the id `UNKNOWN_TERM`.
        """
        rows = [text.split() for text in piece.texts]
        items = [split_name_and_count(item) for item in chain.from_iterable(rows)]
        names = [name.decode() for name, _ in items]
        terms = np.array(self._find_terms(names), np.int64)
        row_documents = np.arange(len(rows)) + piece.first_document
        documents = np.repeat(row_documents, [len(row) for row in rows])
        item_counts = np.array([count for _, count in items], np.int64)
        keys, [counts] = sum_cells(pair(terms, documents), item_counts)
        return keys, counts

    def _with_attributes(self, postings: Postings, values: AttributeValues) -> Postings:
        """Return the postings with the values of attributes.

        ``values`` are the results of `Attributes.normalise_values` for the documents, categories
        before numbers, or () for a document without values. Known categories become terms, and
        numbers become `Postings.values`.
        """
        postings = postings.merge_terms(self._count_categories(values))
        n_categorical = len(self._attributes.categorical)
        n_numbers = len(self._attributes.number_columns)
        if not n_numbers:
            return postings
        numbers = np.full((len(values), n_numbers), np.nan)
        for row, document_values in enumerate(values):
            for column, value in enumerate(document_values[n_categorical:]):
                if value:
                    numbers[row, column] = float(value)
        return postings._replace(values=numbers)

    def _count_categories(self, values: AttributeValues) -> Postings:
        """Count the categories of documents, given all values of each document."""
        category_terms = []
        documents = []
        for document, document_values in enumerate(values):
            # `zip` drops the numbers, which follow the categories
            for name, value in zip(self._attributes.categorical, document_values, strict=False):
                if value:
                    category_terms.append(make_category_term(name, value))
                    documents.append(document)
        terms = np.array(self._find_terms(category_terms), np.int64)
        is_known = terms >= 0
        return Postings(
            terms[is_known],
            np.array(documents, np.int64)[is_known],
            counts=np.ones(np.count_nonzero(is_known), np.int64),
            unknown_tokens=np.zeros(len(values), np.int64),
        )

    def _count_fields(self, fields: FieldColumns, n_documents: int) -> Postings:
        """Count the words of fields, with n-grams inside a field, and the items of fields.

        Terms of fields contain a colon, so they differ from all terms of texts.
        """
        contents = TextBlock.from_texts(fields.contents)
        items = self._item_analyzer.analyse(fields.items)
        order = self._analysis.settings.ngrams
        # the "documents" of the analyzers are elements of `items` and `contents`
        documents = [fields.item_documents.take(items.documents)]
        terms = [items.terms]
        for analyzer in self._word_analyzers:
            words = _iter_sequences(analyzer, contents, self._find_pairs, order, fields.names)
            for field_numbers, field_terms in words:
                documents.append(fields.documents.take(field_numbers))
                terms.append(field_terms)
        sequence = TermSequence(np.concatenate(documents), np.concatenate(terms))
        return Postings.from_sequence(sequence, n_documents)


MAX_KEPT_FORMS = 1 << 20
"""Number of forms, about 60 MiB, after which a `LockedCounter` starts again."""


class LockedCounter:
    """A counter that threads may share. Threads take turns, because counting changes its tables.

    The tables remember each form. So that the memory of a process that runs for months is limited,
    a counter with more than `MAX_KEPT_FORMS` is replaced by a new one.

    If a process forks while one of its threads counts, the child process has a lock that is never
    released, and a half-written counter. So the child process creates a new lock and counter.
    """

    def __init__(self, create_counter: Callable[[], DocumentCounter]) -> None:
        self._create_counter = create_counter
        # in one attribute, so that a thread never gets a counter with the lock of another counter
        self._lock_and_counter = Lock(), create_counter()
        self._process = getpid()

    def count(
        self,
        texts: Sequence[bytes],
        fields: Sequence[Fields] = (),
        values: AttributeValues = (),
    ) -> Postings:
        """Count documents as `DocumentCounter.count` does."""
        lock, counter = self._lock_and_counter
        if self._process != getpid():
            if lock.locked():
                lock, counter = self._lock_and_counter = Lock(), self._create_counter()
            self._process = getpid()
        with lock:
            postings = counter.count(texts, fields, values)
            if counter.n_forms > MAX_KEPT_FORMS:
                self._lock_and_counter = lock, self._create_counter()
            return postings


def _count_terms(
    analyzer: Analyzer, texts: Sequence[bytes], find_pairs: FindPairs, order: int = 1
) -> Postings:
    """Count the terms of documents in valid UTF-8, and their 2- to ``order``-grams."""
    return Postings.sum(
        Postings.from_sequence(sequence, len(texts))
        for sequence in _iter_sequences(analyzer, texts, find_pairs, order)
    )


def _iter_sequences(
    analyzer: Analyzer,
    texts: Sequence[bytes],
    find_pairs: FindPairs,
    order: int,
    names: Sequence[bytes] | None = None,
) -> Iterator[TermSequence]:
    """Yield the terms and n-grams of each piece of the texts.

    With ``names``, texts are contents of the fields of these names. If the last document of a piece
    continues in the next piece, the next sequence starts with the last ``order - 1`` terms of the
    piece, so that n-grams may cross the cut.
    """
    carried = TermSequence(np.empty(0, np.int32), np.empty(0, np.int32))
    for piece in split_texts(texts, SEPARATORS):
        first = piece.first_document
        piece_names = None
        if names is not None:
            piece_names = names[first : first + len(piece.texts)]
        documents, terms = analyzer.analyse(piece.texts, piece_names)
        documents += first  # the analyzer counts from 0
        if order == 1:
            yield TermSequence(documents, terms)
            continue
        from nbtext.text.ngrams import add_ngrams

        documents = np.concatenate((carried.documents, documents))
        terms = np.concatenate((carried.terms, terms))
        n_starts = terms.size  # number of terms at which n-grams start
        if piece.continues:
            n_starts = max(terms.size - (order - 1), 0)
        yield add_ngrams(TermSequence(documents, terms), order, find_pairs, n_starts)
        carried = TermSequence(documents[n_starts:], terms[n_starts:])


def count_labelled_documents(
    documents: Iterable[Document | LabelledBlock], analysis: Analysis, *, keep_all: bool = False
) -> CorpusCounts:
    """Count a stream of labelled documents.

    The counts include all documents with ``keep_all`` or if the settings need them, otherwise a
    sample. If a document has a set of labels, all documents become multi-label documents. Raise
    `NoDocumentsError` if the stream is empty.
    """
    multi_label = False

    def is_multi_label(block: LabelledBlock) -> bool:
        """Return whether this block or a previous block has sets of labels."""
        nonlocal multi_label
        multi_label = multi_label or contain_label_sets(block.labels)
        return multi_label

    # at most two groups: the blocks before the first set of labels, and all later blocks
    groups = groupby(_iter_labelled_blocks(documents), is_multi_label)
    group_counts = [
        _count_blocks(blocks, analysis, keep_all=keep_all, multi_label=has_label_sets)
        for has_label_sets, blocks in groups
    ]
    if not group_counts:
        raise NoDocumentsError
    # the sum of single-label and multi-label counts is multi-label
    return sum(group_counts[1:], group_counts[0])


def _count_blocks(
    blocks: Iterable[LabelledBlock], analysis: Analysis, *, keep_all: bool, multi_label: bool
) -> CorpusCounts:
    """Count blocks of documents that are all single-label or all multi-label documents."""
    settings = analysis.settings
    builder = TableBuilder(Attributes.from_settings(settings.reading), logs=settings.needs_log_sums)
    counter = DocumentCounter(analysis, builder.vocabulary)
    inflected_words = _build_inflected_words(analysis, builder.vocabulary)
    keep_all = keep_all or needs_documents(settings)
    collector = DocumentCollector(settings.keep_documents, keep_all=keep_all)
    for block in blocks:
        classes, label_sets = _intern_labels(builder, block, multi_label=multi_label)
        postings = counter.count(block.texts, block.fields, block.values)
        builder.add(postings, classes, block.weights, label_sets)
        hashes = hash_contents(block.texts, block.fields, block.values)
        collector.add(postings, classes, hashes, builder.labels, block.weights, label_sets)
        if inflected_words is not None:
            readable, _ = analysis.drop_encoded_lines(block.texts)
            inflected = _count_terms(inflected_words, readable, builder.vocabulary.intern_pairs)
            builder.add_cells(inflected, classes, block.weights)
    # the tables of the analyzers take as much memory as the vocabulary itself
    del counter, inflected_words
    table, renumbering = builder.freeze()
    if keep_all:
        all_documents = collector.collect_documents(renumbering)
        return CorpusCounts.from_documents(table, all_documents, settings.keep_documents)
    return CorpusCounts(table, collector.collect_sample(renumbering))


def _build_inflected_words(
    analysis: Analysis, vocabulary: GrowingVocabulary
) -> InflectedWords | None:
    """Return the analyzer of inflected words, or None if the settings do not keep them."""
    if not analysis.settings.surface_forms:
        return None

    def intern_words(words: list[str]) -> list[int]:
        terms = [make_category_term(INFLECTED_WORDS_ATTRIBUTE, word) for word in words]
        return vocabulary.intern(terms)

    stem = analysis.build_stemmer()
    return InflectedWords(analysis.stop_list, stem, intern_words, analysis.unspaced)


def _intern_labels(
    builder: TableBuilder, block: LabelledBlock, *, multi_label: bool
) -> tuple[Ints, LabelSets | None]:
    """Return the class number of each document of a block, and the sets of labels.

    The sets are None for single-label documents. The class of all multi-label documents is the
    reserved label. Raise `UsageError` for an invalid label.
    """
    label_lists = list(map(list_labels, block.labels))
    for label in chain.from_iterable(label_lists):
        check_label(label)
    if not multi_label:
        numbers = builder.intern_classes([label for [label] in label_lists])
        return numbers[block.label_indices], None
    classes = np.repeat(builder.intern_classes([ALL_DOCUMENTS_LABEL]), len(block))
    label_sets = LabelSets.from_rows(
        [builder.intern_classes(names).tolist() for names in label_lists]
    )
    return classes, label_sets.take(block.label_indices)


def hash_contents(
    texts: Iterable[bytes],
    fields: Sequence[Fields] = (),
    values: AttributeValues = (),
) -> Keys:
    """Return the first 64 bits of the SHA-256 of each document's content, shape (n_docs,)."""
    contents = texts
    if any(fields) or any(values):
        contents = map(serialise_document, texts, fields, values)
    digests = b"".join([sha256(content).digest()[:8] for content in contents])
    return np.frombuffer(digests, "<u8").astype(np.uint64)


def _iter_labelled_blocks(
    documents: Iterable[Document | LabelledBlock],
) -> Iterator[LabelledBlock]:
    """Yield the blocks of the stream, and its single documents in blocks of about `BLOCK_BYTES`."""

    def count_bytes(item: Document | LabelledBlock) -> int:
        if isinstance(item, LabelledBlock):
            return BLOCK_BYTES  # ends a list of items, so a list has at most one block, at the end
        return count_document_bytes(item)

    for items in split_into_blocks(documents, count_bytes):
        single_documents = [item for item in items if not isinstance(item, LabelledBlock)]
        if single_documents:
            yield _build_block(single_documents)
        yield from (item for item in items if isinstance(item, LabelledBlock))


def _build_block(documents: Sequence[Document]) -> LabelledBlock:
    texts, fields, values = collect_contents(documents)
    block = LabelledBlock.from_labels([document.label or "" for document in documents], texts)
    block = replace(block, fields=fields, values=values)
    weights = np.array([document.weight for document in documents], np.int64)
    if np.all(weights == WEIGHT_UNIT):
        return block
    return replace(block, weights=weights)


def check_label(label: object) -> None:
    """Raise `UsageError` for an invalid label."""
    with suppress(UnicodeEncodeError):
        if isinstance(label, str) and label and LABEL_MARK not in label:
            label.encode()  # raises the error for surrogates, which are no text
            return
    raise UsageError(
        f"{label!r} cannot be a label", hint="labels are text, not empty and without U+001F"
    )
