"""A corpus counted and scored in shards is the corpus.

Also tests `model/parallel_corpus.py`.
"""

from __future__ import annotations

import json
from dataclasses import replace
from operator import add
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtext import TextClassifier
from nbtext.corpus.collection import MAX_NAMED_PROBLEMS_PER_SHARD
from nbtext.corpus.detection.formats import resolve_reading
from nbtext.corpus.document import Notices
from nbtext.corpus.reading import create_reader_options, read_corpus
from nbtext.corpus.shards import split_corpus
from nbtext.counts.counting import Analysis
from nbtext.errors import DocumentError, PathError
from nbtext.model.parallel_corpus import (
    CountingContext,
    ScoringContext,
    count_shards,
    join_partial_counts,
    score_shards,
    sum_pairwise,
)
from nbtext.parallel.cluster import BATCHES_PER_THREAD, split_into_batches
from nbtext.parallel.processes import TaskBatch
from nbtext.settings import Reading, Settings
from tests.models import count, split_labelled
from tests.process import PETS, write

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from nbtext.corpus.collection import ShardReport
    from nbtext.corpus.document import ReaderOptions
    from nbtext.corpus.shards import Shard
    from nbtext.model.parallel_corpus import PartialCounts
    from nbtext.scoring import ScoredBlock

PARAMETERS = Settings.from_values({"keep_documents": 7})
LABELLED = [
    (name.partition("/")[0], f"{text} {number}")
    for number in range(8)
    for name, text in PETS.items()
]
SIZES = pytest.mark.parametrize("size", [1, 150, 1 << 20])


def lines(*others: str) -> str:
    """A file of jsonl, with lines that cannot be read after the first documents."""
    rows = [json.dumps({"label": label, "text": text}) for label, text in LABELLED]
    return "".join(row + "\n" for row in [*rows[:3], *others, *rows[3:]])


def split_file(
    path: Path, size: int, *, on_error: str = "skip"
) -> tuple[ReaderOptions, list[Shard]]:
    source = create_reader_options(
        resolve_reading(Reading.from_values({}), [str(path)], labelled=True),
        Notices(),
        labelled=True,
    )
    return replace(source, on_error=on_error), list(split_corpus([str(path)], source, size))


def count_split_corpus(
    of: CountingContext, shards: list[Shard], processes: int
) -> list[PartialCounts]:
    """As processes do it whose tasks are dealt out."""
    numbered = list(enumerate(shards))
    return [
        count_shards(of, TaskBatch(numbered[process::processes])) for process in range(processes)
    ]


@SIZES
@pytest.mark.parametrize("processes", [1, 3])
def test_counts_do_not_depend_on_shards_and_processes(
    size: int, processes: int, tmp_path: Path
) -> None:
    write("t.jsonl", lines())
    source, of_corpus = split_file(tmp_path / "t.jsonl", size)
    pieces = count_split_corpus(
        CountingContext(source, Analysis(PARAMETERS, ["the"])), of_corpus, processes
    )
    whole, (found, outcomes) = (
        count(((label, text.encode()) for label, text in LABELLED), Analysis(PARAMETERS, ["the"])),
        join_partial_counts(pieces),
    )
    assert found is not None
    assert found.table == whole.table
    assert found.sample.documents.hashes.tolist() == whole.sample.documents.hashes.tolist()
    assert sum(outcome.n_documents for outcome in outcomes) == len(LABELLED)
    assert (
        sum(outcome.n_bytes_read for outcome in outcomes) == (tmp_path / "t.jsonl").stat().st_size
    )


@SIZES
@pytest.mark.parametrize("processes", [1, 3])
def test_kept_documents_are_in_the_order_of_the_corpus(
    size: int, processes: int, tmp_path: Path
) -> None:
    write("t.jsonl", lines())
    source, of_corpus = split_file(tmp_path / "t.jsonl", size)
    pieces = count_split_corpus(
        CountingContext(source, Analysis(PARAMETERS, ["the"]), note=lambda document: document.text),
        of_corpus,
        processes,
    )
    found, outcomes = join_partial_counts(pieces)
    assert [note.decode() for outcome in outcomes for note in outcome.notes] == [
        text for _, text in LABELLED
    ]
    assert [name for outcome in outcomes for name in outcome.names] == [
        f"{tmp_path}/t.jsonl:{n + 1}" for n in range(len(LABELLED))
    ]
    whole = count(
        ((label, text.encode()) for label, text in LABELLED),
        Analysis(PARAMETERS, ["the"]),
        keep_all=True,
    )
    assert found is not None
    assert found.table == whole.table
    assert found.documents.hashes.tolist() == whole.documents.hashes.tolist()


