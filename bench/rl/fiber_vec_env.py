#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs vec_env_bench and prints, for run.py, the rows of it and of the peers that it contains.

usage: fiber_vec_env.py PART, with $BENCH_BUILD, the build folder. A row of a peer is named
"ROW: PEER". Where there are figures for several numbers of jobs, or of processes, it is the best.
Ends with 77 if the program has no such part.
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
        "waiting_1ms_64_tls": "waiting 1 ms: TLS",
        "waiting_1ms_64_tls: local": "waiting 1 ms: local"},
    **{f"sleep_{envs}": {
        f"sleep_{envs}": f"sleep {envs}: VecEnv",
        f"sleep_{envs}: lock-step farm": f"sleep {envs}: bare farm"}
       for envs in (8, 32, 64, 128, 256)},
}


def main():
    part = sys.argv[1]
    done = subprocess.run((PROGRAM, part), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, check=False)
    if done.returncode == 2 and "no row" in done.stderr:
        print(done.stderr.strip(), file=sys.stderr)
        return 77
    if done.returncode != 0:
        sys.exit(f"vec_env_bench {part} ended with {done.returncode}: {done.stderr[-300:]}")
    figures = FIGURE.findall(done.stdout)
    for row, beginning in PARTS[part].items():
        values = [float(value) for name, value in figures if re.match(beginning, name)]
        if values:
            print(json.dumps({"name": row, "value": max(values), "unit": "steps/s"}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
