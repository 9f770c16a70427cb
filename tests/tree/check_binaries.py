#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Refuses files of the repository that are not text, except those that are meant to be binary.

usage: check_binaries.py    prints each file of `git ls-files` that holds a NUL byte or is no UTF-8, and that no pattern
                            below names; exit code 1 if there is one
"""

import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MEANT = ("docs/images/*.png", "docs/images/*.gif")


def is_binary(content: bytes) -> bool:
    if b"\0" in content:
        return True
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return True
    return False


def problems(root: Path) -> list[str]:
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=root, check=True,
                            capture_output=True).stdout.decode().split("\0")
    files = [name for name in listed if name and (root / name).is_file() and not (root / name).is_symlink()]
    return [f"{name} is a binary that tests/tree/check_binaries.py does not name; if it was built, remove it"
            for name in files if not any(fnmatch(name, pattern) for pattern in MEANT)
            and is_binary((root / name).read_bytes())]


def main() -> int:
    wrong = problems(ROOT)
    for line in wrong:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
