from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from nbtext import __version__
from tests.process import error_line, nbtext, succeeded

if TYPE_CHECKING:
    from pathlib import Path


def test_the_overview(service_desk_model: Path) -> None:
    said = json.loads(succeeded(nbtext("inspect", "-m", service_desk_model, "--output", "json", "--top", "3")).out)
    assert said["documents"] == 222
    assert said["written_by"]["nbtext"] == __version__
    assert sum(of["documents"] for of in said["classes"].values()) == 222
    assert sum(of["tokens"] for of in said["classes"].values()) == said["tokens"]
    assert sum(of["prior"] for of in said["classes"].values()) == pytest.approx(1)
    assert [len(of["top_terms"]) for of in said["classes"].values()] == [3] * 6
    text = succeeded(nbtext("inspect", "-m", service_desk_model, "--top", "3")).text
    for label, of in said["classes"].items():
        assert any(label in line and ", ".join(of["top_terms"]) in line for line in text.split("\n"))
    assert (
        json.loads(succeeded(nbtext("inspect", "-m", service_desk_model, "-o", "json", "--top", "0")).out)["classes"][label]["top_terms"]
        == []
    )


@pytest.mark.parametrize("arguments", [["--top", "-1"], ["--output", "tsv"], ["more"], ["-v", "-q"]])
def test_wrong_usage_is_told_in_one_line(pets: Path, arguments: list[str]) -> None:
    error_line(nbtext("inspect", *arguments, cwd=pets), 2)
