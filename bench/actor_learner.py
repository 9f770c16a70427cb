#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints, for bench/run.py, how fast the example actor_learner trains.

usage: actor_learner.py actor_learner_N, with N rollout actors; it lies in a build folder
"""

import json
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

PROGRAM = Path(__file__).resolve().parent.parent / "examples/rl/actor_learner"
UPDATES = 200
REPORT = re.compile(r"^update [0-9]+: .* ([0-9]+) steps/s$", re.M)  # One for each ten updates.


def main():
    row = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run((PROGRAM, "--rollouts", row.rpartition("_")[2], "--updates",
                               str(UPDATES), "--checkpoint", f"{folder}/checkpoint"),
                              stdout=subprocess.PIPE, text=True, check=False)
    rates = [float(rate) for rate in REPORT.findall(done.stdout)]
    if len(rates) < UPDATES / 10:
        sys.exit(f"actor_learner ended with {done.returncode} after {len(rates)} reports")
    print(json.dumps({"name": row, "value": statistics.harmonic_mean(rates), "unit": "steps/s"}))


if __name__ == "__main__":
    main()
