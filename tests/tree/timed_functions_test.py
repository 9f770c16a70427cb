#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/e2e/strangers/times_test.cpp tries each public function that waits for a time."""

import re
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TRIED = ROOT / "tests/e2e/strangers/times_test.cpp"
# A template of a duration whose type the caller chooses, and the name of the function below it.
TIMED = re.compile(r"template <[^>]*class Rep, class Period[^>]*>\s[^;{(]*?(\w+)\(")


class TimedFunctions(unittest.TestCase):
    def test_each_is_tried(self):
        waits = {
            f"{header.name}: {name}"
            for header in (ROOT / "libfiber/fiber").rglob("*.hpp")
            for name in TIMED.findall(header.read_text(encoding="utf-8"))
        }
        self.assertGreater(len(waits), 10, "the pattern finds no functions")
        tried = set(re.findall(r'\{"(\w+\.hpp: \w+)",', TRIED.read_text(encoding="utf-8")))
        self.assertEqual(tried, waits)


if __name__ == "__main__":
    unittest.main()
