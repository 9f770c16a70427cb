#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""No text that a program reads depends on the locale, and the check sees where one might."""

import os
import subprocess
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
        for stream in ("ostringstream", "istringstream", "stringstream", "ofstream", "ifstream", "fstream", "wostringstream"):
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

    def test_a_function_that_writes_by_the_locale_is_found(self):
        for call in ('std::printf("%.1f s", x)', 'std::snprintf(text, sizeof text,\n  "%s;"\n  " %6.4g", name, x)',
                     "std::toupper(c)", "std::isalnum(c) != 0", "toupper(c)", "::toupper(c)", "strcasecmp(a, b)", 'std::regex form("[a-z]")', 'std::put_time(&now, "%b")', 'fmt::format("{:.1Lf}", x)'):
            self.assertEqual(len(self.problems(f"  {call};")), 1, call)

    def test_a_call_that_writes_no_decimals_passes(self):
        for call in ('std::printf("%5.0f ms, %s", x, y)', 'detail::formatted("%.1f", x)', 'std::printf("%zu", n); f("%g")',
                     'fmt::format("{:.1f} L", x)', "std::isdigit(c)", "std::regex form;",
                     "base.tolower(c)"):
            self.assertEqual(self.problems(f"  {call};"), [], call)

    def test_what_was_compiled_shows_where_a_number_with_decimals_is_written(self):
        source = self.root / "rl" / "a.cpp"
        source.parent.mkdir()
        source.write_text("""#include <string>
            namespace fiber { std::string label(double x) { return std::to_string(x); }
                              std::string count(long n) { return std::to_string(n); } }
            namespace caf { std::string text(double x) { return std::to_string(x); } }""", encoding="utf-8")
        compiler = os.environ.get("CXX", "c++")
        subprocess.run([compiler, "-std=c++20", "-O2", "-c", source, "-o", source.with_suffix(".o")], check=True)
        found = check_locale.problems_of_objects(self.root)
        self.assertEqual(len(found), 1, found)
        self.assertRegex(found[0], r"^rl/a.o: fiber::label.*\(double\) writes decimals")

    def test_comments_pass(self):
        self.assertEqual(self.problems("// As std::ostringstream and strtod() do."), [])


if __name__ == "__main__":
    unittest.main()
