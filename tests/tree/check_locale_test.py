#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""No text that a program reads depends on the locale, and the check sees where one might."""

import tempfile
import unittest
from pathlib import Path

import check_locale


class CheckLocale(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)

    def problems(self, line, path="rl/report/plot.cpp"):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"\n{line}\n", encoding="utf-8")
        return check_locale.problems(self.root)

    def test_the_project_passes(self):
        self.assertEqual(check_locale.problems(Path(__file__).resolve().parents[2]), [])

    def test_a_stream_of_the_global_locale_is_found_with_its_place(self):
        for stream in ("ostringstream", "istringstream", "stringstream", "ofstream", "ifstream", "fstream"):
            self.assertEqual(
                self.problems(f"  std::{stream} out;"),
                [f"rl/report/plot.cpp:2: write it as fiber::detail::Classic<std::{stream}>"],
            )

    def test_a_classic_stream_passes(self):
        self.assertEqual(self.problems("  fiber::detail::Classic<std::ostringstream> out;"), [])

    def test_a_function_that_reads_by_the_locale_is_found(self):
        for call in ("std::stod(text)", "std::strtold(text, &end)", "atof(text)", 'sscanf(text, "%f", &x)',
                     "boost::lexical_cast<int>(text)", "CLI11_PARSE(app, argc, argv)"):
            self.assertEqual(len(self.problems(f"  x = {call};")), 1, call)

    def test_comments_and_the_options_of_programs_pass(self):
        self.assertEqual(self.problems("// As std::ostringstream and strtod() do."), [])
        self.assertEqual(self.problems("  CLI11_PARSE(app, argc, argv);", "programs/pbt.cpp"), self.problems("", "rl/x.cpp"))


if __name__ == "__main__":
    unittest.main()
