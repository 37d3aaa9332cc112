"""Every pair of values of the declared settings, readings and inputs meets in a model, and every command runs on it.

`tests/pairwise.py` makes the configurations and says which values exclude each other; `tests/pairwise_corpus.py` writes their corpora.
"""

from __future__ import annotations

import io
import json
import math
import re
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from nbtext import compatibility
from nbtext.cli.main import run
from nbtext.corpus.collection import Corpus
from nbtext.corpus.detection.formats import resolve_reading
from nbtext.errors import UsageError
from nbtext.evaluation import label_errors
from nbtext.guarantees import class_proportions
from nbtext.model import TextClassifier
from nbtext.prediction import typicality
from nbtext.prediction.labels import list_labels
from nbtext.settings import ANALYSIS_NAMES, READING, TRAINING, Reading, Settings
from tests.models import require_sound
from tests.pairwise import (
    AVERAGE,
    BY_EVIDENCE,
    NO_POSTERIOR,
    OF_GAUSSIAN,
    SEVERAL,
    VALUES,
    among,
    configurations,
    given,
    holds,
    refused_alone,
)
from tests.pairwise_corpus import FILES, Writer, documents
from tests.process import Result
from tests.profiles import exhaustive, some

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.pairwise import Condition, Configuration

DECLARED = {parameter.name: parameter for parameter in (*READING, *TRAINING)}
READ, TRAINED = ({parameter.name for parameter in table} for table in (READING, TRAINING))
LABELLED, POOL = documents(30, 1), documents(18, 2)
NAN = re.compile(rb"\bnan\b", re.IGNORECASE)

Arguments = tuple[str, ...]


def nbtext(*arguments: str, stdin: bytes = b"") -> Result:
    """Run a command in this process, in the present folder; a warning of a package is an error."""
    out, err = io.BytesIO(), io.BytesIO()
    before = sys.stdin, sys.stdout, sys.stderr
    streams = io.TextIOWrapper(io.BytesIO(stdin)), io.TextIOWrapper(out), io.TextIOWrapper(err)
    try:
        sys.stdin, sys.stdout, sys.stderr = streams
        status = run(list(arguments))
        streams[1].flush()
        streams[2].flush()
    finally:
        sys.stdin, sys.stdout, sys.stderr = before
    return Result(status, out.getvalue(), err.getvalue())


