#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench/rl/run.py measures what is there, and names what is not, and why.

usage: rl_test.py BENCH
"""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

RUN = Path(sys.argv.pop(1)) / "rl/run.py"

# In place of vec_env_bench: a farm is twice as fast as Fiber.
MEASURES = """#!/bin/sh
echo "cartpole: VecEnv, jobs = 0          900 steps/s"
echo "cartpole: VecEnv, jobs = 1           50 steps/s"
echo "cartpole: VecEnv, jobs = 2          100 steps/s"
echo "cartpole: bare farm, processes = 2  200 steps/s"
"""


class RlRun(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)

    def program(self, text):
        path = self.root / "build/bench/vec_env_bench"
        path.parent.mkdir(parents=True)
        path.write_text(text)
        path.chmod(0o755)

    def run_rows(self, rows, *options):
        done = subprocess.run(
            (sys.executable, RUN, "--rows", rows, "--runs", "2", "--build", self.root / "build",
             "--peers", self.root / "peers", "--out", self.root / "out", *options),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
        file = self.root / "out/rl.json"
        return done, json.loads(file.read_text()) if file.exists() else None

    def test_holds_fiber_against_the_peer_of_the_same_program(self):
        self.program(MEASURES)
        done, result = self.run_rows("^cartpole_64$", "--strict")
        self.assertEqual(done.returncode, 1, done.stderr)  # The goal is missed.
        self.assertIn("**miss**", done.stdout)
        values = {value["of"]: value["values"] for value in result["values"]}
        self.assertEqual(values, {"Fiber": [100.0] * 2, "bare shared-memory farm": [200.0] * 2})

    def test_names_peers_that_are_not_installed(self):
        self.program(MEASURES)
        done, result = self.run_rows("^cartpole_64$")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("EnvPool (peers/vector_peer.py)", result["missing"])
        self.assertIn("left out: EnvPool, peers/vector_peer.py: not installed", done.stderr)

    def test_names_programs_that_are_not_built(self):
        done, result = self.run_rows("ppo_cartpole")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(result["missing"]["Fiber (fiber_ppo.py)"], "programs/ppo.* is not built")

    def test_a_program_that_fails_is_a_failure(self):
        self.program("#!/bin/sh\necho broken >&2; exit 3\n")
        done, result = self.run_rows("^cartpole_64$")
        self.assertEqual(done.returncode, 1)
        self.assertIn("ended with 3: broken", result["failures"][0])

    def test_refuses_rows_that_there_are_not(self):
        done, _ = self.run_rows("no such row")
        self.assertEqual(done.returncode, 2)


if __name__ == "__main__":
    unittest.main()
