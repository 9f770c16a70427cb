# SPDX-License-Identifier: Apache-2.0
"""The overhead rows of rows.py for a framework in Python: warming up, the clock, the JSON lines."""

import json
import os
import sys
import time
from dataclasses import dataclass
from typing import Callable

WORKERS = 5


@dataclass
class Framework:
    version: str
    """Runs function(task) for all tasks, each a unit of its own, and returns the results."""
    map: Callable
    """The same for one round: submits each task by itself, then waits for each."""
    round: Callable


def duration_of(row):
    text = row.rsplit("_", 1)[1]
    for unit, scale in (("ms", 1e-3), ("us", 1e-6), ("s", 1.0)):
        if text.endswith(unit):
            return int(text[: -len(unit)]) * scale
    raise ValueError("no duration in " + row)


def seconds(run):
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def nap(_):
    time.sleep(0.05)
    return os.getpid()


def warm_up(framework):
    """Until all workers were seen in one round, and then some: the JVM compiles what is hot."""
    while len(set(framework.round(nap, range(WORKERS)))) < WORKERS:
        pass
    framework.map(time.sleep, [0.001] * 100)
    for _ in range(20):
        framework.round(time.sleep, [0.001] * WORKERS)


def measure(row, framework):
    sleep = duration_of(row)
    rounds = round(1 / sleep)
    warm_up(framework)
    if row.startswith("overhead_batch_"):
        tasks = [sleep] * (rounds * WORKERS)
        return seconds(lambda: framework.map(time.sleep, tasks)), "s"

    def run():
        for _ in range(rounds):
            framework.round(time.sleep, [sleep] * WORKERS)

    return seconds(run) / rounds * 1e6, "us"


def main(start):
    """`start` is a context manager that gives the Framework, with WORKERS workers."""
    row = sys.argv[1] if len(sys.argv) == 2 else ""
    if not row.startswith(("overhead_batch_", "overhead_lockstep_")):
        print(f"usage: {os.path.basename(sys.argv[0])} "
              "overhead_{batch,lockstep}_{1s,100ms,10ms,1ms,100us}", file=sys.stderr)
        return 2
    # Workers import this module, wherever they are started.
    os.environ["PYTHONPATH"] = os.path.dirname(os.path.abspath(__file__))
    with start() as framework:
        value, unit = measure(row, framework)
        print(json.dumps({"version": framework.version}))
        print(json.dumps({"name": row, "value": value, "unit": unit}), flush=True)
    return 0
