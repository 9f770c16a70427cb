#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the pages say of the tests is there: `Suite.name` and `fuzz.NAME`, which they name as their proof, their files
`tests/...` and their programs `build/dev/tests/...`.

`..` stands for the suite named before it, or for a part of a name.
"""

import re
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("docs/internals/threat-model.md", "docs/internals/security-notes.md", "docs/internals/reliability-notes.md")
TEST = re.compile(r"\bTEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\s*\)")
FUZZER = re.compile(r"\bfiber_fuzzer\((\w+)")
PATH = re.compile(r"(?<![\w/.-])((?:build/dev/)?tests/[\w./*-]*)")
PROGRAM = re.compile(r"\b(?:fiber_test|add_executable)\((\w+)")
NAME = re.compile(r"`(fuzz\.\w+|(?:[A-Z]\w+)?\.[\w.]+)`")


def known() -> set[str]:
    names = set()
    for path in (ROOT / "tests").rglob("*"):
        if path.suffix in (".cpp", ".hpp"):
            names |= {f"{suite}.{name}" for suite, name in TEST.findall(path.read_text(encoding="utf-8"))}
        elif path.name == "CMakeLists.txt":
            names |= {f"fuzz.{name}" for name in FUZZER.findall(path.read_text(encoding="utf-8"))}
    return names


def named(text: str):
    """The suite and the known parts of the name, of each test on a page."""
    suite = ""
    for name in NAME.findall(text):
        if not name.startswith("."):
            suite, name = name.split(".", 1)
        parts = [part for part in name.split("..") if part]
        if suite and parts:
            yield suite, parts


def fits(suite: str, parts: list[str], names: set[str]) -> bool:
    return any(name.startswith(f"{suite}.") and all(part in name for part in parts) for name in names)


def exists(path: str) -> bool:
    """Whether a file of the tests, or a program that CMake makes of them, is where the page says."""
    if "..." in path:
        return True  # Any.
    path = path.rstrip(".")
    if not path.startswith("build/dev/"):
        return any(ROOT.glob(path.rstrip("/")))
    folder, _, program = path.removeprefix("build/dev/").rpartition("/")
    lists = ROOT / folder / "CMakeLists.txt"
    return lists.is_file() and program in PROGRAM.findall(lists.read_text(encoding="utf-8"))


class Paths(unittest.TestCase):
    def test_of_all_pages_exist(self):
        count = 0
        missing = []
        for page in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]:
            for path in PATH.findall(page.read_text(encoding="utf-8")):
                count += 1
                if not exists(path):
                    missing.append(f"{page.relative_to(ROOT)}: {path}")
        self.assertGreater(count, 30)
        self.assertEqual(missing, [])

    def test_that_moved_are_found(self):
        self.assertTrue(exists("tests/tree/doc_tests_test.py"))
        self.assertTrue(exists("tests/e2e/clusters/docker*"))
        self.assertTrue(exists("build/dev/tests/e2e/faults/chaos_soak_test"))
        self.assertFalse(exists("tests/tree/no_test.py"))
        self.assertFalse(exists("tests/e2e/docker*"))
        self.assertFalse(exists("build/dev/tests/e2e/chaos_soak_test"))


class Names(unittest.TestCase):
    def test_of_all_pages_are_those_of_tests(self):
        names = known()
        self.assertGreater(len(names), 1000)
        missing = []
        count = 0
        for page in PAGES:
            for suite, parts in named((ROOT / page).read_text(encoding="utf-8")):
                count += 1
                if not fits(suite, parts, names):
                    missing.append(f"{page}: {suite}.{'..'.join(parts)}")
        self.assertGreater(count, 100)
        self.assertEqual(missing, [])

    def test_of_a_page_are_found(self):
        text = "`Suite.one`, `..two_..`, `fuzz.three`, `Alone`, `file.cpp`, `Other.a_..`"
        self.assertEqual(list(named(text)), [("Suite", ["one"]), ("Suite", ["two_"]), ("fuzz", ["three"]),
                                             ("Other", ["a_"])])

    def test_that_do_not_exist_are_found(self):
        names = {"Suite.one_is_here"}
        self.assertTrue(fits("Suite", ["one", "here"], names))
        self.assertFalse(fits("Suite", ["two"], names))
        self.assertFalse(fits("Other", ["one"], names))


if __name__ == "__main__":
    unittest.main()
