"""Every measurement that bench/README.md shows: `python bench/all.py FOLDER` runs the scripts that write there, one after the other.

FOLDER holds all corpora that they ask for; README.md says where they are from. `--only commands mail` runs some.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

BENCH = Path(__file__).resolve().parent
FOLDERS = {"mail": "spamassassin", "multi_label": "reuters-90"}
"""Within FOLDER, for scripts that take one corpus."""


def main() -> None:
    scripts = {
        path.stem: path
        for path in sorted(BENCH.glob("*.py"))
        if '"--write"' in path.read_text(encoding="utf-8") and path.stem != "all"
    }
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument(
        "--only",
        nargs="+",
        choices=scripts,
        default=list(scripts),
        metavar="NAME",
        help=", ".join(scripts),
    )
    options = parser.parse_args()
    failed = []
    for name in options.only:
        command = [
            sys.executable,
            str(scripts[name]),
            str(options.folder / FOLDERS.get(name, "")),
            "--write",
        ]
        if subprocess.run(command, check=False).returncode:
            failed.append(name)
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
