#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints, for bench/run.py, how fast the example actor_learner trains, and its learner's idle share.

usage: actor_learner.py actor_learner_N, with N rollout actors; it lies in a build folder
"""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

PROGRAM = Path(__file__).resolve().parent.parent / "examples/rl/actor_learner"
# Enough to say how fast it is. It need not be enough to learn.
UPDATES = 100
SUMMARY = re.compile(r"^([0-9.]+) steps/s; the learner learned for ([0-9.]+) % of the time", re.M)


def main():
    row = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run((PROGRAM, "--rollouts", row.rpartition("_")[2], "--updates",
                               str(UPDATES), "--out", folder),
                              stdout=subprocess.PIPE, text=True, check=False)
    summary = SUMMARY.search(done.stdout)
    if summary is None:
        sys.exit(f"actor_learner ended with {done.returncode}, without a summary")
    steps, learned = map(float, summary.groups())
    print(json.dumps({"name": row, "value": steps, "unit": "steps/s"}))
    print(json.dumps({"name": f"{row}_idle", "value": 100 - learned, "unit": "%"}))


if __name__ == "__main__":
    main()
