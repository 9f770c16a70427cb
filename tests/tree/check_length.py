#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Finds files of more than 500 lines and C++ functions of more than 60.

usage: check_length.py FILE...    prints what is too long; exit code 1 if something is
"""

import re
import sys
from pathlib import Path

FILE_LINES = 500
FUNCTION_LINES = 60
SCOPE = re.compile(r"(?m)^\s*(inline )?(namespace|class|struct|union|enum|extern)\b")
# Comments and literals, in which braces do not count.
NO_CODE = re.compile(r"//[^\n]*|/\*.*?\*/|R\"(\w*)\(.*?\)\1\"|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])+'", re.DOTALL)


def blank(match: re.Match) -> str:
    """As many lines, with nothing in them."""
    return "\n" * match.group().count("\n")


def long_functions(text: str) -> list[tuple[int, int]]:
    """The first line and the length of each function that is too long."""
    code = re.sub(r"(?m)^\s*#.*(?:\\\n.*)*$", blank, NO_CODE.sub(blank, text))
    found = []
    scopes = []  # Of each open brace: where its statement began if it is a function's, else None.
    begin = 0  # Of the statement.
    for at, char in enumerate(code):
        if char == "{":
            statement = code[begin:at]
            inside = any(scope is not None for scope in scopes)
            function = not inside and "(" in statement and not SCOPE.search(statement)
            scopes.append(begin + len(statement) - len(statement.lstrip()) if function else None)
            begin = at + 1
        elif char == "}":
            start = scopes.pop() if scopes else None
            if start is not None:
                first, last = code.count("\n", 0, start) + 1, code.count("\n", 0, at) + 1
                if last - first + 1 > FUNCTION_LINES:
                    found.append((first, last - first + 1))
            begin = at + 1
        elif char == ";":
            begin = at + 1
    return found


def problems(path: Path) -> list[str]:
    text = path.read_text(encoding="utf-8")
    lines = text.count("\n")
    wrong = []
    if lines > FILE_LINES:
        wrong.append(f"{path} has {lines} lines; {FILE_LINES} is the limit")
    if path.suffix in (".cpp", ".hpp"):
        wrong += [
            f"{path}:{start}: this function has {length} lines; {FUNCTION_LINES} is the limit"
            for start, length in long_functions(text)
        ]
    return wrong


def main() -> int:
    wrong = [problem for name in sys.argv[1:] for problem in problems(Path(name))]
    for line in wrong:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
