from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from nbtext import TextClassifier
from nbtext.counts.corpus_counts import NotInModelError
from nbtext.errors import UsageError
from nbtext.model.locked_model import load_with_ledger, lock_model
from nbtext.model.operations import (
    DocumentBatch,
    add_batch,
    prune_terms,
    remove_batch,
    remove_duplicates,
    remove_from_ledger,
)
from nbtext.store.ledger import FINGERPRINT_DTYPE, Ledger, compute_fingerprint
from tests.model_changes import Corpus, corpora, fitted, saved
from tests.models import count
from tests.profiles import examples

if TYPE_CHECKING:
    from pathlib import Path

FEW = examples(7, suppress_health_check=[HealthCheck.function_scoped_fixture])


def batch_of(corpus: Corpus, model: TextClassifier) -> DocumentBatch:
    labelled = [(label, text.encode()) for label, text in corpus]
    fingerprints = b"".join(compute_fingerprint(text) for _, text in labelled)
    return DocumentBatch(
        count(labelled, model.analysis, keep_all=True),
        np.frombuffer(fingerprints, FINGERPRINT_DTYPE),
    )


def train_once(model: TextClassifier, batch: DocumentBatch) -> Ledger:
    counts, ledger = remove_duplicates(batch)
    model.learn(counts)
    return ledger


def known_labels(ledger: Ledger, corpus: Corpus) -> dict[str, str]:
    """The texts of a corpus that a ledger knows, with their labels there; it knows no others."""
    texts = sorted({text for _, text in corpus})
    numbers = ledger.find(
        np.frombuffer(
            b"".join(compute_fingerprint(text.encode()) for text in texts), FINGERPRINT_DTYPE
        )
    ).tolist()
    assert len(ledger) == sum(number >= 0 for number in numbers)
    return {
        text: ledger.labels[number]
        for text, number in zip(texts, numbers, strict=True)
        if number >= 0
    }


def as_corpus(last: dict[str, str]) -> Corpus:
    return [(label, text) for text, label in last.items()]


@FEW
@given(
    corpus=corpora,
    cuts=st.lists(st.integers(1, 13), max_size=3),
    setting=st.sampled_from(
        [
            {},
            {"keep_documents": 3},
            {"classifier": "average", "members": "multinomial+bernoulli", "keep_documents": 5},
            {"keep_documents": 0},
        ]
    ),
)
def test_training_once_in_parts_equals_training_with_the_last_labels(
    corpus: Corpus, cuts: list[int], setting: dict[str, Any], tmp_path: Path
) -> None:
    expected = {text: label for label, text in corpus}
    bounds = [0, *sorted({cut for cut in cuts if cut < len(corpus)}), len(corpus)]
    model = TextClassifier(**setting)
    ledger = train_once(model, batch_of(corpus[: bounds[1]], model))
    for begin, end in pairwise(bounds[1:]):
        before = known_labels(ledger, corpus)
        learnt = add_batch(model.counts, ledger, batch_of(corpus[begin:end], model))
        last = {text: label for label, text in corpus[begin:end]}
        assert learnt.n_new == sum(text not in before for text in last)
        assert learnt.n_known == sum(before.get(text) == label for text, label in last.items())
        assert learnt.n_moved == len(last) - learnt.n_new - learnt.n_known
        assert learnt.n_repeated == end - begin - len(last)
        model, ledger = model.learn(learnt.counts), learnt.ledger
    assert known_labels(ledger, corpus) == expected
    assert saved(model, tmp_path) == saved(fitted(setting, as_corpus(expected)), tmp_path)
    again = add_batch(model.counts, ledger, batch_of(as_corpus(expected), model))
    assert (again.n_new, again.n_moved, again.n_known) == (0, 0, len(expected))


@given(corpora)
def test_texts_under_several_labels_are_counted_and_the_first_is_shown(corpus: Corpus) -> None:
    labels: dict[str, set[str]] = {}
    for label, text in corpus:
        labels.setdefault(text, set()).add(label)
    several = [text for text, of_text in labels.items() if len(of_text) > 1]
    names = [f"{number} {text}" for number, (_, text) in enumerate(corpus)]
    found = list(batch_of(corpus, TextClassifier())._replace(names=names).check_contradictions())
    assert len(found) == bool(several)
    for said in (each.detail for each in found):
        assert said.startswith(
            f"{len(several)} text{'s' * (len(several) > 1)} under several labels"
        )
        last = {text: (name, label) for name, (label, text) in zip(names, corpus, strict=True)}
        first = next(
            (name, text, label)
            for name, (label, text) in zip(names, corpus, strict=True)
            if label != last[text][1]
        )
        assert said.endswith(
            f": first {first[0]} ({first[2]}) and {last[first[1]][0]} ({last[first[1]][1]})"
        )


