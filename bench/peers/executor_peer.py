#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Python at the settings of bench/future_rows.cpp. Each run of this program measures the row that its argument names.

The futures and chains are those of concurrent.futures, the calls those of multiprocessing's Pool and Manager.
"""

import concurrent.futures
import multiprocessing
import sys
import threading
import time
from multiprocessing.managers import BaseManager

from sleep_rows import report, run_row, seconds

WORKERS = 4
CALLS = 8_000
TASK = bytes(16)


def echo(task):
    return task


def futures(row):
    count = 100_000 if row.startswith("futures_100k") else 10_000
    with concurrent.futures.ProcessPoolExecutor(WORKERS) as pool:
        def play(n):
            for each in concurrent.futures.as_completed([pool.submit(echo, TASK) for _ in range(n)]):
                each.result()

        play(count // 10)  # Warm.
        report(row, count / seconds(lambda: play(count)), "futures/s")


def dag(row):
    chains, length = 100, 100
    with concurrent.futures.ProcessPoolExecutor(WORKERS) as pool:
        def play(steps):
            left, ended = [chains], threading.Event()

            def step(done):  # The thread that calls back is always the same.
                if done < steps:
                    pool.submit(echo, TASK).add_done_callback(lambda _: step(done + 1))
                    return
                left[0] -= 1
                if left[0] == 0:
                    ended.set()

            for _ in range(chains):
                step(0)
            ended.wait()

        play(length // 10)
        report(row, chains * length / seconds(lambda: play(length)), "tasks/s")


def latencies(row, threads, call):
    times = [[] for _ in range(threads)]

    def measure(mine):
        for _ in range(CALLS // threads // 10):
            call(TASK)
        for _ in range(CALLS // threads):
            begin = time.perf_counter()
            call(TASK)
            mine.append(time.perf_counter() - begin)

    running = [threading.Thread(target=measure, args=(mine,)) for mine in times]
    for each in running:
        each.start()
    for each in running:
        each.join()
    times = sorted(time for mine in times for time in mine)
    for name, share in (("", .5), ("_p99", .99), ("_p999", .999)):
        report(row + name, 1e6 * times[int(share * (len(times) - 1))], "us")


def threads_of(row):
    return 8 if "_8_" in row else 1


def apply(row):
    with multiprocessing.Pool(WORKERS) as pool:
        latencies(row, threads_of(row), lambda task: pool.apply(echo, (task,)))


class Echo:
    def echo(self, task):
        return task


class Manager(BaseManager):
    pass


Manager.register("Echo", Echo)


def call(row):
    with Manager() as manager:
        latencies(row, threads_of(row), manager.Echo().echo)


ROWS = {"futures_": futures, "dag_": dag, "latency_apply_": apply, "latency_call_": call}


if __name__ == "__main__":
    sys.exit(run_row(ROWS))
