#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench/paper/es draws, schedules and reports as its page says.

usage: paper_test.py BENCH
"""

import importlib.util
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
import es_programs  # noqa: E402
import es_tables  # noqa: E402
import offspring  # noqa: E402
import schedule  # noqa: E402

# In place of paper_es: as long as the greedy schedule of one worker, with a policy of its own if told.
MEASURES = """#!/usr/bin/env python3
import json, os, sys
draws = [int(line) for line in open(sys.argv[sys.argv.index("--draws") + 1])]
workers = sys.argv[sys.argv.index("--workers") + 1]
def put(name, value):
    print(json.dumps({"name": name, "value": value, "unit": "s"}))
put("es", sum(draws) * 1e-6 / int(workers))
for name in ("start", "busy", "driver", "memory_begin", "memory_fifth", "memory_end", "killed", "lost", "retries"):
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


def peers_row(workers=32, policy="b"):
    run = {"es": 66.0, "es_driver": 4.0, "es_start": 2.0, "memory": None, "policy": "a"}
    ray = {**run, "es": 90.0, "es_servers": 7.5, "memory": 3000.4, "policy": "b", "version": "Ray 1.0"}
    return {"workers": workers, "kind": "peers", "iterations": 3, "population": 2048, "greedy": 60.0,
            "runs": {"Fiber for C++": run, "Ray": ray, "multiprocessing": {**ray, "policy": policy}},
            "missing": {"IPyParallel": "no controller"}}


class Peers(unittest.TestCase):
    def test_the_table_has_seconds_an_iteration(self):
        lines = es_tables.peers_table([peers_row()])
        self.assertEqual(lines[2], "| 32 | Fiber for C++ | 22.0 s | 20.0 s | 1.100 x | 4.0 % | - | 2.0 s | - |")
        self.assertEqual(lines[3], "| 32 | Ray | 30.0 s | 20.0 s | 1.500 x | 4.0 % | 7.5 % | 2.0 s | 3,000 MB |")

    def test_versions_and_missing_peers_are_named(self):
        text = "\n".join(es_tables.peers([peers_row(128), peers_row(32)])[0])
        for part in ("3 iterations of 2,048", "Peers: Ray 1.0.", "Missing:\n\n- IPyParallel with 32 workers: no controller\n"
                     "- IPyParallel with 128 workers: no controller"):
            self.assertIn(part, text)

    def test_peers_have_the_same_policy_but_not_that_of_fiber(self):
        self.assertTrue(es_tables.peers([peers_row(32), peers_row(128)])[1])
        lines, same = es_tables.peers([peers_row(32), peers_row(128, policy="c")])
        self.assertFalse(same)
        self.assertIn("c: multiprocessing with 128", "\n".join(lines))

    def test_the_plot_has_what_was_measured(self):
        series = {title: points for title, _, points in es_tables.scaling_series([peers_row(128), peers_row(32)])}
        self.assertEqual(series["Ray, measured here"], [(32, 1.5), (128, 1.5)])
        self.assertEqual(series["Fiber for C++"], [(32, 1.1), (128, 1.1)])
        self.assertEqual(series["Fiber for Python, as published"][0], (32, 1.475))
        self.assertNotIn("IPyParallel, measured here", series)
        both = es_tables.scaling_series([peers_row(32), {**row(64, 100.0, 90.0), "iterations": 50}])
        self.assertEqual([points for title, _, points in both if title == "Fiber for C++"], [[(64, 100 / 90)]])


