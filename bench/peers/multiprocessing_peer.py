#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Python's multiprocessing at the settings of bench/fiber_bench: one row a call, by name."""

import contextlib
import multiprocessing
import os
import platform
import sys
import time

import sleep_rows
from sleep_rows import duration_of, report, run_row, seconds

NOOP_TASKS = 100_000
APPLY_TRIPS = 20_000
MEGABYTES = 200
MEGABYTE_ROUNDS = 5
PROCESSES = 256


@contextlib.contextmanager
def start(workers):
    """The Framework, for es_peer.py and openmp_8."""
    with multiprocessing.Pool(workers) as pool:
        yield sleep_rows.of_pool(f"multiprocessing of Python {platform.python_version()}", pool)


def nothing(task):
    return task


def overhead_batch(row):
    sleep, workers = duration_of(row), 5
    tasks = [sleep] * (round(1 / sleep) * workers)
    with multiprocessing.Pool(workers) as pool:
        pool.map(time.sleep, [0.01] * workers, chunksize=1)  # All workers are up.
        report(row, seconds(lambda: pool.map(time.sleep, tasks, chunksize=1)), "s")
        report(row + "_default_chunks", seconds(lambda: pool.map(time.sleep, tasks)), "s")


def overhead_lockstep(row):
    sleep, workers = duration_of(row), 5
    rounds = round(1 / sleep)

    def run():
        for _ in range(rounds):
            handles = [pool.apply_async(time.sleep, (sleep,)) for _ in range(workers)]
            for handle in handles:
                handle.get()

    with multiprocessing.Pool(workers) as pool:
        pool.map(time.sleep, [0.01] * workers, chunksize=1)
        report(row, seconds(run) / rounds * 1e6, "us")


def noop(row):
    tasks = [bytes(16)] * NOOP_TASKS
    with multiprocessing.Pool(4) as pool:
        pool.map(nothing, tasks[:1000], chunksize=1)
        report(row, NOOP_TASKS / seconds(lambda: pool.map(nothing, tasks, chunksize=1)), "tasks/s")


def apply(row):
    task = bytes(16)

    def run(count):
        for _ in range(count):
            pool.apply(nothing, (task,))

    with multiprocessing.Pool(1) as pool:
        run(500)
        report(row, APPLY_TRIPS / seconds(lambda: run(APPLY_TRIPS)), "round trips/s")


def megabyte(row):
    tasks = [b"x" * 1_000_000 for _ in range(MEGABYTES)]

    def run(rounds):
        for _ in range(rounds):
            pool.map(nothing, tasks, chunksize=1)

    with multiprocessing.Pool(4) as pool:
        run(1)
        report(row, MEGABYTE_ROUNDS * MEGABYTES / seconds(lambda: run(MEGABYTE_ROUNDS)), "MB/s")


def say_up(out):
    os.write(out, b"u")


def unshared(pid):
    with open(f"/proc/{pid}/smaps_rollup") as lines:
        return sum(int(line.split()[1]) for line in lines if line.startswith("Private_")) * 1024


def start_256(row):
    read_end, write_end = os.pipe()
    began = time.perf_counter()
    with multiprocessing.Pool(PROCESSES, initializer=say_up, initargs=(write_end,)):
        up = 0
        while up < PROCESSES:
            up += len(os.read(read_end, PROCESSES))
        report(row, time.perf_counter() - began, "s")
        children = [child.pid for child in multiprocessing.active_children()]
        report(row + "_memory", sum(map(unshared, children)) / len(children) / 1e6, "MB")


def openmp_8(row):
    with start(8) as framework:
        report(row, *sleep_rows.openmp(framework, 8))


ROWS = {
    "overhead_batch_": overhead_batch,
    "overhead_lockstep_": overhead_lockstep,
    "noop_local": noop,
    "apply_local": apply,
    "megabyte_local": megabyte,
    "start_256": start_256,
    "openmp_8": openmp_8,
}


if __name__ == "__main__":
    sys.exit(run_row(ROWS))
