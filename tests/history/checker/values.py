# SPDX-License-Identifier: Apache-2.0
"""A Value is linearizable: each operation seems to happen at one moment between its call and its answer.

The search is Wing and Gong's with Lowe's memoization: take any operation that may be the next one, change the value as
it says, and go on; backtrack where an answer does not fit. A state (the operations that are done, and the value) is
never tried twice. An operation without an answer may happen at any later moment, or never.

The name is "value NAME of MANAGER", where the manager is the client in whose process the value is. When that may have
ended, calls may fail.
"""

from dataclasses import replace

from checker.operations import NEVER, History, Operation

INITIAL = 0


def step(operation: Operation, value):
    """The value after the operation, and what its client should have been told."""
    if operation.do == "get":
        return value, value
    if operation.do == "set":
        return operation.asked, None
    if operation.do == "add":
        return value + operation.asked, value
    if operation.do == "compare_and_set":
        old, new = operation.asked
        return (new, True) if value == old else (value, False)
    raise ValueError(f"a Value has no {operation.do}")


def check(history: History) -> list[str]:
    problems = []
    for name, operations in history.of("value").items():
        lost = min((begin for begin, _ in history.faults.ends(name.split(" of ")[-1])), default=NEVER)
        problems += [f"{name}: {operation}" for operation in operations if operation.failed and operation.end < lost]
        known = [replace(operation, end=NEVER) if operation.failed else operation for operation in operations]
        wrong = linearize(sorted(known, key=lambda operation: operation.begin))
        if wrong is not None:
            problems.append(f"{name}: no order of the calls explains {wrong}")
    return problems


def linearize(operations: list[Operation]):
    """Nothing if there is an order; else the operation whose answer no order explains.

    `done` are the operations behind the first one that is not done. They are few, as few clients call at once.
    """
    answered = [at for at, operation in enumerate(operations) if operation.end != NEVER]
    last = answered[-1] if answered else -1
    beginning = (0, frozenset(), INITIAL)
    seen = {beginning}
    stack = [beginning]
    furthest = 0
    while stack:
        first, done, value = stack.pop()
        if all(at in done or operations[at].end == NEVER for at in range(first, last + 1)):
            return None
        furthest = max(furthest, first)
        for at in reversed(candidates(operations, first, done)):
            operation = operations[at]
            after, told = step(operation, value)
            if operation.returned and told != operation.answer:
                continue
            state = (*advance(first, done, at), after)
            if state not in seen:
                seen.add(state)
                stack.append(state)
    return operations[furthest]


def candidates(operations: list[Operation], first: int, done: frozenset) -> list[int]:
    """Operations that began before any other one that is not done had ended."""
    limit = NEVER
    found = []
    for at in range(first, len(operations)):
        operation = operations[at]
        if operation.begin > limit:
            break
        if at not in done:
            found.append(at)
            limit = min(limit, operation.end)
    return [at for at in found if operations[at].begin <= limit]


def advance(first: int, done: frozenset, at: int):
    """Those that are done, with one more."""
    if at != first:
        return first, done | {at}
    first += 1
    while first in done:
        done = done - {first}
        first += 1
    return first, done
