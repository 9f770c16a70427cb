#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs vec_env_bench and prints, for run.py, the rows of it and of the peers that it contains.

usage: fiber_vec_env.py PART [OPTION...], with $BENCH_BUILD, the build folder. A row of a peer is
named "ROW: PEER". Where there are figures for several numbers of jobs, or of processes, it is the
best. OPTIONs are those of vec_env_bench.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

PROGRAM = Path(os.environ.get("BENCH_BUILD", ".")) / "bench/vec_env_bench"
FIGURE = re.compile(r"^(.*?) +([0-9.]+) steps/s\b", re.MULTILINE)

# Of each part: rows of run.py, and what the lines of vec_env_bench begin with.
PARTS = {
    "cartpole": {
        "cartpole_64": r"cartpole: VecEnv, jobs = [1-9]",
        "cartpole_64_here": r"cartpole: VecEnv, jobs = 0",
        "cartpole_64: bare shared-memory farm": "cartpole: bare farm"},
    "busy": {
        "busy_50us_256": "busy 50 us: VecEnv",
        "busy_50us_256: threads in one process": "busy 50 us: threads"},
    "slow": {
        "one_slow_half": "one of 8 slow: batch = 4",
        "one_slow_half: synchronous": "one of 8 slow: all rows"},
    "tls": {
        "waiting_1ms_64_tls_8": r"tls: waiting 1 ms, jobs = 8\b",
        "waiting_1ms_64_tls_8: local": r"local: waiting 1 ms, jobs = 8\b",
        "waiting_1ms_64_tls_64": r"tls: waiting 1 ms, jobs = 64\b",
        "waiting_1ms_64_tls_64: local": r"local: waiting 1 ms, jobs = 64\b"},
    **{row: {
        row: r"sleep \d+: VecEnv",
        f"{row}: lock-step farm": r"sleep \d+: bare farm"}
       for row in ("sleep_8", "sleep_32", "sleep_64", "sleep_128", "sleep_256", "sleep_256_unscaled")},
}


def figures(part, options, link="auto"):
    """[(name, steps/s)] of the lines that vec_env_bench prints; its other lines go to stderr."""
    done = subprocess.run((PROGRAM, part, *options), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, check=False, env={**os.environ, "FIBER_LINK": link})
    if done.returncode != 0:
        sys.exit(f"vec_env_bench {part} ended with {done.returncode}: {done.stderr[-300:]}")
    for line in done.stdout.splitlines():
        if not FIGURE.match(line):
            print(line, file=sys.stderr)
    return FIGURE.findall(done.stdout)


def main():
    part, *options = sys.argv[1:]
    if part == "tls":
        found = [(f"local: {name}", value) for name, value in figures("waiting", options)]
        found += [(f"tls: {name}", value)
                  for name, value in figures("waiting_by_messages", options, link="tls")]
    else:
        found = figures(part.removesuffix("_unscaled"), options)
    for row, beginning in PARTS[part].items():
        values = [float(value) for name, value in found if re.match(beginning, name)]
        if values:
            print(json.dumps({"name": row, "value": max(values), "unit": "steps/s"}))


if __name__ == "__main__":
    main()
