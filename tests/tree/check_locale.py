#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Refuses text that depends on the locale of the program that uses Fiber.

Each string or file stream is a Classic<...> of fiber/detail/classic_locale.hpp, and numbers are read with
std::from_chars: the global locale of C++ and that of C belong to the user.

usage: check_locale.py [ROOT]    prints what is wrong; exit code 1 if something is
"""

import re
import sys
from pathlib import Path

FOLDERS = ("base", "wire", "backends", "actors", "libfiber", "cli", "rl", "programs")
RULES = (
    (re.compile(r"(?<!Classic<)std::[io]?(?:string|f)stream\b"), "write it as fiber::detail::Classic<{}>"),
    (re.compile(r"\b(?:strto(?:d|f|ld)|ato[fF]|sto(?:d|f|ld)|[fs]?scanf)(?= ?\()"), "{} reads by the locale: use std::from_chars"),
    (re.compile(r"\bboost::lexical_cast\b"), "{} groups digits by the locale: use std::to_chars or std::from_chars"),
    (re.compile(r"\bCLI11_PARSE\b"), "{} reads numbers by the locale: use fiber::rl::detail::parse_options"),
)
# A rule does not hold in a file: why.
ALLOWED = {
    "programs": "CLI11_PARSE",  # These programs set no locale before they parse.
}


def problems(root: Path) -> list[str]:
    found = []
    for folder in FOLDERS:
        for file in sorted((root / folder).rglob("*.?pp")):
            for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
                code = line.split("//")[0]
                for pattern, advice in RULES:
                    for match in pattern.finditer(code):
                        if match.group() != ALLOWED.get(folder):
                            found.append(f"{file.relative_to(root)}:{number}: {advice.format(match.group())}")
    return found


def main() -> int:
    found = problems(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parents[2])
    for problem in found:
        print(f"locale: {problem}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
