#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What strangers that connect to the driver's port cost its work.

    strangers.py PROGRAM [--seconds 30] [--runs 3]

PROGRAM is strangers, a driver over TLS. Attacks, from eight addresses of this machine:

    silent  10,000 connections that say nothing; one that is dropped is opened again
    flood   1,000 new connections a second that say nothing
    half    1,000 new connections a second that begin a handshake and do not go on

A connection costs time on this machine at both ends. Each attack is therefore made twice: on a listener that only
accepts and holds its connections, and on the driver. The ratio of the two is what the driver pays.
"""

import argparse
import json
import multiprocessing
import os
import random
import resource
import select
import socket
import ssl
import statistics
import subprocess
import time

SOURCES = [f"127.0.1.{n}" for n in range(1, 9)]
ATTACKS = {"silent": {"held": 10000, "rate": 1000}, "flood": {"rate": 1000}, "half": {"rate": 1000, "hello": True}}


def client_hello():
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    out = ssl.MemoryBIO()
    try:
        context.wrap_bio(ssl.MemoryBIO(), out).do_handshake()
    except ssl.SSLWantReadError:
        return out.read()


class Strangers:
    """Holds at most `held` connections, opens at most `rate` a second, and lets go those that were dropped."""

    def __init__(self, port, rate, held=15000, hello=False):
        self.port, self.rate, self.held = port, rate, held
        self.hello = client_hello() if hello else b""
        self.poll = select.epoll()
        self.open = {}
        self.opened = self.failed = 0

    def knock(self):
        stranger = socket.socket()
        try:
            stranger.bind((random.choice(SOURCES), 0))
            stranger.settimeout(0.2)
            stranger.connect(("127.0.0.1", self.port))
            stranger.setblocking(False)
            stranger.send(self.hello)
        except OSError:
            self.failed += 1
            stranger.close()
            return
        self.opened += 1
        self.open[stranger.fileno()] = stranger
        self.poll.register(stranger, select.EPOLLRDHUP)

    def let_go(self, seconds):
        for number, _ in self.poll.poll(seconds, 4096):
            self.open.pop(number).close()

    def attack(self, told):
        begin = time.monotonic()
        while not told.is_set():
            due = int((time.monotonic() - begin) * self.rate) - self.opened - self.failed
            for _ in range(max(0, min(due, self.held - len(self.open), 200))):
                self.knock()
            if len(self.open) >= self.held:  # What was not due is not made up for.
                begin = time.monotonic() - (self.opened + self.failed) / self.rate
            self.let_go(0.002)
        return {"opened": self.opened, "failed": self.failed, "held": len(self.open)}


def attack(port, kind, told, results):
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    results.put(Strangers(port, **ATTACKS[kind]).attack(told))


def bare_listener(ports):
    """Accepts and holds connections."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    listener = socket.create_server(("127.0.0.1", 0), backlog=4096)
    ports.put(listener.getsockname()[1])
    held = []
    while True:
        held.append(listener.accept()[0])
        if len(held) > 15000:
            held.pop(0).close()


def port_of(process):
    inodes = set()
    for number in os.listdir(f"/proc/{process}/fd"):
        name = os.readlink(f"/proc/{process}/fd/{number}")
        if name.startswith("socket:["):
            inodes.add(name[8:-1])
    with open(f"/proc/{process}/net/tcp") as table:
        for words in map(str.split, list(table)[1:]):
            if words[3] == "0A" and words[9] in inodes:
                return int(words[1].split(":")[1], 16)
    raise SystemExit("the driver listens to no port")


class Driver:
    def __init__(self, program):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.measure(2)  # Warm.
        self.port = port_of(self.process.pid)

    def measure(self, seconds):
        print(seconds, file=self.process.stdin, flush=True)
        lines = [json.loads(self.process.stdout.readline()) for _ in range(3)]
        return {line["name"]: line["value"] for line in lines}

    def measure_beside(self, seconds, port, kind):
        told, results = multiprocessing.Event(), multiprocessing.Queue()
        strangers = multiprocessing.Process(target=attack, args=(port, kind, told, results))
        strangers.start()
        time.sleep(12)  # The silent ones are all there then.
        found = self.measure(seconds)
        told.set()
        found.update(results.get())
        strangers.join()
        time.sleep(2)
        return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()

    ports = multiprocessing.Queue()
    multiprocessing.Process(target=bare_listener, args=(ports,), daemon=True).start()
    bare = ports.get()
    driver = Driver(options.program)
    rows = {}
    for _ in range(options.runs):
        rows.setdefault("none", []).append(driver.measure(options.seconds))
        for kind in ATTACKS:
            for where, port in (("listener", bare), ("driver", driver.port)):
                rows.setdefault(f"{kind}, {where}", []).append(driver.measure_beside(options.seconds, port, kind))
    driver.process.stdin.close()
    driver.process.wait()

    print("| attack, on | opened | failed | held | tasks/s | a worker joins, s | longest |\n|---|---|---|---|---|---|---|")
    for name, found in rows.items():
        values = [statistics.median(each.get(key, 0) for each in found)
                  for key in ("opened", "failed", "held", "tasks", "join", "join_longest")]
        print(f"| {name} | " + " | ".join(f"{value:,.3g}" if value < 10 else f"{value:,.0f}" for value in values) + " |")


if __name__ == "__main__":
    main()
