"""From documents to counts: texts by an analyzer, features ``name:count`` as they stand, both with attributes beside them.

`Analysis` holds all that this needs.
"""

from __future__ import annotations

import re
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

    from nbtext.text.ngrams import PairIds
    from nbtext.type_names import AttributeValues, Fields, Ints, Keys, Names

    _TermIds = Vocabulary | GrowingVocabulary

_SPACE = re.compile(rb"[ \t-\r]")
"""Where `bytes.split` splits."""

WORD_SETTINGS = (*ANALYSIS_NAMES, "surface_forms")
"""Parameters without effect on features that are counted already."""


@dataclass(frozen=True)
class Analysis:
    """How documents become counts: the settings, and the stop words that they name."""

    settings: Settings = field(default_factory=Settings)
    stop_list: Names = ()
    segmentations: Names = tuple(SEGMENTATION_MARKS)
    """What is counted of forms in scripts without spaces, if the settings leave the choice."""

    @classmethod
    def from_settings(cls, settings: Settings) -> Analysis:
        """Look up the stop words; raises `UsageError` or `PathError` if there are none of that name."""
        name = "default" if settings.stop_words == "auto" else settings.stop_words
        return cls(settings, load_stop_words(name, settings.language))

    @property
    def dropped_words(self) -> Names:
        """The words that are not counted."""
        return () if self.settings.counts_stop_words else self.stop_list

    def with_choices(self, *, keep_stop_words: bool, segmentations: Names) -> Analysis:
        """Return the same analysis of what was chosen, where the settings leave a choice."""
        settings = self.settings
        if settings.counts_stop_words and not keep_stop_words:
            settings = replace(settings, stop_words="default")
        return replace(self, settings=settings, segmentations=segmentations)

    def build_stemmer(self, side: str | None = None) -> Callable[[list[str]], list[str]]:
        """Return the function that makes terms of words: their stems; stop words that are counted stay apart from those, as do words of a side."""
        stem = load_stemmer(self.settings.stemmer, self.settings.language)
        if side is not None:
            return lambda words: [found + SEGMENTATION_MARKS[side] for found in stem(words)]
        if not self.settings.counts_stop_words:
            return stem
        apart = {word: make_stop_word_term(word) for word in self.stop_list}

        def terms(words: list[str]) -> list[str]:
            stems = stem(words)
            return stems if apart.keys().isdisjoint(words) else list(map(apart.get, words, stems))

        return terms

    def drop_encoded_lines(self, texts: TextBlock) -> tuple[Sequence[bytes], Ints | None]:
        """Return texts in which words are looked for, and the number of lines dropped from each; None if all lines are kept."""
        if self.settings.encoded_lines == "keep":
            return texts, None
        if len(texts.joined) < MIN_ENCODED_CHARS:
            return texts, np.zeros(len(texts), np.int64)
        from nbtext.text.encoded_lines import drop_encoded_lines

        return drop_encoded_lines(texts)

    def build_analyzers(
        self, term_ids: Callable[[list[str]], Sequence[int] | Ints]
    ) -> list[Analyzer]:
        """Return what finds the words of a text; ``term_ids`` gives ids to their terms. No two find the same term.

        So a word in one form with a run of a script without spaces has a term of the side: a plain one would count it again beside the whole form,
        by which the log loss of Japanese news rises from 0.103 to 0.119.
        """
        settings = self.settings
        if not settings.counts_pairs_and_words:
            return [
                Analyzer(
                    self.dropped_words,
                    self.build_stemmer(),
                    term_ids,
                    PAIRS if settings.unspaced == "auto" else settings.unspaced,
                )
            ]
        return [
            Analyzer(self.dropped_words, self.build_stemmer(), term_ids, has_run=False),
            *(
                Analyzer(self.stop_list, self.build_stemmer(side), term_ids, side, has_run=True)
                for side in self.segmentations
            ),
        ]


def check_word_settings(settings: Settings) -> None:
    """Raise `UsageError` if documents are features that are counted already, and settings ask for an analysis of words."""
    if not settings.reading.is_counted:
        return
    for parameter in TRAINING:
        value = settings[parameter.name]
        if parameter.name in WORD_SETTINGS and value not in (parameter.default, "none"):
            setting = " ".join(parameter.to_arguments(value))
            raise UsageError(
                f"{settings.reading.format}'s features are counted already, so {setting} would "
                "change nothing",
                hint="leave it out",
            )


