"""Everything that the commands of ``tests/golden/commands.txt`` print and write is, byte for byte, what it was.

All of it runs in `make test-exhaustive`, and by ``python -m pytest -n3 --hypothesis-profile exhaustive tests/test_golden.py``. What is changed
on purpose is noted by ``python -m tests.golden --write``; the diff of ``expected.json`` then shows what changed.
"""

from __future__ import annotations

import json

import pytest

from tests.golden.replay import EXPECTED, play_session, public_api, scores, sessions, surroundings
from tests.profiles import some

GOLDEN = json.loads(EXPECTED.read_text(encoding="utf-8"))
HERE = surroundings()
OTHER = {
    name: f"{here}, not {GOLDEN['surroundings'].get(name)}"
    for name, here in HERE.items()
    if GOLDEN["surroundings"].get(name) != here
}

pytestmark = pytest.mark.skipif(bool(OTHER), reason=f"last digits may differ: {OTHER}")


@pytest.mark.repeated
@pytest.mark.parametrize("name", some(sorted(sessions()), 4))
def test_commands_print_and_write_the_golden_output(name: str) -> None:
    expected = GOLDEN["sessions"].get(name, [])
    found = play_session(sessions()[name])
    for one, other in zip(found, expected, strict=False):
        assert one == other
    assert len(found) == len(expected)


def test_every_session_has_a_golden_output() -> None:
    assert set(GOLDEN["sessions"]) == set(sessions())


@pytest.mark.repeated
def test_public_api_equals_the_golden_one() -> None:
    assert public_api() == GOLDEN["api"]


@pytest.mark.exhaustive
def test_scores_equal_the_golden_ones_to_the_last_digit() -> None:
    for name, found in scores().items():
        assert found == GOLDEN["scores"][name], name
