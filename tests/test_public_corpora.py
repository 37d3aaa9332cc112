"""Real corpora, if they are there: as many documents and classes as their authors say."""

from __future__ import annotations

import json
import tarfile
from collections import Counter
from random import Random
from typing import TYPE_CHECKING

import pytest

from nbtext.corpus.mail.mail import MailOptions, read_mail
from tests.corpus_reader import documents, texts
from tests.oracle_mail import text_by_email_package
from tests.process import REPOSITORY, in_json, nbtext, succeed

if TYPE_CHECKING:
    from pathlib import Path

CORPORA = REPOSITORY.parent / "shared" / "corpora"
pytestmark = [
    pytest.mark.exhaustive,
    pytest.mark.skipif(
        not CORPORA.is_dir(), reason="the public corpora are not beside the repository"
    ),
]


@pytest.fixture(scope="session")
def short(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpack("short-texts.tar.xz", tmp_path_factory.mktemp("short"))


def unpack(name: str, folder: Path) -> Path:
    with tarfile.open(CORPORA / name) as archive:
        archive.extractall(folder, filter="data")
    return folder


def find_file(folder: Path, name: str) -> Path:
    return next(path for path in sorted(folder.rglob(name)) if path.is_file())


def accuracy(model: Path, *arguments: str | Path) -> float:
    return float(in_json("evaluate", *arguments, "-m", model)["accuracy"])


def test_banking77_with_quoted_fields_is_read(short: Path, tmp_path: Path) -> None:
    path = find_file(short, "train.csv")
    rows = texts(path, text_column="text", label_column="category")
    assert (len(rows), len({label for label, _ in rows})) == (10_003, 77)
    succeed("train", path, "--text-column", "text", "--label-column", "category", "-m", "m")
    assert accuracy(tmp_path / "m", find_file(short, "test.csv")) > 0.8


def test_germeval_with_literal_quotes_is_read(short: Path, tmp_path: Path) -> None:
    train, test = (
        find_file(short, "germeval2018.training.txt"),
        find_file(short, "germeval2018.test.txt"),
    )
    reading = ("--format", "tsv", "--text-column", "1", "--label-column", "2")
    assert (
        Counter(
            label for label, _ in texts(test, format="tsv", text_column="1", label_column="2")
        ).total()
        == 3_532
    )
    succeed("train", train, *reading, "--language", "german", "-m", "m")
    assert accuracy(tmp_path / "m", test) > 0.65


def test_sms_spam_with_literal_quotes_is_read(short: Path) -> None:
    rows = texts(find_file(short, "SMSSpamCollection"), format="tsv")
    assert Counter(label for label, _ in rows) == {"ham": 4_827, "spam": 747}
    assert len(rows) == 5_574


def test_newsgroups_are_read_as_mail(tmp_path: Path) -> None:
    folder = unpack("20news-bydate.tar.xz", tmp_path)
    train, test = (
        next(path for path in sorted(folder.rglob(name)) if path.is_dir())
        for name in ("*-train", "*-test")
    )
    read = documents(train, document="mail", headers="subject,organization,keywords")
    assert [document for document in read if document.problem] == []
    assert len(read) == 11_314
    assert not any(b"\nMessage-ID:" in document.text[:200] for document in read[:500])
    for path in sorted(path for path in train.rglob("*") if path.is_file())[::10]:
        body = path.read_bytes()
        assert read_mail(body, MailOptions((b"subject", b"from")))[:2] == text_by_email_package(
            body, ["subject", "from"]
        )
    succeed(
        "train",
        train,
        "--document",
        "mail",
        "--headers",
        "subject,organization,keywords",
        "-m",
        "m",
    )
    assert accuracy(tmp_path / "m", test) > 0.75


def test_planted_wrong_labels_are_found(tmp_path: Path) -> None:
    """One label in twenty is wrong: of as many suspects, far more than half have it."""
    folder = unpack("20news-bydate.tar.xz", tmp_path)
    read = documents(next(path for path in sorted(folder.rglob("*-train")) if path.is_dir()))
    random = Random(0)
    classes = sorted({document.label or "" for document in read})
    planted = set(random.sample(range(len(read)), len(read) // 20))
    with (tmp_path / "noisy.jsonl").open("w", encoding="utf-8") as file:
        for row, document in enumerate(read):
            label = (
                random.choice([other for other in classes if other != document.label])
                if row in planted
                else document.label
            )
            file.write(
                json.dumps({"id": row, "label": label, "text": document.text.decode()}) + "\n"
            )
    done = succeed(
        "suspects", "noisy.jsonl", "--id-column", "id", "--limit", str(len(planted)), "--paths"
    )
    assert len(planted & {int(row) for row in done.text.splitlines()}) / len(planted) > 0.75


def test_drift_gate_fails_for_another_language_but_not_for_new_mail(
    short: Path, tmp_path: Path
) -> None:
    folder = unpack("20news-bydate.tar.xz", tmp_path)
    train, test = (
        next(path for path in sorted(folder.rglob(name)) if path.is_dir())
        for name in ("*-train", "*-test")
    )
    succeed("train", train, "--document", "text")
    tweets = (find_file(short, "germeval2018.test.txt"), "--format", "tsv", "--text-column", "1")
    for documents_, met in (((test,), True), (tweets, False), ((test,), True)):
        succeed("classify", *documents_, "--drift", "log")
        assert nbtext("drift log --fail-over any=1").status == (0 if met else 6)


def test_cross_validation_of_20_newsgroups_reaches_the_accuracy_of_the_course(
    tmp_path: Path,
) -> None:
    folder = unpack("20news-19997.tar.xz", tmp_path)
    labels = next(path.parent for path in sorted(folder.rglob("alt.atheism")))
    assert (
        in_json("cross-validate", labels, "--folds", "3", "--document", "text")["accuracy"] > 0.89
    )
