#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The promise: the plots of the docs can be drawn from the tables of the docs, and show what these say.

usage: redraw_test.py BENCH, with the folder bench
"""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

BENCH = Path(sys.argv.pop(1)).resolve()
sys.dont_write_bytecode = True
sys.path.insert(0, str(BENCH))

import redraw  # noqa: E402


class Redraw(unittest.TestCase):
    def test_a_cell_is_least_median_and_most(self):
        self.assertEqual(redraw.measured("7.24 M steps/s (5.34 M .. 7.72 M)"), [5.34e6, 7.24e6, 7.72e6])
        self.assertEqual(redraw.measured("1279 us (1265 .. 2126)"), [1265, 1279, 2126])
        self.assertEqual(redraw.measured("1.115 s (1.107 .. 1.128)"), [1.107, 1.115, 1.128])
        with self.assertRaisesRegex(SystemExit, "no measurement in 'fast'"):
            redraw.measured("fast")

    def test_a_table_that_is_not_there_is_named(self):
        with self.assertRaisesRegex(SystemExit, "rl/performance.md has 0 tables with 'no such words', not one"):
            redraw.table_of("rl/performance.md", "no such words")

    def test_all_pictures_are_drawn_and_have_the_names_of_their_tables(self):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([sys.executable, BENCH / "redraw.py", folder], check=True)
            for name, words in (("overhead_1ms", ("Ray", "IPyParallel")), ("overhead", ("OpenMPI", "IPyParallel")),
                                ("vec_env_cartpole", ("EnvPool", "Gymnasium, sync")),
                                ("vec_env_sleep", ("SubprocVecEnv", "lock-step farm")),
                                ("es_scaling", ("Fiber for C++", "Fiber for Python, as published"))):
                text = (Path(folder) / f"{name}.svg").read_text(encoding="utf-8")
                for word in words:
                    self.assertIn(word, text)


if __name__ == "__main__":
    unittest.main()
