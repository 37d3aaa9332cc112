"""Test documents that the model was trained on, found beside the training corpus or beside the model's sample of it."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtext import TextClassifier
from nbtext.corpus.document import Document
from nbtext.counts.counting import content_hashes
from nbtext.counts.documents import LARGEST_HASH
from nbtext.decision import DecisionRule
from nbtext.document_parts import Fields, with_fields
from nbtext.errors import UsageError
from nbtext.evaluation.judging import judge, judge_scored
from nbtext.evaluation.leakage import EXAMPLES, LeakWatch, _LeakCheck, _SampledLeakCheck, sampled_leaks
from nbtext.fitted.scoring import scored
from nbtext.metrics.evaluation import Evaluation
from nbtext.metrics.results import json_values
from tests.models import of_pets

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

LONG = "Nobody in the whole house had ever heard the cat purr as loudly as on that cold Sunday morning"


def model() -> TextClassifier:
    return of_pets()


def named(side: str, texts: Sequence[str], label: str = "cats") -> list[Document]:
    return [Document(f"{side}{number}", label, text.encode()) for number, text in enumerate(texts)]


def leaks(training: Iterable[Document], test: Sequence[Document]) -> list[tuple[str, str, float, bool]]:
    check = _LeakCheck(model(), iter(training))
    for part in (test[: len(test) // 2], test[len(test) // 2 :]):
        check.look(part)
    return [(each.id, each.training_id, each.similarity, each.exact) for each in check.examples(check.duplicates())]


def test_words_are_compared_as_they_stand() -> None:
    training = ["My card has not arrived yet", LONG, "A cat!"]
    test = ["my card hasn't arrived", LONG.upper(), LONG + "s", "a cat", "A dog", LONG.replace("cat", "dog") + " evening"]
    assert leaks(named("a", training), named("b", test)) == [
        ("b1", "a1", 1.0, True),
        ("b2", "a1", 16 / 18, False),
        ("b3", "a2", 1.0, True),
        ("b5", "a1", 16 / 19, False),
    ]


def test_figures_without_them_are_those_of_a_test_without_them() -> None:
    training = [f"{LONG} number{n}" for n in range(30)]
    wrong = named("w", ["dogs bark and fetch", "the cat purrs"] * 3, label="dogs")
    leaked = named("l", training)
    mixed = [*wrong[:3], *leaked[:20], *wrong[3:], *leaked[20:]]
    watch = LeakWatch(model(), named("a", training))
    evaluation = judge_scored(watch.watched(scored(model().fitted, mixed)), model(), DecisionRule())
    figures = json_values(watch.result(evaluation))
    alone = judge(model(), wrong).summary()
    assert (figures["exact"], figures["near"]) == (30, 0)
    assert [example["id"] for example in figures["examples"]] == [document.id for document in leaked[:EXAMPLES]]
    assert figures["examples"][0] == {"id": "l0", "training_id": "a0", "similarity": 1.0, "exact": True}
    assert figures["without"]["interval"] == alone["intervals"]["accuracy"]
    for name in ("n", "accuracy", "log_loss", "brier", "ece"):
        assert figures["without"][name] == pytest.approx(alone[name])


def test_nothing_is_left_without_them() -> None:
    check = _LeakCheck(model(), named("a", [LONG]))
    check.look(named("b", [LONG]))
    assert check.result(judge(model(), named("b", [LONG]))).without is None


def test_there_must_be_training_documents() -> None:
    with pytest.raises(UsageError, match="the training corpus has no documents that can be read"):
        _LeakCheck(model(), [])


def test_planted_leaks_among_many() -> None:
    source = random.Random(5)
    words = [f"word{number}" for number in range(3000)]
    training, test = ([" ".join(source.choices(words, k=80)) for _ in range(300)] for _ in range(2))
    exact, near = range(0, 300, 7), range(1, 300, 7)
    for row in exact:
        test[row] = training[row]
    for row in near:
        test[row] = f"On Monday somebody wrote: {training[row]}"
    found = leaks(named("a", training), named("b", test))
    assert [(test_id, training_id, is_exact) for test_id, training_id, _, is_exact in found] == [
        (f"b{row}", f"a{row}", row in exact) for row in sorted({*exact, *near})
    ]


HASHES = st.lists(st.integers(0, LARGEST_HASH - 1), max_size=30)


@given(HASHES, HASHES, st.integers(0, 30))
def test_a_sample_tells_of_hashes_below_its_bound(corpus: list[int], others: list[int], size: int) -> None:
    kept = sorted(corpus)[:size]
    bound = sorted(corpus)[size] if size < len(corpus) else LARGEST_HASH
    test = others + corpus[::2]
    told = [value for value in test if value < bound or size >= len(corpus)]
    wanted = (len(told), sum(value in corpus for value in told))
    assert sampled_leaks(np.array(test, np.uint64), np.array(kept, np.uint64), bound) == wanted


@pytest.mark.parametrize("size", [0, 1, 50, 200, 400])
def test_a_models_sample_tells_of_its_share(size: int) -> None:
    training = [f"text number {number}" for number in range(400)]
    trained = TextClassifier(sample=size).fit(training, ["a", "b"] * 200)
    sample = trained.counts.sample
    test = training[:200] + [f"other {number}" for number in range(200)]
    watch, documents = LeakWatch(trained), named("t", test)
    assert [document for block in watch.watched(scored(trained.fitted, documents)) for document in block.documents] == documents
    hashes = content_hashes([text.encode() for text in test])
    told = hashes < sample.bound if size < 400 else np.ones(400, np.bool_)
    assert json_values(watch.result(Evaluation(trained.classes))) == {"checked": int(told.sum()), "found": int(told[:200].sum())}
    assert abs(int(told.sum()) - size) <= 3 * np.sqrt(size + 1)


def test_what_was_forgotten_is_no_leak() -> None:
    training = [f"text number {number}" for number in range(40)]
    sample = TextClassifier().fit(training, ["a"] * 40).counts.sample
    some = TextClassifier().fit(training[:10], ["a"] * 10).counts.sample
    check = _SampledLeakCheck(sample - some)
    check.look(named("t", training))
    assert json_values(check.result(Evaluation(["a"]))) == {"checked": 40, "found": 30}


def test_a_text_that_came_by_another_way_is_a_leak() -> None:
    def mail(text: str, sender: str) -> Document:
        return Document(sender, "x", with_fields(text.encode(), Fields([(b"from", sender.encode())], f"from:{sender}".encode())))

    test = [mail(LONG, "cid"), mail("", "bob"), mail("", "dan"), mail("a bob", "eve")]
    assert [pair[:2] for pair in leaks([mail(LONG, "ann"), mail(" ", "bob")], test)] == [("cid", "ann"), ("bob", "bob")]
