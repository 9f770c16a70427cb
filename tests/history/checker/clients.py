# SPDX-License-Identifier: Apache-2.0
"""No client is lost without a cause: until it is told to end it lives, unless it was killed or cut off for long.

A client whose call has failed ends as well. Whether the call may fail is up to the checks of the objects.
"""

from checker.operations import History


def check(history: History) -> list[str]:
    faults = history.faults
    failed = {operation.who for operation in history.operations if operation.failed}
    problems = []
    for who, at in faults.ended.items():
        if who not in faults.born or at >= faults.stop or who in failed:
            continue
        if not any(begin <= at for begin, _ in faults.ends(who)):
            problems.append(f"{who} was lost at {at}, and nothing had been done to it that ends a client")
    return problems
