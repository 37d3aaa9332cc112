"""`--unlabelled` of `nbtext train`, `update` and `forget`, and what `inspect` and `explain` say of it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tests.model_changes import inspect_json
from tests.process import SERVICE_DESK, content, corpus, fail, in_json, nbtext, succeed, succeeded

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    """Six training documents of each of two classes in ``few`` and two in ``more``, and others in ``pool`` without their classes."""
    for folder in [SERVICE_DESK / "train" / name for name in ("parks-and-trees", "taxes-and-fees")]:
        for number, file in enumerate(sorted(folder.iterdir())[:30]):
            part = (
                f"few/{folder.name}"
                if number < 6
                else f"more/{folder.name}"
                if number < 8
                else "pool"
            )
            corpus(tmp_path, {f"{part}/{folder.name}-{file.name}": file.read_bytes()})
    return tmp_path


def test_train_with_unlabelled_documents_reports_their_contribution(desk: Path) -> None:
    succeed("train few -m alone")
    succeed("train few --unlabelled pool")
    succeed("train few --unlabelled pool --jobs 2 -m jobs")
    assert content("jobs") == content("nbtext.joblib")
    found = inspect_json(desk)
    assert found["training"]["weighting"] == "counts"
    assert found["unlabelled"]["documents"] == len(list((desk / "pool").iterdir()))
    assert set(found["unlabelled"]["log_loss"]) >= {"0", "1"}
    assert found["unlabelled"]["weight"] > 0
    assert found["documents"] == 12
    assert b"unlabelled" in nbtext("inspect").out
    assert b"unlabelled" not in nbtext("inspect -m alone").out
    text = b" ".join(file.read_bytes() for file in (desk / "pool").iterdir())
    notes = {row[-1] for row in succeed("explain - -o tsv", stdin=text).rows if row[3] == "word"}
    assert "100% of its counts from unlabelled documents" in notes


def test_unlabelled_file_has_a_document_per_line(desk: Path) -> None:
    texts = [" ".join(file.read_text().split()) for file in sorted((desk / "pool").iterdir())]
    corpus(
        desk,
        {
            "lines.txt": "".join(f"{text}\n" for text in texts),
            **{f"each/{n:03d}": text for n, text in enumerate(texts)},
        },
    )
    notes = nbtext("train few --unlabelled lines.txt -v").notes
    said = "lines.txt: read as lines, so each line is a document; for files of one document each, use their folder"
    assert notes[0] == f"nbtext: {said}"
    succeed("train few --unlabelled each -m each.model")
    assert content("each.model") == content("nbtext.joblib")


def test_unlabelled_documents_can_be_removed_and_added_again(desk: Path) -> None:
    pool = ("--unlabelled", "pool")
    succeed("train few", *pool)
    first = content("nbtext.joblib")
    succeed("train few -m alone")
    succeed("update --drop-unlabelled")
    assert content("nbtext.joblib") == content("alone")
    succeed("update", *pool)
    assert content("nbtext.joblib") == first


def test_unhelpful_unlabelled_documents_leave_the_model_unchanged(tmp_path: Path) -> None:
    """Its documents have the words of both classes."""
    draw, words = (
        np.random.default_rng(3),
        np.array([["red", "rose", "ruby", "wine"], ["blue", "sea", "sky", "ice"]]),
    )
    rows = [
        f"{'ab'[number % 2]}\t{' '.join([*draw.choice(words[number % 2], 3), *draw.choice(words.ravel(), 2)])}\n"
        for number in range(60)
    ]
    corpus(tmp_path, {"few.tsv": "".join(rows[:40]), "more.tsv": "".join(rows[40:])})
    corpus(
        tmp_path,
        {f"pool/{number}": " ".join(draw.choice(words.ravel(), 12)) for number in range(200)},
    )
    succeed("train few.tsv -m alone -q")
    done = nbtext("train few.tsv --unlabelled pool -v")
    assert (
        b"200 unlabelled documents not used: held-out documents are predicted best without them"
        in done.err
    )
    found = inspect_json(tmp_path)
    assert (found["unlabelled"]["weight"], found["training"]["weighting"]) == (0, "counts")
    for command in (
        ("classify", "--output", "jsonl", "--scores"),
        ("evaluate", "--output", "json"),
        ("explain", "--output", "jsonl"),
    ):
        ours, theirs = (
            succeeded(nbtext(command[0], "more.tsv", *command[1:], "-m", model)).out
            for model in ("nbtext.joblib", "alone")
        )
        fingerprint = rb', "model": "[0-9a-f]+"'
        assert re.sub(fingerprint, b"", ours) == re.sub(fingerprint, b"", theirs)
    for model in ("nbtext.joblib", "alone"):
        succeed("update more.tsv -q -m", model)
    assert content("nbtext.joblib") == content("alone")


def test_invalid_unlabelled_options_are_refused(desk: Path) -> None:
    succeed("train few")
    (desk / "empty").mkdir()
    assert "no readable documents" in fail(2, "train few --unlabelled empty")
    assert "cannot read" in fail(4, "train --seeds nowhere --unlabelled pool")


def test_model_of_seed_words_describes_itself(desk: Path) -> None:
    corpus(
        desk,
        {
            "seeds": "parks-and-trees\ttree\nparks-and-trees\tpark\ntaxes-and-fees\ttax\ntaxes-and-fees\tfee\t3\n"
        },
    )
    done = nbtext("train --seeds seeds --unlabelled pool")
    assert b"not calibrated" in done.err
    found = inspect_json(desk)
    assert found["documents"] == 0
    assert found["seeds"] == {
        "parks-and-trees": {"tree": 10, "park": 10},
        "taxes-and-fees": {"tax": 10, "fee": 3},
    }
    shown = nbtext("inspect", env={"COLUMNS": "300"}).out
    assert b"fee 3 in taxes-and-fees" in shown
    assert b"no labelled documents for a comparison" in shown
    rows = succeed("classify -", stdin=b"a tree fell in the park").rows
    assert rows[0][1] == "parks-and-trees"
    assert "nothing would remain" in fail(2, "update more --drop-unlabelled")


@pytest.fixture
def seeded(desk: Path) -> Path:
    """Seed words in ``seeds``, the first of which is in no document."""
    return corpus(
        desk,
        {
            "seeds": "parks-and-trees\tmarmot\nparks-and-trees\tpark\ntaxes-and-fees\ttax\t30\ntaxes-and-fees\t!tree\n",
            "one.tsv": "parks-and-trees\ta tree\n",
        },
    )


def test_seed_word_without_documents_counts_for_its_class(seeded: Path) -> None:
    for more in ((), ("--weighting", "log"), ("--min-df", "3"), ("--unlabelled", "pool")):
        succeed("train few --seeds seeds", *more)
        found = inspect_json(seeded)
        assert found["documents"] == 12
        assert found["seeds"] == {
            "parks-and-trees": {"marmot": 10, "park": 10, "tree": 10},
            "taxes-and-fees": {"tax": 30},
        }
        explained = succeed("explain - -o tsv", stdin=b"a marmot").rows
        assert explained[0][1] == "parks-and-trees"
        assert any("100% of its counts from seed words" in row[-1] for row in explained), explained
    assert b"marmot 10 in parks-and-trees" in nbtext("inspect", env={"COLUMNS": "300"}).out


def test_seed_words_change_no_document_or_term_counts(seeded: Path) -> None:
    details = []
    for more in ((), ("--seeds", "seeds")):
        succeed("train few", *more, "--smoothing", "1")
        shown = in_json("inspect --term tax")
        details.append(shown["words"][0]["terms"][0]["classes"])
    alone, with_seeds = details
    for label in ("parks-and-trees", "taxes-and-fees"):
        for figure in ("documents", "count"):
            assert with_seeds[label][figure] == alone[label][figure]
    assert with_seeds["taxes-and-fees"]["probability"] > alone["taxes-and-fees"]["probability"]


def test_changed_models_with_seed_words_equal_training_again(seeded: Path) -> None:
    seeds = ("--seeds", "seeds")
    for name, corpora in (
        ("few.model", ("few",)),
        ("more.model", ("more",)),
        ("both.model", ("few", "more")),
    ):
        succeed("train", *corpora, *seeds, "-m", name)
    succeed("merge few.model more.model --to merged.model")
    assert content("merged.model") == content("both.model")
    first = content("few.model")
    succeed("update more -m few.model")
    assert content("few.model") == content("both.model")
    succeed("forget more -m few.model")
    assert content("few.model") == first
    succeed("relabel taxes-and-fees money -m few.model")
    assert set(inspect_json(seeded, "few.model")["seeds"]) == {"money", "parks-and-trees"}
    assert "other seed words" in fail(2, "merge few.model more.model --to x")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("one.tsv", "no labelled document has it"),
        ("", "CORPUS"),
    ],
)
def test_seed_words_of_classes_without_documents_are_refused(
    options: str, said: str, seeded: Path
) -> None:
    assert said in fail(2, f"train {options}", "--seeds", "seeds")
