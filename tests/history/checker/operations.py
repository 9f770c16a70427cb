# SPDX-License-Identifier: Apache-2.0
"""Reads a history: JSON lines that say what each client asked and what it was told.

A line has "t" (nanoseconds of one clock), "who" and "event". The events are

  call    asks: "op" (a number of its own), "object", "do", and "value" if there is one
  return  the answer to the client's "op", with its "value"
  error   the same, where the answer is that the call has failed; "value" says why
  run     a task runs: "object" is its name, "value" a word that no other run has

and those that say what was done to clients (checker/faults.py):

  born      the client "who" begins; "value" says how it is found, and on which "node" it is
  kill      the client "value" is about to be killed
  stall     the client "value" is about to be stopped for a while
  cut       the network of some clients is about to be cut: of "clients", of a "node", else of all; "value" has these,
            its "number", and how long a cut may end them ("deadly", in nanoseconds)
  mended    the cut of the number "value" is over
  restart   the engine is about to be restarted, which ends all clients, or those on a "node"; "value" is a number
  restarted the restart of the number "value" is over
  outage    a part of the engine is about to be killed or stopped for a while, which ends no client, unless "value" has a
            time in nanoseconds ("deadly") and it takes longer; "value" also has its "number"
  recovered the outage of the number "value" is over
  end       the driver has seen that the client "value" has ended
  stop      all clients are about to be told to end
"""

import json
from dataclasses import dataclass, field
from typing import Any

from checker.faults import NEVER, Faults


@dataclass
class Operation:
    """What a client asked, and what it was told. Without an answer it may have happened, at any time, or not."""

    who: str
    number: int
    object: str
    do: str
    asked: Any
    begin: float
    end: float = NEVER
    answer: Any = None
    failed: bool = False

    @property
    def returned(self) -> bool:
        return self.end != NEVER and not self.failed

    @property
    def unknown(self) -> bool:
        return not self.returned

    def __str__(self) -> str:
        told = "no answer" if self.end == NEVER else f"an error ({self.answer})" if self.failed else self.answer
        return f"{self.who}'s {self.do}({'' if self.asked is None else self.asked}) -> {told}"


@dataclass
class History:
    operations: list[Operation] = field(default_factory=list)
    runs: dict[str, dict[str, float]] = field(default_factory=dict)  # Of each task: the word and time of each run.
    faults: Faults = field(default_factory=Faults)
    last: dict[str, Operation] = field(default_factory=dict)  # The last call of each client.
    problems: list[str] = field(default_factory=list)
    strict: bool = False  # Whether no message is taken for lost in a cut.

    def of(self, kind: str) -> dict[str, list[Operation]]:
        """The operations on each object of a kind. The name of an object begins with its kind."""
        objects: dict[str, list[Operation]] = {}
        for operation in self.operations:
            if operation.object.split()[0] == kind:
                objects.setdefault(operation.object, []).append(operation)
        return objects

    def may_be_unheard(self, operation: Operation) -> bool:
        """Whether what the client sent at the end of the call may be lost.

        Its network was away, and it made no call since. Between two calls a client asks the driver whether to go on,
        and the driver first hears what was sent before.
        """
        if self.strict or operation is not self.last[operation.who]:
            return False
        cuts = self.faults.cuts_of(operation.who)
        return any(operation.begin <= cut.over and cut.begin <= operation.end for cut in cuts)


def read(lines) -> History:
    """Reads lines of JSON."""
    return read_events(parsed(lines))


def parsed(lines):
    for line in lines:
        try:
            yield json.loads(line)
        except ValueError:
            yield line.strip()


def read_events(events) -> History:
    history = History()
    open_calls: dict[tuple[str, int], Operation] = {}
    answered: set[tuple[str, int]] = set()
    for number, event in enumerate(events, 1):
        try:
            take(event, history, open_calls, answered)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            history.problems.append(f"line {number} is no event of a history ({error!r}): {str(event)[:200]}")
    return history


def take(event, history: History, open_calls, answered) -> None:
    what, who, at = event["event"], event["who"], event["t"]
    if what == "call":
        key = who, event["op"]
        if key in open_calls or key in answered:
            raise ValueError("a number of a call that was used before")
        operation = Operation(who, event["op"], event["object"], event["do"], event.get("value"), at)
        open_calls[key] = operation
        history.operations.append(operation)
        history.last[who] = operation
    elif what in ("return", "error"):
        answer((who, event["op"]), event, history, open_calls, answered)
    elif what == "run":
        history.runs.setdefault(event["object"], {})[event["value"]] = at
    elif not history.faults.take(event):
        raise ValueError(f"an event of an unknown kind: {what}")


def answer(key, event, history: History, open_calls, answered) -> None:
    if key in answered:
        history.problems.append(f"{key[0]}'s call {key[1]} was answered twice, the second time: {event.get('value')}")
        return
    if key not in open_calls:
        history.problems.append(f"{key[0]} was told about call {key[1]}, which it has not made: {event.get('value')}")
        return
    operation = open_calls.pop(key)
    answered.add(key)
    operation.end, operation.answer = event["t"], event.get("value")
    operation.failed = event["event"] == "error"
