# SPDX-License-Identifier: Apache-2.0
"""Disturbs the clients of a history from outside, while it is written: stops them, cuts their network, and does to the
engine what clusters.py has for it. The history says so before.
"""

import json
import os
import random
import signal
import threading
import time
from pathlib import Path

PACE = 0.05  # Seconds between two looks.
STALLS = 2.5  # Per second.
LONGEST_STALL = 0.2  # Far below any heartbeat timeout.
ENOUGH = 10  # Clients that are there before the network is cut.


class Client:
    """A process that has written "born" into the history, found from outside by its namespace of process ids."""

    def __init__(self, name: str, value: dict, born: int):
        self.name, self.space, self.pid, self.node = name, value["space"], str(value["pid"]), value["node"]
        self.born = born  # In nanoseconds of the history's clock.

    def host_pid(self) -> int | None:
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                if os.readlink(folder / "ns/pid") != self.space:
                    continue
                lines = (folder / "status").read_text().splitlines()
                if next(line for line in lines if line.startswith("NSpid:")).split()[-1] != self.pid:
                    continue
                if started(folder) <= self.born:  # Else the kernel has given the namespace's number to a newer one.
                    return int(folder.name)
            except (OSError, StopIteration):  # It has just ended.
                continue
        return None


def started(process: Path) -> int:
    """When a process has begun, in nanoseconds of the history's clock, up to one tick too early."""
    words = (process / "stat").read_text().rsplit(")", 1)[1].split()
    since_boot = int(words[19]) * 1_000_000_000 // os.sysconf("SC_CLK_TCK")
    now = time.monotonic_ns()  # Read first: a delay between the two clocks makes the start earlier, not later.
    return since_boot - (time.clock_gettime_ns(time.CLOCK_BOOTTIME) - now)


class Nemesis(threading.Thread):
    """Works until stop() is called; then everything goes on and is connected again."""

    def __init__(self, history: Path, cluster, seed: int):
        super().__init__(daemon=True)
        self.history, self.cluster, self.random = history, cluster, random.Random(seed)
        self.over = threading.Event()
        self.problem = ""  # Why it could not go on.
        self.clients: dict[str, Client] = {}
        self.worker_was_up = False
        self.stalled: dict[int, float] = {}  # Until when each process is stopped.
        self.read = 0
        self.faults = 0
        self.first = list(cluster.faults) if cluster else []  # Those that there has been none of.
        self.mend = None  # Ends the fault that is on now,
        self.at = 0.0  # at this time; if none is on, the next one begins then.

    def write(self, event: str, value, **rest) -> None:
        line = {"t": time.monotonic_ns(), "who": "nemesis", "event": event, "value": value, **rest}
        with open(self.history, "ab", buffering=0) as file:
            file.write(json.dumps(line).encode() + b"\n")

    def run(self) -> None:
        try:
            while not self.over.wait(PACE):
                self.look()
            self.calm()
            if self.mend:
                self.mend()
        except RuntimeError as problem:
            self.problem = str(problem)
            self.calm()

    def stop(self) -> None:
        self.over.set()
        self.join()

    def look(self) -> None:
        self.hear()
        now = time.monotonic()
        for pid in [pid for pid, until in self.stalled.items() if until <= now]:
            self.go_on(pid)
        if self.random.random() < STALLS * PACE:
            self.stall(now)
        if self.cluster and self.worker_was_up and len(self.clients) >= ENOUGH and now >= self.at:
            self.calm()  # Or it would be a long stall, as this takes its time.
            self.disturb_cluster()

    def hear(self) -> None:
        """Learns from the history which clients there are."""
        with open(self.history, "rb") as file:
            file.seek(self.read)
            lines = file.read().split(b"\n")
        self.read += sum(len(line) + 1 for line in lines[:-1])  # The last one may not be whole yet.
        for line in lines[:-1]:
            if b'"born"' in line:
                event = json.loads(line)
                self.clients[event["who"]] = Client(event["who"], event["value"], event["t"])
            elif b'"end"' in line:
                self.clients.pop(json.loads(line)["value"], None)
            elif b'"event":"run"' in line:  # Before that, a pool that cannot reach a worker gives up.
                self.worker_was_up = True

    def victim(self) -> tuple[Client, int] | None:
        """A client that lives, and its process."""
        while self.clients:
            client = self.clients[self.random.choice(sorted(self.clients))]
            pid = client.host_pid()
            if pid is not None:
                return client, pid
            del self.clients[client.name]
        return None

    def stall(self, now: float) -> None:
        found = self.victim()
        if found is None or found[1] in self.stalled:
            return
        client, pid = found
        self.write("stall", client.name)
        self.stalled[pid] = now + self.random.uniform(PACE, LONGEST_STALL)
        self.signal(pid, signal.SIGSTOP)

    def go_on(self, pid: int) -> None:
        del self.stalled[pid]
        self.signal(pid, signal.SIGCONT)

    def calm(self) -> None:
        for pid in list(self.stalled):
            self.go_on(pid)

    @staticmethod
    def signal(pid: int, number: int) -> None:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass

    def disturb_cluster(self) -> None:
        """Ends the fault that is on, or begins one. There is one at a time, and a pause between two."""
        if self.mend:
            mend, self.mend = self.mend, None
            mend()
            self.at = time.monotonic() + self.random.uniform(*self.cluster.pause)
            return
        self.faults += 1
        if self.first:
            fault = self.first.pop(self.random.randrange(len(self.first)))
        else:
            fault = self.random.choices(self.cluster.faults, [fault.weight for fault in self.cluster.faults])[0]
        length = fault.begin(self, self.faults)
        self.at = time.monotonic() + length
