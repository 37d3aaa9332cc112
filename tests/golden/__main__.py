"""Write what the commands of ``commands.txt`` say now as what they are expected to say: `python -m tests.golden --write`."""

from __future__ import annotations

import json
import sys
from concurrent.futures import ThreadPoolExecutor

from tests.golden.replay import EXPECTED, played, public_api, scores, sessions, surroundings
from tests.process import nbtext


def main() -> None:
    """Write ``expected.json``, or without ``--write`` print what differs from it."""
    table = sessions()
    nbtext("--version")  # starts the server of warm runs, once
    with ThreadPoolExecutor(3) as pool:
        found = dict(zip(table, pool.map(played, table.values()), strict=True))
    actual = {"surroundings": surroundings(), "api": public_api(), "scores": scores(), "sessions": found}
    if sys.argv[1:] == ["--write"]:
        EXPECTED.write_text(json.dumps(actual, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        return
    before = json.loads(EXPECTED.read_text(encoding="utf-8"))
    different = [f"{part}: {before[part]} -> {actual[part]}" for part in ("surroundings", "api", "scores") if before[part] != actual[part]]
    for name in before["sessions"] | found:
        old, new = before["sessions"].get(name, []), found.get(name, [])
        different += [f"{name}:\n  {a}\n  {b}" for a, b in zip(old, new, strict=False) if a != b]
        different += [f"{name}: {len(old)} commands -> {len(new)}"] * (len(old) != len(new))
    sys.stdout.write("".join(f"{line}\n" for line in different))
    sys.exit(1 if different else 0)


if __name__ == "__main__":
    main()
