#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Decides whether histories are possible in a system that keeps its promises.

usage: check.py FILE...    prints what each history shows; exit code 1 if one breaks a promise

Shares no code with the library: it knows what was asked and what was told, as checker/operations.py describes it.
"""

import sys
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
# pylint: disable=wrong-import-position
from checker import barriers, clients, locks, queues, tasks, values
from checker.operations import History, read

CHECKS = (tasks.check, queues.check, locks.check, barriers.check, values.check, clients.check)


def problems(history: History) -> list[str]:
    return history.problems + [problem for check in CHECKS for problem in check(history)]


def figures(history: History) -> dict[str, int]:
    """How much of each kind the history shows: a check of nothing proves nothing."""
    counts = {
        kind: sum(operation.returned for operations in history.of(kind).values() for operation in operations)
        for kind in ("task", "queue", "lock", "barrier", "value")
    }
    runs = sum(len(runs) for runs in history.runs.values())
    counts["run again"] = max(0, runs - len(history.of("task")))
    counts["kill"] = len(history.faults.kills)
    counts["stall"] = sum(len(times) for times in history.faults.stalls.values())
    counts["cut"] = len(history.faults.cuts)
    counts["restart"] = len(history.faults.restarts)
    counts["outage"] = len(history.faults.outages)
    counts["lost in a cut"] = lost_in_cuts(history)
    counts["redelivered"] = queues.redelivered(history)
    counts["lost with a client"] = queues.told_lost(history)
    counts["without answer"] = sum(operation.unknown for operation in history.operations)
    return counts


def lost_in_cuts(history: History) -> int:
    """How many broken promises of queues only a cut explains."""
    return len(queues.check(replace(history, strict=True))) - len(queues.check(history)) if history.faults.cuts else 0


def load(path) -> History:
    with open(path, encoding="utf-8") as file:
        return read(file)


def main(paths: list[str]) -> int:
    wrong = 0
    for path in paths:
        history = load(path)
        found = problems(history)
        told = ", ".join(f"{kind} {count}" for kind, count in figures(history).items())
        print(f"{path}: {told}; {f'{len(found)} broken promises' if found else 'all promises kept'}")
        for problem in found[:20]:
            print(f"  {problem}")
        wrong += bool(found)
    return 1 if wrong else 0


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1:]))
