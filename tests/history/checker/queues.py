# SPDX-License-Identifier: Apache-2.0
"""Each item that was put into a queue is received once, and the items of a producer arrive in their order.

An item of a producer is "PRODUCER:NUMBER", with numbers that grow. A client that is killed in get() may have
received one item that it could not record. A client that is killed in put() may have put its item or not. A put()
that returns False has not put its item.

A client that is cut off and taken for dead may have got an item in its last call, and the queue does not know that:
then another one gets the item too. If its last call was a put() into a queue without a capacity, which waits for no
answer, the item may be lost.
"""

from checker.operations import NEVER, History, Operation


UNANSWERED = ("queue open",)  # Queues whose put() waits for no answer.


def producer(item: str) -> str:
    return item.rsplit(":", 1)[0]


def number(item: str) -> int:
    return int(item.rsplit(":", 1)[1])


def check(history: History) -> list[str]:
    problems = []
    for name, operations in history.of("queue").items():
        puts = [operation for operation in operations if operation.do == "put" and operation.answer is not False]
        gets = [operation for operation in operations if operation.do == "get"]
        got = [operation for operation in gets if operation.returned and operation.answer is not None]
        found = check_items(history, puts, got)
        found += check_missing(history, name, puts, gets, got)
        found += check_order(history, puts, gets, got)
        problems += [f"{name}: {wrong}" for wrong in found]
        problems += [f"{name}: {operation}" for operation in operations if operation.failed]
    return problems


def check_items(history: History, puts: list[Operation], got: list[Operation]) -> list[str]:
    asked = {operation.asked: operation for operation in puts}
    seen: dict[str, Operation] = {}
    problems = []
    for operation in got:
        item = operation.answer
        if item not in asked:
            problems.append(f"{item} was got, but never put: {operation}")
        elif operation.end < asked[item].begin:
            problems.append(f"{item} was got before it was put: {operation}")
        if item in seen and not any(history.may_be_unheard(get) for get in (seen[item], operation)):
            problems.append(f"{item} was got twice, by {seen[item].who} and {operation.who}")
        seen[item] = operation
    return problems


def check_missing(
    history: History, name: str, puts: list[Operation], gets: list[Operation], got: list[Operation]
) -> list[str]:
    """Each lost item needs a killed client that may have had it: one whose get() began, and that was never told."""
    seen = {operation.answer for operation in got}
    missing = [operation for operation in puts if operation.returned and operation.asked not in seen]
    if name in UNANSWERED:
        missing = [operation for operation in missing if not history.may_be_unheard(operation)]
    excuses = [operation for operation in gets if operation.end == NEVER]
    if len(missing) <= len(excuses):
        return []
    items = ", ".join(operation.asked for operation in missing[:10])
    return [f"{len(missing)} items were put and never got, and {len(excuses)} clients died in get(): {items}"]


def check_order(history: History, puts: list[Operation], gets: list[Operation], got: list[Operation]) -> list[str]:
    """An item must not come after a later one of its producer: to the same client, or if that get had ended before.

    What a client had taken when it died in get() goes to the next one, behind items that others have got meanwhile.
    """
    put = {operation.asked: operation.begin for operation in puts}
    unheard = [get for get in gets if get.end == NEVER or (get.returned and history.may_be_unheard(get))]
    deaths = [(get.begin, history.faults.ended.get(get.who, NEVER)) for get in unheard]

    def was_with_the_dead(operation: Operation) -> bool:
        there = put.get(operation.answer, NEVER)
        return any(begin < operation.end and there < death for begin, death in deaths)

    return [wrong for operation, wrong in late_items(got) if not was_with_the_dead(operation)]


def late_items(got: list[Operation]):
    highest: dict[str, list[tuple[float, int]]] = {}  # Of each producer: each new highest number, and when.
    last: dict[tuple[str, str], int] = {}  # Of each client and producer.
    for operation in sorted(got, key=lambda operation: operation.end):
        whose, this = producer(operation.answer), number(operation.answer)
        marks = highest.setdefault(whose, [])
        of_all = next((mark[1] for mark in reversed(marks) if mark[0] < operation.begin), -1)
        own = last.get((operation.who, whose), -1)
        if own > this:
            yield operation, f"{operation.who} got {operation.answer} after {whose}:{own}"
        elif of_all > this:
            yield operation, f"{operation.who} got {operation.answer} after {whose}:{of_all} had been got"
        last[(operation.who, whose)] = max(own, this)
        if not marks or marks[-1][1] < this:
            marks.append((operation.end, this))
