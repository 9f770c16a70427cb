# SPDX-License-Identifier: Apache-2.0
"""Faults that can be planted in a recorded history. Each makes the answers those of a library with this fault.

Each function changes a copy of the lines, as objects, and returns it, or None if the fault has no place in the history.
"""

REDELIVERING = "queue redelivering"


def copied(events):
    return [dict(event) for event in events]


def calls_of(events, kind: str, do: str):
    """Pairs of a call and its answer, on objects of this kind."""
    answers = {(event["who"], event["op"]): event for event in events if event["event"] == "return"}
    for event in events:
        if event["event"] == "call" and event["object"].split()[0] == kind and event["do"] == do:
            told = answers.get((event["who"], event["op"]))
            if told is not None:
                yield event, told


def task_answered_twice(events):
    events = copied(events)
    for _, told in calls_of(events, "task", "run"):
        events.append({**told, "t": told["t"] + 1})
        return events
    return None


def task_with_the_result_of_another(events):
    events = copied(events)
    pairs = list(calls_of(events, "task", "run"))
    if len(pairs) < 2:
        return None
    first, second = pairs[0][1], pairs[1][1]
    first["value"], second["value"] = second["value"], first["value"]
    return events


def task_without_an_answer(events):
    events = copied(events)
    for _, told in calls_of(events, "task", "run"):
        events.remove(told)
        return events
    return None


def items(events):
    return [pair for pair in calls_of(events, "queue", "get") if pair[1].get("value") is not None]


def item_got_twice(events):
    events = copied(events)
    found = items(events)
    if len(found) < 2:
        return None
    found[1][1]["value"] = found[0][1]["value"]
    return events


def items_lost(events):
    """More than clients that died in get(), or that were cut off, can have taken along."""
    events = copied(events)
    deaths = sum(event["event"] == "born" for event in events)
    found = items(events)
    if len(found) < deaths + 1:
        return None
    for _, told in found[: deaths + 1]:
        told["value"] = None
    return events


def items_of_a_producer_swapped(events):
    """Two that one client got."""
    events = copied(events)
    seen = {}
    for call, told in items(events):
        key = call["object"], call["who"], told["value"].rsplit(":", 1)[0]
        if key in seen:
            seen[key]["value"], told["value"] = told["value"], seen[key]["value"]
            return events
        seen[key] = told
    return None


def events_of_item(events, queue: str, do: str, item: str):
    """The calls about an item, and their answers."""
    for call, told in calls_of(events, "queue", do):
        if call["object"] == queue and item in (call.get("value"), told.get("value")):
            yield call, told


def finished_item_got_again(events):
    """From a queue that redelivers."""
    events = copied(events)
    finished = next((pair for pair in calls_of(events, "queue", "done") if pair[0]["object"] == REDELIVERING), None)
    if finished is None:
        return None
    call, told = finished
    for later, answer in items(events):
        if later["object"] == REDELIVERING and later["who"] != call["who"] and later["t"] > told["t"]:
            answer["value"] = call["value"]
            return events
    return None


def redelivered_item_not_finished(events):
    """A queue that redelivers forgets an item whose only consumer was killed."""
    events = copied(events)
    finished = next((pair for pair in calls_of(events, "queue", "done") if pair[0]["object"] == REDELIVERING), None)
    if finished is None:
        return None
    item = finished[0]["value"]
    gone = [event for pair in events_of_item(events, REDELIVERING, "done", item) for event in pair]
    gone += [told for _, told in events_of_item(events, REDELIVERING, "get", item)]
    return [event for event in events if not any(event is other for other in gone)]


def wrong_loss_told(events):
    """join() tells of more items than clients can have died with."""
    events = copied(events)
    for call, told in calls_of(events, "queue", "join"):
        if call["object"] == "queue bounded":
            told["value"] = {"done": False, "lost": told["value"]["lost"] + 1000}
            return events
    return None


def join_hangs(events):
    events = copied(events)
    joins = [told for call, told in calls_of(events, "queue", "join") if call["object"] == REDELIVERING]
    if not joins:
        return None
    joins[-1]["value"] = {"done": False, "lost": 0}
    return events


def lock_held_by_two(events):
    """Another client is told that it has the lock, right after one that has it."""
    events = copied(events)
    for call, told in calls_of(events, "lock", "acquire"):
        if " of " in call["object"] or not told.get("value"):
            continue
        intruder = {**call, "who": "intruder", "op": 0, "t": told["t"] + 1}
        has = {"t": told["t"] + 2, "who": "intruder", "event": "return", "op": 0, "value": True}
        leaves = {**call, "who": "intruder", "op": 1, "t": told["t"] + 3, "do": "release"}
        done = {"t": told["t"] + 4, "who": "intruder", "event": "return", "op": 1}
        release = next(
            (event for event in events if event["event"] == "call" and event["do"] == "release"
             and event["who"] == call["who"] and event["object"] == call["object"] and event["t"] > told["t"] + 4),
            None)
        if release is not None:
            return sorted(events + [intruder, has, leaves, done], key=lambda event: event["t"])
    return None


def barrier_passed_alone(events):
    """One party calls only after another one has passed."""
    events = copied(events)
    by_round = {}
    for call, told in calls_of(events, "barrier", "wait"):
        by_round.setdefault((call["object"], call["value"]), []).append((call, told))
    for pairs in by_round.values():
        if len(pairs) > 1:
            last = max(pairs, key=lambda pair: pair[1]["t"])
            first = min(pairs, key=lambda pair: pair[1]["t"])
            if last is not first:
                last[0]["t"] = first[1]["t"] + 1
                last[1]["t"] = max(last[1]["t"], last[0]["t"] + 1)
                return events
    return None


def value_is_stale(events):
    """A client reads what nobody ever wrote at that time: the value is of long before."""
    events = copied(events)
    reads = list(calls_of(events, "value", "get"))
    reads.sort(key=lambda pair: pair[0]["t"])
    for call, told in reversed(reads):
        old = next((pair for pair in reads if pair[0]["object"] == call["object"]), None)
        if old is not None and old[1]["value"] != told["value"]:
            told["value"] = old[1]["value"]
            return events
    return None


FAULTS = (
    task_answered_twice, task_with_the_result_of_another, task_without_an_answer, item_got_twice, items_lost,
    items_of_a_producer_swapped, finished_item_got_again, redelivered_item_not_finished, wrong_loss_told, join_hangs,
    lock_held_by_two, barrier_passed_alone, value_is_stale)
