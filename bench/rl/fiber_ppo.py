#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the example ppo and prints, for run.py, what sb3_ppo.py prints of its peer.

usage: fiber_ppo.py ENV --seed SEED --steps STEPS, with $FIBER_BUILD, the build folder. For cartpole
the training stops as soon as 475 is reached; the others run all their steps.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

PROGRAM = Path(os.environ.get("FIBER_BUILD", ".")) / "examples/rl/ppo"
RETURN = re.compile(r"mean return (-?[0-9.]+) over \d+ fresh episodes")
REACHED = re.compile(r"reached -?[0-9.]+ after (\d+) steps in ([0-9.]+) s")
UNTIL = {"cartpole": 475}


def report(name, value, unit):
    print(json.dumps({"name": name, "value": value, "unit": unit}))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("env")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--steps", default="500000")
    options = parser.parse_args()
    command = [PROGRAM, "--env", options.env, "--seed", options.seed, "--steps", options.steps]
    if options.env in UNTIL:
        command += ["--until", str(UNTIL[options.env])]
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([*command, "--out", folder], stdout=subprocess.PIPE, text=True,
                              check=False)
    mean, reached = RETURN.findall(done.stdout), REACHED.search(done.stdout)
    if done.returncode != 0 or not mean:
        sys.exit(f"ppo ended with {done.returncode} and said {done.stdout[-300:]!r}")
    if reached:
        report(f"ppo_{options.env}_steps", int(reached[1]), "steps")
        report(f"ppo_{options.env}_seconds", float(reached[2]), "s")
    report(f"ppo_{options.env}_return", float(mean[-1]), "points")


if __name__ == "__main__":
    main()
