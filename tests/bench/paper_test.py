#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench/paper/es draws, schedules and reports as its page says.

usage: paper_test.py BENCH
"""

import json
import random
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
BENCH = Path(sys.argv.pop(1))
sys.path[:0] = [str(BENCH / "paper"), str(BENCH)]
import es_tables  # noqa: E402
import schedule  # noqa: E402

# In place of paper_es: as long as the greedy schedule of one worker, with a policy of its own if told.
MEASURES = """#!/usr/bin/env python3
import json, os, sys
draws = [int(line) for line in open(sys.argv[sys.argv.index("--draws") + 1])]
workers = sys.argv[sys.argv.index("--workers") + 1]
def put(name, value):
    print(json.dumps({"name": name, "value": value, "unit": "s"}))
put("es", sum(draws) * 1e-6 / int(workers))
for name in ("busy", "driver", "memory_begin", "memory_fifth", "memory_end", "killed", "lost", "retries"):
    put("es_" + name, 3.0)
if "--samples" in sys.argv:
    open(sys.argv[sys.argv.index("--samples") + 1], "w").write("seconds,workers,wanted,done\\n0,32,0,0\\n1,32,0,9\\n")
print(json.dumps({"policy": "other" if workers == DIFFERS else "same"}))
"""


class Schedule(unittest.TestCase):
    def test_a_free_worker_takes_the_next_task(self):
        self.assertEqual(schedule.greedy([4, 1, 1, 1, 3], 2), 6)  # 4 + ..., 1 + 1 + 1 + 3.
        self.assertEqual(schedule.greedy([5, 2], 8), 5)
        self.assertEqual(schedule.greedy([5, 2, 1], 1), 8)

    def test_a_task_of_a_dead_worker_starts_anew(self):
        class Chance:  # One death, after 3 of 5, of worker 0.
            random, uniform, randrange = lambda self: 0.5, lambda self, low, high: 3, lambda self, n: 0
        self.assertEqual(schedule.greedy_with_deaths([5, 5], 2, 1, Chance()), 8)
        self.assertEqual(schedule.greedy_with_deaths([2, 5], 2, 1, Chance()), 5)  # It was idle.
        durations = schedule.draws([0.1, 0.3, 2.0], 0.461, 500, 7)
        self.assertEqual(schedule.greedy_with_deaths(durations, 16, 0, random.Random(1)),
                         schedule.greedy(durations, 16))

    def test_no_order_beats_the_bound(self):
        durations = schedule.draws([0.1, 0.3, 2.0], 0.461, 500, 7)
        for workers in (1, 3, 16, 499, 1000):
            self.assertGreaterEqual(schedule.greedy(durations, workers),
                                    schedule.bound(durations, workers))
        self.assertEqual(schedule.bound([6, 1, 1], 2), 6)

    def test_an_iteration_waits_for_all_of_its_tasks(self):
        durations = [1_000_000, 3_000_000, 2_000_000, 2_000_000]
        self.assertEqual(schedule.of_run(schedule.greedy, durations, 2, 2), 5.0)
        self.assertEqual(schedule.of_run(schedule.greedy, durations, 4, 2), 5.0)
        self.assertEqual(schedule.of_run(schedule.greedy, durations, 2, 1), 8.0)

    def test_draws_have_the_mean_and_follow_from_the_seed(self):
        durations = schedule.draws([1.0, 2.0, 6.0], 0.461, 20000, 1)
        self.assertEqual(durations, schedule.draws([1.0, 2.0, 6.0], 0.461, 20000, 1))
        self.assertNotEqual(durations, schedule.draws([1.0, 2.0, 6.0], 0.461, 20000, 2))
        self.assertAlmostEqual(sum(durations) / len(durations) * 1e-6, 0.461, delta=0.01)
        self.assertEqual(len(set(durations)), 3)

    def test_the_recorded_episodes_are_enough(self):
        episodes = schedule.recorded(BENCH / "paper/walks.csv")
        self.assertGreaterEqual(len(episodes), 2000)
        self.assertGreater(min(episodes), 0)

    def test_quantiles(self):
        self.assertEqual(schedule.quantile([3, 1, 2, 4], 0.5), 3)
        self.assertEqual(schedule.quantile([3, 1, 2, 4], 0), 1)


def row(workers, seconds, greedy, kind="plain", policy="a"):
    return {"title": str(workers), "workers": workers, "kind": kind, "es": seconds, "greedy": greedy,
            "with_deaths": greedy,
            "es_driver": 4.0, "es_memory_begin": 30, "es_memory_fifth": 31, "es_memory_end": 31,
            "policy": policy}


class Tables(unittest.TestCase):
    def test_a_row_has_the_bound_and_what_was_published(self):
        line = es_tables.table([row(512, 130.0, 128.0)])[2]
        for cell in ("| 512 |", "130 s", "128 s", "1.016 x |", "| 243 s |", "| 1,371 s |"):
            self.assertIn(cell, line)
        self.assertIn("| 243 s | - |", es_tables.table([row(1024, 70, 70)])[2])  # IPyParallel: none.

    def test_a_missed_goal_is_named(self):
        self.assertIn("missed", es_tables.verdict(row(64, 106, 100)))
        self.assertNotIn("missed", es_tables.verdict(row(64, 104, 100)))
        self.assertNotIn("missed", es_tables.verdict(row(64, 109, 100, kind="killed")))
        self.assertIn("missed", es_tables.verdict(row(64, 111, 100, kind="killed")))

    def test_policies_that_differ_are_named(self):
        self.assertTrue(es_tables.policies([row(32, 1, 1), row(64, 1, 1)])[1])
        sentence, same = es_tables.policies([row(32, 1, 1), row(64, 1, 1, policy="b")])
        self.assertFalse(same)
        self.assertIn("b: 64", sentence)

    def test_throughput_is_over_a_window(self):
        rates = es_tables.throughput([(0, 0), (1, 10), (2, 20), (3, 60)], window=1)
        self.assertEqual(rates, [0.0, 10.0, 10.0, 40.0])


class Command(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)

    def run_rows(self, *rows, differs="0", options=()):
        program = self.root / "build/bench/paper_es"
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text(MEASURES.replace("DIFFERS", repr(differs)))
        program.chmod(0o755)
        return subprocess.run(
            (sys.executable, BENCH / "paper/es", "--rows", *rows, "--iterations", "2", "--population", "64",
             "--build", self.root / "build", "--out", self.root / "out", *options),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)

    def test_rows_measured_one_at_a_time_are_one_report(self):
        self.assertEqual(self.run_rows("32").returncode, 0)
        done = self.run_rows("64", "64-by-8", "32-killed", "resized")
        self.assertEqual(done.returncode, 0, done.stderr)
        for text in ("\n| 32 |", "\n| 64 |", "\n| 32, 1 % killed an iteration |", "\n| 64, 8 to a job |", "All 5 runs end with the same"):
            self.assertIn(text, done.stdout)
        self.assertEqual(len(json.loads((self.root / "out/es.json").read_text())), 5)

    def test_policies_that_differ_are_a_failure(self):
        done = self.run_rows("32", "64", differs="64")
        self.assertEqual(done.returncode, 1)
        self.assertIn("different parameters", done.stdout)

    def test_rows_of_other_settings_are_left_out(self):
        self.run_rows("32")
        done = self.run_rows("64", options=("--mean", "0.1"))
        self.assertNotIn("\n| 32 |", done.stdout)

    def test_refuses_rows_that_there_are_not(self):
        done = self.run_rows("33-slept")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("no row 33-slept", done.stderr)

    def test_a_program_that_is_not_built_is_named(self):
        done = self.run_rows("32", options=("--build", str(self.root / "nothing")))
        self.assertEqual(done.returncode, 1)
        self.assertIn("is not built", done.stderr)


if __name__ == "__main__":
    unittest.main()
