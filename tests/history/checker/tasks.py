# SPDX-License-Identifier: Apache-2.0
"""Each task is answered once, with the result of one of its runs."""

from checker.operations import History


def expected(number: int) -> int:
    return number * number + 7


def check(history: History) -> list[str]:
    problems = []
    for name, operations in history.of("task").items():
        runs = history.runs.get(name, {})
        for operation in operations:
            if operation.failed or not operation.returned:
                problems.append(f"{name}: {operation}")
                continue
            told = operation.answer
            if told.get("value") != expected(operation.asked):
                problems.append(f"{name}: the result is {told.get('value')}, not {expected(operation.asked)}")
            if told.get("run") not in runs:
                problems.append(f"{name}: no run of it has the result that was told: {told.get('run')}")
            elif runs[told["run"]] > operation.end:
                problems.append(f"{name}: it was answered before the run began that its result names")
        if len(operations) > 1:
            problems.append(f"{name}: it was asked for {len(operations)} times")
    return problems
