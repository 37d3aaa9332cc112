"""``--backend dask``: a corpus counted on other machines, with the same counts, messages and failures as here.

``--jobs``: a corpus read, counted and scored by several processes, with the same results, messages and failures as by one.

What the commands that resample a corpus share: all of its documents counted once, under the options of training.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from nbtext.cli.options import given
from nbtext.cli.progress import tallied
from nbtext.corpus.reading import BYTES, resolved, shards, source_of
from nbtext.counts.counting import count_corpus, count_documents
from nbtext.errors import UsageError
from nbtext.model.sharding import Counting, count_shards, in_order, joined_counts, joined_documents
from nbtext.model.training import needs_documents

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from nbtext.cli.corpus import Corpus
    from nbtext.cli.messages import Messages
    from nbtext.corpus.document import Document
    from nbtext.corpus.reading import Shard
    from nbtext.counts.corpus_counts import CorpusCounts
    from nbtext.counts.documents import CountedDocuments
    from nbtext.counts.statistics import ClassStatistics
    from nbtext.model import TextClassifier
    from nbtext.model.scoring import ScoredBlock
    from nbtext.model.sharding import Outcome, Piece


Command = TypeVar("Command", bound="Callable[..., Any]")


def counted_on_cluster(model: TextClassifier, documents: Corpus, scheduler: str) -> tuple[CorpusCounts | None, list[Piece], list[Shard]]:
    """The counts of a labelled corpus as a model of these parameters counts it, None if there is not one document; and what is to be told of its shards.

    Raises `UsageError` for standard input and for a model that is not made of counts alone.
    """
    from nbtext.model.sharding import counted_on
    from nbtext.parallel.cluster import cluster

    if needs_documents(model.parameters):
        raise UsageError("--backend dask is for models of counts alone", hint="use --jobs")
    if "-" in documents.paths:
        raise UsageError("standard input cannot be read by a cluster", hint="give files that its workers can read")
    reading = resolved(documents.reading, documents.paths, labelled=True)
    source = source_of(reading, documents.notices, labelled=True, columns=documents.columns)
    of_corpus = [shard.absolute() for shard in shards(documents.paths, source)]
    counting = Counting(of_corpus, model.parameters, model.stop_list, reading, fail=documents.on_error == "fail")
    with cluster(scheduler) as workers, tallied(documents.paths, reading["format"], wanted=documents.shows_progress) as heard:
        counts, pieces = counted_on(workers, counting, heard)
    return counts, pieces, of_corpus


WORTH_A_PROCESS = 3
"""Shards for each process; with fewer its start and the sum of its counts take longer than it saves."""


BYTES_SCORED = BYTES >> 2
"""About what a shard to be scored holds: scores take more memory than counts."""


SCORES = 1 << 28
"""Bytes of text times classes of such a shard at most, so that many classes do not fill the memory."""


MOST_CLASSES = 1 << 14
"""With more classes there is too little text in a shard to send it anywhere."""


class CountedWithNotes(NamedTuple):
    """A whole corpus as counts, in its order."""

    statistics: ClassStatistics
    documents: CountedDocuments
    names: list[str]
    notes: list[Any]
    """Of each document what was to be noted."""


def learn(model: TextClassifier, documents: Corpus, jobs: int, scheduler: str | None = None) -> None:
    """Fit a model to a corpus in so many processes, or on a cluster. Raises `UsageError` if there is not one document, and what reading raises."""
    if model.parameters["max_terms"] is not None and (jobs != 1 or scheduler is not None):
        raise UsageError("--max-terms goes with one job", hint="which terms are left out depends on the order of all documents")
    if scheduler is None and needs_documents(model.parameters):
        counted = count_with_documents(model, documents, jobs, _nothing) or no_documents()
        model.fit_counted(counted.statistics, counted.documents)
    else:
        model.learn(count_with_sample(model, documents, jobs, scheduler) or no_documents())


def count_with_sample(model: TextClassifier, documents: Corpus, jobs: int, scheduler: str | None = None) -> CorpusCounts | None:
    """The counts of a labelled corpus as a model of these parameters counts it, in so many processes or on a cluster; None if there is not one document."""
    if scheduler is not None:
        counts, pieces, of_corpus = counted_on_cluster(model, documents, scheduler)
        for _ in told(pieces, of_corpus, documents):
            pass
        return counts
    if jobs == 1:
        labelled = ((document.label or "", document.text) for document in documents.readable())
        first = next(labelled, None)
        return first and count_corpus(chain([first], labelled), model.parameters, model.stop_list, documents.reading)
    pieces, of_corpus = _pieces(model, documents, jobs, None)
    for _ in told(pieces, of_corpus, documents):
        pass
    return joined_counts(pieces)


def count_with_documents(model: TextClassifier, documents: Corpus, jobs: int, note: Callable[[Document], Any]) -> CountedWithNotes | None:
    """As `count_with_sample`, with all documents in place of a sample, their names, and what is to be noted of each."""
    names: list[str] = []
    notes: list[Any] = []
    if jobs == 1:
        labelled = _noted(documents, names, notes, note)
        first = next(labelled, None)
        how = model.parameters, model.stop_list, documents.reading
        return first and CountedWithNotes(*count_documents(chain([first], labelled), *how), names, notes)
    pieces, of_corpus = _pieces(model, documents, jobs, note)
    for outcome in told(pieces, of_corpus, documents):
        names += outcome.names
        notes += outcome.notes
    joined = joined_documents(pieces)
    return joined and CountedWithNotes(*joined, names, notes)


def scored_documents(model: TextClassifier, documents: Corpus, jobs: int) -> Iterator[ScoredBlock]:
    """The documents of a corpus in order with what a model says of them, by so many other processes: if labelled those that can be read, else all."""
    from nbtext.model.scoring import scored

    if "-" in documents.paths or len(model.classes_) > MOST_CLASSES:
        yield from scored(model, documents.readable() if documents.labelled else documents)
        return
    from nbtext.model.sharding import Scoring, scored_in_shards

    reading = resolved(documents.reading, documents.paths, labelled=documents.labelled)
    source = source_of(reading, documents.notices, labelled=documents.labelled, columns=documents.columns)
    of_corpus = shards(documents.paths, source, min(BYTES_SCORED, SCORES // len(model.classes_)))
    beginning = list(islice(of_corpus, 2 * WORTH_A_PROCESS))
    processes = (jobs or _cores()) if len(beginning) == 2 * WORTH_A_PROCESS else 1
    on_error = "skip" if documents.labelled and documents.on_error == "record" else documents.on_error
    scoring = Scoring(model, reading, documents.labelled, documents.columns, on_error)
    begun = False
    with tallied(documents.paths, reading["format"], wanted=documents.shows_progress) as heard:
        for block, outcome, failure in scored_in_shards(scoring, chain(beginning, of_corpus), documents.notices, processes, heard):
            _tell(outcome, documents)
            if block is not None:
                begun = True
                yield block
            if failure is not None:
                documents.break_off(failure, begun=begun and not documents.labelled)


def _cores() -> int:
    from nbtext.parallel.processes import cores

    return cores()


def _noted(documents: Corpus, names: list[str], notes: list[Any], note: Callable[[Document], Any]) -> Iterator[tuple[str, bytes]]:
    for document in documents.readable():
        names.append(document.id)
        notes.append(note(document))
        yield document.label or "", document.text


def _nothing(document: Document) -> None:
    del document


def columns_of(document: Document) -> tuple[str, ...]:
    """The further columns of a document, as a note of it."""
    return document.columns


def no_documents() -> Any:
    """Raise `UsageError`: there is not one document."""
    raise UsageError("the corpus has no documents that can be read")


def _pieces(model: TextClassifier, documents: Corpus, jobs: int, note: Callable[[Document], Any] | None) -> tuple[list[Piece], list[Shard]]:
    from nbtext.parallel.processes import side_by_side

    reading = resolved(documents.reading, documents.paths, labelled=True)
    source = source_of(reading, documents.notices, labelled=True, columns=documents.columns)
    of_corpus = list(shards(documents.paths, source))
    worthwhile = 1 if "-" in documents.paths else len(of_corpus) // WORTH_A_PROCESS
    processes = min(jobs or _cores(), worthwhile) if worthwhile > 1 else 1
    how = model.parameters, model.stop_list, reading
    counting = Counting(of_corpus, *how, documents.columns, fail=documents.on_error == "fail", note=note)
    with tallied(documents.paths, reading["format"], wanted=documents.shows_progress) as heard:
        return side_by_side(count_shards, counting, len(of_corpus), processes, heard), of_corpus


def told(pieces: list[Piece], of_corpus: list[Shard], documents: Corpus) -> Iterator[Outcome]:
    """The outcome of each shard in order, after its documents that could not be read were told of."""
    for outcome in in_order(pieces, of_corpus, documents.notices):
        _tell(outcome, documents)
        yield outcome


def _tell(outcome: Outcome, documents: Corpus) -> None:
    for name, problem in outcome.problems:
        documents.messages.document_failed(name, problem)
    documents.messages.failed += outcome.failed - len(outcome.problems)


@dataclass(frozen=True)
class CountedCorpus:
    """A corpus as counts, with the names of its documents and their values in the columns asked for."""

    statistics: ClassStatistics
    documents: CountedDocuments
    names: list[str]
    columns: list[tuple[str, ...]]
    parameters: Mapping[str, Any]
    """As `nbtext.model.training` takes them."""
    reading: dict[str, Any]
    stop_list: list[str]
    source: Corpus
    """Of which `say_notices` is to be asked when the results are there."""


def read_and_count(paths: Sequence[str], options: dict[str, Any], say: Messages, columns: Sequence[str] = ()) -> CountedCorpus:
    """Read and count a labelled corpus; raises what `nbtext train` raises for its options and documents."""
    from nbtext.classifiers.base import class_prior
    from nbtext.cli.corpus import Corpus, on_error
    from nbtext.corpus.reading import resolved
    from nbtext.counts.counting import require_words
    from nbtext.model import TextClassifier
    from nbtext.model.training import looked_up
    from nbtext.settings import READING, TRAINING, checked

    reading = resolved(checked(READING, given(READING, options)), paths, labelled=True)
    model = TextClassifier(**given(TRAINING, options))
    require_words(model.parameters, reading)
    parameters = looked_up(model.parameters, model.stop_list, reading)
    source = Corpus(paths, reading, say, labelled=True, columns=columns, on_error=on_error(options))
    statistics, documents, names, values = count_with_documents(model, source, options.get("jobs", 1), columns_of) or no_documents()
    class_prior(model.parameters["class_prior"], statistics)  # raises now what it would raise in every fold
    return CountedCorpus(statistics, documents, names, values, parameters, reading, model.stop_list, source)


def refuse_together(options: dict[str, Any], asked: str, others: Sequence[str]) -> None:
    """Raise `UsageError` if options were given that the option asked for has no use for; names as in the program."""
    for other in others:
        if options[other] is not None:
            raise UsageError(f"--{asked.replace('_', '-')} and --{other.replace('_', '-')} exclude each other")
