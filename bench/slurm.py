#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the Slurm backend costs, on the cluster that tests/clusters/slurm/up has made (as root).

    slurm.py start PROGRAM [--workers 64] [--runs 5]
        from nothing to all workers dialled in, beside an array of as many tasks that sbatch submits, until the last of
        them has started a process
    slurm.py calls PROGRAM [--workers 1024]
        how often a session of that many workers calls Slurm's commands, from its start to its end

PROGRAM is engine_start. For 1,024 workers: SLURM_CPUS=256 tests/clusters/slurm/up
"""

import argparse
import collections
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

COMMANDS = ["sbatch", "squeue", "scancel", "scontrol", "sinfo", "sacct"]


def read_cluster():
    path = os.path.join(os.environ.get("SLURM_STATE", "/var/tmp/fiber-slurm"), "env")
    with open(path) as file:
        return dict(line.strip().split("=", 1) for line in file)


def ask(*words):
    return subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True).stdout


def wait_for_no_jobs():
    while ask("squeue", "--noheader"):
        time.sleep(0.2)


def wait_for_idle_cluster():
    """Also until the end of the last jobs no longer delays the scheduler, at no certain phase of its clock."""
    wait_for_no_jobs()
    time.sleep(2 + random.random())


class Bench:
    def __init__(self, program):
        self.program = os.path.abspath(program)
        cluster = read_cluster()
        os.environ["SLURM_CONF"] = cluster["SLURM_CONF"]
        self.settings = {
            "FIBER_BACKEND": "slurm",
            "FIBER_SLURM_DIRECTORY": cluster["SLURM_SESSIONS"],
            "FIBER_START_DEADLINE": "600s",
        }

    def run_fiber(self, count, path=None):
        """Seconds to a pool of `count` workers, all dialled in."""
        environment = {**os.environ, **self.settings, "PATH": path or os.environ["PATH"]}
        run = subprocess.run([self.program, str(count)], env=environment, stdout=subprocess.PIPE, text=True, check=True)
        return float(run.stdout) / 1000

    @staticmethod
    def run_array(count):
        """Seconds until all tasks of an array have begun."""
        with tempfile.TemporaryDirectory() as folder:
            begin = time.monotonic()
            job = ask("sbatch", "--parsable", "--no-requeue", f"--array=0-{count - 1}", "--output=/dev/null", "--chdir=/",
                      f"--wrap=: >{folder}/$SLURM_ARRAY_TASK_ID; exec sleep 600").strip()
            while len(os.listdir(folder)) < count:
                time.sleep(0.01)
            taken = time.monotonic() - begin
            ask("scancel", job)
        return taken

    def compare_start(self, count, runs):
        plain, fiber = [], []
        for _ in range(runs):
            wait_for_idle_cluster()
            plain.append(self.run_array(count))
            wait_for_idle_cluster()
            fiber.append(self.run_fiber(count))
            print(f"array {plain[-1]:.2f} s, Fiber {fiber[-1]:.2f} s, load {os.getloadavg()[0]:.1f}", flush=True)
        shown = [f"{statistics.median(times):.2f} s ({min(times):.2f} .. {max(times):.2f})" for times in (plain, fiber)]
        ratio = statistics.median(fiber) / statistics.median(plain)
        print(f"{count} workers, medians of {runs}: array {shown[0]}, Fiber {shown[1]}, ratio {ratio:.2f}")

    def count_calls(self, count):
        with tempfile.TemporaryDirectory() as folder:
            log = os.path.join(folder, "log")
            for name in COMMANDS:
                with open(os.path.join(folder, name), "w") as script:
                    script.write(f'#!/bin/sh\necho "$(date +%s) {name}" >>{log}\nexec {shutil.which(name)} "$@"\n')
                os.chmod(script.name, 0o755)
            wait_for_no_jobs()
            begin = time.monotonic()
            up = self.run_fiber(count, folder + ":" + os.environ["PATH"])
            taken = time.monotonic() - begin
            with open(log) as file:
                calls = [line.split() for line in file]
        names = collections.Counter(name for _, name in calls)
        seconds = collections.Counter(second for second, _ in calls)
        print(f"{count} workers: all up after {up:.1f} s, all ended after {taken:.1f} s")
        print(f"{len(calls)} calls, {len(calls) / taken:.2f} a second, at most {max(seconds.values())} in one second: "
              + ", ".join(f"{number} {name}" for name, number in names.most_common()))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["start", "calls"])
    parser.add_argument("program")
    parser.add_argument("--workers", type=int)
    parser.add_argument("--runs", type=int, default=5)
    arguments = parser.parse_args()
    bench = Bench(arguments.program)
    if arguments.what == "calls":
        bench.count_calls(arguments.workers or 1024)
    else:
        bench.compare_start(arguments.workers or 64, arguments.runs)


if __name__ == "__main__":
    sys.exit(main())
