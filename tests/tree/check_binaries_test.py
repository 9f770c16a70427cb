#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""No binary gets into the repository by mistake."""

import subprocess
import tempfile
import unittest
from pathlib import Path

import check_binaries

PICTURE = b"\x89PNG\r\n\0"


class Binaries(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        subprocess.run(["git", "init", "-q"], cwd=self.root, check=True)

    def put(self, name, content):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)

    def test_the_project_has_only_those_that_are_meant(self):
        self.assertEqual(check_binaries.problems(check_binaries.ROOT), [])

    def test_one_that_nothing_names_is_found_and_text_and_pictures_pass(self):
        self.put("docs/images/a.png", PICTURE)
        self.put("libfiber/text.cpp", "// \u00e4\n".encode())
        self.put("libfiber/a b.o", b"\x7fELF\0")
        self.put("docs/a.png", PICTURE)
        self.put("tests/x/golden/a", PICTURE)
        self.put("docs/latin1.md", b"\xe4")
        names = [line.split(" is a binary")[0] for line in check_binaries.problems(self.root)]
        self.assertEqual(names, ["docs/a.png", "docs/latin1.md", "libfiber/a b.o", "tests/x/golden/a"])

    def test_what_git_ignores_does_not_count(self):
        self.put(".gitignore", b"*.o\n")
        self.put("a.o", b"\0")
        self.assertEqual(check_binaries.problems(self.root), [])


if __name__ == "__main__":
    unittest.main()
