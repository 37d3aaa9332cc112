"""Compare what the commands of ``commands.txt`` do with ``expected.json``: `python -m tests.golden`, or write it anew with ``--write``.

``expected.json`` was written with OPENBLAS_CORETYPE=SkylakeX. On another processor with AVX-512, set it too.
"""

from __future__ import annotations

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tests.golden.replay import EXPECTED, play_session, public_api, scores, sessions, surroundings
from tests.process import fresh_interpreters, nbtext


def main() -> None:
    """Print what differs from ``expected.json``; with ``--write`` write it, with ``--fresh`` start an interpreter for each command."""
    table = sessions()
    nbtext("--version")  # starts the fork server once
    with fresh_interpreters("--fresh" in sys.argv), ThreadPoolExecutor(3) as pool:
        found = dict(zip(table, pool.map(play_session, table.values()), strict=True))
    actual = {
        "surroundings": surroundings(),
        "api": public_api(),
        "scores": scores(),
        "sessions": found,
    }
    if "--write" in sys.argv:
        EXPECTED.write_text(
            json.dumps(actual, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
        )
        return
    before = json.loads(EXPECTED.read_text(encoding="utf-8"))
    different: list[str] = []
    for part, value in actual.items():
        old, new = dict(items(before[part])), dict(items(value))
        different += [
            f"{part}, {name}:\n  {old.get(name)}\n  {new.get(name)}"
            for name in old | new
            if old.get(name) != new.get(name)
        ]
    sys.stdout.write("".join(f"{line}\n" for line in different))
    sys.exit(1 if different else 0)


def items(part: Any) -> list[tuple[str, Any]]:
    """Return what a part of ``expected.json`` is made of, each by a name: lists of commands one by one."""
    if isinstance(part, list):
        return [
            (f"{number} {entry['command']}" if isinstance(entry, dict) else str(entry), entry)
            for number, entry in enumerate(part)
        ]
    return [
        (f"{key}, {name}", one)
        for key, entry in part.items()
        for name, one in (items(entry) if isinstance(entry, list) else [("", entry)])
    ]


if __name__ == "__main__":
    main()
