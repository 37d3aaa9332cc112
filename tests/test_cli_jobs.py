"""``--jobs``: whatever the number of processes, the same bytes, answers, messages and failures."""

from __future__ import annotations

import gzip
import json
import os
import random
import shutil
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.process import ENVIRONMENT, SERVICE_DESK, Result, corpus, run, succeed, succeeded, write
from tests.profiles import some

if TYPE_CHECKING:
    from pathlib import Path

JOBS = some(("1", "2", "3", "0"), 2)
TEXTS = {
    "cats": (
        "the cat purrs on the sofa",
        "cats climb and scratch",
        "a kitten sleeps",
        "café au lait for the naïve cat",
    ),
    "dogs": (
        "the dog barks at the postman",
        "dogs fetch sticks",
        "a puppy plays",
        "the hound howls",
    ),
    "mice": ("the mouse squeaks",),
}
ROWS = [
    (label, f"{text} {number}")
    for number in range(12)
    for label, texts in TEXTS.items()
    for text in texts
]
random.Random(1).shuffle(ROWS)


def run_with_small_shards(
    *arguments: str | Path, size: str = "100", cwd: Path, stdin: bytes = b""
) -> Result:
    """The command with shards of ``size`` bytes."""
    return run(
        [sys.executable, "-m", "tests.small_shards", size, *arguments],
        cwd=cwd,
        env=ENVIRONMENT,
        stdin=stdin,
    )


def table(separator: str = "\t", end: str = "\n", *, last_end: bool = True) -> bytes:
    text = end.join(f"{label}{separator}{text}" for label, text in ROWS)
    return (text + end * last_end).encode()


