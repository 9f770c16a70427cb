# SPDX-License-Identifier: Apache-2.0
"""Each item that was put into a queue is received once, and the items of a producer arrive in their order.

An item of a producer is "PRODUCER:NUMBER", with numbers that grow. A client that is killed in get() may have
received one item that it could not record. A client that is killed in put() may have put its item or not. A put()
that returns False has not put its item.

A client that is cut off and taken for dead may have got an item in its last get(), and the queue does not know that:
then another one gets the item too. If its last call was a put() into a queue without a capacity, which waits for no
answer, the item may be lost.

A client says by done() that it has finished an item. If it dies before, the item is lost, and join() says how many were
lost in this way. A queue that redelivers gives the item to another client instead, so that each item is finished, and
none is given again that a client has finished.
"""

from checker.operations import NEVER, History, Operation


UNANSWERED = ("queue open",)  # Queues whose put() waits for no answer.
REDELIVERING = ("queue redelivering",)


def producer(item: str) -> str:
    return item.rsplit(":", 1)[0]


def number(item: str) -> int:
    return int(item.rsplit(":", 1)[1])


class Finished:
    """Which clients have finished which items, or may have."""

    def __init__(self, history: History, operations: list[Operation]):
        self.history = history
        self.calls = {(operation.who, operation.asked): operation for operation in operations if operation.do == "done"}

    def surely(self, get: Operation) -> bool:
        call = self.calls.get((get.who, get.answer))
        return call is not None and call.returned

    def perhaps(self, get: Operation) -> bool:
        return (get.who, get.answer) in self.calls

    def unheard(self, get: Operation) -> bool:
        """Whether the queue may not know that the client got the item."""
        if self.surely(get):
            return False
        return self.history.may_be_unheard(self.calls.get((get.who, get.answer), get))

    def may_come_again(self, get: Operation) -> bool:
        """Whether a queue that redelivers may give the item to another client."""
        return not self.surely(get) and bool(self.history.faults.ends(get.who))


def check(history: History) -> list[str]:
    problems = []
    for name, operations in history.of("queue").items():
        puts = [operation for operation in operations if operation.do == "put" and operation.answer is not False]
        gets = [operation for operation in operations if operation.do == "get"]
        got = [operation for operation in gets if operation.returned and operation.answer is not None]
        finished = Finished(history, operations)
        again = finished.may_come_again if name in REDELIVERING else finished.unheard
        found = check_items(puts, got, lambda first, second: again(first) or finished.unheard(second))
        if name in REDELIVERING:
            found += check_finished(puts, got, finished)
        else:
            found += check_missing(history, name, puts, gets, got)
        found += check_order(history, puts, gets, got, again)
        found += check_joins(name, operations, gets, got, finished)
        problems += [f"{name}: {wrong}" for wrong in found]
        problems += [f"{name}: {operation}" for operation in operations if operation.failed]
    return problems


def redelivered(history: History) -> int:
    """How many items a queue that redelivers has given once more."""
    count = 0
    for name in REDELIVERING:
        gets = [operation for operation in history.of("queue").get(name, []) if operation.do == "get"]
        items = [operation.answer for operation in gets if operation.returned and operation.answer is not None]
        count += len(items) - len(set(items))
    return count


def told_lost(history: History) -> int:
    """How many lost items join() has told of."""
    joins = [operation for operations in history.of("queue").values() for operation in operations
             if operation.do == "join" and operation.returned]
    return sum(operation.answer["lost"] for operation in joins)


def check_items(puts: list[Operation], got: list[Operation], may_both) -> list[str]:
    """`may_both` says whether two calls of get() may have got the same item."""
    asked = {operation.asked: operation for operation in puts}
    seen: dict[str, Operation] = {}
    problems = []
    for operation in sorted(got, key=lambda operation: operation.end):
        item = operation.answer
        if item not in asked:
            problems.append(f"{item} was got, but never put: {operation}")
        elif operation.end < asked[item].begin:
            problems.append(f"{item} was got before it was put: {operation}")
        if item in seen and not may_both(seen[item], operation):
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


def check_finished(puts: list[Operation], got: list[Operation], finished: Finished) -> list[str]:
    """Of a queue that redelivers: no client takes an item with it."""
    done = {operation.answer for operation in got if finished.perhaps(operation)}
    missing = [operation.asked for operation in puts if operation.returned and operation.asked not in done]
    return [f"{len(missing)} items were put and never finished: {', '.join(missing[:10])}"] if missing else []


def check_joins(
    name: str, operations: list[Operation], gets: list[Operation], got: list[Operation], finished: Finished
) -> list[str]:
    """When all clients have ended and nothing is left, join() tells of each lost item, and of none when called again."""
    joins = [operation.answer for operation in operations if operation.do == "join" and operation.returned]
    if not joins:
        return []
    surely, perhaps = 0, sum(get.end == NEVER for get in gets)
    for get in got:
        perhaps += finished.perhaps(get) and not finished.surely(get)
        if not finished.perhaps(get):
            surely, perhaps = (surely, perhaps + 1) if finished.unheard(get) else (surely + 1, perhaps)
    if name in REDELIVERING:
        surely = perhaps = 0
    lost = sum(answer["lost"] for answer in joins)
    problems = []
    if not surely <= lost <= surely + perhaps:
        problems.append(f"join() told of {lost} lost items; {surely} were lost, and perhaps {perhaps} more")
    if not joins[-1]["done"]:
        problems.append("join() waits, and all items are finished or lost")
    return problems


def check_order(
    history: History, puts: list[Operation], gets: list[Operation], got: list[Operation], again
) -> list[str]:
    """An item must not come after a later one of its producer: to the same client, or if that get had ended before.

    What a client had taken when it died in get() goes to the next one, behind items that others have got meanwhile.
    So does an item that is got again.
    """
    put = {operation.asked: operation.begin for operation in puts}
    unheard = [get for get in gets if get.end == NEVER or (get.returned and history.may_be_unheard(get))]
    repeated = {get.answer for get in got if again(get)}
    deaths = [(get.begin, history.faults.ended.get(get.who, NEVER)) for get in unheard]

    def was_with_the_dead(operation: Operation) -> bool:
        there = put.get(operation.answer, NEVER)
        return operation.answer in repeated or any(begin < operation.end and there < death for begin, death in deaths)

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
