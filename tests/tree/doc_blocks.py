#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles the C++ of the documentation: every ```cpp block of the Markdown pages, in one translation unit.

A block gets a namespace of its own. Its includes move to the top, and the public headers are there anyway. A comment
right above a block says what else it needs (CONTRIBUTING.md, "Docs"):

    <!-- frame: int f(int); void g(fiber::Pool& pool) { ... } -->    the block stands where the ... is, or at the end
    <!-- continues -->           the block goes on in the namespace of the block before; takes a frame, too
    <!-- global: struct A; -->   the block and its frame stand outside of all namespaces
    <!-- not compiled: why -->   the code of others, or a text that only looks like C++

usage: doc_blocks.py [-o FILE] [PAGE...]    prints the compiler's errors, at the line of the page; exit code 1 if
                                            there are any. -o keeps the translation unit
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FENCE = re.compile(r"^( *)```(\w*)\s*$")
MARK = re.compile(r"<!--\s*(frame|continues|global|not compiled)\b(?::(.*?))?\s*-->\s*", re.DOTALL)
HOLE = re.compile(r"(?<=\s)\.\.\.(?=\s)")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"][^>"]+[>"])')
PRELUDE = ["fiber/fiber.hpp", "fiber/actor.hpp", "fiber/rl.hpp", "algorithm", "array", "chrono", "cmath", "cstdlib",
           "filesystem", "fstream", "iostream", "mutex", "numeric", "random", "ranges", "span", "string", "thread",
           "vector"]


@dataclass
class Block:
    page: str
    line: int  # Of the first line of code, from 1.
    code: list[str]
    kind: str = ""
    frame: str = ""
    frame_line: int = 0


def blocks_of(page: str, text: str) -> list[Block]:
    """Every C++ block of a page, with what the comment above it says."""
    lines = text.split("\n")
    found = []
    at = 0
    while at < len(lines):
        fence = FENCE.match(lines[at])
        if not fence:
            at += 1
            continue
        end = next((n for n in range(at + 1, len(lines)) if lines[n].strip() == "```"), len(lines))
        if fence.group(2) == "cpp":
            indent = len(fence.group(1))
            block = Block(page, at + 2, [line[indent:] for line in lines[at + 1:end]])
            above = "\n".join(lines[:at])
            mark = MARK.fullmatch(above, max(above.rfind("<!--"), 0))
            if mark:
                block.kind, block.frame = mark.group(1), mark.group(2) or ""
                block.frame_line = above.count("\n", 0, mark.start(2) if mark.group(2) else mark.start()) + 1
            found.append(block)
        at = end + 1
    return found


def problems(blocks: list[Block]) -> list[str]:
    """What is wrong with the comments above the blocks."""
    wrong = []
    for before, block in zip([None, *blocks], blocks):
        if block.kind == "not compiled" and not block.frame.strip():
            wrong.append(f"{block.page}:{block.line}: 'not compiled' needs a reason: <!-- not compiled: why -->")
        if block.kind == "continues" and (not before or before.page != block.page):
            wrong.append(f"{block.page}:{block.line}: there is no block on this page that it could continue")
    return wrong


def placed(block: Block) -> list[str]:
    """The block in its frame, with the places of both."""
    hole = HOLE.search(f" {block.frame} ")
    before, after = (block.frame, "")
    if hole:
        before, after = block.frame[: max(hole.start() - 1, 0)], block.frame[hole.end() - 1:]
    after_line = block.frame_line + before.count("\n")
    code = ["" if INCLUDE.match(line) or line.startswith("#pragma once") else line for line in block.code]
    return [f'#line {max(block.frame_line, 1)} "{block.page}"', before, f'#line {block.line} "{block.page}"', *code,
            f'#line {max(after_line, 1)} "{block.page}"', after]


def unit_of(blocks: list[Block]) -> str:
    """One translation unit of all blocks that are to be compiled."""
    compiled = [block for block in blocks if block.kind != "not compiled"]
    includes = dict.fromkeys(f"<{name}>" for name in PRELUDE)
    for block in compiled:
        for line in block.code:
            match = INCLUDE.match(line)
            if match and match.group(1).startswith("<"):
                includes[match.group(1)] = None
    out = [f"#include {name}" for name in includes] + ["using namespace std::chrono_literals;"]
    opened = False
    for number, block in enumerate(compiled):
        if block.kind != "continues":
            out += ["}"] if opened else []
            opened = block.kind != "global"
            out += [f"namespace block_{number} {{"] if opened else []
        out += placed(block)
    return "\n".join(out + (["}"] if opened else [])) + "\n"


def compile_unit(unit: str, kept: str | None) -> int:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(kept or f"{folder}/doc_blocks.cpp")
        path.write_text(unit, encoding="utf-8")
        command = [os.environ.get("CXX", "g++"), "-std=c++20", "-fsyntax-only", "-w", "-Ibase", "-Iactors", "-Ilibfiber", "-Irl",
                   "-isystem", "/usr/include/eigen3", str(path.absolute())]
        return subprocess.run(command, cwd=ROOT, check=False).returncode


def pages() -> list[str]:
    return subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "README.md", "docs/*.md"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()


def main() -> int:
    parser = argparse.ArgumentParser(description="Compiles the C++ of the documentation.")
    parser.add_argument("-o", metavar="FILE", help="where to keep the translation unit")
    parser.add_argument("pages", metavar="PAGE", nargs="*", help="default: README.md and docs/")
    options = parser.parse_args()
    blocks = [block for page in options.pages or pages()
              for block in blocks_of(page, (ROOT / page).read_text(encoding="utf-8"))]
    wrong = problems(blocks)
    for line in wrong:
        print(line, file=sys.stderr)
    if wrong or compile_unit(unit_of(blocks), options.o) != 0:
        return 1
    left_out = sum(block.kind == "not compiled" for block in blocks)
    print(f"doc_blocks: {len(blocks) - left_out} C++ blocks compile, {left_out} are not ours")
    return 0


if __name__ == "__main__":
    sys.exit(main())
