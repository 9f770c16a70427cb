# SPDX-License-Identifier: Apache-2.0
"""How long the episodes of a run take, and how long a run takes at least."""

import collections
import csv
import heapq
import random


def recorded(path):
    """The length of each recorded episode, in steps, which all take about the same time."""
    with open(path, encoding="utf-8", newline="") as lines:
        return [int(row["steps"]) for row in csv.DictReader(lines)]


def draws(episodes, mean, count, seed):
    """`count` durations drawn from `episodes`, which are scaled to a mean in seconds; in microseconds."""
    factor = 1e6 * mean * len(episodes) / sum(episodes)
    scaled = [max(1, round(episode * factor)) for episode in episodes]
    return random.Random(seed).choices(scaled, k=count)


def greedy(durations, workers):
    """When the last task ends if each worker takes the next task as soon as it is free."""
    free = [0] * min(workers, max(1, len(durations)))
    for duration in durations:
        heapq.heapreplace(free, free[0] + duration)
    return max(free)


def greedy_with_deaths(durations, workers, deaths, chance):
    """The same if workers die: `deaths` on average, at random times within an even share of the work.

    Each is replaced at once, and its task starts anew. `chance` is a random.Random.
    """
    number = int(deaths) + (chance.random() < deaths % 1)
    events = [(chance.uniform(0, sum(durations) / workers), -1, 0) for _ in range(number)]
    heapq.heapify(events)
    waiting = collections.deque(durations)
    running = {}  # By worker: the task's duration.
    lives = [0] * workers

    def start(worker, now, duration):
        running[worker] = duration
        heapq.heappush(events, (now + duration, worker, lives[worker]))

    for worker in range(min(workers, len(durations))):
        start(worker, 0, waiting.popleft())
    last = 0
    while running:
        time, worker, life = heapq.heappop(events)
        if worker < 0:  # One dies.
            victim = chance.randrange(workers)
            lives[victim] += 1
            if victim in running:
                start(victim, time, running[victim])
        elif life == lives[worker]:
            last = time
            del running[worker]
            if waiting:
                start(worker, time, waiting.popleft())
    return last


def bound(durations, workers):
    """What no order of the tasks can beat: an even share, or the longest task."""
    return max(sum(durations) / workers, max(durations))


def of_run(rule, durations, population, workers):
    """Seconds of a run in which each iteration waits for all of its tasks."""
    iterations = [durations[i:i + population] for i in range(0, len(durations), population)]
    return sum(rule(tasks, workers) for tasks in iterations) * 1e-6


def quantile(values, share):
    """The value below which this share of them lies."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
