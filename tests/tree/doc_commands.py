#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the shell commands of the documentation that can run here, and finds those that nobody has thought about.

A block of commands is an indented block, or a ```sh block, whose first line is a command. A comment above it, or one
for the whole page below its title, says what is done with it (CONTRIBUTING.md, "Docs"):

    <!-- run -->                          run: each command must end with 0, and print what stands below it. Numbers
                                          may differ; a line of ... stands for any lines
    <!-- not run: why -->                 left out
    <!-- commands not run: why -->        all other blocks of this page are left out

usage: doc_commands.py [--programs FOLDER] [PAGE...]    FOLDER has the programs that the commands name without a path;
                                                        without it nothing is run, and only the marks are checked
"""

import argparse
import os
import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from doc_blocks import ROOT, pages

COMMAND = re.compile(r"^(\$ |# (?=podman))?(\w+=\S+ )*(\./|~/|build/|bench/|deploy/|fiber |cmake |git |docker |podman "
                     r"|kubectl |sbatch |echo |export |source |poet |pkill |kill )")
MARK = re.compile(r"<!--\s*(run|not run)\b(?::\s*(.*?))?\s*-->", re.DOTALL)
PAGE_MARK = re.compile(r"<!--\s*commands not run:\s*(\S.*?)\s*-->", re.DOTALL)
SECONDS = 120


@dataclass
class Commands:
    page: str
    line: int
    lines: list[str]
    mark: str = ""
    why: str = ""
    # Each command with the output that the page shows for it.
    steps: list[tuple[str, list[str]]] = field(default_factory=list)


def steps_of(lines: list[str]) -> list[tuple[str, list[str]]]:
    prompt = any(line.startswith("$ ") for line in lines)
    steps: list[tuple[str, list[str]]] = []
    for line in lines:
        if line.startswith("$ ") or not prompt:
            steps.append((line.removeprefix("$ "), []))
        elif steps and steps[-1][0].endswith("\\"):
            steps[-1] = (steps[-1][0] + "\n" + line, [])
        elif steps:
            steps[-1][1].append(line)
    return [(command, output) for command, output in steps if command]


def commands_of(page: str, text: str) -> list[Commands]:
    """Every block of commands of a page, with its mark."""
    lines = text.split("\n")
    found = []
    at = 0
    while at < len(lines):
        fence = re.match(r"^ *(`{3,})(\w*)", lines[at])
        begin = at
        if fence:
            end = next((n for n in range(at + 1, len(lines)) if lines[n].strip() == fence.group(1)), len(lines))
            body = lines[at + 1:end] if fence.group(2) == "sh" else []
            at, first = end + 1, begin + 2
        elif re.match(r"^ {4,}\S", lines[at]) and (at == 0 or not lines[at - 1].strip()):
            end = at
            while end < len(lines) and (lines[end].startswith("    ") or not lines[end].strip()):
                end += 1
            indent = len(lines[at]) - len(lines[at].lstrip())
            body, first = [line[indent:] for line in lines[at:end]], at + 1
            at = end
        else:
            at += 1
            continue
        if body and COMMAND.match(body[0]):
            above = "\n".join(lines[:begin]).rstrip()
            mark = MARK.fullmatch(above, max(above.rfind("<!--"), 0))
            found.append(Commands(page, first, body, mark.group(1) if mark else "",
                                  (mark.group(2) or "") if mark else "", steps_of(body)))
    return found


def problems(text: str, blocks: list[Commands]) -> list[str]:
    wrong = []
    left_out = PAGE_MARK.search(text)
    for block in blocks:
        if block.mark == "not run" and not block.why:
            wrong.append(f"{block.page}:{block.line}: 'not run' needs a reason: <!-- not run: why -->")
        if not block.mark and not left_out:
            wrong.append(f"{block.page}:{block.line}: these commands are neither run nor marked: put <!-- run --> or "
                         "<!-- not run: why --> above them")
    return wrong


def fits(printed: str, shown: list[str]) -> bool:
    """Whether a command printed what the page shows, up to its numbers."""
    def pattern(line: str) -> str:
        return r"(?:.*\n)*?" if line.strip() == "..." else re.sub(r"\d+", r"\\d+", re.escape(line.rstrip())) + r"\n"

    lines = [line for line in shown if line.strip()]
    text = "".join(line.rstrip() + "\n" for line in printed.splitlines() if line.strip())
    return not lines or re.fullmatch("".join(map(pattern, lines)), text) is not None


def run(block: Commands, programs: Path) -> list[str]:
    wrong = []
    for command, shown in block.steps:
        environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}
        try:
            # Line by line, as on a terminal: so what a program and Fiber's log print comes in its order.
            done = subprocess.run(["stdbuf", "-oL", "bash", "-c", command], cwd=programs, env=environment, timeout=SECONDS, text=True,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  check=False)
        except subprocess.TimeoutExpired:
            wrong.append(f"{block.page}:{block.line}: {command}: has not ended after {SECONDS} s")
            continue
        if done.returncode != 0:
            wrong.append(f"{block.page}:{block.line}: {command}: exit code {done.returncode}\n{done.stdout}")
        elif not fits(done.stdout, shown):
            wrong.append(f"{block.page}:{block.line}: {command}: the page shows other output than\n{done.stdout}")
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description="Runs the shell commands of the documentation.")
    parser.add_argument("--programs", type=Path, help="the folder with the programs that the commands name")
    parser.add_argument("pages", metavar="PAGE", nargs="*", help="default: README.md and docs/")
    options = parser.parse_args()
    wrong, ran, left_out = [], 0, 0
    for page in options.pages or pages():
        text = (ROOT / page).read_text(encoding="utf-8")
        blocks = commands_of(page, text)
        wrong += problems(text, blocks)
        for block in blocks:
            if block.mark == "run" and options.programs:
                wrong += run(block, options.programs.absolute())
                ran += 1
            else:
                left_out += 1
    for line in wrong:
        print(line, file=sys.stderr)
    if not wrong:
        print(f"doc_commands: {ran} blocks of commands ran as their pages show, {left_out} were left out")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
