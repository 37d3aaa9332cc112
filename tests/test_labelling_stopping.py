"""When to stop: the forecast goes by models of the first labels."""

from __future__ import annotations

import numpy as np
import pytest

from nbtext.evaluation.learning_curves import Forecast
from nbtext.labelling import stopping
from nbtext.labelling.session import Plan, Session
from nbtext.labelling.stopping import advice, outlook
from tests.labelling import labelled_texts, pool_of

TEXTS = labelled_texts(150)
POOL = pool_of(TEXTS)


def labelled(n: int, share: float = 0.5) -> Session:
    session = Session(POOL, Plan("mixed", share))
    for _ in range(n):
        row = session.next_document()
        assert row is not None
        session.answer(row, TEXTS[row][0])
    return session


def test_the_curve_is_that_of_models_of_the_first_labels(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, np.ndarray] = {}

    def spy(sizes: np.ndarray, figures: np.ndarray, *_: object) -> Forecast:
        seen.update(sizes=sizes, figures=figures)
        return Forecast(0)

    monkeypatch.setattr(stopping, "forecast", spy)
    session = labelled(80)
    outlook(session)
    rows = session.sample().tolist()
    order = list(session.labels)
    for column, size in enumerate(seen["sizes"].tolist()):
        right = []
        for row in rows:
            model = Session(POOL)
            for number in range(len(session.classes)):
                model.classes.append(session.classes[number])
                model.model.add_class()
            model.load((each, TEXTS[each][0]) for each in order[:size] if each != row)
            scores = model.model.scores(np.array([row]))[:, 0]
            right.append(model.classes[int(scores.argmax())] == TEXTS[row][0])
        assert seen["figures"][:, column].tolist() == [np.mean(right[number :: stopping.PARTS]) for number in range(stopping.PARTS)]
    assert seen["sizes"][-1] == 80


def test_what_is_said_depends_on_the_gain() -> None:
    assert advice(Forecast(200, 0.9, (0.88, 0.92), 0.85)) == "labels still pay: 200 labels would bring 0.90 (0.88 to 0.92), these 0.85"
    assert advice(Forecast(200, 0.856, (0.84, 0.87), 0.85)).startswith("you can stop: ")
    assert advice(outlook(labelled(10))).endswith(" of 25 documents drawn at random")
    assert advice(outlook(labelled(100))).split(":")[0] in ("labels still pay", "you can stop", "too early to say when to stop")


def test_pieces_join_to_the_text_and_their_nats_to_the_score() -> None:
    session = labelled(40)
    for row in range(20):
        pieces = list(session.pieces(row, "cats", "dogs"))
        assert "".join(text for text, _ in pieces) == POOL.text(row)
        scores = session.model.term_scores(POOL.reach(row)).sum(axis=1)
        difference = scores[session.classes.index("cats")] - scores[session.classes.index("dogs")]
        assert sum(nats for _, nats in pieces) == pytest.approx(difference, abs=1e-9)
