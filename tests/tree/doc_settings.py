#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lets Fiber's own parser read every setting that the documentation shows, and starts nothing.

A setting is FIBER_NAME=VALUE, name: FIBER_NAME with value: VALUE in YAML, `key = VALUE` in a line of text, or a
.fiberconfig, wherever it stands on a page. Of a placeholder, such as HOST:PORT, N, ... or $(command), only the name is
checked. A variable that is no setting must be an option of CMake or be read somewhere in the tree. A page that shows a
wrong one on purpose says so: <!-- wrong on purpose: FIBER_LEESE -->

usage: doc_settings.py FIBER [PAGE...]    FIBER is the command `fiber`; exit code 1 if a setting is wrong
"""

import argparse
import functools
import json
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from doc_blocks import ROOT, pages
from doc_options import BLOCK

ASSIGNED = re.compile(r"""(?<![\w$])(-D)?(FIBER_[A-Z0-9_]+)=("[^"\n]*"|'[^'\n]*'|\$\([^)]*\)|[^\s`|)"']*)""")
YAML = re.compile(r"""name: *(FIBER_[A-Z0-9_]+)["']?(?:,|\n) *value: *("[^"\n]*"|'[^'\n]*'|[^\s,}]+)""")
IN_LINE = re.compile(r"`(\w+) = ([^`\n]+)`")
PLACEHOLDER = re.compile(r"\.\.\.|[$<>]|(?:^|[=:,])[A-Z][A-Z_]*(?=$|[=:,])")
FILE = re.compile(r"[\w-]+\.(?:yaml|json)")
WRONG = re.compile(r"<!-- wrong on purpose: ([\w ]+?) -->")
READ = re.compile(r"""(?:(?:getenv|environment|environ\.get)\(|environ\[|_variable = |\$\{?)["']?(FIBER_[A-Z0-9_]+)""")
OPTION = re.compile(r"(?:option\(|set\()(FIBER_[A-Z0-9_]+) (?!.*PARENT_SCOPE)")


@dataclass(frozen=True)
class Shown:
    page: str
    line: int
    name: str  # A variable, or .fiberconfig.
    value: str

    @property
    def place(self) -> str:
        return f"{self.page}:{self.line}"


def settings_of(page: str, text: str, keys: set[str]) -> list[Shown]:
    """Every setting of a page. `keys` are those of .fiberconfig."""
    wrong = " ".join(WRONG.findall(text)).split()
    found = []

    def add(match: re.Match, name: str, value: str) -> None:
        if name not in wrong:
            found.append(Shown(page, text.count("\n", 0, match.start()) + 1, name, value.strip("\"'")))

    for match in ASSIGNED.finditer(text):
        add(match, (match.group(1) or "") + match.group(2), match.group(3).rstrip(".,;:") or "...")
    for match in YAML.finditer(text):
        add(match, match.group(1), match.group(2))
    for match in IN_LINE.finditer(text):
        if match.group(1) in keys:
            add(match, f"FIBER_{match.group(1).upper()}", match.group(2))
    for match in BLOCK.finditer(text):
        lines = [line.removeprefix(match.group(1)) for line in match.group(4).split("\n")]
        if "[default]" in lines:
            add(match, ".fiberconfig", "\n".join(lines))
    return found


@functools.cache
def files(*patterns: str) -> list[str]:
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", *patterns], cwd=ROOT,
                            check=True, capture_output=True, text=True).stdout.splitlines()
    return [(ROOT / name).read_text(encoding="utf-8", errors="replace") for name in listed if (ROOT / name).is_file()]


def cmake_options() -> set[str]:
    return {name for text in files("*CMakeLists.txt", "*.cmake") for name in OPTION.findall(text)}


def read_in_the_tree() -> set[str]:
    """The variables that a program or a script of the tree reads."""
    return {name for text in files(":!*.md", ":!*.png") for name in READ.findall(text)}


class Parser:
    """The command `fiber config`, in a folder without a .fiberconfig."""

    def __init__(self, fiber: str):
        self.fiber = fiber
        listed = self.config({}, "")["settings"]
        self.keys = {setting["key"] for setting in listed}
        self.variables = {setting["variable"] for setting in listed}

    def config(self, variables: dict[str, str], file: str) -> dict:
        clean = {name: value for name, value in os.environ.items() if not name.startswith("FIBER_")}
        with tempfile.TemporaryDirectory() as folder:
            for value in variables.values():
                if FILE.fullmatch(value):  # Such as pod.yaml, which must be there.
                    Path(folder, value).touch()
            if file:
                Path(folder, ".fiberconfig").write_text(file, encoding="utf-8")
            done = subprocess.run([self.fiber, "config", "--json"], cwd=folder, env={**clean, **variables}, check=False,
                                  capture_output=True, text=True)
        return json.loads(done.stdout)

    @functools.cache
    def problems(self, name: str, value: str, beside: tuple[tuple[str, str], ...] = ()) -> list[str]:
        """`beside` has the variables that the same command sets: one may need another."""
        if name == ".fiberconfig":
            return self.config({}, value)["problems"]
        alone = self.config({name: value}, "")["problems"]
        return alone and self.config({**dict(beside), name: value}, "")["problems"]


def problems(shown: list[Shown], parser: Parser) -> list[str]:
    wrong = []
    for one in shown:
        name = one.name.removeprefix("-D")
        option = name in cmake_options() and (one.name != name or one.value in ("ON", "OFF") or name not in parser.variables)
        if option or (name not in parser.variables and one.name == name and name in read_in_the_tree()):
            continue
        if one.name != name:
            wrong.append(f"{one.place}: {name} is no option of CMake here")
        elif name != ".fiberconfig" and name not in parser.variables:
            wrong.append(f"{one.place}: {name} is no setting, and nothing in the tree reads it")
        elif name == ".fiberconfig" or not PLACEHOLDER.search(one.value):
            beside = tuple((other.name, other.value) for other in shown
                           if other.place == one.place and other.name in parser.variables)
            wrong += [f"{one.place}: {problem}" for problem in parser.problems(name, one.value, beside)]
    return wrong


def main() -> int:
    options = argparse.ArgumentParser(description="Lets Fiber parse every setting that the documentation shows.")
    options.add_argument("fiber", metavar="FIBER", help="the command `fiber`")
    options.add_argument("pages", metavar="PAGE", nargs="*", help="default: README.md and docs/")
    options = options.parse_args()
    parser = Parser(str(Path(options.fiber).absolute()))
    shown = [one for page in options.pages or pages()
             for one in settings_of(page, (ROOT / page).read_text(encoding="utf-8"), parser.keys)]
    wrong = problems(shown, parser)
    for line in wrong:
        print(line, file=sys.stderr)
    if not wrong:
        print(f"doc_settings: Fiber parses all {len(shown)} settings of the pages")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
