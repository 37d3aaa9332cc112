"""Whether a model file is whole and its parts agree, as a table or as JSON."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from nbtext.report.records import json_line
from nbtext.report.tables import print_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbtext.inspection.verification import Check

_RESULTS = {True: "passed", False: "failed", None: ""}


def print_checks(checks: Sequence[Check], output: str | None) -> None:
    """Print the result of `nbtext.inspection.verification.verify` as a table, or as a JSON object with ``output`` ``json``."""
    if output == "json":
        found = [{"check": name, "passed": passed, "detail": detail} for name, passed, detail in checks]
        sys.stdout.write(json_line({"passed": all(check.passed for check in checks), "checks": found}))
    else:
        print_table(None, ("check", "result", "what was found"), [(name, _RESULTS[passed], detail) for name, passed, detail in checks])
