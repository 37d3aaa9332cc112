"""20 Newsgroups, if it is there, learnt day by day, forgotten, merged, relabelled, and learnt once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from nbtext import TextClassifier
from tests.process import in_json, nbtext, succeed
from tests.test_public_corpora import CORPORA, unpack

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [
    pytest.mark.exhaustive,
    pytest.mark.skipif(
        not CORPORA.is_dir(), reason="the public corpora are not beside the repository"
    ),
]

DAYS = 4
AS_TEXT = ("--document", "text")
"""Each article looks like mail, which a warning would say."""
SETTINGS = [[], ["--classifier", "complement", "--weighting", "binary", "--ngrams", "2"]]


@pytest.fixture(scope="module")
def newsgroups(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with every second article, dealt out in turn, as ``day0`` and so on; those of the test part are ``test``."""
    folder = tmp_path_factory.mktemp("newsgroups")
    source = unpack("20news-bydate.tar.xz", folder)
    train, test = (
        next(path for path in sorted(source.rglob(name)) if path.is_dir())
        for name in ("*-train", "*-test")
    )
    for number, path in enumerate(sorted(path for path in train.rglob("*") if path.is_file())[::2]):
        place = folder / f"day{number % DAYS}" / path.parent.name / path.name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(path)
    (folder / "test").symlink_to(test)
    return folder


def documents(folder: Path, model: str) -> Any:
    return in_json("inspect -m", model, "--limit", "0", cwd=folder)["documents"]


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: " ".join(setting) or "defaults")
def test_daily_updates_equal_training_at_once_and_forget_reverses_them(
    newsgroups: Path, setting: list[str]
) -> None:
    days = [f"day{number}" for number in range(DAYS)]
    succeed("train", *days, *AS_TEXT, *setting, "-m", "whole", cwd=newsgroups)
    succeed("train", days[2], *AS_TEXT, *setting, "-m", "daily", cwd=newsgroups)
    for day in (days[0], days[3], days[1]):
        succeed("update", day, "-m", "daily", cwd=newsgroups)
    assert (newsgroups / "daily").read_bytes() == (newsgroups / "whole").read_bytes()
    succeed("train", *days[:3], *AS_TEXT, *setting, "-m", "earlier", cwd=newsgroups)
    succeed("forget", days[3], "-m", "daily", cwd=newsgroups)
    daily, earlier = (TextClassifier.load(str(newsgroups / name)) for name in ("daily", "earlier"))
    assert daily.fitted.statistics == earlier.fitted.statistics
    sample = daily.counts.sample.documents
    assert set(sample.hashes.tolist()) <= set(earlier.counts.sample.documents.hashes.tolist())


def test_merged_daily_models_equal_the_model_trained_at_once(newsgroups: Path) -> None:
    days = [f"day{number}" for number in range(DAYS)]
    for day in days:
        succeed("train", day, *AS_TEXT, "-m", f"of-{day}", cwd=newsgroups)
    succeed("merge", *(f"of-{day}" for day in days), "--to", "merged", cwd=newsgroups)
    succeed("train", *days, *AS_TEXT, "-m", "whole", cwd=newsgroups)
    assert (newsgroups / "merged").read_bytes() == (newsgroups / "whole").read_bytes()


def test_forgetting_documents_of_the_test_part_is_refused(newsgroups: Path) -> None:
    succeed("train day0 day1 -m half", *AS_TEXT, cwd=newsgroups)
    before = (newsgroups / "half").read_bytes()
    done = nbtext("forget test -m half", cwd=newsgroups)
    assert done.status == 2
    assert "was never added as" in done.notes[0]
    assert done.notes[0].startswith("nbtext: test/")
    assert (newsgroups / "half").read_bytes() == before


def test_training_with_once_in_two_runs_equals_one_run(newsgroups: Path) -> None:
    """Articles that were posted to several groups stand in several classes: the last holds, and what is learnt again is known already."""
    source = unpack("20news-19997.tar.xz", newsgroups / "collection")
    articles = sorted(path for path in source.rglob("*") if path.is_file())
    for part in ("all", "first", "second"):
        (newsgroups / part).mkdir()
    for number, group in enumerate(sorted({path.parent for path in articles})):
        for part in ("all", "first" if number < 10 else "second"):
            (newsgroups / part / group.name).symlink_to(group)
    succeed("train all --deduplicate -m at-once", *AS_TEXT, cwd=newsgroups)
    succeed("train first --deduplicate -m once", *AS_TEXT, cwd=newsgroups)
    note = nbtext("update second --skip-known -v -m once", cwd=newsgroups).notes[0]
    moved = int(note.partition("moved from another class: ")[2].partition(",")[0])
    assert moved > 50
    assert (newsgroups / "once").read_bytes() == (newsgroups / "at-once").read_bytes()
    assert (
        len({path.read_bytes() for path in articles})
        == documents(newsgroups, "once")
        < len(articles)
    )
    note = nbtext("update second --skip-known -v -m once", cwd=newsgroups).notes[0]
    assert note.startswith(
        "nbtext: added 0 documents; moved from another class: 0, already in the model: "
    )
    assert (newsgroups / "once").read_bytes() == (newsgroups / "at-once").read_bytes()
