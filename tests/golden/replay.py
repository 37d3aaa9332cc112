"""Runs the commands of ``commands.txt`` and notes all that can be seen of them, byte for byte.

``commands.txt`` is made of sessions, each headed by ``== NAME`` and run in a folder of its own, with copies of what is in ``inputs/`` and links
``train`` and ``test`` to the parts of corpora/service-desk, ``service-desk`` and ``format-2`` to the models of tests/fixtures. A line is

- ``nbtext ARGUMENTS``, also with ``NAME=VALUE`` before and ``< FILE`` behind: status, both outputs and every file it wrote are compared;
- ``~ nbtext ARGUMENTS``: only the status, since the output holds what the clock, the disk or the machine says;
- anything else: a line of bash that makes files, and must succeed.

In outputs and in logs, durations, the time of day and the name of the folder are replaced, see `normal`. Nothing here imports more of nbtext than is public, but for the description of a model.
"""

from __future__ import annotations

import hashlib
import inspect
import platform
import re
import shlex
import shutil
import subprocess
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import gammaln, psi

import nbtext as package
from nbtext import TextClassifier
from nbtext.model.description import describe_model, list_warnings
from tests.process import REPOSITORY, SERVICE_DESK, nbtext

if TYPE_CHECKING:
    from collections.abc import Callable

    from nbtext.settings import ClassifierName

HERE = Path(__file__).parent
EXPECTED = HERE / "expected.json"

LONGEST = 800
"""Characters of an output that are kept as they are; of a longer one the SHA-256, the length and the beginning."""

NORMALISED = ((r"\b\d+(\.\d+)? s\b", "N s"), (r"\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", "TIME"))
"""What depends on the clock: how long training took (-v), and when a run was noted (--drift)."""

ENVIRONMENT = {"COLUMNS": "80", "TZ": "UTC", "LC_ALL": "C.UTF-8", "LANG": "C.UTF-8"}

CLASSIFIERS: tuple[ClassifierName, ...] = (
    "multinomial",
    "bernoulli",
    "complement",
    "gaussian",
    "logistic",
)

ASKED = ["the street lamp is dark and the bins are full", "", "zyzzyva", "parking permit fee"]

ANIMALS: list[Any] = [
    {"text": "it purrs", "colour": "black", "weight": 4},
    {"text": "it hisses", "colour": "red", "weight": 5},
    {"text": "it barks", "colour": "black", "weight": 20},
    {"text": "it growls", "weight": 31.5},
]

PACKAGES = ("numpy", "scipy", "PyStemmer", "stop-words", "nltk", "joblib", "click", "rich")


def surroundings() -> dict[str, str]:
    """Return what last digits and the layout of help and tables may depend on beside nbtext."""
    return {
        "python": platform.python_version(),
        "arithmetic": arithmetic(),
        **{name: version(name) for name in PACKAGES},
    }


def arithmetic() -> str:
    """Return a digest of results whose last digits depend on the processor, because libraries choose their code by it."""
    numbers = np.sin(np.arange(1, 3_601, dtype=float)).reshape(60, 60)
    positive = np.abs(numbers) + 0.01
    symmetric = numbers[:40, :40] @ numbers[:40, :40].T
    results = [
        numbers @ numbers[:, 0],
        numbers[0] @ numbers[1],
        numbers[:7] @ numbers,
        numbers.sum(axis=0),
        np.exp(numbers),
        np.log(positive),
    ]
    results += [
        np.log1p(positive),
        np.power(positive, 0.3),
        gammaln(positive),
        psi(positive),
        *np.linalg.eigh(symmetric),
        *np.linalg.svd(symmetric),
    ]
    return hashlib.sha256(
        b"".join(result.tobytes() for result in map(np.asarray, results))
    ).hexdigest()[:16]


