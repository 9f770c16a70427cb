#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Python's multiprocessing at the settings of bench/object_bench: one row a call, by name.

The environments here are stand-ins that answer without any physics, where those of object_bench
are real: what is compared is how steps travel, and what Python would need for a CartPole's is not
held against it. Nor is its policy: every action is the same.
"""

import multiprocessing
import sys
import time
from multiprocessing.managers import BaseManager

from sleep_rows import report, seconds

RUN_SECONDS = 0.5


def seconds_each(play, trial):
    """The seconds of a run of play(n), which returns its own, for each of the n, when warm."""
    play(trial // 10 + 1)
    enough = max(int(RUN_SECONDS * trial / play(trial)), trial)
    return play(enough) / enough


def seconds_of(work, trial):
    return seconds_each(lambda n: seconds(lambda: work(n)), trial)


def begin(function, *args):
    """The process ends with this one."""
    multiprocessing.Process(target=function, args=args, daemon=True).start()


# -- queues ---------------------------------------------------------------------------------------

def produce(queue, driver, size):
    item = b"x" * size
    while count := driver.recv():
        driver.send(time.perf_counter())  # Of one clock for all processes.
        for _ in range(count):
            queue.put(item)


def consume(queue, driver):
    while count := driver.recv():
        for _ in range(count):
            queue.get()
        driver.send(time.perf_counter())


def seconds_an_item(queue, size, pairs, trial):
    producers, consumers = [], []
    for _ in range(pairs):
        for jobs, function, args in ((producers, produce, (size,)), (consumers, consume, ())):
            here, there = multiprocessing.Pipe()
            begin(function, queue, there, *args)
            jobs.append(here)

    def run(count):
        for job in consumers + producers:
            job.send(max(count // pairs, 1))
        began = min([job.recv() for job in producers])
        return max([job.recv() for job in consumers]) - began

    return seconds_each(run, trial)


def simple_queue(row):
    report(row, 1 / seconds_an_item(multiprocessing.SimpleQueue(), 64, 1, 2000), "items/s")


def bounded_queue(row, size, capacity, pairs, trial):
    each = seconds_an_item(multiprocessing.Queue(capacity), size, pairs, trial)
    report(row, size / 1e6 / each, "MB/s")


def kilobytes(pairs):
    return lambda row: bounded_queue(row, 1000, 1000, pairs, 1000)


def megabytes(pairs):
    return lambda row: bounded_queue(row, 1_000_000, 16, pairs, 20)


# -- round trips ----------------------------------------------------------------------------------

def echo(driver):
    while True:
        driver.send(driver.recv())


def pipe(row):
    here, there = multiprocessing.Pipe()
    begin(echo, there)
    message = bytes(16)

    def trips(count):
        for _ in range(count):
            here.send(message)
            here.recv()

    report(row, 1 / seconds_of(trips, 1000), "round trips/s")


class Echo:
    def echo(self, message):
        return message


def call(row):
    message = bytes(16)
    with Objects() as manager:
        echoes = manager.Echo()

        def calls(count):
            for _ in range(count):
                echoes.echo(message)

        report(row, 1 / seconds_of(calls, 1000), "round trips/s")


# -- environments ---------------------------------------------------------------------------------

class StandIn:
    """Answers as a CartPole does: an observation of four numbers, a reward, whether it is done."""

    def __init__(self):
        self.steps = 0

    def step(self, action):
        self.steps += 1
        return (0.01, 0.02, 0.03, 0.04), 1.0, self.steps % 500 == 0


class StandIns:
    def __init__(self, count):
        self.envs = [StandIn() for _ in range(count)]

    def step(self, actions):
        return [env.step(action) for env, action in zip(self.envs, actions)]


class Objects(BaseManager):
    """A manager whose calls are those of the registered classes, each of which waits."""


for each in (Echo, StandIn, StandIns):
    Objects.register(each.__name__, each)


def serve_one(driver, count):
    """As the worker of a SubprocVecEnv; several environments share it."""
    envs = [StandIn() for _ in range(count)]
    while True:
        index, action = driver.recv()
        driver.send(envs[index].step(action))


def serve_batch(driver, count):
    envs = StandIns(count)
    while True:
        driver.send(envs.step(driver.recv()))


BATCH = 10


def env_pipes(row):
    """Ten processes share the environments, a message for each; all are sent before one is read."""
    count = int(row.split("_")[1])
    drivers = []
    for _ in range(10):
        here, there = multiprocessing.Pipe()
        begin(serve_one, there, count // 10)
        drivers.append(here)

    def steps(rounds):
        for _ in range(rounds):
            for index in range(count // 10):
                for driver in drivers:
                    driver.send((index, 1.0))
            for _ in range(count // 10):
                for driver in drivers:
                    driver.recv()

    report(row, count / seconds_of(steps, 500 // count), "steps/s")


def env_batch_pipes(row):
    """A process for ten of the environments, a message for all it has."""
    count = int(row.split("_")[2])
    drivers = []
    for _ in range(count // BATCH):
        here, there = multiprocessing.Pipe()
        begin(serve_batch, there, BATCH)
        drivers.append(here)

    def steps(rounds):
        for _ in range(rounds):
            for driver in drivers:
                driver.send([1.0] * BATCH)
            for driver in drivers:
                driver.recv()

    report(row, count / seconds_of(steps, 2000 // count), "steps/s")


def started_managers(count):
    managers = [Objects() for _ in range(count)]
    for manager in managers:
        manager.start()
    return managers


def env_managers(row):
    count = int(row.split("_")[1])
    managers = started_managers(10)
    envs = [managers[i % 10].StandIn() for i in range(count)]

    def steps(rounds):
        for _ in range(rounds):
            for env in envs:
                env.step(1.0)

    report(row, count / seconds_of(steps, 500 // count), "steps/s")


def env_batch_managers(row):
    count = int(row.split("_")[2])
    managers = started_managers(count // BATCH)
    envs = [manager.StandIns(BATCH) for manager in managers]

    def steps(rounds):
        for _ in range(rounds):
            for env in envs:
                env.step([1.0] * BATCH)

    report(row, count / seconds_of(steps, 2000 // count), "steps/s")


ROWS = {
    "simple_queue_local": simple_queue,
    "queue_1kb_1_local": kilobytes(1),
    "queue_1kb_4_local": kilobytes(4),
    "queue_1mb_1_local": megabytes(1),
    "queue_1mb_4_local": megabytes(4),
    "pipe_local": pipe,
    "call_local": call,
}
ENVIRONMENTS = {
    ("env", "pipes"): env_pipes,
    ("env", "managers"): env_managers,
    ("env_batch", "pipes"): env_batch_pipes,
    ("env_batch", "managers"): env_batch_managers,
}


def main():
    row = sys.argv[-1]
    if len(sys.argv) == 2 and row in ROWS:
        ROWS[row](row)
        return 0
    kind = row.rsplit("_", 2)[0], sys.argv[1] if len(sys.argv) == 3 else ""
    if kind in ENVIRONMENTS:
        ENVIRONMENTS[kind](row)
        return 0
    print("usage: multiprocessing_objects_peer.py ROW | pipes|managers env_ROW\nrows:", *ROWS,
          file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
