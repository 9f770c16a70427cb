#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains with PPO twice: undisturbed, and while a share of the jobs is killed again and again.

Jobs that die are replaced, and their environments continue where they were. So both trainings must
end with the same policy, byte for byte. Writes OUT/undisturbed and OUT/killed, the folders of the
two trainings, and prints what happened. Ends with 1 if the policies differ.
"""

import argparse
import contextlib
import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

sys.dont_write_bytecode = True  # The source tree stays as it is.
ROOT = Path(__file__).resolve().parent.parent.parent
RETURN = re.compile(r"mean return (-?[0-9.]+) over \d+ fresh episodes")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--env", default="lunar_lander")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--steps", type=int, help="[default: the program's]")
    parser.add_argument("--jobs", type=int, default=10)
    parser.add_argument("--envs", type=int, help="at least a job each [default: the program's]")
    parser.add_argument("--share", type=float, default=0.1, help="of the jobs [default: 0.1]")
    parser.add_argument("--every", type=float, default=10, metavar="SECONDS",
                        help="between two rounds of kills [default: 10]")
    parser.add_argument("--build", type=Path, default=ROOT / "build/release",
                        help="CMake's build folder [default: build/release]")
    parser.add_argument("--out", type=Path, default=ROOT / "out/bench-killed")
    return parser.parse_args()


def children(pid):
    """The processes that this one has started and that have not ended."""
    found = []
    with contextlib.suppress(OSError):  # It has just ended, or one of its threads.
        for thread in Path(f"/proc/{pid}/task").iterdir():
            found += map(int, (thread / "children").read_text().split())
    return found


def jobs_of(driver):
    """The driver's jobs: a process that it has started forks them."""
    return [job for parent in children(driver) for job in children(parent)]


def train(options, out, kills):
    """(seconds, mean return, the policy's bytes, number of kills)"""
    command = [options.build / "programs/ppo", "--env", options.env, "--seed", str(options.seed),
               "--jobs", str(options.jobs), "--out", out]
    for name in ("steps", "envs"):
        if value := getattr(options, name):
            command += [f"--{name}", str(value)]
    chance, killed = random.Random(options.seed), 0
    start = time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as driver:
        while kills:
            try:
                driver.wait(options.every)
                break
            except subprocess.TimeoutExpired:
                jobs = jobs_of(driver.pid)
                for job in chance.sample(jobs, min(len(jobs), round(options.share * options.jobs))):
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(job, signal.SIGKILL)
                        killed += 1
        printed = driver.stdout.read()
    seconds = time.monotonic() - start
    mean = RETURN.findall(printed)
    if driver.returncode != 0 or not mean:
        sys.exit(f"killed: ppo ended with {driver.returncode} and said {printed[-300:]!r}")
    return seconds, float(mean[-1]), (out / "policy").read_bytes(), killed


def main():
    options = arguments()
    if round(options.share * options.jobs) == 0:
        sys.exit("killed: --share of --jobs must be at least one job")
    policies = []
    for name in ("undisturbed", "killed"):
        seconds, mean, policy, killed = train(options, options.out / name, name == "killed")
        print(f"{name}: {seconds:.0f} s, {options.jobs} jobs, {killed} kills, mean return {mean:.2f} over "
              f"fresh episodes", flush=True)
        policies.append(policy)
    same = policies[0] == policies[1]
    print("The policies are the same, byte for byte." if same else "The policies differ.")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