class Session:
    """A folder with the corpora of a configuration, and the commands that ran in it."""

    def __init__(self, configuration: Configuration) -> None:
        self.configuration = configuration
        self.some_unreadable = (
            "max_document_size" in configuration and configuration.get("format") != "svmlight"
        )  # counts of words are short
        for name, content in FILES.items():
            Path(name).write_text(content, encoding="utf-8")
        writer = Writer(configuration)
        self.first, self.more, self.both = (
            writer.write(name, made, labelled=True)
            for name, made in (
                ("first", LABELLED[:20]),
                ("more", LABELLED[20:]),
                ("both", LABELLED),
            )
        )
        self.pool, self.few = (
            writer.write(name, made, labelled=False)
            for name, made in (("pool", POOL), ("few", POOL[4:6]))
        )

    def options(self, *left_out: str) -> list[str]:
        """Return the options of declared parameters."""
        found = []
        for name, value in self.configuration.items():
            if name in DECLARED and name not in left_out:
                found += DECLARED[name].to_arguments(value)
        return found

    def corpus(self, paths: Arguments, *taken: str) -> list[str]:
        """Return the arguments that name a corpus and its rows, for a command that takes some values of ``source``."""
        where = self.configuration.get("where")
        return [*self.sources(paths, *taken), *([] if where is None else ["--where", where])]

    def sources(self, paths: Arguments, *taken: str) -> list[str]:
        """Return the arguments that name a corpus."""
        source = self.configuration.get("source")
        name = Path(paths[0]).name
        if source == "files-from":
            Path(f"{name}.list").write_text(
                "".join(f"{path}\n" for path in paths), encoding="utf-8"
            )
            return ["--files-from", f"{name}.list"]
        if source not in taken:
            return list(paths)
        if source == "once":
            return [*paths, "--once"]
        if source == "from-folder":
            folders = (
                paths
                if self.configuration["format"] == "mbox"
                else sorted(map(str, Path(paths[0]).iterdir()))
            )
            return [
                word
                for folder in folders
                for word in (
                    "--from-folder",
                    f"{Path(folder).name.partition('.')[0].rstrip('-')}={folder}",
                )
            ]
        reading = Reading.from_values(
            {name: value for name, value in self.configuration.items() if name in READ}
        )
        ids = [
            document.id
            for document in Corpus(
                paths,
                resolve_reading(reading, paths, labelled=True),
                labelled=True,
                condition=self.configuration.get("where"),
            )
            if document.label == "garden"
        ]
        Path(f"{name}.patch").write_text(f"{ids[0]}\tgarden\tclock\n", encoding="utf-8")
        return [*paths, "--relabel", f"{name}.patch"]

    def inputs(self) -> list[str]:
        """Return the options of `nbtext train` that are no parameters."""
        given = self.configuration
        return [
            *self.seeds(),
            *(self.unlabelled() if "unlabelled" in given else []),
            *(["--on-error", given["on_error"]] if "on_error" in given else []),
        ]

    def seeds(self) -> list[str]:
        """Return the option of seeds: words, or without a text values of a column, which only categorical ones have."""
        given = self.configuration
        has_text = given.get("text_column") not in (None, "none") or given.keys().isdisjoint(
            {"categorical", "count", "numeric"}
        )
        if "seeds" not in given or not (has_text or "categorical" in given):
            return []
        return ["--seeds", given["seeds"] if has_text else "values.txt"]

    def unlabelled(self) -> list[str]:
        """Return the documents without labels as options."""
        return [word for path in self.pool for word in ("--unlabelled", path)]

    def train(self, model: str, paths: Arguments, *more: str) -> Result:
        """Train as the configuration says."""
        corpus = (
            []
            if self.configuration.get("labels") == "none"
            else self.corpus(paths, "from-folder", "relabel", "once")
        )
        return nbtext("train", "-m", model, *self.options(), *self.inputs(), *corpus, *more)

    def progress_text(self, *arguments: str, reads: bool = True) -> Result:
        """Run a command that works; if it ``reads`` the corpus, a document may be too large."""
        result = nbtext(*arguments)
        check_output(arguments, result)
        assert result.status == int(self.some_unreadable and reads), (
            self.configuration,
            arguments,
            result,
        )
        return result

    def ended(self, *arguments: str) -> Result:
        """Run a command that works or is refused for one of `REFUSALS` that holds of the configuration."""
        result = nbtext(*arguments)
        check_output(arguments, result)
        if result.status not in (0, int(self.some_unreadable)):
            assert result.status == 2, (self.configuration, arguments, result)
            line = refusal(result)
            assert any(re.search(pattern, line) and any(holds(each, self.configuration) for each in conditions) for pattern, conditions in REFUSALS), (
                self.configuration, arguments, line,
            )  # fmt: skip
        return result


def check_output(arguments: Arguments, result: Result) -> None:
    """Whatever happens, nothing is an internal error, and no number is none."""
    assert result.status != 70, (arguments, result)
    assert b"Traceback" not in result.err, (arguments, result)
    assert not NAN.search(result.out), (arguments, result)
    assert all(note.startswith("nbtext: ") for note in result.notes), (arguments, result)


def refusal(result: Result) -> str:
    """Return the one line of a refusal, but for warnings and documents that cannot be read."""
    [line] = [
        note for note in result.notes if "warning: " not in note and "larger than" not in note
    ]
    return line


NOT_SUMS = (among("classifier", "gaussian", "logistic"), AVERAGE, among("weighting", "tfidf"))
NO_HELD_OUT = (
    among("keep_documents", 0),
    among("labels", "none"),
    among("calibration", "none"),
    among("estimate", "ml"),
)
NO_TEXT = (among("text_column", None, "none"),)
ANY = (among("labels", *VALUES["labels"]),)

