# SPDX-License-Identifier: Apache-2.0
"""The overhead rows of rows.py, and openmp_8, for a framework in Python: warming up, the clock, the JSON lines."""

import ctypes
import functools
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
    """Sends the workers a value that many tasks need, by a name. The result stands for it as an
    argument of a functools.partial. By default it travels with each task."""
    put: Callable = lambda name, value: value
    """Whether the workers of a machine share the memory of an array that was put."""
    shares_arrays: bool = False


def of_pool(version, pool):
    """The Framework of a pool with the interface of multiprocessing."""
    def map_all(function, tasks):
        return pool.map(function, tasks, chunksize=1)

    def one_round(function, tasks):
        handles = [pool.apply_async(function, (task,)) for task in tasks]
        return [handle.get() for handle in handles]

    return Framework(version, map_all, one_round)


def parts(function):
    """A function and what functools.partial has bound to it."""
    if isinstance(function, functools.partial):
        return function.func, function.args
    return function, ()


def report(name, value, unit):
    print(json.dumps({"name": name, "value": value, "unit": unit}), flush=True)


def run_row(rows):
    """Calls that of the {beginning of a row's name: function} which the command line asks for."""
    row = sys.argv[1] if len(sys.argv) == 2 else ""
    for name, measure in rows.items():
        if row.startswith(name):
            measure(row)
            return 0
    print(f"usage: {os.path.basename(sys.argv[0])} ROW\nrows:", *rows, file=sys.stderr)
    return 2


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


def nap(length):
    time.sleep(length)
    return os.getpid()


def wait_for_workers(workers, pids_of_round):
    """Until all workers were seen in one round. pids_of_round(length) lets each nap for so long.

    The naps become longer: if they are too short, the first workers take several and the last none.
    """
    length = 0.05
    while len(set(pids_of_round(length))) < workers:
        length += 0.05


@functools.cache
def openmp_library():
    library = ctypes.CDLL(os.path.join(os.path.dirname(os.path.abspath(__file__)), "libopenmp_work.so"))
    library.openmp_work.restype = ctypes.c_double
    return library


def openmp_work(task):
    return openmp_library().openmp_work(task)


def openmp(framework, workers):
    """160 tasks that use OpenMP, once all workers were seen, and once more."""
    wait_for_workers(workers, lambda length: framework.round(nap, [length] * workers))
    framework.map(openmp_work, range(160))
    return seconds(lambda: framework.map(openmp_work, range(160))), "s"


def warm_up(framework):
    """Until all workers were seen in one round, and then some: the JVM compiles what is hot."""
    wait_for_workers(WORKERS, lambda length: framework.round(nap, [length] * WORKERS))
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


def let_workers_import():
    """Workers import these modules, wherever they are started."""
    os.environ["PYTHONPATH"] = os.path.dirname(os.path.abspath(__file__))


def main(start):
    """start(workers) is a context manager that gives the Framework."""
    row = sys.argv[1] if len(sys.argv) == 2 else ""
    if not row.startswith(("overhead_batch_", "overhead_lockstep_", "openmp_")):
        print(f"usage: {os.path.basename(sys.argv[0])} "
              "overhead_{batch,lockstep}_{1s,100ms,10ms,1ms,100us}|openmp_8", file=sys.stderr)
        return 2
    let_workers_import()
    workers = int(row.split("_")[1]) if row.startswith("openmp_") else WORKERS
    with start(workers) as framework:
        value, unit = openmp(framework, workers) if row.startswith("openmp_") else measure(row, framework)
        print(json.dumps({"version": framework.version}))
        report(row, value, unit)
    return 0
