#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Looks whether programs and libraries have the protections that docs/concepts/security.md lists.

usage: hardened.py FILE...    an executable or a static library; prints what is missing; exit code 1 if something is
"""

import re
import subprocess
import sys

IN_PROGRAMS = {
    "position-independent (-pie)": r"Type: +DYN",
    "read-only relocations (-z relro)": r"GNU_RELRO",
    "immediate binding (-z now)": r"BIND_NOW|FLAGS_1.*\bNOW\b",
    "non-executable stack": r"GNU_STACK +\S+ \S+ \S+ \S+ \S+ +RW +",
}
IN_ALL = {
    "stack protector": r"\b__stack_chk_fail\b",
    "FORTIFY": r"\b__(?:memcpy|memset|snprintf|fprintf|printf|read|strcpy|vsnprintf|poll|recv|realpath|readlink)\w*_chk\b",
}


def missing(path: str) -> list[str]:
    told = subprocess.run(("readelf", "--wide", "-h", "-l", "-d", "-s", path), check=True, stdout=subprocess.PIPE, text=True).stdout
    signs = IN_ALL if path.endswith(".a") else {**IN_PROGRAMS, **IN_ALL}
    return [what for what, sign in signs.items() if not re.search(sign, told)]


def main() -> int:
    bad = 0
    for path in sys.argv[1:]:
        for what in missing(path):
            print(f"hardened: {path} has no {what}")
            bad = 1
    return bad


if __name__ == "__main__":
    sys.exit(main())