def split_name_and_count(item: bytes) -> tuple[bytes, int]:
    """Split ``name:count``; what is not of that form is a name that occurs once."""
    name, _, count = item.rpartition(b":")
    return (name, int(count)) if name and count.isdigit() and len(count) < 18 else (item, 1)


class DocumentCounter:
    """Counts documents as they are read, over a growing or a fixed vocabulary: texts, features ``name:count name:count``, or texts with attributes."""

    def __init__(self, analysis: Analysis, vocabulary: _TermIds) -> None:
        settings = analysis.settings
        self._analysis = analysis
        self._vocabulary = vocabulary
        self._order = settings.ngrams
        self._attributes = Attributes.from_settings(settings.reading)
        self._words = (
            [] if settings.reading.is_counted else analysis.build_analyzers(vocabulary.find)
        )
        self._char_ngrams = list[Analyzer]()
        if settings.char_ngrams is not None:
            from nbtext.text.ngrams import CharNgramAnalyzer, parse_ngram_sizes

            sizes = parse_ngram_sizes(settings.char_ngrams)
            self._char_ngrams.append(
                CharNgramAnalyzer(analysis.stop_list, sizes, vocabulary.find, settings.unspaced)
            )
        self._items = ItemAnalyzer(vocabulary.find)

    def count(
        self, texts: Sequence[bytes], fields: Sequence[Fields] = (), values: AttributeValues = ()
    ) -> Postings:
        """Count some documents in valid UTF-8, given their texts, and by text their fields and values if one has any."""
        if self._analysis.settings.reading.is_counted:
            return self._count_features(texts)
        block, encoded_lines = self._analysis.drop_encoded_lines(TextBlock.from_texts(texts))
        words, *sides = self._words
        postings = _count_terms(words, block, self._vocabulary.find_pairs, self._order)
        for analyzer in (*sides, *self._char_ngrams):
            postings = postings.merge_terms(
                _count_terms(analyzer, block, self._vocabulary.find_pairs)
            )
        if any(fields):
            postings = postings.merge_terms(
                self._count_fields(FieldColumns.from_fields(fields), len(texts))
            )
        postings = postings._replace(encoded_lines=encoded_lines)
        return (
            self._with_attributes(postings, values or [()] * len(texts))
            if self._attributes.names
            else postings
        )

    def _count_features(self, texts: Sequence[bytes]) -> Postings:
        """Count features; what is not ``name:count`` is a term that occurs once. A count stays a number, so memory does not grow with it."""
        sums = map(self._sums, split_texts(texts, _SPACE))
        keys, [counts] = sum_cells(*(np.concatenate(column) for column in zip(*sums, strict=True)))
        terms, documents = unpair(keys)
        known = terms >= 0
        unknown = np.bincount(documents[~known], counts[~known], minlength=len(texts)).astype(
            np.int64
        )
        return Postings(terms[known], documents[known], counts[known], unknown)

    def _sums(self, piece: TextPiece) -> tuple[Keys, Ints]:
        """Return the pairs of a term, −1 if unknown, and a document, and the sum of the counts of each: a name may stand twice on a line."""
        rows = [text.split() for text in piece.texts]
        items = [split_name_and_count(item) for row in rows for item in row]
        documents = np.repeat(
            np.arange(len(rows)) + piece.first_document, [len(row) for row in rows]
        )
        terms = np.array(self._vocabulary.find([name.decode() for name, _ in items]), np.int64)
        keys, [counts] = sum_cells(
            pair(terms, documents), np.array([count for _, count in items], np.int64)
        )
        return keys, counts

    def _with_attributes(self, postings: Postings, values: AttributeValues) -> Postings:
        """Add values as `Attributes.checked` returns them: categories are terms that no text can hold, numbers stand beside.

        A document without values lacks all of them; an unknown category counts as missing.
        """
        names = self._attributes.names
        categorical = self._attributes.categorical
        rows = [of_text or [""] * len(names) for of_text in values]
        found = [
            (document, make_category_term(name, row[place]))
            for document, row in enumerate(rows)
            for place, name in enumerate(categorical)
            if row[place]
        ]
        documents = np.array([document for document, _ in found], np.int64)
        terms = np.array(self._vocabulary.find([term for _, term in found]), np.int64)
        documents = documents[terms >= 0]
        terms = terms[terms >= 0]
        postings = postings.merge_terms(
            Postings(terms, documents, np.ones_like(terms), np.zeros(len(rows), np.int64))
        )
        if not self._attributes.number_columns:
            return postings
        numbers = [
            [float(value) if value else np.nan for value in row[len(categorical) :]] for row in rows
        ]
        return postings._replace(
            values=np.array(numbers, np.float64).reshape(
                len(rows), len(self._attributes.number_columns)
            )
        )

    def _count_fields(self, fields: FieldColumns, n_documents: int) -> Postings:
        """Count words of fields, with n-grams inside them, and items. No term of these is one of a text, since it holds a colon."""
        contents = TextBlock.from_texts(fields.contents)
        words = chain.from_iterable(
            _sequences(analyzer, contents, self._vocabulary.find_pairs, self._order, fields.names)
            for analyzer in self._words
        )
        items = self._items.analyse(fields.items)
        of_items = TermSequence(fields.item_documents.take(items.documents), items.terms)
        parts = [
            of_items,
            *(TermSequence(fields.documents.take(numbers), terms) for numbers, terms in words),
        ]
        return Postings.from_sequence(
            TermSequence(*map(np.concatenate, zip(*parts, strict=True))), n_documents
        )


