"""What was found when looking whether nbtext can work, as a table or as JSON."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from nbtext.report.records import json_line
from nbtext.report.tables import print_table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from nbtext.inspection.health import Finding


def print_health(findings: Sequence[Finding], versions: Mapping[str, str | None], status: int, output: str | None) -> None:
    """Print the result of `nbtext.inspection.health.health`; with ``output`` ``json`` one object, with versions and the exit status."""
    if output == "json":
        checks = [{"check": of.check, "result": of.result, "detail": of.detail, "fix": of.fix} for of in findings]
        sys.stdout.write(json_line({"exit_status": status, "versions": versions, "checks": checks}))
    else:
        rows = [row for of in findings for row in ((of.check, of.result, of.detail), *([("", "", f"→ {of.fix}")] if of.fix else []))]
        print_table(None, ("looked at", "result", "what was found"), rows)
