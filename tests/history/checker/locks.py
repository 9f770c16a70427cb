# SPDX-License-Identifier: Apache-2.0
"""A lock has one holder at a time, a semaphore as many as it has permits.

A client surely holds from the answer to its acquire to its call of release, but not when it may have been killed or
taken for dead: then the lock goes to the next one, and the old holder may go on for a moment. If it is stalled and
never releases, it surely holds only until then.
"""

from checker.operations import NEVER, History, Operation


def check(history: History) -> list[str]:
    problems = []
    for name, operations in history.of("lock").items():
        problems += [f"{name}: {operation}" for operation in operations if operation.failed]
        problems += overlaps(name, sections(operations, history), permits(name))
    return problems


def permits(name: str) -> int:
    """ "lock NAME of N" has N permits, any other one."""
    words = name.split(" of ")
    return int(words[1]) if len(words) == 2 else 1


def sections(operations: list[Operation], history: History) -> list[tuple[float, float, str]]:
    """When clients surely held the lock: (from, until, who)."""
    held = []
    mine: dict[str, list[Operation]] = {}
    for operation in operations:
        mine.setdefault(operation.who, []).append(operation)
    for who, calls in mine.items():
        calls.sort(key=lambda operation: operation.begin)
        for at, operation in enumerate(calls):
            if operation.do != "acquire" or not operation.returned or not operation.answer:
                continue
            release = next((later.begin for later in calls[at + 1 :] if later.do == "release"), None)
            until = release if release is not None else stalled(who, operation.end, history)
            until = until_lost(who, operation.end, until, history)
            if until > operation.end:
                held.append((operation.end, until, who))
    return held


def stalled(who: str, since: float, history: History) -> float:
    """When a client that never released may have lost the lock."""
    events = [history.faults.kills.get(who, NEVER), *history.faults.stalls.get(who, [])]
    return min((at for at in events if at >= since), default=since)


def until_lost(who: str, since: float, until: float, history: History) -> float:
    """The same for a client that may have been killed or taken for dead meanwhile."""
    for begin, end in history.faults.ends(who):
        if begin < until and since < end:
            until = max(begin, since)
    return until


def overlaps(name: str, held: list[tuple[float, float, str]], most: int) -> list[str]:
    holders: list[tuple[float, str]] = []
    problems = []
    for begin, end, who in sorted(held):
        holders = [holder for holder in holders if holder[0] > begin]
        if len(holders) >= most:
            others = ", ".join(holder[1] for holder in holders)
            problems.append(f"{name}: {who} had it at {begin}, while it was held by {others}")
        holders.append((end, who))
    return problems
