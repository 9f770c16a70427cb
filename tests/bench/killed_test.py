#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench/rl/killed.py kills jobs of a training, and tells whether it ends with the same policy.

usage: killed_test.py BENCH
"""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

KILLED = Path(sys.argv.pop(1)) / "rl/killed.py"

# In place of ppo: a process that forks two jobs, and ends when both have. It saves {policy}.
TRAINING = """#!/bin/bash
while [ "$1" != --out ]; do shift; done
mkdir -p "$2"
bash -c 'sleep 3 & sleep 3 & wait'
printf '%s' "{policy}" >"$2/policy"
echo "mean return 7.50 over 100 fresh episodes"
"""


class Killed(unittest.TestCase):
    def run_with(self, policy, *options):
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder) / "build/programs/ppo"
            program.parent.mkdir(parents=True)
            program.write_text(TRAINING.format(policy=policy))
            program.chmod(0o755)
            return subprocess.run(
                (sys.executable, KILLED, "--build", Path(folder) / "build", "--out", Path(folder) / "out",
                 "--jobs", "2", "--every", "0.5", *options),
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)

    def test_kills_jobs_and_finds_the_same_policy(self):
        done = self.run_with("policy", "--share", "1")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"undisturbed: .* 2 jobs, 0 kills, mean return 7.50")
        self.assertRegex(done.stdout, r"\nkilled: .* 2 jobs, 2 kills")
        self.assertIn("The policies are the same", done.stdout)

    def test_policies_that_differ_are_a_failure(self):
        done = self.run_with("$RANDOM $RANDOM", "--share", "1")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("The policies differ", done.stdout)

    def test_refuses_a_share_of_no_job(self):
        done = self.run_with("policy", "--share", "0.1")
        self.assertEqual(done.returncode, 1)
        self.assertIn("must be at least one job", done.stderr)


if __name__ == "__main__":
    unittest.main()
