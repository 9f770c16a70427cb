# SPDX-License-Identifier: Apache-2.0
"""How long the episodes of a run take, and how long a run takes at least."""

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
