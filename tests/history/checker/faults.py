# SPDX-License-Identifier: Apache-2.0
"""What was done to clients from outside, and when it may have ended them.

A client that is cut off from the others counts as dead once it has been silent for the heartbeat timeout. It does not
know that, and goes on for a moment when it is connected again, until it is ended. A cut of less than half of the
timeout ends nobody.
"""

import math
from dataclasses import dataclass, field

NEVER = math.inf


@dataclass
class Cut:
    """The network of some clients, of a node's clients, or of all clients is away."""

    begin: float
    deadly: float  # As long as this, or longer, it may end clients.
    clients: list[str] | None = None
    node: str | None = None
    end: float = NEVER

    @property
    def may_end(self) -> bool:
        return self.end - self.begin >= self.deadly

    @property
    def over(self) -> float:
        """When nobody goes on any more who was taken for dead."""
        return self.end + 2 * self.deadly if self.may_end else self.end

    def hits(self, who: str, node: str) -> bool:
        if self.clients is not None:
            return who in self.clients
        return self.node is None or self.node == node


@dataclass
class Restart:
    """The engine starts anew, or what runs jobs on a node, and its jobs have ended when it has."""

    begin: float
    node: str | None = None  # Of all nodes.
    end: float = NEVER


@dataclass
class Outage:
    """A part of the engine is away, which ends no client unless it lasts so long that the engine gives up a node."""

    begin: float
    deadly: float
    end: float = NEVER


@dataclass
class Faults:
    born: dict[str, float] = field(default_factory=dict)
    nodes: dict[str, str] = field(default_factory=dict)  # Of each client that was born.
    ended: dict[str, float] = field(default_factory=dict)  # When the driver knew that a client has ended.
    stop: float = NEVER  # When all clients were told to end.
    kills: dict[str, float] = field(default_factory=dict)  # When each client was about to be killed.
    stalls: dict[str, list[float]] = field(default_factory=dict)
    cuts: dict[int, Cut] = field(default_factory=dict)
    restarts: dict[int, Restart] = field(default_factory=dict)
    outages: dict[int, Outage] = field(default_factory=dict)

    def take(self, event) -> bool:
        """Whether the event is one of those that are kept here."""
        what, at, value = event["event"], event["t"], event.get("value")
        if what == "born":
            self.born[event["who"]], self.nodes[event["who"]] = at, value["node"]
        elif what == "end":
            self.ended[value] = at
        elif what == "stop":
            self.stop = at
        elif what == "kill":
            self.kills.setdefault(value, at)  # It may be killed again while it ends.
        elif what == "stall":
            self.stalls.setdefault(value, []).append(at)
        elif what == "cut":
            self.cuts[value["number"]] = Cut(at, value["deadly"], value.get("clients"), value.get("node"))
        elif what == "mended":
            self.cuts[value].end = at
        elif what == "restart":
            self.restarts[value] = Restart(at, event.get("node"))
        elif what == "restarted":
            self.restarts[value].end = at
        elif what == "outage":
            self.outages[value["number"]] = Outage(at, value.get("deadly", NEVER))
        elif what == "recovered":
            self.outages[value].end = at
        else:
            return False
        return True

    def cuts_of(self, who: str) -> list[Cut]:
        """The driver is never cut off, as it is the one that is cut off from."""
        if who not in self.born:
            return []
        return [cut for cut in self.cuts.values() if cut.hits(who, self.nodes[who])]

    def ends(self, who: str) -> list[tuple[float, float]]:
        """When the client may have been killed, or have been taken for dead: (from, until)."""
        found = [(self.kills[who], NEVER)] if who in self.kills else []
        for restart in self.restarts.values():
            if self.born.get(who, NEVER) <= restart.end and restart.node in (None, self.nodes.get(who)):
                found.append((restart.begin, NEVER))
        for outage in self.outages.values():
            if outage.end - outage.begin >= outage.deadly:
                found.append((outage.begin + outage.deadly, NEVER))
        for cut in self.cuts_of(who):
            if cut.may_end:
                found.append((cut.begin + cut.deadly, cut.over))
        return sorted(found)