class LockedCounter:
    """A counter that threads may share: counting writes to its tables, so they take turns.

    If a process forks while one of its threads counts, the child has a lock that nobody releases and half-written tables; it makes a new counter.
    """

    def __init__(self, make: Callable[[], DocumentCounter]) -> None:
        self._make = make
        self._turn = Lock(), make()
        self._process = getpid()

    def count(
        self, texts: Sequence[bytes], fields: Sequence[Fields] = (), values: AttributeValues = ()
    ) -> Postings:
        """Count some documents in valid UTF-8."""
        if self._process != getpid():
            if self._turn[0].locked():
                self._turn = Lock(), self._make()
            self._process = getpid()
        lock, counter = self._turn
        with lock:
            return counter.count(texts, fields, values)


def _count_terms(
    analyzer: Analyzer, texts: Sequence[bytes], pair_ids: PairIds, order: int = 1
) -> Postings:
    """Count the terms of some documents in valid UTF-8, and their 2- to ``order``-grams; long documents piece by piece."""
    return Postings.sum(
        Postings.from_sequence(sequence, len(texts))
        for sequence in _sequences(analyzer, texts, pair_ids, order)
    )


def _sequences(
    analyzer: Analyzer,
    texts: Sequence[bytes],
    pair_ids: PairIds,
    order: int,
    names: Sequence[bytes] | None = None,
) -> Iterator[TermSequence]:
    """Yield the terms and n-grams of piece after piece; with ``names``, texts are contents of fields.

    The n-grams that begin with the last ``order - 1`` terms of a piece may end in the next one, so these terms are carried over to it.
    """
    carried: TermSequence | None = None
    for piece in split_texts(texts, SEPARATORS):
        documents, terms = analyzer.analyse(
            piece.texts,
            names and names[piece.first_document : piece.first_document + len(piece.texts)],
        )
        documents += piece.first_document
        if carried is not None:
            documents = np.concatenate((carried.documents, documents))
            terms = np.concatenate((carried.terms, terms))
        begins = max(terms.size - order + 1, 0) if piece.continues else terms.size
        if order == 1:
            yield TermSequence(documents, terms)
            continue
        from nbtext.text.ngrams import add_ngrams

        yield add_ngrams(TermSequence(documents, terms), order, pair_ids, begins)
        carried = TermSequence(documents[begins:], terms[begins:]) if piece.continues else None