@FEW
@given(corpus=corpora, gone=corpora)
def test_forget_once_removes_documents_of_the_ledger(
    corpus: Corpus, gone: Corpus, tmp_path: Path
) -> None:
    model = TextClassifier()
    ledger = train_once(model, batch_of(corpus, model))
    before, last = known_labels(ledger, corpus), {text: label for label, text in gone}
    rest = {text: label for text, label in before.items() if text not in last}
    otherwise = [text for text, label in last.items() if before.get(text, label) != label]
    batch = batch_of(gone, model)
    if otherwise:
        with pytest.raises(NotInModelError, match="nothing is removed") as raised:
            remove_batch(model.counts, ledger, batch)
        label, text = gone[raised.value.index]
        assert text in otherwise
        assert (raised.value.label, raised.value.hint) == (
            label,
            f"it was added as {before[text]!r}; nothing is removed",
        )
    elif not rest:
        with pytest.raises(UsageError, match="nothing would remain"):
            remove_batch(model.counts, ledger, batch)
    else:
        result = remove_batch(model.counts, ledger, batch)
        assert (result.n_removed, result.n_unknown) == (
            len(before) - len(rest),
            len(last) - (len(before) - len(rest)),
        )
        assert result.ledger is not None
        assert known_labels(result.ledger, corpus) == rest
        assert saved(model.learn(result.counts), tmp_path) == saved(
            fitted({}, as_corpus(rest)), tmp_path
        )


@given(corpora, corpora)
def test_forget_without_once_removes_from_the_ledger(corpus: Corpus, gone: Corpus) -> None:
    model = TextClassifier()
    ledger = train_once(model, batch_of(corpus, model))
    assert known_labels(remove_from_ledger(ledger, batch_of(gone, model)), corpus) == {
        text: label
        for text, label in known_labels(ledger, corpus).items()
        if (label, text) not in gone
    }


def test_document_moves_to_another_class_in_a_pruned_model() -> None:
    model = TextClassifier()
    ledger = train_once(model, batch_of([("x", "ant bee"), ("y", "ant cat"), ("y", "ant")], model))
    small = prune_terms(model, 2, 1.0)
    learnt = add_batch(small.counts, ledger, batch_of([("y", "ant bee"), ("y", "dog")], model))
    assert (learnt.n_new, learnt.n_moved) == (1, 1)
    statistics = learnt.counts.table
    assert (
        statistics.classes,
        statistics.class_documents.tolist(),
        statistics.cell_counts.tolist(),
    ) == (("y",), [4], [3])


@pytest.mark.parametrize("replaced", ["before it is read", "after it was read"])
def test_model_and_ledger_are_read_consistently(
    replaced: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, corpora_ = (
        "model",
        [
            [("x", "ant bee")],
            [("x", "ant"), ("y", "cat")],
            [("y", "dog"), ("x", "eel"), ("y", "ant")],
        ],
    )

    def write(corpus: Corpus) -> None:
        model = TextClassifier()
        ledger = train_once(model, batch_of(corpus, model))
        with lock_model(path, lock_timeout=0) as file:
            file.replace(model, ledger)

    write(corpora_[0])
    load, others = TextClassifier.load, corpora_[1:]

    def load_while_another_process_writes(path: str) -> TextClassifier:
        model = load(path) if replaced == "after it was read" else None
        while others:  # twice, so that the ledger does not know the first any more
            write(others.pop(0))
        return model or load(path)

    monkeypatch.setattr(TextClassifier, "load", load_while_another_process_writes)
    model, ledger = load_with_ledger(path)
    assert model.fitted.statistics.n_documents == 3
    assert ledger is not None
    assert known_labels(ledger, corpora_[2]) == {"dog": "y", "eel": "x", "ant": "y"}