def sessions() -> dict[str, list[str]]:
    """Return the lines of each session by its name."""
    found: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in (HERE / "commands.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("== "):
            assert line not in found, f"{line} stands twice"
            lines = found[line.removeprefix("== ")] = []
        elif line and not line.startswith("#"):
            lines.append(line)
    return found


def play_session(lines: list[str]) -> list[dict[str, Any]]:
    """Run a session; return what there is to see of each of its commands."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copytree(HERE / "inputs", folder, dirs_exist_ok=True)
        for link, target in (
            ("train", SERVICE_DESK / "train"),
            ("test", SERVICE_DESK / "test"),
            ("format-2", HERE.parent / "fixtures/format-2"),
        ):
            (folder / link).symlink_to(target)
        found = []
        for line in lines:
            command = line.removeprefix("~ ")
            if re.match(r"([A-Z_]+=('[^']*'|\S*) )*nbtext\b", command):
                found.append(
                    {
                        "command": line,
                        **run_golden_command(command, folder, status_only=line != command),
                    }
                )
            else:
                subprocess.run(["bash", "-c", line], cwd=folder, check=True)
        return found


def run_golden_command(command: str, folder: Path, *, status_only: bool) -> dict[str, Any]:
    """Run one command; return its status, outputs and the digests of files that it wrote; None for one that is gone."""
    words = shlex.split(command)
    start = words.index("nbtext")
    env = dict(word.split("=", 1) for word in words[:start])
    arguments, given = words[start + 1 :], b""
    if arguments[-2:-1] == ["<"]:
        given = (folder / arguments[-1]).read_bytes()
        arguments = arguments[:-2]
    before = digests(folder)
    result = nbtext(*arguments, cwd=folder, stdin=given, env={**ENVIRONMENT, **env})
    after = digests(folder)
    changed = {
        name: after.get(name)
        for name in sorted(before | after)
        if before.get(name) != after.get(name)
    }
    outputs = (
        {} if status_only else {"out": shown(result.out, folder), "err": shown(result.err, folder)}
    )
    return {
        "status": result.status,
        **{name: text for name, text in outputs.items() if text},
        **({"files": changed} if changed else {}),
    }


def digests(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of every file in a folder, but for what is linked; of logs without the time of day."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return {
        str(path.relative_to(folder)): sha256(
            log_of(path, folder) if path.suffix == ".log" else path.read_bytes()
        )
        for path in files
    }


def log_of(path: Path, folder: Path) -> bytes:
    """Return the content of a log of --drift, which holds the time of day and the place of the model."""
    return normal(path.read_text(encoding="utf-8"), folder).encode()


def sha256(content: bytes) -> str:
    """Return the digest of a file or an output."""
    return hashlib.sha256(content).hexdigest()


def normal(text: str, folder: Path) -> str:
    """Replace what depends on the clock, and the name of the scratch folder."""
    for pattern, name in NORMALISED:
        text = re.sub(pattern, name, text)
    return text.replace(str(folder), "FOLDER")


def shown(output: bytes, folder: Path) -> str | list[str | int]:
    """Return an output as text, bytes that are none as escapes; a long one as its SHA-256, its length and its beginning."""
    text = normal(output.decode("utf-8", "backslashreplace"), folder)
    assert str(REPOSITORY) not in text, text
    return text if len(text) <= LONGEST else [sha256(text.encode()), len(text), text[:100]]


def public_api() -> list[str]:
    """Return the public names of nbtext, with the signatures of what can be called."""
    found = [
        f"__all__ {sorted(package.__all__)}",
        f"TextClassifier{inspect.signature(TextClassifier)}",
    ]
    for name in sorted(name for name in dir(TextClassifier) if not name.startswith("_")):
        raw = inspect.getattr_static(TextClassifier, name)
        call = getattr(TextClassifier, name)
        found.append(
            f"{name}{inspect.signature(call)} {type(raw).__name__}"
            if callable(call)
            else f"{name} {type(raw).__name__}"
        )
    return [*found, f"parameters {sorted(TextClassifier().get_params().items())!r}"]


def scores() -> dict[str, list[str]]:
    """Return what classifiers that were trained through the API say of some texts, to the last digit, and what wrong calls raise."""
    files = sorted((SERVICE_DESK / "train").rglob("*.txt"))
    texts, labels = [path.read_bytes() for path in files], [path.parent.name for path in files]
    found: dict[str, list[str]] = {
        name: describe_predictions(TextClassifier(classifier=name).fit(texts, labels))
        for name in CLASSIFIERS
    }
    weights = [(1, 2, 0.5, 0, 0.125)[place % 5] for place in range(len(texts))]
    for name in ("multinomial", "bernoulli", "complement", "logistic"):
        found[f"weights, {name}"] = describe_predictions(
            TextClassifier(classifier=name, class_weight="balanced").fit(texts, labels, weights)
        )
    model = TextClassifier(weighting="log").fit(texts[:200], labels[:200], weights[:200])
    found["weights, partial_fit"] = describe_predictions(
        model.partial_fit(texts[200:], labels[200:], weights[200:])
    )
    found["weights, forget"] = describe_predictions(
        model.forget(texts[:20], labels[:20], weights[:20])
    )
    model = TextClassifier(ngrams=2).fit(texts[:200], labels[:200])
    found["partial_fit"] = describe_predictions(model.partial_fit(texts[200:], labels[200:]))
    found["forget"] = describe_predictions(model.forget(texts[:20], labels[:20]))
    found["set_params"] = describe_predictions(
        model.set_params(smoothing=0.1, top=50, class_prior="uniform")
    )
    with tempfile.TemporaryDirectory() as name:
        model.save(f"{name}/model")
        found["save"] = [sha256(Path(name, "model").read_bytes())]
        found["load"] = describe_predictions(TextClassifier.load(f"{name}/model"))
    found["attributes"] = describe_predictions(
        TextClassifier(categorical="colour", numeric="weight", smoothing=1).fit(
            ANIMALS, ["cat", "cat", "dog", "dog"]
        )
    )
    wrong: list[Callable[[], object]] = [
        lambda: TextClassifier(classifier="bayes"),  # type: ignore[arg-type]
        lambda: TextClassifier(nothing=1),  # type: ignore[call-arg]
        lambda: TextClassifier().fit("a text", ["a"]),
        lambda: TextClassifier().fit(["a text"], ["a", "b"]),
        lambda: TextClassifier().fit(["a text"], [""]),
        lambda: TextClassifier().fit([], []),
        lambda: TextClassifier().predict(["a text"]).tolist(),
        lambda: TextClassifier.load("/nowhere/model"),
        lambda: model.forget(["a text that was never learnt"], [labels[0]]),
    ]
    found["errors"] = [describe_error(call) for call in wrong]
    return found


def describe_predictions(model: TextClassifier, asked: list[Any] = ASKED) -> list[str]:
    """Return what a model says of itself and of some texts."""
    values = (
        model.joint_log_likelihood(asked),
        model.predict_log_proba(asked),
        model.predict_proba(asked),
    )
    numbers = [float(value).hex() for array in values for value in array.ravel()]
    return [
        describe_model(model.fitted),
        str(model.classes),
        str(model.predict(asked).tolist()),
        *list_warnings(model.fitted),
        " ".join(numbers),
    ]


def describe_error(call: Callable[[], object]) -> str:
    """Return the name and the message of the error that a call raises."""
    try:
        return f"none: {call()}"
    except Exception as error:  # noqa: BLE001 - which one is what is asked
        name = type(error).__name__.replace(
            "NotTrainedError", "UsageError"
        )  # its name where scikit-learn is imported
        return f"{name}: {error}"