def count_labelled_documents(
    documents: Iterable[Document | LabelledBlock], analysis: Analysis, *, keep_all: bool = False
) -> CorpusCounts:
    """Count a stream of labelled documents; return table and sample, and all documents where the settings need them or with ``keep_all``.

    From the first document with a set of labels on all have one. Raises `NoDocumentsError` if there is not one document.
    """
    several = False

    def are_several(block: LabelledBlock) -> bool:
        nonlocal several
        several = several or contain_label_sets(block.labels)
        return several

    parts = groupby(_in_blocks(documents), are_several)
    counted = (
        _count(part, analysis, keep_all=keep_all, several=of_sets) for of_sets, part in parts
    )
    found = next(counted, None)
    if found is None:
        raise NoDocumentsError
    return sum(counted, found)


def _count(
    in_blocks: Iterable[LabelledBlock], analysis: Analysis, *, keep_all: bool, several: bool
) -> CorpusCounts:
    builder = TableBuilder(
        Attributes.from_settings(analysis.settings.reading), logs=analysis.settings.needs_log_sums
    )
    counter = DocumentCounter(analysis, builder.vocabulary)
    inflected = None
    if analysis.settings.surface_forms:
        inflected = InflectedWords(
            analysis.stop_list,
            analysis.build_stemmer(),
            lambda words: builder.vocabulary.find(
                [make_category_term(INFLECTED_WORDS_ATTRIBUTE, word) for word in words]
            ),
            PAIRS if analysis.settings.unspaced == "auto" else analysis.settings.unspaced,
        )
    size = analysis.settings.sample
    keep_all = keep_all or needs_documents(analysis.settings)
    collector = DocumentCollector(None if keep_all else size)
    for block in in_blocks:
        parts = (block.texts, block.fields, block.values)
        sets = None
        labels = list(map(list_labels, block.labels))
        for label in chain.from_iterable(labels):
            check_label(label)
        if several:
            classes = np.repeat(builder.intern_classes([ALL_DOCUMENTS_LABEL]), len(block))
            sets = LabelSets.from_rows(
                [builder.intern_classes(names).tolist() for names in labels]
            ).take(block.label_indices)
        else:
            classes = builder.intern_classes([label for [label] in labels])[block.label_indices]
        postings = counter.count(*parts)
        builder.add(postings, classes, block.weights, sets)
        collector.add(postings, classes, hash_contents(*parts), builder.labels, block.weights, sets)
        if inflected is not None:
            readable, _ = analysis.drop_encoded_lines(block.texts)
            builder.add_cells(
                _count_terms(inflected, readable, builder.vocabulary.find_pairs),
                classes,
                block.weights,
            )
    del (
        counter,
        inflected,
    )  # what it remembers of the vocabulary takes as much memory as the vocabulary
    table, numbers = builder.freeze()
    if keep_all:
        return CorpusCounts.from_documents(table, collector.collect_documents(numbers), size)
    return CorpusCounts(table, collector.collect_sample(numbers))


def hash_contents(
    texts: Iterable[bytes], fields: Sequence[Fields] = (), values: AttributeValues = ()
) -> Keys:
    """Return 64 bits of the SHA-256 of each document, shape (n_docs,)."""
    if any(fields) or any(values):
        texts = map(serialise_document, texts, fields, values)
    return np.frombuffer(b"".join([sha256(text).digest() for text in texts]), "<u8")[::4].astype(
        np.uint64
    )


def _in_blocks(documents: Iterable[Document | LabelledBlock]) -> Iterator[LabelledBlock]:
    """Yield all documents in blocks for the kernel."""
    for items in split_into_blocks(
        documents,
        lambda item: BLOCK_BYTES if isinstance(item, LabelledBlock) else count_document_bytes(item),
    ):
        if single := [item for item in items if not isinstance(item, LabelledBlock)]:
            weights = np.array([document.weight for document in single], np.int64)
            texts, fields, values = collect_contents(single)
            block = LabelledBlock.from_labels([document.label or "" for document in single], texts)
            yield replace(
                block,
                fields=fields,
                values=values,
                weights=weights if np.any(weights != WEIGHT_UNIT) else None,
            )
        yield from (
            item for item in items if isinstance(item, LabelledBlock)
        )  # which ends the items


def check_label(label: object) -> None:
    """Raise `UsageError` for what cannot be a label."""
    try:
        if isinstance(label, str) and label.encode() and LABEL_MARK not in label:
            return
    except UnicodeEncodeError:
        pass
    raise UsageError(
        f"{label!r} cannot be a label", hint="labels are text, not empty and without U+001F"
    )
