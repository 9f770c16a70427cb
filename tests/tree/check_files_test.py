#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""No file is opened without a look at who has made it, and the check sees where one would be."""

import tempfile
import unittest
from pathlib import Path

import check_files


class CheckFiles(unittest.TestCase):
    def problems(self, text, path="libfiber/journal/journal_file.cpp"):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / path
            file.parent.mkdir(parents=True)
            file.write_text(text, encoding="utf-8")
            return check_files.problems(Path(folder))

    def test_the_project_passes(self):
        self.assertEqual(check_files.problems(Path(__file__).resolve().parents[2]), [])

    def test_each_way_to_open_a_file_is_found_with_its_place(self):
        for code in ("fd = ::open(path.c_str(), O_RDWR);", "UniqueFd fd(::openat(folder, name, 0));",
                     'std::fopen(path, "r");', "fiber::detail::Classic<std::ifstream> in(path);"):
            found = self.problems(f"\n{code}\n")
            self.assertEqual(len(found), 1, code)
            self.assertTrue(found[0].startswith("libfiber/journal/journal_file.cpp:2: use open_trusted()"))

    def test_the_kernels_files_members_and_comments_pass(self):
        for code in ('std::ifstream file("/proc/self/stat");', '::open("/dev/null", O_RDONLY);',
                     "objects->open();", "Runtime::open(settings);", "// calls ::open(path)"):
            self.assertEqual(self.problems(code), [], code)

    def test_a_place_in_the_table_passes_until_it_opens_nothing(self):
        path = "rl/vec/rows.cpp"
        self.assertEqual([p for p in self.problems("::open(path, 0);\n", path) if "rows.cpp:" in p], [])


if __name__ == "__main__":
    unittest.main()
