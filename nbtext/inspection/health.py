"""Check an installation: packages, the model file and its folder. Nothing is changed."""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import field
from importlib.metadata import PackageNotFoundError, requires, version
from importlib.util import find_spec
from pathlib import Path

from nbtext.errors import (
    FAILED,
    PASSED,
    RESTORE_HINT,
    WARNING,
    Finding,
    LockedError,
    ModelError,
    NbtextError,
    PathError,
    describe_os_error,
)
from nbtext.fast_dataclasses import dataclass
from nbtext.metrics.results import NOT_IN_JSON
from nbtext.model.description import describe_model
from nbtext.model.text_classifier import TextClassifier
from nbtext.store.atomic import LOCK_SUFFIX, check_replaceable, lock_path
from nbtext.store.model_file import read_model_bytes
from nbtext.version import __version__

PACKAGES = ("numpy", "scipy", "PyStemmer", "stop-words", "nltk", "joblib", "click", "rich")
"""Packages that nbtext needs, by the names under which they are installed."""

OPTIONAL = {"distributed": ("--scheduler", "pip install 'nbtext[dask]'")}
"""Packages that nbtext can do without: what needs them, and how to install them."""

COMPRESSIONS = {"_bz2": "bzip2", "_lzma": "xz"}
"""Modules that a Python may have been built without."""

SPARE = 3
"""Models that a folder should have room for: the new one, the old one and a backup."""


@dataclass(frozen=True)
class FailedCheck(Finding):
    """A check that failed."""

    problem: NbtextError | None = field(default=None, metadata=NOT_IN_JSON)
    """The error that commands would end with."""


def check_installation(path: str, *, path_is_explicit: bool) -> Iterator[Finding]:
    """Check this installation and the model at ``path``; a missing one is a failure only if somebody ``named`` it.

    Raise nothing: whatever is wrong is a finding.
    """
    yield _python()
    yield from _check_packages()
    for name, (purpose, get) in OPTIONAL.items():
        number = _find_version(name)
        yield Finding(
            "optional",
            PASSED,
            f"{name} {number}"
            if number
            else f"{name} is not installed; only {purpose} needs it ({get})",
        )
    yield from _check_model(path, named=path_is_explicit)
    yield from _check_folder(path)


def get_installed_versions() -> dict[str, str | None]:
    """Return the versions of nbtext, Python and all packages; None for one that is not installed."""
    return {
        "nbtext": __version__,
        "python": sys.version.split()[0],
        **{name: _find_version(name) for name in (*PACKAGES, *OPTIONAL)},
    }


def _python() -> Finding:
    system = os.uname()
    processors = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    detail = (
        f"nbtext {__version__}, Python {sys.version.split()[0]}, {system.sysname} "
        f"{system.machine}, processors: {processors}"
    )
    missing = [name for module, name in COMPRESSIONS.items() if find_spec(module) is None]
    if missing:
        return Finding(
            "python",
            WARNING,
            f"{detail}; it cannot read {' and '.join(missing)}",
            "install a Python that was built with them",
        )
    return Finding("python", PASSED, detail)


def _check_packages() -> Iterator[Finding]:
    installed = {name: _find_version(name) for name in PACKAGES}
    needed = _least_versions()
    yield Finding(
        "packages",
        PASSED,
        ", ".join(f"{name} {number}" for name, number in installed.items() if number is not None),
    )
    for name, number in installed.items():
        least = needed.get(name.lower(), "")
        fix = f"pip install '{name}{least and '>='}{least}'"
        if number is None:
            yield Finding("packages", WARNING, f"{name} is not installed", fix)
        elif _parts(number) < _parts(least):
            yield Finding(
                "packages",
                WARNING,
                f"{name} {number} is older than {least}, which nbtext needs",
                fix,
            )


def _least_versions() -> dict[str, str]:
    """Return the oldest version of each package with which nbtext works, as far as its installation knows them."""
    try:
        needed = requires("nbtext") or []
    except PackageNotFoundError:
        return {}
    matches = [re.fullmatch(r"([\w.-]+)>=([\d.]+)", line.replace(" ", "")) for line in needed]
    return {match[1].lower(): match[2] for match in matches if match is not None}


def _parts(number: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", number))


def _find_version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _check_model(path: str, *, named: bool) -> Iterator[Finding]:
    if not os.path.lexists(path) and not named:
        yield Finding(
            "model",
            WARNING,
            f"{path}: there is none yet",
            "nbtext train CORPUS makes one; --model names another",
        )
        return
    try:
        size = len(read_model_bytes(path))  # with the ledger, which loading does not read
    except (ModelError, OSError) as problem:
        failure = (
            problem
            if isinstance(problem, ModelError)
            else ModelError(describe_os_error(problem), where=path)
        )
        fix = failure.hint or "check its permissions, or name another with --model"
        yield FailedCheck("model", FAILED, f"{path}: {failure.message}", fix, failure)
        return
    try:
        fitted = TextClassifier.load(path).fitted
    except ModelError as damaged:
        yield FailedCheck(
            "model", FAILED, f"{path}: {damaged.message}", damaged.hint or RESTORE_HINT, damaged
        )
        return
    yield Finding("model", PASSED, f"{path}: {size:,} bytes, loaded: {describe_model(fitted)}")
    for name, number in fitted.written_by.items():
        if name in PACKAGES and _find_version(name) not in (None, number):
            detail = (
                f"its stems are those of {name} {number}, and {name} {_find_version(name)} is "
                "installed: some may differ"
            )
            yield Finding(
                "model", WARNING, detail, f"train again, or pip install '{name}=={number}'"
            )


def _check_folder(path: str) -> Iterator[Finding]:
    """Check that a model can be written to ``path`` now: the folder, its room, and the lock."""
    try:
        target = check_replaceable(path)
        with tempfile.TemporaryFile(
            dir=target.parent
        ) as file:  # finds more than permissions do: quotas, full and read-only disks
            file.write(bytes(4096))
            file.flush()
    except (PathError, OSError) as problem:
        failure = (
            problem
            if isinstance(problem, PathError)
            else PathError(
                f"cannot write: {describe_os_error(problem)}", where=str(Path(path).parent)
            )
        )
        fix = (
            f"{failure.hint or 'make room, or check permissions'}; commands that only read a "
            "model work"
        )
        yield FailedCheck(
            "folder", FAILED, str(PathError(failure.message, where=failure.where)), fix, failure
        )
        return
    free = shutil.disk_usage(target.parent).free
    size = target.stat().st_size if target.exists() else 0
    detail = f"{target.parent}: can be written, {free / 1e9:,.1f} GB free"
    if free < SPARE * size:
        fix = "make room: the old model stays until the new one is whole"
        yield Finding("folder", WARNING, f"{detail}, the model takes {size / 1e9:,.1f} GB", fix)
    else:
        yield Finding("folder", PASSED, detail)
    try:
        with lock_path(path, 0):
            yield Finding("lock", PASSED, "free: no other process is writing the model")
    except (LockedError, PathError) as failure:
        todo = "wait for it to end" if isinstance(failure, LockedError) else failure.hint
        yield FailedCheck(
            "lock", FAILED, f"{target}{LOCK_SUFFIX}: {failure.message}", todo, failure
        )