REFUSALS: tuple[tuple[str, tuple[Condition, ...]], ...] = (
    (
        "an exact change of a model cannot be used with --(classifier|members|weighting) .*",
        NOT_SUMS,
    ),
    (
        "an exact change of a model cannot be used with unlabelled training documents",
        (given("unlabelled"),),
    ),
    ("^nbtext: .* cannot be used with .*", ANY),
    (
        "labelled documents cannot show how much unlabelled ones help; label 10 or more",
        (given("unlabelled"),),
    ),
    ("--text needs a model of texts", (among("format", "svmlight"),)),
    ("has no documents to hold out; train with --set keep-documents=N above 0", NO_HELD_OUT),
    (r"--classifier .* kept no predictions of held-out documents", NO_HELD_OUT),
    (
        "a coverage of 0.8 needs at least",
        (among("keep_documents", 12), among("max_document_size", "2K"), *NO_HELD_OUT),
    ),
    (
        "does not know what training looked like; train with calibration and --set keep-documents=N above 0",
        NO_HELD_OUT,
    ),
    ("the model has no typicality; train --classifier multinomial on counts", ANY),
    ("the model has no words to draw", (*NO_TEXT, given("classifier"), given("char_ngrams"))),
    (r"class \S+ has no words to draw; train with --smoothing above 0", NO_POSTERIOR),
    ("--draw needs a posterior, which maximum likelihood lacks", (among("estimate", "ml"),)),
    ("--draw does not go with a bernoulli model", (among("classifier", "bernoulli"),)),
    (
        "only --classifier multinomial --weighting counts, bernoulli and gaussian have evidence",
        (given("classifier"), given("weighting"), given("unlabelled")),
    ),
    (
        "AIC and BIC need all documents, and the model keeps a sample of them",
        (given("keep_documents"),),
    ),
    (
        "AIC and BIC are not defined, because a covariance cannot be inverted",
        (among("classifier", "gaussian"),),
    ),
    ("no document of the pool has a word that counts", NO_TEXT),
    (r"proportions of \d classes need at least \d+ labelled documents, and the model has", ANY),
    ("none of the .* terms? is left; lower --min-df", ANY),
    (r"all documents have the same 'size'; do not change estimate and --smoothing", NO_POSTERIOR),
)
"""What a command may refuse to do with a model, and of which configurations."""

ALIASES = {
    **dict.fromkeys(("class_weight", "weight_column"), "weights"),
    "classifier": "--set members",
    **dict.fromkeys(("labels", "label_separator"), "several labels"),
    "members": "--classifier",
    "keep_documents": "--set keep-documents",
    "smoothing": "pseudo-counts",
    "weighting": "tf-idf",
    "header": "--header",
}
"""What messages also call a setting."""


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run commands in a folder of their own, with warnings as errors; let repetitions be few, and few documents be enough."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "warnoptions", ["error"])
    monkeypatch.setattr(typicality, "MIN_BAND_DOCUMENTS", 8)
    monkeypatch.setattr(class_proportions, "MIN_MEAN_CLASS_DOCUMENTS", 5)
    monkeypatch.setattr(label_errors, "FALLBACK_FOLDS", 3)


def name_of(configuration: Mapping[str, Any]) -> str:
    """Return the values of a configuration, for the names of tests."""
    return " ".join(f"{name}={value}" for name, value in configuration.items())


def test_every_declared_parameter_has_test_values() -> None:
    elsewhere = {"records"}  # a file of another form: tests/test_cli_tables.py
    for name, parameter in DECLARED.items():
        if name in elsewhere:
            continue
        values = VALUES[name]
        assert len(values) > 1, name
        assert {
            parameter.validate(value)
            for value in values
            if value is not None and not str(value).endswith(".txt")
        } - {parameter.default}, name


def is_excluded(configuration: Configuration) -> bool:
    """Return whether the table of exclusions refuses settings, seeds and pool of a configuration."""
    files = {"smoothing.txt": {"*": 1.0}, "prior.txt": {"garden": 1.0}}
    values = {name: files.get(str(value), value) for name, value in configuration.items()}
    reading = Reading.from_values({name: value for name, value in values.items() if name in READ})
    try:
        settings = replace(
            Settings.from_values(
                {name: value for name, value in values.items() if name in TRAINED}
            ),
            reading=reading,
        )
        asked = []
        if "seeds" in values:
            asked.append(compatibility.SEED_WORDS)
        if "unlabelled" in values:
            asked.append(compatibility.UNLABELLED_POOL)
        if any(holds(each, configuration) for each in SEVERAL):
            asked.append(compatibility.MULTI_LABEL_DOCUMENTS)
        compatibility.require_compatible_settings(settings, *asked)
    except UsageError:
        return True
    return False


