#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs mujoco_bench, for run.py. usage: fiber_mujoco.py ENVIRONMENT [OPTION...], with $BENCH_BUILD, the build folder."""

import os
import sys
from pathlib import Path

PROGRAM = Path(os.environ.get("BENCH_BUILD", ".")) / "bench/mujoco_bench"

if __name__ == "__main__":
    os.execv(PROGRAM, (str(PROGRAM), *sys.argv[1:]))
