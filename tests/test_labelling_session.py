"""Sessions: the next document, the estimate, taking back, going on. Also tests `labelling/query_strategies.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from nbtext.cli.label import STRATEGIES
from nbtext.counts.statistics import SeedTerm
from nbtext.errors import UsageError
from nbtext.labelling.answer_file import AnswerFile, LabelAnswer
from nbtext.labelling.query_strategies import MAX_EVIDENCE_TOKENS, measure_pool_uncertainty
from nbtext.labelling.session import QueryPlan, Session, open_session
from tests.labelling_pools import ANALYSIS, documents, labelled_texts, pool_of

if TYPE_CHECKING:
    from pathlib import Path

TEXTS = labelled_texts(60)
POOL = pool_of(TEXTS)


def label(session: Session, n: int) -> list[int]:
    """Label n documents truly; return them."""
    rows = []
    for _ in range(n):
        row = session.choose_document()
        assert row is not None
        session.answer(row, TEXTS[row][0])
        rows.append(row)
    return rows


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_same_answers_give_the_same_documents(strategy: str) -> None:
    first, second = (label(Session(POOL, QueryPlan(strategy)), 60) for _ in range(2))
    assert first == second
    assert sorted(first) == list(range(60))
    assert (
        Session(POOL, QueryPlan(strategy, seed=1)).choose_document()
        != Session(POOL, QueryPlan(strategy)).choose_document()
    )


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_undone_answers_lead_to_the_same_documents_again(strategy: str) -> None:
    session = Session(POOL, QueryPlan(strategy))
    rows = label(session, 12)
    estimate, probabilities = session.estimate_accuracy(), session.predict_probabilities(59)
    label(session, 10)
    for _ in range(10):
        session.undo()
    assert (session.estimate_accuracy(), session.predict_probabilities(59)) == (
        estimate,
        probabilities,
    )
    while session.labels:
        session.undo()
    assert session.classes == []
    assert session.undo() is None
    assert label(session, 12) == rows


def test_uncertainty_is_one_minus_the_margin_limited_to_ten_tokens() -> None:
    pool = pool_of(
        [*TEXTS, ("cats", "cat dog " + " ".join(f"word{number}" for number in range(40)))]
    )
    session = Session(pool)
    label(session, 12)
    scores = session.model.compute_scores() * np.minimum(
        1, MAX_EVIDENCE_TOKENS / pool.log_count_sums
    )
    assert (
        pool.log_count_sums[-1]
        > 2 * MAX_EVIDENCE_TOKENS
        > MAX_EVIDENCE_TOKENS
        > pool.log_count_sums[0]
    )
    posterior = np.sort(np.exp(scores) / np.exp(scores).sum(axis=0), axis=0)
    np.testing.assert_allclose(
        measure_pool_uncertainty(pool, session.model),
        1 - (posterior[-1] - posterior[-2]),
        atol=1e-9,
    )


def test_random_sample_is_a_prefix_of_a_random_order() -> None:
    order = label(Session(POOL, QueryPlan("random")), 60)
    session = Session(POOL, QueryPlan("mixed", 0.2))
    for n in range(1, 60):
        label(session, 1)
        sample = session.get_random_sample().tolist()
        assert sample == order[: len(sample)]
        assert all(row in session.labels for row in sample)
        assert len(sample) == 60 or order[len(sample)] not in session.labels
        assert len(sample) >= int(n * 0.2)


def test_accuracy_estimate_uses_models_without_the_document() -> None:
    session = Session(POOL, QueryPlan("mixed", 0.5))
    label(session, 30)
    right = 0
    for row in session.get_random_sample().tolist():
        other = Session(POOL)
        other.load_answers(
            (each, of_each) for each, of_each in session.labels.items() if each != row
        )
        right += (
            other.classes[int(other.model.compute_scores(np.array([row]))[:, 0].argmax())]
            == TEXTS[row][0]
        )
    estimate = session.estimate_accuracy()
    assert (estimate.n_documents, estimate.n_correct) == (len(session.get_random_sample()), right)
    assert estimate.interval[0] < estimate.accuracy < estimate.interval[1]


def test_highlighted_pieces_join_to_the_text_and_sum_to_the_score() -> None:
    session = Session(POOL, QueryPlan("mixed", 0.5))
    label(session, 40)
    for row in range(20):
        pieces = list(session.highlight_text(row, "cats", "dogs"))
        assert "".join(text for text, _ in pieces) == POOL.get_text(row)
        scores = session.model.score_terms(POOL.find_neighbours(row)).sum(axis=1)
        difference = scores[session.classes.index("cats")] - scores[session.classes.index("dogs")]
        assert sum(nats for _, nats in pieces) == pytest.approx(difference, abs=1e-9)


def test_without_a_random_proportion_the_sample_is_small() -> None:
    session = Session(POOL, QueryPlan("uncertain", 0.0))
    label(session, 20)
    assert len(session.get_random_sample()) < 8


def test_skipped_document_is_not_asked_again_and_not_sampled() -> None:
    session = Session(POOL, QueryPlan("random"))
    first = session.choose_document()
    assert first is not None
    session.skip(first)
    rows = label(session, 59)
    assert first not in rows
    assert session.choose_document() is None
    assert session.get_random_sample().tolist() == rows


def test_undo_reverses_skips_and_labels_in_turn() -> None:
    session = Session(POOL)
    label(session, 1)
    skipped = [session.choose_document(), None]
    assert skipped[0] is not None
    session.skip(skipped[0])
    skipped[1] = session.choose_document()
    assert skipped[1] is not None
    session.skip(skipped[1])
    [labelled] = label(session, 1)
    first = next(iter(session.labels))
    assert [session.undo() for _ in range(5)] == [labelled, skipped[1], skipped[0], first, None]
    assert session.n_waiting == len(POOL)


def test_suggestions_are_distinct_and_change_no_label() -> None:
    session = Session(POOL)
    label(session, 10)
    rows = [POOL.rows_by_id[each.id] for each in session.suggest(20)]
    assert len(set(rows)) == 20
    assert not set(rows) & set(session.labels)
    assert len(list(Session(POOL).suggest(100))) == 60


def test_session_resumes_from_its_file(tmp_path: Path) -> None:
    path = "labels.jsonl"
    rows: list[int] = []
    for n in (0, 5, 11, 20):
        with AnswerFile(path, LabelAnswer.from_line) as file:
            session = open_session(documents(TEXTS), ANALYSIS, QueryPlan(), file.answers, file)  # type: ignore[arg-type]
            assert list(session.labels) == rows
            rows += label(session, n)
    assert rows == label(Session(POOL), 36)


def test_labels_of_another_pool_are_used_but_not_asked(tmp_path: Path) -> None:
    answers = [
        LabelAnswer("elsewhere", "cats", "cat cat purrs"),
        LabelAnswer("d3", "dogs", "another text than that of the pool"),
        LabelAnswer("d4", "dogs", TEXTS[4][1]),
    ]
    session = open_session(documents(TEXTS), ANALYSIS, QueryPlan(), answers, None)
    assert len(session.pool) == 62
    assert list(session.labels) == [60, 61, 4]
    assert session.classes == ["cats", "dogs"]
    asked = {session.choose_document()}
    asked.update(session.pool.rows_by_id[each.id] for each in session.suggest(100))
    assert asked == set(range(60)) - {4}


def test_search_finds_words_in_unlabelled_documents() -> None:
    session = Session(POOL)
    found = session.search("ENGINE")
    assert found == [row for row, (_, text) in enumerate(TEXTS) if "engine" in text]
    session.answer(found[0], "cars")
    assert session.search("engine") == found[1:]


@pytest.mark.parametrize("wrong", ["", " cats", "a\tb", "a\nb", "\x1b"])
def test_invalid_labels_are_refused(wrong: str) -> None:
    session = Session(POOL)
    with pytest.raises(UsageError, match="cannot be a label"):
        session.answer(0, wrong)
    assert not session.labels


def test_labelled_document_cannot_be_labelled_again() -> None:
    session = Session(POOL)
    session.answer(0, "cats")
    with pytest.raises(UsageError, match="has the label 'cats' already"):
        session.answer(0, "dogs")


def test_probabilities_sum_to_one_once_there_are_labels() -> None:
    session = Session(POOL)
    assert session.predict_probabilities(0) == []
    label(session, 40)
    for row in range(len(POOL)):
        assert sum(
            probability for _, probability in session.predict_probabilities(row)
        ) == pytest.approx(1)


def test_seed_words_suggest_classes_and_survive_undo() -> None:
    seeds = [
        SeedTerm("cats", ("purrs",), 10.0),
        SeedTerm("dogs", ("barks",), 10.0),
        SeedTerm("dogs", ("unheard",), 10.0),
    ]
    session = Session(POOL, seeds=seeds)
    assert session.classes == ["cats", "dogs"]
    for row, (_, text) in enumerate(TEXTS):
        if ("purrs" in text) != ("barks" in text):
            found = dict(session.predict_probabilities(row))
            assert max(found, key=found.__getitem__) == ("cats" if "purrs" in text else "dogs")
    before = session.predict_probabilities(5)
    session.answer(1, "cats")
    session.answer(2, "cars")
    session.undo()
    session.undo()
    assert session.classes == ["cats", "dogs"]
    assert session.predict_probabilities(5) == before
