"""A corpus on its way through a model: its documents are read, counted and scored, by this process, by several, or on a cluster."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, NamedTuple

from nbtext.attributes import KINDS, Attributes
from nbtext.corpus.parts import BYTES
from nbtext.corpus.reading import format_like, resolve_format
from nbtext.corpus.streams import can_be_read_here_only
from nbtext.errors import DocumentError, PathError, UsageError, quantity
from nbtext.exclusions import CLUSTER, PATCH, require_fitting
from nbtext.fitted.scoring import scored
from nbtext.model.sharding import (
    Counting,
    Scoring,
    count_on_cluster,
    count_shards,
    joined_counts,
    joined_documents,
    outcomes_in_order,
    score_shards,
)
from nbtext.settings import FORMATS, Reading
from nbtext.text_block import BLOCK_DOCUMENTS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from nbtext.corpus.collection import Corpus
    from nbtext.corpus.document import Document
    from nbtext.counts.corpus_counts import CorpusCounts
    from nbtext.counts.counting import Analysis
    from nbtext.counts.documents import CountedDocuments
    from nbtext.counts.statistics import ClassStatistics
    from nbtext.fitted.fitted_model import FittedModel
    from nbtext.fitted.scoring import ScoredBlock
    from nbtext.model.sharding import PartialCounts

WORTH_COUNTING, WORTH_SCORING = 12, 3
"""Shards for each process; with fewer its start and the sum of its counts take longer than it saves."""

MOST_LOOKED_AT = 8
"""Processes for which shards are cut beforehand, to know whether they are worth it; with so many, all are."""

BYTES_HERE = BYTES >> 2
"""About what a shard for a process of this machine holds: scores take more memory than counts, and processes end together."""

SCORES = 1 << 28
"""Bytes of text times classes of such a shard at most, so that many classes do not fill the memory."""

MOST_CLASSES = 1 << 14
"""With more classes there is too little text in a shard to send it anywhere."""

STDIN = "-"


class CountedCorpus(NamedTuple):
    """All documents of a corpus as counts, in its order."""

    statistics: ClassStatistics
    documents: CountedDocuments
    names: list[str]
    notes: list[Any]
    """What was noted of each document."""


def columns_of(document: Document) -> tuple[str, ...]:
    """Note the further columns of a document."""
    return document.columns


def count_in_total(analysis: Analysis, corpus: Corpus, jobs: int = 1, scheduler: str | None = None) -> CorpusCounts | None:
    """Return statistics and sample of a labelled corpus, counted in so many processes or on a cluster; None if there is not one document.

    Raises `UsageError` for what a cluster cannot do, and what reading raises.
    """
    if scheduler is not None:
        return _count_on_cluster(analysis, corpus, scheduler)
    return joined_counts(_pieces(analysis, corpus, jobs))


def count_each(analysis: Analysis, corpus: Corpus, jobs: int = 1, note: Callable[[Document], Any] = columns_of) -> CountedCorpus | None:
    """Return each document of a labelled corpus as counts, with its name and what ``note`` returns for it; None if there is not one.

    Raises what reading raises.
    """
    pieces = _pieces(analysis, corpus, jobs, note)
    joined = joined_documents(pieces)
    outcomes = list(outcomes_in_order(pieces))
    names, notes = (list(chain.from_iterable(getattr(outcome, name) for outcome in outcomes)) for name in ("names", "notes"))
    return joined and CountedCorpus(*joined, names, notes)


def _pieces(analysis: Analysis, corpus: Corpus, jobs: int, note: Callable[[Document], Any] | None = None) -> list[PartialCounts]:
    from nbtext.parallel.processes import cores, side_by_side

    jobs = 1 if any(map(can_be_read_here_only, corpus.paths)) else jobs or cores()
    of_corpus, source = corpus.whole()
    if jobs > 1:
        of_corpus, of_shards = corpus.in_shards(BYTES_HERE)
        beginning = list(islice(of_corpus, WORTH_COUNTING * min(jobs, MOST_LOOKED_AT)))
        worthwhile = len(beginning) // WORTH_COUNTING
        jobs = jobs if worthwhile == min(jobs, MOST_LOOKED_AT) else worthwhile
        of_corpus, source = (chain(beginning, of_corpus), of_shards) if jobs > 1 else corpus.whole()
    with corpus.watched() as heard:
        pieces = side_by_side(count_shards, Counting(source, analysis, note), enumerate(of_corpus), max(jobs, 1), heard)
    for outcome in outcomes_in_order(pieces):
        corpus.report(outcome)
    return pieces


def _count_on_cluster(analysis: Analysis, corpus: Corpus, scheduler: str) -> CorpusCounts | None:
    from nbtext.parallel.cluster import cluster

    require_fitting(analysis.settings, CLUSTER, *[PATCH] * (corpus.patch is not None))
    if STDIN in corpus.paths:
        raise UsageError("standard input cannot be read by a cluster", hint="give files that its workers can read")
    of_corpus, source = corpus.in_shards(here=False)
    with cluster(scheduler) as workers, corpus.watched() as heard:
        counts, pieces = count_on_cluster(workers, Counting(source, analysis), (shard.absolute() for shard in of_corpus), heard)
    for outcome in outcomes_in_order(pieces):
        corpus.report(outcome)
    return counts


def score_corpus(model: FittedModel, corpus: Corpus, jobs: int = 1, at_once: int = BLOCK_DOCUMENTS) -> Iterator[ScoredBlock]:
    """Yield the documents of a corpus in order with their scores, by so many processes: if labelled those that can be read, else all.

    What ends the reading of a corpus without labels early is kept for `Corpus.finish`.
    """
    if any(map(can_be_read_here_only, corpus.paths)) or len(model.classes) > MOST_CLASSES:
        yield from scored(model, corpus.readable() if corpus.labelled else corpus, at_once)
        return
    of_corpus, source = corpus.in_shards(min(BYTES_HERE, SCORES // len(model.classes)))
    beginning = list(islice(of_corpus, 2 * WORTH_SCORING))
    processes = jobs if len(beginning) == 2 * WORTH_SCORING else 1
    begun = False
    try:
        with corpus.watched() as heard:
            for block in score_shards(Scoring(model, source), chain(beginning, of_corpus), processes, corpus.report, heard):
                begun = True
                yield block
    except (DocumentError, PathError) as problem:
        corpus.break_off(problem, begun=begun and not corpus.labelled)


def reading_like(trained: Reading, paths: Sequence[str], given: Mapping[str, object]) -> Reading:
    """Return how documents are read for a model: as its training documents were, but for the settings given, and for what the paths are.

    Raises `UsageError` where counted features would meet a model of texts, and for other attributes than the model has.
    """
    reading = Reading.of({**trained, **given})
    if paths and "format" not in given:
        reading = replace(reading, format=format_like(paths, trained))
    learnt, read = Attributes.of(trained), Attributes.of(reading)
    for kind, names, others in zip(KINDS, learnt, read, strict=True):
        if len(names) != len(others):
            raise UsageError(
                f"--{kind} names {quantity(len(others), 'column')}, and the model has {len(names)}", hint="name them in the model's order"
            )
    file_format = resolve_format(paths, reading.format)
    if FORMATS[file_format].counted and not trained.is_counted:
        raise UsageError(f"the model was trained on texts, not on {file_format}'s counted features", hint="train one on features")
    return reading
