"""Check an installation for `nbtext doctor`: packages, the model file and its directory."""

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
from typing import TYPE_CHECKING

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
    format_quantity,
)
from nbtext.fast_dataclasses import dataclass
from nbtext.metrics.results import NOT_IN_JSON
from nbtext.model.description import describe_model
from nbtext.model.text_classifier import TextClassifier
from nbtext.store.atomic import LOCK_SUFFIX, check_replaceable, lock_path
from nbtext.store.model_file import read_model_bytes
from nbtext.version import __version__

if TYPE_CHECKING:
    from nbtext.fitted_model import FittedModel

PACKAGES = ("numpy", "scipy", "PyStemmer", "stop-words", "nltk", "joblib", "click", "rich")
"""Required packages, by the names under which they are installed."""

OPTIONAL_PACKAGES = {"distributed": ("--scheduler", "pip install 'nbtext[dask]'")}
"""Optional packages by name, each with the feature that needs it and the command to install it."""

COMPRESSIONS = {"_bz2": "bzip2", "_lzma": "xz"}
"""Modules that a Python may lack, each with the compression that needs it."""

DISK_BLOCK_BYTES = 4096

MAX_UNSEEN_PROPORTION = 0.05
"""If fewer documents changed after the choices of training, these are still good."""

MIN_FREE_MODELS = 3
"""The free space should be enough for the new model and a backup, with a reserve of one model."""


@dataclass(frozen=True)
class FailedCheck(Finding):
    """A failed check, with the error that other commands would report."""

    problem: NbtextError | None = field(default=None, metadata=NOT_IN_JSON)


def check_installation(path: str, *, path_is_explicit: bool) -> Iterator[Finding]:
    """Check this installation and the model at ``path``, and yield the findings.

    A missing model is a failure if ``path_is_explicit``, which means that the user set the path.
    Otherwise it is a warning.
    """
    yield _check_python()
    yield from _check_packages()
    for name, (feature, command) in OPTIONAL_PACKAGES.items():
        installed = _find_version(name)
        if installed is None:
            detail = f"{name} is not installed; only {feature} needs it ({command})"
        else:
            detail = f"{name} {installed}"
        yield Finding("optional", PASSED, detail)
    yield from _check_model(path, path_is_explicit=path_is_explicit)
    yield from _check_folder(path)


def get_installed_versions() -> dict[str, str | None]:
    """Return the versions of nbtext, Python and all packages, None for a missing package."""
    return {
        "nbtext": __version__,
        "python": _get_python_version(),
        **{name: _find_version(name) for name in (*PACKAGES, *OPTIONAL_PACKAGES)},
    }


def _get_python_version() -> str:
    return sys.version.split()[0]


