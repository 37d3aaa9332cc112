"""A directory for each class: which files are documents, in which order, and what cannot be one."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from nbtext import TextClassifier
from nbtext.corpus.document import Notices
from nbtext.errors import PathError, UsageError
from nbtext.prediction.labels import list_labels, make_label_set
from tests.corpus_reader import documents, problems, texts
from tests.process import corpus, python, run


def test_class_folder_contains_documents_at_any_depth(tmp_path: Path) -> None:
    corpus(tmp_path, {"b/2": "four", "a/z/deep/1": "two", "a/b": "one", "b/10": "three"})
    assert texts(tmp_path) == [("a", "one"), ("a", "two"), ("b", "three"), ("b", "four")]
    assert [document.id for document in documents(tmp_path)] == [
        f"{tmp_path}/{name}" for name in ("a/b", "a/z/deep/1", "b/10", "b/2")
    ]


def test_several_directories_are_read_as_one_corpus(tmp_path: Path) -> None:
    corpus(tmp_path, {"one/a/1": "x", "two/a/1": "y", "two/b/1": "z"})
    assert texts(tmp_path / "two", tmp_path / "one") == [("a", "y"), ("b", "z"), ("a", "x")]


def test_hidden_files_and_files_outside_classes_are_ignored(tmp_path: Path) -> None:
    notices = Notices()
    corpus(
        tmp_path,
        {"a/1": "x", "a/.hidden": "h", "a/.git/config": "h", ".cache/1": "h", "README": "r"},
    )
    assert [document.id for document in documents(tmp_path, notices=notices)] == [
        str(tmp_path / "a/1")
    ]
    assert notices.unlabelled == [str(tmp_path / "README")]


def test_empty_class_gives_a_warning(tmp_path: Path) -> None:
    notices = Notices()
    corpus(tmp_path, {"a/1": "x"})
    (tmp_path / "b/deeper").mkdir(parents=True)
    assert len(documents(tmp_path, notices=notices)) == 1
    assert [found.line for found in notices.warnings] == [
        f"{tmp_path / 'b'}: no documents in this class; add some, or remove it"
    ]


def test_invalid_corpora_are_refused(tmp_path: Path) -> None:
    corpus(tmp_path, {"flat/1": "x"})
    for path, kind, why in (
        (tmp_path / "none", PathError, "none: cannot read: no such file or directory"),
        (
            tmp_path / "flat",
            UsageError,
            "has no sub-directories; a corpus has one sub-directory per class",
        ),
        (tmp_path / "flat/1", UsageError, "for a table use format csv or tsv"),
    ):
        with pytest.raises(kind, match=why):
            documents(path)


def test_unreadable_entries_are_problems_and_the_others_are_read(tmp_path: Path) -> None:
    corpus(tmp_path, {"a/1": "x", "a/z": "y", "elsewhere/inside": "e"})
    os.mkfifo(tmp_path / "a/fifo")
    (tmp_path / "a/dangling").symlink_to("nowhere")
    (tmp_path / "a/loop").symlink_to("loop")
    (tmp_path / "a/up").symlink_to("..")
    (tmp_path / "a/device").symlink_to("/dev/zero")
    (tmp_path / "a/linked").symlink_to("../elsewhere/inside")
    (tmp_path / "top-loop").symlink_to("top-loop")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.path.relpath(tmp_path / "a/socket"))
        found = problems(tmp_path)
    (tmp_path / "a/huge").touch()
    os.truncate(tmp_path / "a/huge", (64 << 20) + 1)
    found |= problems(tmp_path)
    assert {name.removeprefix(f"{tmp_path}/a/"): why for name, why in found.items()} == {
        "fifo": "not a regular file",
        "dangling": "cannot read: no such file or directory",
        "loop": "cannot read: too many levels of symbolic links",
        "up": "a symbolic link to a directory, not followed; use it as a path of its own",
        "device": "not a regular file",
        "socket": "not a regular file",
        "huge": "larger than 64 MiB; raise --set max-document-size=SIZE",
    }
    assert [
        text for _, text in ((d.label, d.text) for d in documents(tmp_path) if d.problem is None)
    ] == [b"x", b"e", b"y"]


def test_directories_deeper_than_the_recursion_limit_are_read(tmp_path: Path) -> None:
    code = (
        "import os\n"
        "from nbtext.corpus.directory import walk_files\n"
        "for _ in range(1900):\n    os.mkdir('d'); os.chdir('d')\n"
        "open('leaf', 'w').close()\n"
        "os.chdir('/'); import sys; os.chdir(sys.argv[1])\n"
        "print([(path[-7:], problem) for path, _, problem in walk_files('d')])\n"
    )
    done = python(code, tmp_path)
    run(["rm", "-rf", tmp_path / "d"])
    assert (done.status, done.out) == (0, b"[('/d/leaf', None)]\n"), done


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become somebody else")
def test_forbidden_files_and_folders_are_problems(shared_folder: Path) -> None:
    tmp_path = corpus(shared_folder, {"a/1": "x", "a/secret": "s", "a/shut/1": "t", "b/1": "y"})
    (tmp_path / "a/secret").chmod(0)
    (tmp_path / "a/shut").chmod(0)
    os.seteuid(65534)
    try:
        found = problems(tmp_path)
        as_documents = documents(tmp_path / "a/shut/1", labelled=False)
    finally:
        os.seteuid(0)
    assert found == {
        f"{tmp_path}/a/secret": "cannot read: permission denied",
        f"{tmp_path}/a/shut": "cannot read the directory: permission denied",
    }
    assert str(as_documents[0].problem) == "cannot read: permission denied"


def test_without_labels_files_and_directories_are_read_as_listed(tmp_path: Path) -> None:
    corpus(tmp_path, {"in/b": "1", "in/a/c": "2", "x": "3"})
    paths = [tmp_path / name for name in ("x", "in", "none", "x")]
    found = documents(*paths, labelled=False)
    assert [Path(document.id).name for document in found] == ["x", "c", "b", "none", "x"]
    assert [document.text for document in found] == [b"3", b"2", b"1", b"", b"3"]
    assert [document.problem.line for document in found if document.problem] == [
        "cannot read: no such file or directory"
    ]


def test_links_to_class_folders_are_followed_with_and_without_labels(tmp_path: Path) -> None:
    corpus(tmp_path, {"elsewhere/1": "x", "in/b/1": "y"})
    (tmp_path / "in/a").symlink_to("../elsewhere")
    (tmp_path / "in/back").symlink_to(".")
    (tmp_path / "in/b/deeper").symlink_to("../../elsewhere")
    names = ["a/1", "b/1", "b/deeper", "back/a", "back/b/1", "back/b/deeper", "back/back"]
    problems = [True, True, False, False, True, False, False]
    found = documents(tmp_path / "in", labelled=False)
    assert [document.id.removeprefix(f"{tmp_path}/in/") for document in found] == names
    assert [document.problem is None for document in found] == problems
    found = documents(tmp_path / "in")
    assert [document.id.removeprefix(f"{tmp_path}/in/") for document in found] == [
        *names[:4],
        *names[5:],
    ]
    assert found[1].label == make_label_set(["b", "back"])


def test_file_in_several_class_folders_is_one_multi_label_document(tmp_path: Path) -> None:
    corpus(
        tmp_path,
        {"c/a/1": "one", "c/a/deep/2": "two", "c/b/3": "three", "c/b/4": "four", "other/5": "five"},
    )
    (tmp_path / "c/b/one").hardlink_to(tmp_path / "c/a/1")
    (tmp_path / "c/d").mkdir()
    (tmp_path / "c/d/1").symlink_to("../a/1")
    (tmp_path / "c/d/3").symlink_to(tmp_path / "c/b/3")
    (tmp_path / "c/d/5").symlink_to(tmp_path / "other/5")
    (tmp_path / "c/d/gone").symlink_to("nowhere")
    (tmp_path / "c/b/again").hardlink_to(tmp_path / "c/b/4")
    found = [document for document in documents(tmp_path / "c") if document.problem is None]
    labels = {
        Path(document.id).name: " ".join(list_labels(document.label or "")) for document in found
    }
    assert list(labels.items()) == [
        ("1", "a b d"),
        ("2", "a"),
        ("3", "b d"),
        ("4", "b"),
        ("again", "b"),
        ("5", "d"),
    ]
    alone, shared_out = (TextClassifier().fit_corpus(tmp_path / "c", jobs=jobs) for jobs in (1, 2))
    assert (
        alone.predict_proba(["one two"]).tolist() == shared_out.predict_proba(["one two"]).tolist()
    )
    assert alone.classes == ["a", "b", "d"]


def test_files_of_reported_size_zero_are_read(tmp_path: Path) -> None:
    assert documents("/proc/self/status", labelled=False)[0].text.startswith(b"Name:\t")
    assert documents("/dev/null", labelled=False)[0].text == b""
