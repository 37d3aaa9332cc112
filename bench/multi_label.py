"""Several labels per document, beside one-versus-rest models: `python bench/multi_label.py FOLDER` prints a Markdown table, with `--write` also into README.md.

FOLDER holds train.jsonl and test.jsonl, lines with `labels` and `text`: Reuters-21578 in the division ModApte with the 90 topics of that name. Training and
classifying are whole processes; seconds are those of a processor. scikit-learn is tf-idf with its own defaults, fastText `-loss ova`; a tool that is not
installed gets a row that says so.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
import tempfile
from pathlib import Path

from measuring import NBTEXT, markdown, measure, progress, write_between

README = Path(__file__).resolve().with_name("README.md")
HERE = str(Path(__file__).resolve())
READING = ("--label-column", "labels", "--text-column", "text")
OF_NBTEXT = {
    "nbtext": ((), ()),
    "nbtext, --label-threshold label": ((), ("--label-threshold", "label")),
    "nbtext --classifier logistic": (("--classifier", "logistic"), ()),
    "nbtext --classifier logistic, --label-threshold label": (
        ("--classifier", "logistic"),
        ("--label-threshold", "label"),
    ),
}
OTHERS = {
    "scikit-learn, LinearSVC one versus rest": ("sklearn", "svc"),
    "scikit-learn, LogisticRegression one versus rest": ("sklearn", "logistic"),
    "fastText -loss ova -epoch 25 -lr 0.5": ("fasttext", "ova"),
}


def read(path: Path) -> tuple[list[str], list[list[str]]]:
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [row["text"] for row in rows], [row["labels"] for row in rows]


def by_sklearn(kind: str, folder: Path) -> list[list[str]]:
    """Train and classify in this process; return the labels of each test document."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MultiLabelBinarizer
    from sklearn.svm import LinearSVC

    (texts, labels), (asked, _) = read(folder / "train.jsonl"), read(folder / "test.jsonl")
    binarizer = MultiLabelBinarizer()
    model = LinearSVC() if kind == "svc" else LogisticRegression(max_iter=1000)
    pipeline = make_pipeline(TfidfVectorizer(sublinear_tf=True), OneVsRestClassifier(model))
    pipeline.fit(texts, binarizer.fit_transform(labels))
    return [list(found) for found in binarizer.inverse_transform(pipeline.predict(asked))]


def by_fasttext(folder: Path) -> list[list[str]]:
    """Likewise, with labels of probability .5 or more."""
    import fasttext

    (texts, labels), (asked, _) = read(folder / "train.jsonl"), read(folder / "test.jsonl")
    with tempfile.NamedTemporaryFile("w", encoding="utf-8") as file:
        for text, names in zip(texts, labels, strict=True):
            file.write(
                f"{' '.join(f'__label__{name}' for name in names)} {' '.join(text.lower().split())}\n"
            )
        file.flush()
        model = fasttext.train_supervised(
            file.name, loss="ova", epoch=25, lr=0.5, thread=1, verbose=0
        )
    found, _ = model.predict(
        [" ".join(text.lower().split()) for text in asked], k=-1, threshold=0.5
    )
    return [[name.removeprefix("__label__") for name in names] for names in found]


def figures(answers: list[list[str]], truth: list[list[str]]) -> list[str]:
    """Return micro and macro F1 over the labels that occur."""
    labels = sorted({label for names in (*answers, *truth) for label in names})
    counts = dict.fromkeys(labels, (0, 0))
    for given, own in zip(answers, truth, strict=True):
        for label in {*given, *own}:
            hits, sizes = counts[label]
            counts[label] = (
                hits + (label in given and label in own),
                sizes + (label in given) + (label in own),
            )
    micro = (
        2 * sum(hits for hits, _ in counts.values()) / sum(sizes for _, sizes in counts.values())
    )
    return [
        f"{micro:.3f}",
        f"{sum(2 * hits / sizes for hits, sizes in counts.values()) / len(labels):.3f}",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--as", dest="kind", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.kind:
        found = (
            by_fasttext(options.folder)
            if options.kind == "ova"
            else by_sklearn(options.kind, options.folder)
        )
        sys.stdout.write("".join(f"{json.dumps(labels)}\n" for labels in found))
        return
    _, truth = read(options.folder / "test.jsonl")
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        for number, (name, (training, asking)) in enumerate(OF_NBTEXT.items()):
            progress(name)
            model = f"{scratch}/{number}.joblib"
            learnt = measure(
                [
                    *NBTEXT,
                    "train",
                    str(options.folder / "train.jsonl"),
                    *READING,
                    *training,
                    "-m",
                    model,
                ]
            )
            asked = measure(
                [
                    *NBTEXT,
                    "classify",
                    str(options.folder / "test.jsonl"),
                    "-m",
                    model,
                    *READING,
                    *asking,
                    "-o",
                    "jsonl",
                ]
            )
            answers = [
                [each["label"] for each in json.loads(line).get("labels", [])]
                for line in asked.output.splitlines()
            ]
            took = [
                f"{learnt.processor + asked.processor:.1f}",
                f"{max(learnt.peak, asked.peak):.0f}",
            ]
            rows.append([name, *figures(answers, truth), *took])
    for name, (module, kind) in OTHERS.items():
        progress(name)
        if importlib.util.find_spec(module) is None:
            rows.append([name, "not installed", "", "", ""])
            continue
        done = measure([sys.executable, HERE, str(options.folder), "--as", kind])
        answers = [json.loads(line) for line in done.output.splitlines()]
        rows.append([name, *figures(answers, truth), f"{done.processor:.1f}", f"{done.peak:.0f}"])
    table = markdown(
        ["Reuters, 90 topics", "micro F1", "macro F1", "seconds, both", "peak MiB"], rows
    )
    sys.stdout.write(table)
    if options.write:
        write_between(README, "many labels", table)


if __name__ == "__main__":
    main()
