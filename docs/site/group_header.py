#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Doxygen's input filter: puts what a public header declares into a group of the header's name.

A page of the reference shows whole groups. Friends are left out: they are declared where they belong.

usage: group_header.py HEADER    prints the header as Doxygen is to see it
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# A member template, or a member of one, that is defined outside of its class.
OUTSIDE = re.compile(r"(?ms)^template <[^\n]*>\n[^;{}/]*?\b[A-Z]\w*(?:<[^;{}()]*>)?::~?\w+\([^;{]*\{.*?^\}$")


def group_of(header: str) -> str:
    """The group of rl/fiber/rl/vec_env.hpp, wherever the tree is, is fiber_rl_vec_env."""
    path = Path(header).with_suffix("")
    if path.is_absolute():
        path = path.resolve().relative_to(ROOT)
    return "_".join(path.parts[path.parts.index("fiber"):])


def grouped(text: str, group: str) -> str:
    begin, end = f"/// @addtogroup {group}\n/// @{{\n", "/// @}\n"
    text = re.sub(r"(?m)^ +friend [^;{]*;$", "", text)
    text = OUTSIDE.sub("", text)
    text = re.sub(r"(?m)^namespace fiber\S* \{\n", rf"\g<0>{begin}", text)
    text = re.sub(r"(?m)^\} // namespace fiber[\w:]*$", rf"{end}\g<0>", text)
    # A macro stands outside of namespaces.
    return re.sub(r"(?m)^(?:///.*\n)+#define .*[^\\]\n", rf"{begin}\g<0>{end}", text)


def main() -> int:
    path = Path(sys.argv[1])
    sys.stdout.write(grouped(path.read_text(encoding="utf-8"), group_of(str(path))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
