#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the program ppo and prints, for run.py, what sb3_ppo.py prints of its peer.

usage: fiber_ppo.py ENV --seed SEED --steps STEPS, with $BENCH_BUILD, the build folder. The return is
that of the end. Time and steps are those after which 100 fresh episodes, without noise, had the mean
that is asked for. They are played as often as by the peer, and their time does not count.
"""

import argparse
import csv
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

PROGRAM = Path(os.environ.get("BENCH_BUILD", ".")) / "programs/ppo"
RETURN = re.compile(r"mean return (-?[0-9.]+) over \d+ fresh episodes")
UNTIL = {"cartpole": 475}
EVERY = {"cartpole": 5000}  # Steps.


def report(name, value, unit):
    print(json.dumps({"name": name, "value": value, "unit": unit}))


def row_that_reaches(curve, until):
    """The first row of the training's curve with this return, if there is one."""
    if until is None or not curve.exists():
        return None
    with open(curve, newline="", encoding="utf-8") as lines:
        return next((row for row in csv.DictReader(lines)
                     if row["eval/return"] and float(row["eval/return"]) >= until), None)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("env")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--steps", default="500000")
    options = parser.parse_args()
    command = [PROGRAM, "--env", options.env, "--seed", options.seed, "--steps", options.steps,
               "--eval-every", str(EVERY.get(options.env, 0))]
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([*command, "--out", folder], stdout=subprocess.PIPE, text=True,
                              check=False)
        mean = RETURN.findall(done.stdout)
        reached = row_that_reaches(Path(folder) / "curve.csv", UNTIL.get(options.env))
    if done.returncode != 0 or not mean:
        sys.exit(f"ppo ended with {done.returncode} and said {done.stdout[-300:]!r}")
    if reached:
        report(f"ppo_{options.env}_steps", int(reached["step"]), "steps")
        report(f"ppo_{options.env}_seconds", float(reached["time/seconds"]), "s")
    report(f"ppo_{options.env}_return", float(mean[-1]), "points")


if __name__ == "__main__":
    main()
