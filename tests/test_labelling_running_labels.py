"""The model of several labels after each answer: against its formula, and exact whatever the order; what a session makes of it."""

from __future__ import annotations

from math import log

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nbtext.label_sets import label_set
from nbtext.labelling.asking import MOST_TOKENS, uncertain
from nbtext.labelling.running_model import PSEUDO_COUNT, RunningLabels
from nbtext.labelling.session import Plan, Session
from tests.budget import examples
from tests.labelling import labelled_texts, pool_of
from tests.test_labelling_running_model import COUNTS, POOL

N = 3
SETS = {3: [0], 8: [0, 1], 0: [2], 5: [], 21: [1, 2], 22: [2], 9: [0, 1, 2]}


def mask(sets: list[list[int]]) -> np.ndarray:
    return np.array([[label in numbers for label in range(N)] for numbers in sets], np.bool_).reshape(-1, N)


def model_of(sets: dict[int, list[int]]) -> RunningLabels:
    model = RunningLabels(POOL)
    for _ in range(N):
        model.add_class()
    for row, numbers in sets.items():
        model.add(POOL.reach(row), mask([numbers]))
    return model


def formula(sets: dict[int, list[int]], label: int, row: int) -> float:
    """Log odds of a label over the rest, as the docstrings have them."""
    found = 0.0
    for sign, is_member in ((1, True), (-1, False)):
        members = [each for each, numbers in sets.items() if (label in numbers) == is_member]
        counts = COUNTS[members].sum(axis=0)
        total = counts.sum() + PSEUDO_COUNT * POOL.n_terms
        terms = sum(x * log((m + PSEUDO_COUNT) / total) for x, m in zip(COUNTS[row], counts, strict=True) if x)
        found += sign * (log(len(members) + 1) + terms)
    return found


def test_scores_are_log_odds_of_a_label_over_the_documents_without_it() -> None:
    scores = model_of(SETS).scores()
    for row in range(len(POOL)):
        np.testing.assert_allclose(scores[:, row], [formula(SETS, label, row) for label in range(N)], atol=0.02)


def test_a_document_left_out_is_scored_by_the_model_without_it() -> None:
    rows = np.array(list(SETS))
    found = model_of(SETS).left_out(rows, mask(list(SETS.values())))
    for place, row in enumerate(rows.tolist()):
        without = {each: numbers for each, numbers in SETS.items() if each != row}
        np.testing.assert_allclose(found[:, place], model_of(without).scores(rows[[place]])[:, 0], atol=1e-9)


def test_a_new_label_begins_with_all_documents_on_the_other_side() -> None:
    late = RunningLabels(POOL)
    for row in (3, 8):
        late.add(POOL.reach(row), np.zeros((1, 0), np.bool_))
    for _ in range(N):
        late.add_class()
    assert np.array_equal(late.scores(), model_of({3: [], 8: []}).scores())
    late.add(POOL.reach(0), mask([[2]]))
    assert np.array_equal(late.scores(), model_of({3: [], 8: [], 0: [2]}).scores())


@examples(30)
@given(st.dictionaries(st.integers(0, 27), st.lists(st.integers(0, 2), unique=True), max_size=10), st.randoms(use_true_random=False))
def test_the_sums_follow_from_the_sets_whatever_came_and_went(sets: dict[int, list[int]], random: object) -> None:
    shuffled = list(sets.items())
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    other = model_of(dict([(29, [1, 0]), *shuffled, (28, [])]))
    for row, numbers in ((29, [0, 1]), (28, [])):
        other.add(POOL.reach(row), mask([numbers]), -1)
    at_once = model_of({})
    at_once.load(np.array(list(sets), np.int64), mask(list(sets.values())))
    assert np.array_equal(model_of(sets).scores(), other.scores())
    assert np.array_equal(model_of(sets).scores(), at_once.scores())


def test_term_scores_sum_to_the_scores_but_for_the_prior() -> None:
    model = model_of(SETS)
    members = mask(list(SETS.values())).sum(axis=0)
    prior = np.log(members + 1) - np.log(len(SETS) - members + 1)
    np.testing.assert_allclose(model.term_scores(POOL.reach(4)).sum(axis=1) + prior, model.scores(np.array([4]))[:, 0], atol=1e-9)


TEXTS = labelled_texts(60)
WORDS = {"cats": "cat purrs milk whiskers mouse", "dogs": "dog barks bone walks"}
TRUTH = [[label for label, words in WORDS.items() if set(words.split()) & set(text.split())] for _, text in TEXTS]
LARGE = pool_of(TEXTS)


def labelled(n: int, plan: Plan) -> Session:
    session = Session(LARGE, plan)
    for _ in range(n):
        row = session.next_document()
        assert row is not None
        session.answer(row, label_set(TRUTH[row]))
    return session


SEVERAL = Plan(separator="|")


def test_uncertainty_is_the_sum_of_the_variances_of_the_labels() -> None:
    session = labelled(12, SEVERAL)
    odds = session.model.scores() * np.minimum(1, MOST_TOKENS / LARGE.lengths)
    p = 1 / (1 + np.exp(-odds))
    found = uncertain(LARGE, session.model)
    np.testing.assert_allclose(found, (p * (1 - p)).sum(axis=0), atol=1e-12)
    session = labelled(12, Plan("uncertain", 0.0, separator="|"))
    left = [row for row in range(60) if row not in session.labels]
    assert session.next_document() == max(left, key=uncertain(LARGE, session.model).__getitem__)


def test_taking_answers_back_leads_to_the_same_documents_again() -> None:
    session = labelled(25, SEVERAL)
    rows, estimate, probabilities = list(session.labels), session.estimate(), session.probabilities(59)
    following = session.next_document()
    assert following is not None
    session.answer(following, label_set(["cats", "new", "other"]))
    assert session.classes[-2:] == ["new", "other"]
    assert session.probabilities(59)[:2] != probabilities
    assert session.undo() == following
    assert (session.estimate(), session.probabilities(59)) == (estimate, probabilities)
    while session.labels:
        session.undo()
    assert session.classes == []
    assert list(labelled(25, SEVERAL).labels) == rows


def test_a_session_goes_on_from_sets() -> None:
    session, other = labelled(25, SEVERAL), Session(LARGE, SEVERAL)
    other.load(session.labels.items())
    assert other.classes == session.classes
    assert other.probabilities(59) == session.probabilities(59)
    assert other.next_document() == session.next_document()


def test_the_estimate_counts_whole_sets_that_are_right() -> None:
    session = labelled(50, Plan("random", separator="|"))
    rows = session.sample()
    truth = session.truth(rows)
    p = np.exp(session.log_posterior(session.model.left_out(rows, truth), rows))
    right = sum(
        set(np.flatnonzero(given)) == set(np.flatnonzero(wanted))
        for given, wanted in zip(session.model.answers(np.log(p)), truth, strict=True)
    )
    assert (session.estimate().documents, session.estimate().right) == (50, right)
    assert session.estimate().accuracy > 0.6


def test_the_proposal_is_the_set_of_the_greatest_expected_f1() -> None:
    session = labelled(40, SEVERAL)
    assert Session(LARGE, SEVERAL).proposed(0) == []
    hits = 0
    for row in set(range(60)) - session.labels.keys():
        found, p = session.proposed(row), dict(session.probabilities(row))
        assert found == sorted(found, key=lambda pair: -pair[1])
        assert all(p[label] == probability for label, probability in found)
        hits += sorted(label for label, _ in found) == TRUTH[row]
    assert hits >= 14
