"""One model, asked by several threads, and by a process forked while one of them was asking."""

from __future__ import annotations

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from nbtext import TextClassifier
from nbtext.counts import counting
from nbtext.counts.counting import DocumentCounter, LockedCounter
from nbtext.counts.matrix import Postings
from tests.process import SERVICE_DESK
from tests.profiles import rounds

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

THREADS = 8
FILES = sorted(SERVICE_DESK.glob("*/*/*"))
FILES = FILES[:: rounds(4, 1)]
TEXTS, LABELS = [file.read_bytes() for file in FILES], [file.parent.name for file in FILES]


@pytest.fixture
def switching() -> Iterator[None]:
    """Threads take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.repeated
@pytest.mark.usefixtures("switching")
@pytest.mark.parametrize(
    "setting", [{"char_ngrams": "3"}, {"ngrams": 2, "categorical": "colour"}], ids=str
)
def test_threads_that_share_a_model_get_the_same_predictions(setting: dict[str, Any]) -> None:
    texts: list[Any] = (
        [{"text": text.decode(), "colour": str(place % 3)} for place, text in enumerate(TEXTS)]
        if "categorical" in setting
        else TEXTS
    )
    model = TextClassifier(**setting, keep_documents=0).fit(texts, LABELS)
    alone = [model.predict_proba([text])[0] for text in texts]
    for _ in range(rounds(1, 2)):
        asked = TextClassifier(**setting, keep_documents=0).fit(
            texts, LABELS
        )  # it has met nothing yet
        together = threading.Barrier(THREADS)

        def ask(
            _: int, asked: TextClassifier = asked, together: threading.Barrier = together
        ) -> list[Any]:
            together.wait()
            return [asked.predict_proba([text])[0] for text in texts]

        with ThreadPoolExecutor(THREADS) as pool:
            for answers in pool.map(ask, range(THREADS)):
                np.testing.assert_array_equal(answers, alone)


class Counter(DocumentCounter):
    """Counts nothing, tells how many are in it at once, and waits while it is told to."""

    n_forms = 0

    def __init__(self) -> None:
        self.inside, self.most = 0, 0
        self.entered, self.leave = threading.Event(), threading.Event()
        self.leave.set()

    def count(self, texts: Sequence[bytes], *_: object) -> Postings:
        self.inside += 1
        self.most = max(self.most, self.inside)
        self.entered.set()
        self.leave.wait()
        self.inside -= 1
        empty = np.empty(0, np.int64)
        return Postings(empty, empty, empty, np.zeros(len(texts), np.int64))


@pytest.mark.usefixtures("switching")
def test_counter_is_used_by_one_thread_at_a_time() -> None:
    counter = Counter()
    shared = LockedCounter(lambda: counter)

    def count(_: int) -> None:
        for _ in range(2000):
            shared.count([b"purr"])

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(count, range(THREADS)))
    assert counter.most == 1


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_process_forked_during_counting_makes_a_new_counter() -> None:
    made: list[Counter] = []

    def make() -> Counter:
        made.append(Counter())
        return made[-1]

    shared = LockedCounter(make)
    made[0].leave.clear()
    thread = threading.Thread(target=shared.count, args=([b"purr"],))
    thread.start()
    made[0].entered.wait()
    child = os.fork()
    if child == 0:
        waiting = threading.Thread(target=shared.count, args=([b"bark"],), daemon=True)
        try:
            waiting.start()
            waiting.join(10)
        finally:
            os._exit(3 if waiting.is_alive() else len(made))
    made[0].leave.set()
    thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 2
    assert len(made) == 1


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_process_forked_between_counts_keeps_the_counter() -> None:
    made: list[Counter] = []

    def make() -> Counter:
        made.append(Counter())
        return made[-1]

    shared = LockedCounter(make)
    shared.count([b"purr"])
    child = os.fork()
    if child == 0:
        try:
            shared.count([b"bark"])
        finally:
            os._exit(len(made))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1


def test_a_shared_counter_begins_anew_when_it_has_met_many_forms(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(counting, "MAX_KEPT_FORMS", 3000)
    model = TextClassifier(char_ngrams="3").fit(TEXTS, LABELS)
    made: list[DocumentCounter] = []

    def make() -> DocumentCounter:
        made.append(DocumentCounter(model.analysis, model.fitted.statistics.vocabulary))
        return made[-1]

    shared = LockedCounter(make)
    for number in range(100):
        novel = b" ".join(b"%dx%d" % (number, word) for word in range(100))
        found = shared.count([TEXTS[0], novel])
        expected = make().count([TEXTS[0], novel])
        made.pop()
        np.testing.assert_array_equal(found.terms, expected.terms)
        np.testing.assert_array_equal(found.counts, expected.counts)
    assert 3 < len(made) < 30
    assert all(counter.n_forms < 2 * 3000 + 1000 for counter in made)