@SIZES
def test_unreadable_documents_are_named_as_in_the_whole_file(size: int, tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(lines(*["{"] * (MAX_NAMED_PROBLEMS_PER_SHARD + 3)))
    source, of_corpus = split_file(path, size)
    _, outcomes = join_partial_counts(
        count_split_corpus(CountingContext(source, Analysis(PARAMETERS, [])), of_corpus, 2)
    )
    named = [name for outcome in outcomes for name, _ in outcome.problems]
    assert (
        sum(len(outcome.problems) + outcome.notices.n_unnamed for outcome in outcomes)
        == MAX_NAMED_PROBLEMS_PER_SHARD + 3
    )
    assert named == [f"{path}:{number}" for number in range(4, 4 + len(named))]
    assert len(named) >= MAX_NAMED_PROBLEMS_PER_SHARD
    found, outcomes = join_partial_counts(
        count_split_corpus(
            CountingContext(replace(source, on_error="fail"), Analysis(PARAMETERS, [])),
            of_corpus,
            2,
        )
    )
    failures = [outcome.failure for outcome in outcomes if outcome.failure is not None]
    assert (found, str(failures[0])[: len(f"{path}:4: ")]) == (None, f"{path}:4: ")


def test_empty_corpus_has_no_counts(tmp_path: Path) -> None:
    write("t.jsonl", "\n")
    source, of_corpus = split_file(tmp_path / "t.jsonl", 1)
    pieces = count_split_corpus(CountingContext(source, Analysis(PARAMETERS)), of_corpus, 2)
    assert join_partial_counts(pieces)[0] is None


@pytest.fixture
def model() -> TextClassifier:
    return TextClassifier().fit(*split_labelled(LABELLED))


@SIZES
def test_sharded_scores_are_in_document_order(
    size: int, model: TextClassifier, tmp_path: Path
) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(lines("{"))
    source, of_corpus = split_file(path, size, on_error="record")
    heard: list[tuple[int, int]] = []
    blocks = list(
        score_shards(
            ScoringContext(model.fitted, source),
            of_corpus,
            1,
            lambda _: None,
            lambda seen, read: heard.append((seen, read)),
        )
    )
    read = [document for block in blocks for document in block.documents]
    wanted = list(read_corpus([str(path)], source.reading, Notices(), labelled=True))
    assert [(document.id, document.text, document.problem is None) for document in read] == [
        (document.id, document.text, document.problem is None) for document in wanted
    ]
    scores = np.concatenate([block.scores for block in blocks])
    np.testing.assert_allclose(
        scores, model.joint_log_likelihood([document.text for document in wanted]), rtol=1e-12
    )
    assert heard[-1] == (len(wanted), path.stat().st_size)


def test_unreadable_documents_are_skipped_or_end_the_scores(
    model: TextClassifier, tmp_path: Path
) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(lines("{"))
    source, of_corpus = split_file(path, 150)
    outcomes: list[ShardReport] = []

    def scored(on_error: str) -> Iterator[ScoredBlock]:
        return score_shards(
            ScoringContext(model.fitted, replace(source, on_error=on_error)),
            of_corpus,
            1,
            outcomes.append,
        )

    assert sum(len(block.documents) for block in scored("skip")) == len(LABELLED)
    assert [name for outcome in outcomes for name, _ in outcome.problems] == [f"{path}:4"]
    before: list[ScoredBlock] = []
    with pytest.raises(DocumentError, match=r"t\.jsonl:4: "):
        before.extend(scored("fail"))
    assert sum(len(block.documents) for block in before) == 3
    path.unlink()
    with pytest.raises(PathError):
        list(scored("record"))


@given(st.lists(st.integers(0, 5), max_size=20))
def test_sum_pairwise_equals_the_sum(numbers: list[int]) -> None:
    assert sum_pairwise(numbers, add) == (sum(numbers) if numbers else None)
    assert sum_pairwise(map(str, numbers), add) == ("".join(map(str, numbers)) if numbers else None)


def test_batches_contain_every_shard_once(tmp_path: Path) -> None:
    write("t.jsonl", lines())
    source, of_corpus = split_file(tmp_path / "t.jsonl", 1)
    cut_up = list(split_into_batches(enumerate(of_corpus), 2))
    assert [shard for run in cut_up for shard in run] == list(enumerate(of_corpus))
    assert len(cut_up) == 2 * BATCHES_PER_THREAD
    found, outcomes = join_partial_counts(
        count_shards(CountingContext(source, Analysis(PARAMETERS, ["the"])), TaskBatch(run))
        for run in cut_up
    )
    assert found is not None
    assert (
        found.table
        == count(
            ((label, text.encode()) for label, text in LABELLED), Analysis(PARAMETERS, ["the"])
        ).table
    )
    assert [outcome.shard_index for outcome in outcomes] == list(range(len(of_corpus)))
