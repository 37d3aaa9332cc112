"""A hook of Hatchling that makes the manual pages before it collects the files of a wheel."""
# ruff: noqa: INP001 - a script, not a package

from __future__ import annotations

import runpy
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class ManualPages(BuildHookInterface):  # type: ignore[misc]
    """Writes the pages of `release/man.py` to build/man."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the pages, or say which Python is needed.

        pip calls this before it looks at requires-python.
        """
        del version, build_data
        if sys.version_info < (3, 11):  # noqa: UP036
            sys.exit(
                f"nbtext needs Python 3.11 or later, and this is {sys.version.partition(' ')[0]}"
            )
        root = Path(self.root)
        runpy.run_path(str(root / "release" / "man.py"))["write"](root / "build" / "man")