def _check_python() -> Finding:
    """Return the versions and the system, with a warning if compressions are missing."""
    system = os.uname()
    if hasattr(os, "sched_getaffinity"):
        n_processors = len(os.sched_getaffinity(0))
    else:  # macOS
        n_processors = os.cpu_count() or 1  # None if it cannot be found out
    detail = (
        f"nbtext {__version__}, Python {_get_python_version()}, {system.sysname} "
        f"{system.machine}, processors: {n_processors}"
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
    """Yield the installed packages, then a warning for each that is missing or too old."""
    installed_versions = {name: _find_version(name) for name in PACKAGES}
    min_versions = _read_min_versions()
    detail = ", ".join(
        f"{name} {installed}"
        for name, installed in installed_versions.items()
        if installed is not None
    )
    yield Finding("packages", PASSED, detail)

    for name, installed in installed_versions.items():
        min_version = min_versions.get(name.lower())  # None if the metadata are missing
        requirement = name if min_version is None else f"{name}>={min_version}"
        fix = f"pip install '{requirement}'"
        if installed is None:
            yield Finding("packages", WARNING, f"{name} is not installed", fix)
        elif min_version is not None and _split_version(installed) < _split_version(min_version):
            detail = f"{name} {installed} is older than {min_version}, which nbtext needs"
            yield Finding("packages", WARNING, detail, fix)


def _read_min_versions() -> dict[str, str]:
    """Return the oldest supported version of each package, from the metadata of nbtext.

    The names of packages are in lower case. The result is empty if nbtext is not installed.
    Required packages have only a minimum version, such as ``numpy>=1.26``.
    """
    try:
        requirements = requires("nbtext") or []
    except PackageNotFoundError:
        return {}
    versions = {}
    for requirement in requirements:
        match = re.fullmatch(r"([\w.-]+)>=([\d.]+)", requirement.replace(" ", ""))
        if match is not None:  # other requirements are of optional packages
            name, min_version = match.groups()
            versions[name.lower()] = min_version
    return versions


def _split_version(version_text: str) -> tuple[int, ...]:
    """Return the numbers of a version, for comparisons."""
    return tuple(int(number) for number in re.findall(r"\d+", version_text))


def _find_version(name: str) -> str | None:
    """Return the version of a package, or None if it is not installed."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _check_model(path: str, *, path_is_explicit: bool) -> Iterator[Finding]:
    """Load the model, and compare its packages with the installed packages."""
    if not path_is_explicit and not os.path.lexists(path):
        fix = "nbtext train CORPUS makes one; --model names another"
        yield Finding("model", WARNING, f"{path}: the model file does not exist yet", fix)
        return

    try:
        # Read the whole file. `load` does not read its last section, the ledger of documents.
        size = len(read_model_bytes(path))
    except ModelError as problem:
        yield _report_unreadable_model(path, problem)
        return
    except OSError as problem:
        yield _report_unreadable_model(path, ModelError(describe_os_error(problem), where=path))
        return

    try:
        fitted = TextClassifier.load(path).fitted
        _ = fitted.counts.sample  # which loading does not check
    except ModelError as problem:
        fix = problem.hint or RESTORE_HINT
        yield FailedCheck("model", FAILED, f"{path}: {problem.message}", fix, problem)
        return
    yield Finding("model", PASSED, f"{path}: {size:,} bytes, loaded: {describe_model(fitted)}")
    yield from _check_choices(fitted)

    for name, model_version in fitted.written_by.items():
        if name not in PACKAGES:  # nbtext or Python
            continue
        installed = _find_version(name)
        if installed is not None and installed != model_version:
            detail = (
                f"its stems are from {name} {model_version}, and {name} {installed} is installed, "
                "so some may differ"
            )
            fix = f"train again, or pip install '{name}=={model_version}'"
            yield Finding("model", WARNING, detail, fix)


def _check_choices(model: FittedModel) -> Iterator[Finding]:
    """Yield a warning if the choices of training have not seen many of the documents."""
    unseen = model.parameters.unseen
    n_documents = model.counts.labelled_statistics.n_documents
    if unseen is not None and unseen.documents >= MAX_UNSEEN_PROPORTION * n_documents:
        changed = format_quantity(unseen.documents, "document")
        detail = (
            f"--quick added or removed {changed} of {n_documents:,} after smoothing and "
            "calibration were chosen"
        )
        yield Finding("choices", WARNING, detail, "nbtext update --choose chooses again")


def _report_unreadable_model(path: str, problem: ModelError) -> FailedCheck:
    fix = problem.hint or "check its permissions, or name another with --model"
    return FailedCheck("model", FAILED, f"{path}: {problem.message}", fix, problem)


def _check_folder(path: str) -> Iterator[Finding]:
    """Check that a model can be written to ``path`` now: permissions, free space and lock."""
    try:
        target = check_replaceable(path)
        # Only writing a file finds exceeded quotas and full or read-only disks.
        with tempfile.TemporaryFile(dir=target.parent) as file:
            file.write(bytes(DISK_BLOCK_BYTES))
            file.flush()
    except PathError as problem:
        yield _report_unwritable_folder(problem)
        return
    except OSError as problem:
        folder = str(Path(path).parent)
        yield _report_unwritable_folder(
            PathError(f"cannot write: {describe_os_error(problem)}", where=folder)
        )
        return

    yield _check_free_space(target)

    try:
        with lock_path(path, timeout=0):
            pass  # release the lock at once
    except (LockedError, PathError) as problem:
        fix = "wait for it to end" if isinstance(problem, LockedError) else problem.hint
        detail = f"{target}{LOCK_SUFFIX}: {problem.message}"
        yield FailedCheck("lock", FAILED, detail, fix, problem)
    else:
        yield Finding("lock", PASSED, "free: no other process is writing the model")


def _report_unwritable_folder(problem: PathError) -> FailedCheck:
    remedy = problem.hint or "make room, or check permissions"
    detail = f"{problem.where}: {problem.message}"
    fix = f"{remedy}; commands that only read a model work"
    return FailedCheck("folder", FAILED, detail, fix, problem)


def _check_free_space(target: Path) -> Finding:
    """Compare the free space in the directory of a model with the size of models."""
    free_bytes = shutil.disk_usage(target.parent).free
    model_bytes = target.stat().st_size if target.exists() else 0
    detail = f"{target.parent}: can be written, {free_bytes / 1e9:,.1f} GB free"
    if free_bytes < MIN_FREE_MODELS * model_bytes:
        detail += f", the model takes {model_bytes / 1e9:,.1f} GB"
        fix = "make room: the old model stays until the new one is whole"
        return Finding("folder", WARNING, detail, fix)
    return Finding("folder", PASSED, detail)
