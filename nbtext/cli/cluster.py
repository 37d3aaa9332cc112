"""``--backend dask``: a corpus counted on other machines, with the same counts, messages and failures as here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import click

from nbtext.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from nbtext.cli.corpus import Corpus
    from nbtext.corpus.reading import Shard
    from nbtext.counts.corpus_counts import CorpusCounts
    from nbtext.model import TextClassifier
    from nbtext.model.sharding import Piece

Command = TypeVar("Command", bound="Callable[..., Any]")


def cluster_options(command: Command) -> Command:
    """``--backend`` and ``--scheduler``, for `scheduler_of`."""
    command = click.option(
        "--scheduler", metavar="ADDRESS", help="With --backend dask: the address of Dask's scheduler, such as tcp://host:8786."
    )(command)
    return click.option(
        "--backend", type=click.Choice(["local", "dask"]), default="local", show_default=True,
        help="Where documents are counted: here, or by the workers of a Dask cluster, which read them from the same paths themselves.",
    )(command)  # fmt: skip


def scheduler_of(options: dict[str, Any]) -> str | None:
    """The address of the scheduler if the work is to be done on a cluster; raises `UsageError` for options that do not go together."""
    if options["backend"] == "local":
        if options["scheduler"] is not None:
            raise UsageError("--scheduler goes with --backend dask")
        return None
    if options["scheduler"] is None:
        raise UsageError("--backend dask needs --scheduler", hint="give its address, such as tcp://host:8786")
    if options["once"]:
        raise UsageError("--backend dask and --once exclude each other", hint="use --jobs")
    if options["jobs"] != 1:
        raise UsageError("--backend dask and --jobs exclude each other", hint="start more workers")
    return str(options["scheduler"])


def counted_on_cluster(model: TextClassifier, documents: Corpus, scheduler: str) -> tuple[CorpusCounts | None, list[Piece], list[Shard]]:
    """The counts of a labelled corpus as a model of these parameters counts it, None if there is not one document; and what is to be told of its shards.

    Raises `UsageError` for standard input and for a model that is not made of counts alone.
    """
    from nbtext.cli.progress import tallied
    from nbtext.corpus.reading import resolved, shards, source_of
    from nbtext.model.sharding import Counting, counted_on
    from nbtext.model.training import needs_documents
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
