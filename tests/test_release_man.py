"""The manual pages: made from the declarations, one for each command, with all its options."""

from __future__ import annotations

import runpy
import shutil
import sys
from typing import TYPE_CHECKING

import click
import pytest

from nbtext.cli.main import COMMAND_SUMMARIES, nbtext
from tests.process import ENVIRONMENT, REPOSITORY, run, succeeded

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder: Path = tmp_path_factory.mktemp("man")
    before = list(sys.path)
    runpy.run_path(str(REPOSITORY / "release" / "man.py"))["write"](folder)
    sys.path[:] = before
    return {path.name: path.read_text(encoding="ascii") for path in folder.iterdir()}


def test_each_command_has_a_manual_page_with_all_its_options(pages: dict[str, str]) -> None:
    assert set(pages) == {"nbtext.1", *(f"nbtext-{name}.1" for name in COMMAND_SUMMARIES)}
    for name in COMMAND_SUMMARIES:
        command = nbtext.get_command(click.Context(nbtext), name)
        assert command is not None
        text = pages[f"nbtext-{name}.1"].replace("\\-", "-")
        assert f"nbtext {name} " in text.partition(".SH EXAMPLES")[2]
        options = [
            each for each in command.params if isinstance(each, click.Option) and not each.hidden
        ]
        assert [each.opts for each in options if max(each.opts, key=len) not in text] == []
        assert f"nbtext-{name} (1)" in pages["nbtext.1"].replace("\\-", "-")


def test_manual_pages_give_no_groff_warnings(pages: dict[str, str]) -> None:
    if (groff := shutil.which("groff")) is None:
        pytest.skip("there is no groff")
    for text in pages.values():
        assert not succeeded(
            run([groff, "-man", "-ww", "-z"], stdin=text.encode(), env=ENVIRONMENT)
        ).err