def test_exclusion_table_matches_the_refused_settings() -> None:
    assert not any(map(is_excluded, configurations()))
    of_settings = {
        *TRAINED,
        "labels",
        "label_separator",
        "seeds",
        "unlabelled",
        "categorical",
        "count",
        "numeric",
        "weight_column",
    }
    refused = [
        least for values, least in refused_alone() if {name for name, _ in values} <= of_settings
    ]
    assert len(refused) > 90
    assert all(map(is_excluded, refused))


@pytest.mark.repeated
@pytest.mark.parametrize(
    ("values", "least"), some(refused_alone(), 30), ids=lambda one: name_of(dict(one))
)
def test_incompatible_values_are_refused_in_one_line_naming_both(
    values: Any, least: Configuration
) -> None:
    result = Session(least).train("m", Session(least).both)
    assert (result.status, result.out, Path("m").exists()) == (2, b"", False), result
    [line] = result.notes
    for name, value in values:
        if value is not None:
            option = (
                DECLARED[name].display_name if name in DECLARED else f"--{name.replace('_', '-')}"
            )
            words = (
                option,
                str(value) if len(str(value)) > 2 else option,
                ALIASES.get(name, option),
                "there is no column",
            )
            assert any(word in line for word in words), (name, line)


@pytest.mark.repeated
@pytest.mark.parametrize("configuration", some(configurations(), 8), ids=name_of)
def test_every_command_works_with_every_configuration(configuration: Configuration) -> None:
    session = Session(configuration)
    result = session.train("m", session.both)
    check_output(("train",), result)
    assert result.status == int(session.some_unreadable), (configuration, result)
    check_model(has_ledger=configuration.get("source") == "once")
    check_commands(session)
    check_answers(session)
    check_training_commands(session)
    check_changes(session)


def check_model(*, has_ledger: bool) -> None:
    """The file of the model is sound, loads, and is written again as it is, but for its ledger."""
    require_sound("m")
    TextClassifier.load("m").save("again")
    shutil.copy("m", "alone")
    if has_ledger:
        assert nbtext("prune", "--ledger", "-m", "alone").status == 0
    assert Path("again").read_bytes() == Path("alone").read_bytes()


def check_commands(session: Session) -> None:
    """Commands that need documents without labels, or none."""
    pool, few = session.corpus(session.pool), list(session.few)
    for arguments in (
        ["inspect"],
        ["inspect", "-o", "json"],
        ["inspect", "--term", "rose"],
        ["inspect", "--class", "garden"],
    ):
        session.progress_text(*arguments, "-m", "m", reads=False)
    for arguments in (
        ["inspect", "--criteria"], ["inspect", "--thresholds", "0.5"], ["generate", "-n", "2"], ["generate", "--draw"],
        ["classify", *few, "--coverage", "0.8"], ["classify", *few, "--min-precision", "0.8"], ["classify", *few, "--min-typicality", "0.1"],
        ["classify", "--text", "rose 花园 in the soup"], ["select-features", "-o", "jsonl"],
    ):  # fmt: skip
        session.ended(*arguments, "-m", "m")
    prior = [word for path in session.pool for word in ("--prior-from", path)]
    costs = (
        "label-costs.toml"
        if any(holds(each, session.configuration) for each in SEVERAL)
        else "costs.toml"
    )
    for arguments in (
        ["classify", *few, *prior], ["classify", *few, "--costs", costs], ["explain", *few, "--to", "page.html"], ["tokens", *few],
        ["explain", *few, "--why-not", "garden", "-o", "jsonl"], ["prevalence", *pool, "-o", "json"],
    ):  # fmt: skip
        session.ended(*arguments, "-m", "m")
    analysis = session.options(
        *(name for name in DECLARED if name not in ANALYSIS_NAMES and name not in READ)
    )
    session.ended("label", *few, "--suggest", "3", *analysis)