def directory(folder: Path) -> None:
    corpus(
        folder,
        {f"{label}/{number // 10}/{number}": text for number, (label, text) in enumerate(ROWS)},
    )


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one corpus in many forms, and a model of it."""
    tmp_path = tmp_path_factory.mktemp("corpora")
    directory(tmp_path / "dir")
    corpus(
        tmp_path / "classes",
        {
            f"{label}.txt": "".join(f"{text}\n" for name, text in ROWS if name == label)
            for label in TEXTS
        },
    )
    files = {
        "plain.tsv": table(),
        "cut.tsv": table(last_end=False),
        "dos.tsv": table(end="\r\n"),
        "header.tsv": b"topic\tbody\n" + table(),
        "long.tsv": table() + b"cats\t" + b"a very long story " * 500 + b"\n" + table(),
        "table.csv": table(","),
        "texts.jsonl": "".join(
            json.dumps({"label": label, "text": text}) + "\n\n" for label, text in ROWS
        ).encode(),
        "array.json": json.dumps([{"label": label, "text": text} for label, text in ROWS]).encode(),
        "files.csv": b"topic,file\n"
        + "".join(
            f"{label},dir/{label}/{n // 10}/{n}\n" for n, (label, _) in enumerate(ROWS)
        ).encode(),
        "texts.ft": "".join(f"__label__{label} {text}\n" for label, text in ROWS).encode(),
        "counts.svm": "".join(
            f"{label} {' '.join(f'{word}:1' for word in text.split())}\n" for label, text in ROWS
        ).encode(),
        "quoted.csv": "".join(
            f'{label},"said ""{text}""\n, and so on"\n' for label, text in ROWS
        ).encode(),
        "packed.tsv.gz": gzip.compress(table()[:999]) + gzip.compress(table()[999:]),
        **{
            f"{name}.mbox": "".join(
                f"From me\nSubject: {text}\n\n{text}\n\n" for label, text in ROWS if label == name
            ).encode()
            for name in TEXTS
        },
        "latin.tsv": table().decode().encode("latin-1"),
        "empty.tsv": b"",
        "one.tsv": b"cats\tthe only cat\n",
        "texts.txt": "".join(f"{text}\n" for _, text in ROWS).encode(),
    }
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    succeed("train plain.tsv -m model", cwd=tmp_path)
    return tmp_path


@pytest.fixture
def corpora(tmp_path: Path, made: Path) -> Path:
    """A folder with `made`, whose files are shared with other tests: others may be written beside them."""
    return shutil.copytree(made, tmp_path, copy_function=os.link, dirs_exist_ok=True)


def trained(folder: Path, jobs: str, *arguments: str, size: str = "100") -> tuple[Result, bytes]:
    """How training ended, and the model."""
    path = folder / f"m{jobs}"
    path.unlink(missing_ok=True)
    result = run_with_small_shards(
        "train", *arguments, "-m", path.name, "-j", jobs, "-v", cwd=folder, size=size
    )
    notes = [
        note.partition(": ")[2].partition(", smoothing")[0]
        for note in result.notes
        if not note.startswith((f"nbtext: {path.name}: ", "nbtext: Trained "))
    ]
    return Result(
        result.status, result.out, "\n".join(notes).encode()
    ), path.read_bytes() if path.exists() else b""


@pytest.mark.repeated
@pytest.mark.parametrize(
    "arguments",
    [
        ("dir",),
        ("plain.tsv",),
        ("cut.tsv",),
        ("dos.tsv",),
        ("header.tsv", "--label-column", "topic", "--text-column", "body"),
        ("long.tsv",),
        ("table.csv",),
        ("quoted.csv", "table.csv", "--label-column", "1", "--text-column", "2"),
        ("packed.tsv.gz",),
        ("cats.mbox", "dogs.mbox", "mice.mbox"),
        ("texts.jsonl",),
        ("texts.ft", "--ngrams", "2"),
        ("counts.svm",),
        ("classes",),
        ("classes", "--format", "dir", "--label-pattern", "^(.)"),
        ("array.json",),
        ("header.tsv", "--where", "topic=cats"),
        ("files.csv", "--file-column", "file"),
        ("latin.tsv",),
        ("empty.tsv", "plain.tsv", "empty.tsv", "one.tsv"),
        ("one.tsv",),
        ("plain.tsv", "--classifier", "logistic"),
        ("plain.tsv", "--classifier", "gaussian", "--latent", "5"),
        ("dir", "--weighting", "tfidf", "--classifier", "complement"),
        ("plain.tsv", "--keep-documents", "20", "--char-ngrams", "2-3"),
    ],
    ids=" ".join,
)
def test_model_is_the_same_for_any_number_of_processes(
    corpora: Path, arguments: tuple[str, ...]
) -> None:
    first, model = trained(corpora, "1", *arguments)
    assert first.status == 0
    assert model
    for jobs in JOBS[1:]:
        assert trained(corpora, jobs, *arguments) == (first, model)


def test_shard_size_does_not_change_the_model(corpora: Path) -> None:
    models = {
        trained(corpora, "2", "plain.tsv", size=size)[1] for size in ("1", "10", "1000", "1000000")
    }
    assert models == {trained(corpora, "1", "plain.tsv")[1]}


def test_file_lists_and_standard_input_give_the_same_model(corpora: Path) -> None:
    write("list", "plain.tsv\ndos.tsv\n")
    listed = ("--files-from", "list")
    assert trained(corpora, "2", *listed) == trained(corpora, "1", *listed)
    models = []
    for jobs in ("1", "2"):
        succeeded(
            run_with_small_shards(
                "train",
                "-",
                "plain.tsv",
                "--format",
                "tsv",
                "-m",
                jobs,
                "-j",
                jobs,
                cwd=corpora,
                stdin=table(),
            )
        )
        models.append((corpora / jobs).read_bytes())
    assert models[0] == models[1]


UNREADABLE = (
    ("bad.tsv", "worse.tsv"),
    ("bad.tsv", "missing.tsv"),
    ("baddir",),
    ("baddir", "missing"),
    ("--id-column", "2", "bad.tsv"),
)


@pytest.mark.repeated
@pytest.mark.parametrize(
    ("on_error", "arguments"),
    some(
        [
            (on_error, arguments)
            for on_error in ("record", "skip", "fail")
            for arguments in UNREADABLE
        ],
        7,
    ),
)
def test_unreadable_documents_are_reported_as_with_one_process(
    corpora: Path, on_error: str, arguments: tuple[str, ...]
) -> None:
    rows = table().splitlines(keepends=True)
    rows[3:3], rows[40:40], rows[90:90] = (
        [b"\tno label\n"],
        [b"one column\n", b"caf\xe9\tna\xefve\n"],
        [b"cats\tbi\0nary\n", b"cats\tbi" + b"\0" * 9 + b"nary\n", b"ca\0ts\tpurrs\n"],
    )
    write("bad.tsv", b"".join(rows))
    write("worse.tsv", b"".join(row + b"alone\n" for row in rows))
    directory(corpora / "baddir")
    corpus(
        corpora / "baddir",
        {f"cats/bad{number:02}": b"\0" for number in range(13)}
        | {"loose": "x", "other": "y", "mice/caf\xe9": b"\xe9\xe8"},
    )
    (corpora / "baddir" / "empty").mkdir()
    first = trained(corpora, "1", *arguments, "--on-error", on_error)
    assert first[0].err
    for jobs in ("2", "3"):
        assert trained(corpora, jobs, *arguments, "--on-error", on_error) == first


@pytest.mark.parametrize(
    "arguments",
    [
        ("empty.tsv",),
        ("plain.tsv", "--label-column", "topic"),
        ("one.tsv", "--format", "svmlight"),
        ("plain.tsv", "--encoding", "utf-16"),
    ],
)
def test_untrainable_corpora_fail_as_with_one_process(
    corpora: Path, arguments: tuple[str, ...]
) -> None:
    first = trained(corpora, "1", *arguments)
    assert first[0].status in (2, 4)
    assert trained(corpora, "2", *arguments) == first


@pytest.mark.repeated
@pytest.mark.parametrize(
    "arguments",
    [
        ("dir", "--format", "dir"),
        ("texts.txt", "--format", "lines"),
        ("plain.tsv", "table.csv", "--format", "tsv"),
        ("table.csv", "--format", "csv"),
        ("texts.jsonl",),
        ("dir", "missing", "dir", "--format", "dir"),
        ("bad", "--format", "dir", "--on-error", "skip"),
        ("bad", "--format", "dir", "--on-error", "fail"),
        ("bad.tsv", "--on-error", "fail"),
        ("bad.tsv", "--on-error", "record"),
        ("missing.tsv", "--format", "tsv"),
        ("plain.tsv", "missing.tsv"),
        ("quoted.csv", "--format", "csv"),
        ("packed.tsv.gz",),
        ("cats.mbox",),
    ],
    ids=" ".join,
)
def test_predictions_keep_their_order_and_are_the_same(
    corpora: Path, arguments: tuple[str, ...]
) -> None:
    (corpora / "bad").mkdir()
    write("bad.tsv", table().replace(b"a kitten", b"\0" * 9 + b"a\tkitten", 3))
    corpus(
        corpora / "bad",
        {f"{number}": "\0" if number in (7, 8) else "a cat" for number in range(12)},
    )
    results = [
        run_with_small_shards(
            "classify",
            *arguments,
            "-m",
            "model",
            "--output",
            "jsonl",
            "--scores",
            "-v",
            "-j",
            jobs,
            cwd=corpora,
        )
        for jobs in JOBS
    ]
    assert results[0].out or results[0].notes
    assert results[1:] == [results[0]] * (len(results) - 1)


@pytest.mark.repeated
def test_evaluation_is_the_same_to_the_last_digit(corpora: Path) -> None:
    runs = []
    for jobs in JOBS:
        more = (
            "--errors",
            "mistakes",
            "--check-leakage",
            "plain.tsv",
            "--group-by",
            "1",
            "-o",
            "json",
        )
        result = run_with_small_shards(
            "evaluate", "long.tsv", "latin.tsv", "-m", "model", *more, "-v", "-j", jobs, cwd=corpora
        )
        runs.append((result, (corpora / "mistakes").read_bytes()))
    assert json.loads(runs[0][0].out)["n"] == 3 * len(ROWS) + 1
    assert runs[1:] == [runs[0]] * (len(runs) - 1)


@pytest.mark.repeated
@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--classifier", "logistic"),
        ("--leave-one-out",),
        ("--group-column", "2"),
        ("--time-column", "day"),
    ],
    ids=str,
)
def test_cross_validation_is_the_same_to_the_last_digit(
    corpora: Path, arguments: tuple[str, ...]
) -> None:
    write(
        "days.tsv",
        "label\ttext\tday\n"
        + "".join(f"{label}\t{text}\t{number}\n" for number, (label, text) in enumerate(ROWS)),
    )
    columns = ("--label-column", "label", "--text-column", "text")
    runs: list[tuple[Any, ...]] = []
    for jobs in JOBS[:3]:
        options = ("--folds", "3") if "--leave-one-out" not in arguments else ()
        result = run_with_small_shards(
            "cross-validate",
            "days.tsv",
            *columns,
            *arguments,
            *options,
            "-o",
            "json",
            "--predictions",
            "p",
            "-j",
            jobs,
            cwd=corpora,
        )
        assert result.status == 0
        runs.append((result, (corpora / "p").read_bytes()))
    assert b"days.tsv:2" in runs[0][1]
    assert runs[1:] == [runs[0]] * (len(runs) - 1)


@pytest.mark.parametrize("change", ["spawn", "alone"])
def test_spawned_or_unavailable_processes_give_the_same_results(corpora: Path, change: str) -> None:
    size = f"1000:{change}"
    assert trained(corpora, "2", "plain.tsv", size=size) == trained(corpora, "1", "plain.tsv")
    answers = [
        run_with_small_shards(
            "classify", "plain.tsv", "-m", "model", "-j", jobs, cwd=corpora, size=size
        )
        for jobs in ("1", "2")
    ]
    assert succeeded(answers[0]).out == succeeded(answers[1]).out


@pytest.mark.fresh_interpreters("what is imported")
def test_small_corpora_use_one_process_even_with_jobs(tmp_path: Path) -> None:
    models = []
    for jobs in ("1", "4"):
        path = tmp_path / jobs
        code = f"import sys; from nbtext.cli.main import run; s = run(['train', {str(SERVICE_DESK / 'train')!r}, '-m', {str(path)!r}, '-j', '{jobs}'])"
        done = succeeded(
            run(
                [
                    sys.executable,
                    "-c",
                    f"{code}; print(s, 'multiprocessing.connection' in sys.modules, 'joblib' in sys.modules)",
                ],
                env=ENVIRONMENT,
            )
        )
        models.append((done.out, path.read_bytes()))
    assert models[0] == models[1]


@pytest.mark.parametrize("once", [False, True])
def test_updates_and_forget_give_the_same_model(corpora: Path, *, once: bool) -> None:
    half = table().splitlines(keepends=True)[: len(ROWS) // 2]
    write("half.tsv", b"".join(half) + half[0] + "cats\tle chat déjà vu\n".encode("latin-1"))
    seen = []
    for jobs in JOBS[:3]:
        (corpora / "m").unlink(missing_ok=True)
        steps = [
            ("train", "one.tsv", "--deduplicate"),
            ("update", "half.tsv", "--skip-known"),
            ("update", "latin.tsv", "--skip-known"),
            ("forget", "half.tsv", "--skip-unknown"),
        ]
        for command, path, option in steps:
            options = [option] if once else []
            result = run_with_small_shards(
                command, path, "-m", "m", *options, "-v", "-j", jobs, cwd=corpora
            )
            assert result.status == 0, result
            notes = [note for note in result.notes if not note.startswith("nbtext: m: ")]
            seen.append((jobs, notes, (corpora / "m").read_bytes()))
    for place in range(4):
        assert len({(str(notes), model) for _, notes, model in seen[place::4]}) == 1
    assert len({model for *_, model in seen}) > 2
