# SPDX-License-Identifier: Apache-2.0
"""A barrier lets all of its parties pass or none.

The name is "barrier NAME of N". Each party calls wait(round) with the rounds 0, 1, 2, ... and is told how many came
before it. A barrier breaks for good in these histories: then its parties are told an error and leave.
"""

from checker.operations import History, Operation


def check(history: History) -> list[str]:
    problems = []
    for name, operations in history.of("barrier").items():
        parties = int(name.split(" of ")[1])
        rounds: dict[int, list[Operation]] = {}
        for operation in operations:
            rounds.setdefault(operation.asked, []).append(operation)
        for number in sorted(rounds):
            problems += [f"{name}, round {number}: {wrong}" for wrong in check_round(rounds[number], parties)]
    return problems


def check_round(waits: list[Operation], parties: int) -> list[str]:
    passed = [operation for operation in waits if operation.returned]
    if not passed:
        return []
    problems = []
    first = min(operation.end for operation in passed)
    come = [operation for operation in waits if operation.begin < first]
    if len(come) != parties:
        problems.append(f"a party passed when {len(come)} of {parties} had come")
    places = [operation.answer for operation in passed]
    if len(set(places)) != len(places) or any(place not in range(parties) for place in places):
        problems.append(f"the places of those that passed are {sorted(places, key=str)}")
    problems += [f"{operation}, while others passed" for operation in waits if operation.failed]
    return problems
