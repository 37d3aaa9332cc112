"""The model of several labels where one comes later, and what a session makes of it; what holds of both models is in the file beside."""

from __future__ import annotations

import numpy as np

from nbtext.labelling.query_strategies import MAX_EVIDENCE_TOKENS, measure_pool_uncertainty
from nbtext.labelling.running_model import RunningMultiLabelModel
from nbtext.labelling.session import QueryPlan, Session
from nbtext.prediction.labels import make_label_set
from tests.labelling_pools import labelled_texts, pool_of
from tests.test_labelling_running_model import POOL, N, array_of, model_of


def test_new_label_starts_as_absent_in_all_answered_documents() -> None:
    late = RunningMultiLabelModel(POOL)
    for row in (3, 8):
        late.add(POOL.find_neighbours(row), np.zeros((1, 0), np.bool_))
    for _ in range(N):
        late.add_class()
    assert np.array_equal(late.compute_scores(), model_of(True, {3: [], 8: []}).compute_scores())
    late.add(POOL.find_neighbours(0), array_of(True, [[2]]))
    assert np.array_equal(
        late.compute_scores(), model_of(True, {3: [], 8: [], 0: [2]}).compute_scores()
    )


TEXTS = labelled_texts(60)
WORDS = {"cats": "cat purrs milk whiskers mouse", "dogs": "dog barks bone walks"}
TRUTH = [
    [label for label, words in WORDS.items() if set(words.split()) & set(text.split())]
    for _, text in TEXTS
]
LARGE = pool_of(TEXTS)


def labelled(n: int, plan: QueryPlan) -> Session:
    session = Session(LARGE, plan)
    for _ in range(n):
        row = session.choose_document()
        assert row is not None
        session.answer(row, make_label_set(TRUTH[row]))
    return session


SEVERAL = QueryPlan(separator="|")


def test_uncertainty_is_the_sum_of_the_label_variances() -> None:
    session = labelled(12, SEVERAL)
    odds = session.model.compute_scores() * np.minimum(
        1, MAX_EVIDENCE_TOKENS / LARGE.log_count_sums
    )
    p = 1 / (1 + np.exp(-odds))
    found = measure_pool_uncertainty(LARGE, session.model)
    np.testing.assert_allclose(found, (p * (1 - p)).sum(axis=0), atol=1e-12)
    session = labelled(12, QueryPlan("uncertain", 0.0, separator="|"))
    left = [row for row in range(60) if row not in session.labels]
    assert session.choose_document() == max(
        left, key=measure_pool_uncertainty(LARGE, session.model).__getitem__
    )


def test_undone_answers_lead_to_the_same_documents_again() -> None:
    session = labelled(25, SEVERAL)
    rows, estimate, probabilities = (
        list(session.labels),
        session.estimate_accuracy(),
        session.predict_probabilities(59),
    )
    following = session.choose_document()
    assert following is not None
    session.answer(following, make_label_set(["cats", "new", "other"]))
    assert session.classes[-2:] == ["new", "other"]
    assert session.predict_probabilities(59)[:2] != probabilities
    assert session.undo() == following
    assert (session.estimate_accuracy(), session.predict_probabilities(59)) == (
        estimate,
        probabilities,
    )
    while session.labels:
        session.undo()
    assert session.classes == []
    assert list(labelled(25, SEVERAL).labels) == rows


def test_session_resumes_from_label_sets() -> None:
    session, other = labelled(25, SEVERAL), Session(LARGE, SEVERAL)
    other.load_answers(session.labels.items())
    assert other.classes == session.classes
    assert other.predict_probabilities(59) == session.predict_probabilities(59)
    assert other.choose_document() == session.choose_document()


def test_accuracy_estimate_counts_exactly_matching_sets() -> None:
    session = labelled(50, QueryPlan("random", separator="|"))
    rows = session.get_random_sample()
    truth = session.encode_truth(rows)
    p = np.exp(session.compute_log_posterior(session.model.score_leave_one_out(rows, truth), rows))
    right = sum(
        set(np.flatnonzero(given)) == set(np.flatnonzero(wanted))
        for given, wanted in zip(session.model.predict(np.log(p)), truth, strict=True)
    )
    assert (session.estimate_accuracy().n_documents, session.estimate_accuracy().n_correct) == (
        50,
        right,
    )
    assert session.estimate_accuracy().accuracy > 0.6


def test_proposed_label_set_maximises_expected_f1() -> None:
    session = labelled(40, SEVERAL)
    assert Session(LARGE, SEVERAL).propose_labels(0) == []
    hits = 0
    for row in set(range(60)) - session.labels.keys():
        found, p = session.propose_labels(row), dict(session.predict_probabilities(row))
        assert found == sorted(found, key=lambda pair: -pair[1])
        assert all(p[label] == probability for label, probability in found)
        hits += sorted(label for label, _ in found) == TRUTH[row]
    assert hits >= 14