def check_answers(session: Session) -> None:
    """Answers are the same in every form, those that `evaluate` judges, and what `explain` explains; documents of training do not drift."""
    corpus = session.corpus(session.both)
    rows = [
        json.loads(line)
        for line in session.progress_text(
            "classify", *corpus, "-m", "m", "-o", "jsonl", "--scores"
        ).out.splitlines()
    ]
    if any(holds(each, session.configuration) for each in SEVERAL):
        check_label_sets(session, corpus)
        return
    table = [
        line.split("\t")
        for line in session.progress_text("classify", *corpus, "-m", "m").out.decode().splitlines()
    ]
    assert [(row["id"], row["label"] or "") for row in rows] == [(row[0], row[1]) for row in table]
    answered = [row for row in rows if row["label"] is not None]
    for row in answered:
        assert math.isclose(sum(each["probability"] for each in row["labels"]), 1, abs_tol=1e-4), (
            row
        )
        assert row["probability"] >= max(each["probability"] for each in row["labels"]) - 1e-6, row
    check_evaluation(session, corpus, rows)
    check_explanations(session, corpus, {row["id"]: row for row in answered})
    result = session.ended("classify", *corpus, "-m", "m", "--drift", "log")
    if result.status != 2:
        [drift] = map(
            json.loads,
            session.progress_text("drift", "log", "-o", "jsonl", reads=False).out.splitlines(),
        )
        # with --top each model chooses its terms, so a left-out document can have others
        check_drift(
            drift,
            is_whole=not {"keep_documents", "weight_column", "top"} & set(session.configuration),
        )


def check_label_sets(session: Session, corpus: list[str]) -> None:
    """Sets of labels are the same in every form, and those that `evaluate` judges."""
    rows = [
        json.loads(line)
        for line in session.progress_text(
            "classify", *corpus, "-m", "m", "-o", "jsonl"
        ).out.splitlines()
    ]
    table = [
        line.split("\t")
        for line in session.progress_text("classify", *corpus, "-m", "m").out.decode().splitlines()
    ]
    given = [[each["label"] for each in row.get("labels", [])] for row in rows]
    assert [(row["id"], "|".join(labels)) for row, labels in zip(rows, given, strict=True)] == [
        (row[0], row[1]) for row in table
    ]
    assert all(0 <= each["probability"] <= 1 for row in rows for each in row.get("labels", []))
    judged = json.loads(session.progress_text("evaluate", *corpus, "-m", "m", "-o", "json").out)
    reading = Reading.from_values(
        {
            name: value
            for name, value in session.configuration.items()
            if name in READ and name != "weight_column"
        }
    )
    paths = session.both
    truth = {
        document.id: list_labels(document.label or "")
        for document in Corpus(
            paths,
            resolve_reading(reading, paths, labelled=True),
            labelled=True,
            condition=session.configuration.get("where"),
        )
        if document.problem is None
    }
    hits = sum(
        len({*labels} & {*truth[row["id"]]})
        for row, labels in zip(rows, given, strict=True)
        if "error" not in row
    )
    sizes = sum(map(len, given)) + sum(map(len, truth.values()))
    assert judged["n"] == len(truth)
    assert math.isclose(judged["micro_f1"], 2 * hits / sizes if sizes else 0, abs_tol=1e-12), judged
    session.ended("explain", *corpus, "-m", "m", "-o", "jsonl")


def check_evaluation(session: Session, corpus: list[str], rows: list[dict[str, Any]]) -> None:
    """`evaluate` counts as right and wrong what `classify` answers."""
    judged = json.loads(
        session.progress_text(
            "evaluate", *corpus, "-m", "m", "-o", "json", "--errors", "errors"
        ).out
    )
    wrong = [json.loads(line) for line in Path("errors").read_text(encoding="utf-8").splitlines()]
    answers = {row["id"]: row["label"] for row in rows}
    read = [row for row in rows if "error" not in row]
    assert judged["n"] == len(read)
    answered = [row for row in read if row["label"] is not None]
    assert all(answers[each["id"]] == each["answer"] != each["truth"] for each in wrong)
    assert math.isclose(judged["accuracy"], (len(answered) - len(wrong)) / len(read), abs_tol=1e-12)
    assert sum(figures["support"] for figures in judged["per_class"].values()) == len(read)


