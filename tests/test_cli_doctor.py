"""`nbtext doctor`: what it finds when all is well, and one thing at a time that is not.

Also tests `inspection/health.py` and `report/models.py`.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import shutil
import sys
from typing import TYPE_CHECKING, Any

import pytest

from nbtext import __version__
from nbtext.inspection import health
from nbtext.store import read_model_file, write_model_file
from tests.process import Result, fail, nbtext, succeed, write

if TYPE_CHECKING:
    from pathlib import Path

LOOKED_AT = ["python", "packages", "optional", "model", "folder", "lock"]


def worst_findings(result: Result) -> dict[str, dict[str, Any]]:
    """The findings by what was looked at, the worst of each."""
    checks = json.loads(result.out)["checks"]
    return {
        of["check"]: of
        for of in sorted(checks, key=lambda of: ("ok", "warning", "failed").index(of["result"]))
    }


def test_doctor_reports_all_checks_ok(pets: Path) -> None:
    before = {path.name for path in pets.iterdir()}
    done = succeed("doctor -o json")
    said = json.loads(done.out)
    assert [of["check"] for of in said["checks"]] == LOOKED_AT
    assert {of["result"] for of in said["checks"]} == {"ok"}
    assert {of["fix"] for of in said["checks"]} == {None}
    assert (said["exit_status"], said["versions"]["nbtext"]) == (0, __version__)
    assert said["versions"]["python"] == ".".join(map(str, sys.version_info[:3]))
    for name in ("numpy", "scipy", "PyStemmer", "nltk", "click", "rich", "joblib"):
        assert f"{name} {said['versions'][name]}" in worst_findings(done)["packages"]["detail"]
    assert {path.name for path in pets.iterdir()} == before
    table = succeed("doctor").text
    assert (
        f"{(pets / 'nbtext.joblib').stat().st_size:,} bytes, loaded: 2 classes, 4 documents"
        in " ".join(table.split())
    )
    assert "→" not in table


def test_default_model_missing_is_a_warning_and_named_model_missing_a_failure(
    tmp_path: Path,
) -> None:
    done = succeed("doctor -o json")
    assert worst_findings(done)["model"]["result"] == "warning"
    assert "nbtext train" in worst_findings(done)["model"]["fix"]
    for arguments, env in ((["-m", "mine"], {}), ([], {"NBTEXT_MODEL": "mine"})):
        done = nbtext("doctor -o json", *arguments, env=env)
        assert (done.status, json.loads(done.out)["exit_status"]) == (3, 3)
        assert worst_findings(done)["model"]["result"] == "failed"
        assert done.notes == [
            "nbtext: mine: the model file does not exist; make one with nbtext train, or name one with --model"
        ]


@pytest.mark.parametrize("content", [b"", b"hello", None])
def test_damaged_or_invalid_model_is_a_failure(pets: Path, content: bytes | None) -> None:
    model = pets / "nbtext.joblib"
    whole = model.read_bytes()
    model.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]) if content is None else content)
    done = nbtext("doctor -o json")
    assert done.status == 3
    assert worst_findings(done)["model"]["result"] == "failed"
    assert worst_findings(done)["model"]["fix"]
    assert len(done.notes) == 1
    assert "→ " in nbtext("doctor").text


def test_other_stemmer_version_is_a_warning(pets: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed = health._find_version("PyStemmer")
    monkeypatch.setattr(
        health, "_find_version", lambda name: "99.9" if name == "PyStemmer" else "9999.0"
    )
    findings = [
        of
        for of in health.check_installation("nbtext.joblib", path_is_explicit=True)
        if of.result != "ok"
    ]
    assert [of.check for of in findings] == ["model"]
    assert (
        f"its stems are from PyStemmer {installed}, and PyStemmer 99.9 is installed"
        in findings[0].detail
    )
    assert not isinstance(findings[0], health.FailedCheck)


def test_missing_or_outdated_packages_are_reported_with_a_fix(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        health, "_find_version", lambda name: {"nltk": None, "numpy": "1.26.4"}.get(name, "9999.0")
    )
    monkeypatch.setattr(
        health,
        "requires",
        lambda _: ["numpy>=2.0", "nltk>=3.9", "scikit-learn>=1.5; extra == 'dev'"],
    )
    fixes = {of.detail: of.fix for of in health._check_packages() if of.result == "warning"}
    assert fixes == {
        "nltk is not installed": "pip install 'nltk>=3.9'",
        "numpy 1.26.4 is older than 2.0, which nbtext needs": "pip install 'numpy>=2.0'",
    }


@pytest.mark.parametrize("place", ["check_replaceable", "tempfile.TemporaryFile"])
def test_folder_that_cannot_be_written_is_a_failure(
    pets: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(f"nbtext.inspection.health.{place}", full)
    findings = {
        of.check: of for of in health.check_installation("nbtext.joblib", path_is_explicit=True)
    }
    folder = findings["folder"]
    assert isinstance(folder, health.FailedCheck)
    assert (folder.result, folder.problem.exit_status if folder.problem else 0) == ("failed", 4)
    assert "no space left on device" in folder.detail
    assert "lock" not in findings


def test_missing_model_folder_is_a_failure(tmp_path: Path) -> None:
    done = nbtext("doctor -m", tmp_path / "none" / "m", "-o", "json")
    assert done.status == 3
    assert worst_findings(done)["folder"]["result"] == "failed"
    assert "make it first" in worst_findings(done)["folder"]["fix"]


def test_locked_model_is_a_failure_with_status_5(pets: Path) -> None:
    with (pets / "nbtext.joblib.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = nbtext("doctor -o json")
    assert done.status == 5
    assert (worst_findings(done)["lock"]["result"], worst_findings(done)["model"]["result"]) == (
        "failed",
        "ok",
    )
    assert "another process is writing the model" in done.notes[0]


def test_nearly_full_disk_is_a_warning(pets: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage(pets)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=10))
    findings = {
        of.check: of for of in health.check_installation("nbtext.joblib", path_is_explicit=True)
    }
    assert findings["folder"].result == "warning"
    assert findings["lock"].result == "ok"


def test_valid_file_with_impossible_settings_is_a_failure(pets: Path) -> None:
    settings, arrays, _ = read_model_file("nbtext.joblib")
    write_model_file("nbtext.joblib", {**settings, "smoothing": -1}, arrays)
    done = nbtext("doctor -o json")
    assert done.status == 3
    model = worst_findings(done)["model"]
    assert (model["result"], model["fix"]) == ("failed", "restore it or train again")
    assert "the model is malformed" in model["detail"]


@pytest.mark.fresh_interpreters("what is imported")
def test_missing_required_package_is_reported(pets: Path) -> None:
    write("numpy.py", "raise ModuleNotFoundError('gone', name='numpy')")
    message = fail(70, "doctor")
    assert (
        message
        == "nbtext: the package numpy cannot be imported; install it with pip install nbtext"
    )
