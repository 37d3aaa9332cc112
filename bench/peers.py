"""What users would run instead of nbtext, one whole process each: `python bench/peers.py COMMAND ARGUMENT...`.

Every library is imported inside the command that needs it, so that a process pays for what it uses and no more.
"""

from __future__ import annotations

import random
import re
import sys
from pathlib import Path

WORD = re.compile(r"\w+")


def text_of(file: Path) -> str:
    return file.read_bytes().decode("latin-1")


def labelled(corpus: str) -> list[tuple[str, Path]]:
    """Class and path of every file of a corpus with one sub-directory per class, in order."""
    return [
        (group.name, file)
        for group in sorted(Path(corpus).iterdir())
        for file in sorted(group.rglob("*"))
        if file.is_file()
    ]


def prepare(corpus: str, fasttext_file: str, vw_file: str) -> None:
    """Write the corpus as one file for fastText and one for Vowpal Wabbit: lower-case words, documents in random order. Not timed.

    Both learn one document at a time, so on documents sorted by class they would learn little more than the last class.
    """
    documents = labelled(corpus)
    numbers = {
        label: number
        for number, label in enumerate(sorted({label for label, _ in documents}), start=1)
    }
    random.Random(1).shuffle(documents)
    writing = {"mode": "w", "encoding": "utf-8", "newline": "\n"}
    with Path(fasttext_file).open(**writing) as fasttext, Path(vw_file).open(**writing) as vw:
        for label, file in documents:
            words = " ".join(WORD.findall(text_of(file).lower()))
            fasttext.write(f"__label__{label} {words}\n")
            vw.write(f"{numbers[label]} | {words}\n")


def prepare_table(corpus: str, copies: str, table: str) -> None:
    """Write the corpus `copies` times as lines of label, tab, words; not timed.

    Words are shuffled in each copy after the first, and every fourth document gets a word found nowhere else.
    """
    documents = [(label, text_of(file).split()) for label, file in labelled(corpus)]
    with Path(table).open("w", encoding="utf-8", newline="\n") as out:
        for copy in range(int(copies)):
            shuffle = random.Random(copy)
            for number, (label, words) in enumerate(documents):
                if copy:
                    shuffle.shuffle(words)
                extra = f" x{copy}y{number}" if number % 4 == 0 else ""
                out.write(f"{label}\t{' '.join(words)}{extra}\n")


def sklearn_train(kind: str, corpus: str, model_file: str) -> None:
    """Read a directory per class, fit, dump."""
    import joblib
    from sklearn.datasets import load_files

    if kind == "bayes":
        from sklearn.feature_extraction.text import CountVectorizer
        from sklearn.naive_bayes import MultinomialNB

        vectorizer, model = CountVectorizer(stop_words="english"), MultinomialNB()
    else:
        from sklearn.feature_extraction.text import TfidfVectorizer
        from sklearn.svm import LinearSVC

        vectorizer, model = TfidfVectorizer(), LinearSVC()
    data = load_files(corpus, encoding="latin-1")
    model.fit(vectorizer.fit_transform(data.data), data.target)
    joblib.dump((vectorizer, model, data.target_names), model_file)


def sklearn_cross_validate(corpus: str) -> None:
    """Print the mean accuracy over ten folds."""
    from sklearn.datasets import load_files
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.model_selection import cross_val_score
    from sklearn.naive_bayes import MultinomialNB
    from sklearn.pipeline import make_pipeline

    data = load_files(corpus, encoding="latin-1")
    print(
        cross_val_score(
            make_pipeline(CountVectorizer(stop_words="english"), MultinomialNB()),
            data.data,
            data.target,
            cv=10,
        ).mean()
    )


def sklearn_classify(model_file: str, place: str) -> None:
    """Load the model, classify one file or every file of a directory, print path and class (and probability, where there is one)."""
    import joblib

    vectorizer, model, names = joblib.load(model_file)
    paths = (
        sorted(path for path in Path(place).rglob("*") if path.is_file())
        if Path(place).is_dir()
        else [Path(place)]
    )
    counts = vectorizer.transform([text_of(path) for path in paths])
    if hasattr(model, "predict_proba"):
        for path, row in zip(paths, model.predict_proba(counts), strict=True):
            print(path, names[row.argmax()], row.max(), sep="\t")
    else:
        for path, answer in zip(paths, model.predict(counts).tolist(), strict=True):
            print(path, names[answer], sep="\t")


def fasttext_train(prepared: str, model_file: str, *settings: str) -> None:
    """Train on one prepared file with fastText's defaults but for the settings given (name=value), on one thread; save."""
    import fasttext

    chosen = dict(setting.split("=") for setting in settings)
    model = fasttext.train_supervised(
        input=prepared,
        thread=1,
        verbose=0,
        **{name: type_of(value) for name, value in chosen.items()},
    )
    model.save_model(model_file)


def type_of(value: str) -> float:
    return int(value) if value.isdigit() else float(value)


def fasttext_classify(model_file: str, prepared: str) -> None:
    """Load the model, print the class of each line of a prepared file (whose own label is cut off)."""
    from fasttext import FastText

    FastText.eprint = lambda *_, **__: None
    # Model.predict of fasttext 0.9.2 fails with numpy 2; the method beneath it, which takes the line with its end, does not.
    predict = FastText.load_model(model_file).f.predict
    with Path(prepared).open(encoding="utf-8", newline="\n") as lines:
        for line in lines:
            answers = predict(line.partition(" ")[2], 1, 0.0, "strict")
            print(answers[0][1] if answers else "")


COMMANDS = {
    "prepare": prepare,
    "prepare-table": prepare_table,
    "sklearn-train": sklearn_train,
    "sklearn-classify": sklearn_classify,
    "sklearn-cross-validate": sklearn_cross_validate,
    "fasttext-train": fasttext_train,
    "fasttext-classify": fasttext_classify,
}

if __name__ == "__main__":
    COMMANDS[sys.argv[1]](*sys.argv[2:])