def check_explanations(
    session: Session, corpus: list[str], answers: dict[str, dict[str, Any]]
) -> None:
    """The contributions of an explanation add up to the difference of the scores."""
    for line in session.progress_text(
        "explain", *corpus, "-m", "m", "-o", "jsonl"
    ).out.splitlines():
        found = json.loads(line)
        if found["label"] is None or found["log_odds"] is None:
            continue
        answer = answers[found["id"]]
        assert found["label"] == answer["label"], found
        scores = {each["label"]: each["score"] for each in answer["labels"]}
        assert math.isclose(
            found["log_odds"],
            scores[found["label"]] - scores[found["against"]],
            rel_tol=1e-6,
            abs_tol=1e-6,
        ), found
        parts = [
            found["prior"],
            found.get("rest", 0.0),
            *(part["nats"] for part in (*found["words"], *found["attributes"])),
        ]
        assert math.isclose(sum(parts), found["log_odds"], rel_tol=1e-6, abs_tol=1e-6), found
        assert found["adds_up"] or any(
            holds(each, session.configuration) for each in (*OF_GAUSSIAN, BY_EVIDENCE)
        ), found


def check_drift(drift: dict[str, Any], *, is_whole: bool) -> None:
    """Documents of training are no stranger than left-out ones."""
    unknown, likelihood = drift["unknown"], drift["log_likelihood"]
    assert unknown["run"] <= unknown["training"] + 1e-9 or not unknown["beyond_chance"], drift
    assert (
        likelihood["run"] is None
        or likelihood["run"] >= likelihood["training"] - 1e-9
        or not likelihood["beyond_chance"]
    ), drift
    assert not is_whole or not drift["length"]["beyond_chance"], drift
    assert not is_whole or not drift["answers"]["beyond_chance"], drift


def check_training_commands(session: Session) -> None:
    """Commands that judge a model, or train one, on a labelled corpus."""
    corpus, plain = session.corpus(session.both), list(session.both)
    for arguments in (
        ["evaluate", *corpus, *(word for path in plain for word in ("--check-leakage", path))],
        ["inspect", "--perplexity", plain[0]], ["report", *corpus, "--to", "report.html"],
    ):  # fmt: skip
        session.ended(*arguments, "-m", "m")
    shutil.copy("m", "other")
    session.progress_text("compare", "m", "other", *corpus)
    for arguments in (
        ["cross-validate", *corpus, *session.options(), "--folds", "2", "-o", "json"],
        [
            "learning-curve",
            *corpus,
            *session.options(),
            "--steps",
            "2",
            "--repeats",
            "1",
            "--folds",
            "2",
        ],
        ["suspects", *corpus, *session.options()],
        ["tune", *corpus, *session.options(), "--try", "min-df=1", "--folds", "2", "-m", "tuned"],
    ):
        session.ended(*arguments)


def check_changes(session: Session) -> None:
    """A model that can be updated is then that of training on all documents; what it forgets is as if it had never been learnt."""
    configuration = session.configuration
    if configuration.get("labels") != "none":
        session.train("updated", session.first)
        before = Path("updated").read_bytes()
        pool = session.unlabelled() if "unlabelled" in configuration else []
        more = session.corpus(session.more, "once")
        # training chooses the weighting by the pool, an update keeps that of the model
        chosen_alike = "unlabelled" not in configuration or "weighting" in configuration
        if (
            session.ended("update", "-m", "updated", *more, *pool).status != 2
            and configuration.get("source") != "relabel"
        ):
            assert not chosen_alike or Path("updated").read_bytes() == Path("m").read_bytes(), (
                configuration
            )
            forgotten = session.ended("forget", "-m", "updated", *more, *pool)
            may_differ = (
                "keep_documents" in configuration or configuration.get("source") == "once"
            )  # once: a text of both parts is forgotten
            assert forgotten.status == 2 or may_differ or Path("updated").read_bytes() == before, (
                configuration
            )
    shutil.copy("m", "other")
    session.ended("merge", "m", "other", "--to", "merged")
    session.ended("relabel", "garden", "küche", "-m", "other")
    session.ended("prune", "--min-df", "2", "-m", "other")
    session.ended("promote", "other", "-m", "again")


@pytest.mark.repeated
@pytest.mark.parametrize(
    "configuration", configurations()[:: 8 if exhaustive() else 45], ids=name_of
)
def test_two_processes_write_the_same_bytes(configuration: Configuration) -> None:
    session = Session(configuration)
    session.train("m", session.both)
    session.train("m2", session.both, "--jobs", "2")
    assert Path("m").read_bytes() == Path("m2").read_bytes()