class Command(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)

    def program(self, name, text):
        program = self.root / "build/bench" / name
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text(text)
        program.chmod(0o755)

    def install_frameworks(self, missing):
        (self.root / "frameworks/bin").mkdir(parents=True)
        (self.root / "frameworks/bin/python").symlink_to(sys.executable)
        (self.root / "frameworks/missing.json").write_text(json.dumps(missing))

    def run_rows(self, *rows, differs="0", fiber=MEASURES, peer=MEASURES, options=()):
        self.program("paper_es", fiber.replace("DIFFERS", repr(differs)))
        self.program("peers/es_peer.py", peer.replace("DIFFERS", repr(differs)))
        return subprocess.run(
            (sys.executable, BENCH / "paper/es", "--rows", *rows, "--iterations", "2", "--population", "64",
             "--build", self.root / "build", "--out", self.root / "out", "--frameworks", self.root / "frameworks",
             *options),
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

    def test_peers_are_measured_beside_fiber(self):
        self.install_frameworks({})
        done = self.run_rows("32-peers", "128-peers", options=("--peer-iterations", "1"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("1 iteration of 64 episodes", done.stdout)
        for label in ("Fiber for C++", *es_programs.PEERS):
            self.assertIn(f"\n| 32 | {label} |", done.stdout)
            self.assertIn(f"\n| 128 | {label} |", done.stdout)
        self.assertNotIn("Missing", done.stdout)

    def test_a_peer_that_is_not_installed_or_fails_is_named(self):
        self.install_frameworks({"Ray": "no wheel for this Python"})
        fails = MEASURES.replace("import json, os, sys", "import json, os, sys\nif 'ipyparallel' in sys.argv: sys.exit('no controller')")
        done = self.run_rows("32-peers", peer=fails)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("- Ray with 32 workers: no wheel for this Python\n", done.stdout)
        self.assertIn("- IPyParallel with 32 workers: ended with 1: no controller\n", done.stdout)
        self.assertIn("\n| 32 | multiprocessing |", done.stdout)
        self.assertNotIn("\n| 32 | Ray |", done.stdout)

    def test_without_an_installation_the_frameworks_are_named(self):
        done = self.run_rows("32-peers")
        self.assertEqual(done.returncode, 0, done.stderr)
        for label in ("Fiber for Python", "Fiber for Python, error handling", "Ray"):
            self.assertIn(f"- {label} with 32 workers: not installed; ./dev bench --peers=all does it", done.stdout)
        self.assertIn("\n| 32 | IPyParallel |", done.stdout)

    def test_policies_of_peers_that_differ_are_a_failure(self):
        self.install_frameworks({})
        done = self.run_rows("32-peers", "64-peers", differs="64")
        self.assertEqual(done.returncode, 1)
        self.assertIn("Peers: **The runs end with different parameters**", done.stdout)

    def test_fiber_that_fails_is_a_failure(self):
        self.install_frameworks({})
        done = self.run_rows("32-peers", fiber="#!/usr/bin/env python3\nimport sys; sys.exit('no workers')")
        self.assertEqual(done.returncode, 1)
        self.assertIn("ended with 1: no workers", done.stderr)
        self.assertNotIn("\n| 32 |", done.stdout)

    def test_what_uses_up_the_memory_is_ended(self):
        offspring.become_reaper()
        with es_programs.Memory(reserve=1e9) as memory, self.assertRaisesRegex(RuntimeError, "ended with -9"):
            offspring.run(("sleep", "60"), 60)
        self.assertIn("its 1 processes left the machine", memory.exhausted)


@unittest.skipUnless(importlib.util.find_spec("numpy"), "NumPy is not installed")
class Peer(unittest.TestCase):
    """bench/peers/es_peer.py"""

    def play(self, workers, population="8"):
        with tempfile.NamedTemporaryFile("w", suffix="draws") as draws:
            draws.write("20000\n" * 8)
            draws.flush()
            done = subprocess.run((sys.executable, "-B", BENCH / "peers/es_peer.py", "multiprocessing", "--draws", draws.name,
                                   "--workers", workers, "--population", population, "--iterations", "1"),
                                  capture_output=True, text=True, check=False)
        found = {}
        for line in done.stdout.splitlines():
            line = json.loads(line)
            found.update({line["name"]: line["value"]} if "name" in line else line)
        return found, done

    def test_it_sleeps_and_reports(self):
        found, done = self.play("2")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertLessEqual({"version", "es_start", "es", "es_busy", "es_driver", "es_servers", "policy"}, set(found))
        self.assertGreaterEqual(found["es_busy"], 8 * 0.02)
        self.assertGreaterEqual(found["es"], 8 * 0.02 / 2)
        self.assertIn("multiprocessing", found["version"])
        self.assertEqual(found["policy"], self.play("1")[0]["policy"])

    def test_draws_of_another_number_are_refused(self):
        _, done = self.play("2", population="6")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("expected 6 lines", done.stderr)

    def test_the_search_approaches_the_goal(self):
        sys.path.insert(0, str(BENCH / "peers"))
        import es_peer
        self.assertEqual(list(es_peer.centred_ranks([3.0, 1.0, 3.0, 9.0])), [0.0, -0.5, 0.0, 0.5])
        search = es_peer.Evolution(32)

        def fitness(offset=0, step=0.0):
            return es_peer.sleep_episode(search.parameters, search.noise, (offset, step, 0))[0]

        before = fitness()
        for _ in range(20):
            search.tell([fitness(offset, step) for offset in search.ask() for step in (es_peer.SIGMA, -es_peer.SIGMA)])
        self.assertGreater(fitness(), before)


if __name__ == "__main__":
    unittest.main()
