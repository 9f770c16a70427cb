#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Refuses text that depends on the locale of the program that uses Fiber.

Each string or file stream is a Classic<...> of fiber/detail/classic_locale.hpp, numbers are read with std::from_chars,
decimals are written by fmt::format or fiber::rl::detail::formatted, and letters are those of base/ascii.hpp: the global
locale of C++ and that of C belong to the user.

usage: check_locale.py [ROOT]             prints what is wrong in the sources; exit code 1 if something is
       check_locale.py --objects BUILD    in what was compiled: calls of std::to_string that write decimals, which no
                                          pattern finds
"""

import re
import subprocess
import sys
from pathlib import Path

FOLDERS = ("base", "wire", "backends", "actors", "libfiber", "cli", "rl", "programs")
RULES = (
    (re.compile(r"(?<!Classic<)std::w?[io]?(?:string|f)stream\b"), "write it as fiber::detail::Classic<{}>"),
    (re.compile(r"\b(?:strto(?:d|f|ld)|ato[fF]|sto(?:d|f|ld)|[fs]?scanf)(?= ?\()"), "{} reads by the locale: use std::from_chars"),
    (re.compile(r"\bboost::lexical_cast\b"), "{} groups digits by the locale: use std::to_chars or std::from_chars"),
    (re.compile(r"\bCLI11_PARSE\b"), "{} reads numbers by the locale: use fiber::rl::detail::parse_options"),
    (re.compile(r"\bstd::(?:is(?:alnum|alpha|upper|lower|punct|print|graph|space)|to(?:upper|lower))\b"
                r"|(?<!\w::)(?<![\w.>])(?:is(?:alnum|alpha|upper|lower|punct|print|graph|space)|to(?:upper|lower)|strn?casecmp)(?=\()"),
     "{} asks the locale what a letter is: use base/ascii.hpp"),
    (re.compile(r"\bstd::w?regex(?: \w+)?(?=[({])"),
     "{} takes the letters of the global locale: make it empty, call imbue(std::locale::classic()), then assign()"),
    (re.compile(r"\b(?:strftime|strptime|(?:put|get)_time)\b(?=.*\")"), "{} has the names of the locale: use fmt::format"),
    (re.compile(r"\{[^{}\"]*:[^{}\"]*L[^{}\"]*\}(?=[^\"]*\")"), "{} writes by the locale: leave out L"),
)
CALL = re.compile(r"\b[a-z]*printf ?\(")
STATEMENT = re.compile(r'(?:[^;"]|"(?:\\.|[^"\\])*")*')
DECIMALS = re.compile(r"%[-+ #0-9*]*(?!\.0f)(?:\.[0-9*]+)?[aefgAEFG]")
WRITES_DECIMALS = "__gnu_cxx::__to_xstring"  # What std::to_string calls for float and double only.


def calls_with_decimals(code: str) -> list[tuple[int, str]]:
    """The lines of printf and its kin that write decimals, and what they write there."""
    return [(code.count("\n", 0, call.start()) + 1, conversion.group())
            for call in CALL.finditer(code)
            for conversion in [DECIMALS.search(STATEMENT.match(code, call.start()).group())] if conversion]


def problems(root: Path) -> list[str]:
    found = []
    for folder in FOLDERS:
        for file in sorted((root / folder).rglob("*.?pp")):
            lines = [line.split("//")[0] for line in file.read_text(encoding="utf-8").splitlines()]
            told = [(number, advice.format(match.group())) for number, line in enumerate(lines, 1)
                    for pattern, advice in RULES for match in pattern.finditer(line)]
            told += [(number, f"{what} has a comma in some locales: use fmt::format or fiber::rl::detail::formatted")
                     for number, what in calls_with_decimals("\n".join(lines))]
            found += [f"{file.relative_to(root)}:{number}: {text}" for number, text in sorted(told)]
    return found


def functions_with_decimals(file: Path) -> list[str]:
    """The functions of an object file that call std::to_string for decimals, except those of other libraries."""
    def output(*command: str) -> str:
        return subprocess.run((*command, str(file)), check=True, capture_output=True, text=True).stdout

    if WRITES_DECIMALS not in output("nm", "-C"):
        return []
    functions, function = {}, ""
    for line in output("objdump", "-drC", "--no-show-raw-insn").splitlines():
        if start := re.match(r"[0-9a-f]+ <(.*)>:$", line):
            function = start.group(1)
        elif WRITES_DECIMALS in line and "R_" in line:
            functions[function] = None
    return [name for name in functions if not re.match(r"(?:\S+ )?(?:caf|std|__gnu_cxx|CLI)::", name)]


def problems_of_objects(build: Path) -> list[str]:
    return [f"{file.relative_to(build)}: {function} writes decimals with std::to_string, by the locale"
            for folder in FOLDERS for file in sorted((build / folder).rglob("*.o"))
            for function in functions_with_decimals(file)]


def main() -> int:
    if sys.argv[1:2] == ["--objects"]:
        found = problems_of_objects(Path(sys.argv[2]))
    else:
        found = problems(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parents[2])
    for problem in found:
        print(f"locale: {problem}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
