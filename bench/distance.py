#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A pool whose four workers are behind slow networks, beside Ray and Dask, as root.

    distance.py PROGRAM [--frameworks build/frameworks] [--runs 3]

PROGRAM is distance. Each worker is in a network namespace of its own. A process carries every IP packet between these
and the driver's namespace, late by a delay, or loses it: this kernel may lack netem. FRAMEWORKS is the virtual
environment that `./dev bench --peers=all` makes; without it Fiber is measured alone.
"""

import argparse
import collections
import ctypes
import fcntl
import json
import multiprocessing
import os
import random
import select
import shutil
import statistics
import struct
import subprocess
import tempfile
import time

NAME = "fiber-bench-"
PLACES = range(1, 5)
DRIVER = "10.9.0.1"
HERE = os.path.dirname(os.path.abspath(__file__))
LINES = ((0, 0), (1, 0), (20, 0), (1, 1), (20, 1))  # Milliseconds each way, and percent of packets that are lost.

LIMIT = 180  # Seconds of a program.

TUNSETIFF, IFF_TUN, IFF_NO_PI, CLONE_NEWNET = 0x400454CA, 0x0001, 0x1000, 0x40000000


def ip(*words, place="near"):
    subprocess.run(["ip", "-n", f"{NAME}{place}", *words], check=True)


def inside(place, command):
    return ["ip", "netns", "exec", f"{NAME}{place}", *command]


def open_device(place, name):
    """A device of that name in that namespace: what is written to it arrives there."""
    libc = ctypes.CDLL(None, use_errno=True)
    with open("/proc/self/ns/net") as home, open(f"/run/netns/{NAME}{place}") as there:
        if libc.setns(there.fileno(), CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), f"enter {NAME}{place}")
        device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TUN | IFF_NO_PI))
        libc.setns(home.fileno(), CLONE_NEWNET)
    return device


class Network:
    """The driver's namespace, four others, and a process that carries packets between them."""

    def __init__(self):
        for place in ("near", *PLACES):
            subprocess.run(["ip", "netns", "delete", f"{NAME}{place}"], stderr=subprocess.DEVNULL, check=False)
            subprocess.run(["ip", "netns", "add", f"{NAME}{place}"], check=True)
            ip("link", "set", "lo", "up", place=place)
        ip("address", "add", f"{DRIVER}/32", "dev", "lo")
        subprocess.run(inside("near", ["sysctl", "-qw", "net.ipv4.ip_forward=1"]), check=True)
        self.other = {}
        for place in PLACES:
            near, far = open_device("near", f"to{place}"), open_device(place, "near")
            self.other[near], self.other[far] = far, near
            ip("address", "add", f"10.9.{place}.1/30", "dev", f"to{place}")
            ip("link", "set", f"to{place}", "up")
            ip("address", "add", f"10.9.{place}.2/30", "dev", "near", place=place)
            ip("link", "set", "near", "up", place=place)
            ip("route", "add", "default", "via", f"10.9.{place}.1", place=place)

    def carry(self, delay, loss):
        under_way = collections.deque()
        draw = random.Random(1)
        while True:
            wait = max(under_way[0][0] - time.monotonic(), 0) if under_way else None
            ready = select.select(self.other, (), (), wait)[0]
            due = time.monotonic() + delay
            for device in ready:
                try:
                    for _ in range(64):
                        packet = os.read(device, 65536)
                        if draw.random() >= loss:
                            under_way.append((due, self.other[device], packet))
                except BlockingIOError:
                    pass
            now = time.monotonic()
            while under_way and under_way[0][0] <= now:
                _, device, packet = under_way.popleft()
                try:
                    os.write(device, packet)
                except OSError:
                    pass  # What a device does not take is lost, as on any network.

    def end(self):
        for device in self.other:
            os.close(device)
        for place in ("near", *PLACES):
            subprocess.run(["ip", "netns", "delete", f"{NAME}{place}"], check=False)


def values(command, **options):
    """What that program prints, or nothing if it has not ended in time."""
    try:
        reply = subprocess.run(inside("near", command), stdout=subprocess.PIPE, text=True, check=True,
                               timeout=LIMIT, **options)
    except subprocess.TimeoutExpired:
        return {}
    return {line["name"]: line["value"] for line in map(json.loads, reply.stdout.splitlines())}


def end(processes):
    for process in processes:
        process.terminate()
    for process in processes:
        process.wait()


class Ray:
    def __init__(self, folder):
        self.program = os.path.join(folder, "bin/ray")
        self.scratch = tempfile.mkdtemp(prefix="ray", dir="/tmp")
        self.environment = {**os.environ, "RAY_USAGE_STATS_ENABLED": "0", "PYTHONPATH": os.path.join(HERE, "peers")}

    def start(self, place, *words):
        command = [self.program, "start", "--block", "--object-store-memory=100000000", *words]
        if place != "near":  # Nodes of one machine would take each other's sockets.
            command = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs tmpfs /tmp && exec "$0" "$@"', *command]
        return subprocess.Popen(inside(place, command), env=self.environment, stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL)

    def __enter__(self):
        self.nodes = [self.start("near", "--head", f"--node-ip-address={DRIVER}", "--port=6379", "--num-cpus=0",
                                 "--include-dashboard=false", f"--temp-dir={self.scratch}")]
        time.sleep(5)
        for place in PLACES:
            self.nodes.append(self.start(place, f"--address={DRIVER}:6379", f"--node-ip-address=10.9.{place}.2",
                                         "--num-cpus=1"))
        return self.environment

    def __exit__(self, *_):
        end(self.nodes)
        shutil.rmtree(self.scratch, ignore_errors=True)


class Dask:
    def __init__(self, folder):
        self.program = os.path.join(folder, "bin/dask")
        self.environment = {**os.environ, "PYTHONPATH": os.path.join(HERE, "peers")}

    def start(self, place, *words):
        return subprocess.Popen(inside(place, [self.program, *words]), env=self.environment,
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=self.scratch.name)

    def __enter__(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.nodes = [self.start("near", "scheduler", "--host", DRIVER, "--no-dashboard")]
        for place in PLACES:
            self.nodes.append(self.start(place, "worker", f"tcp://{DRIVER}:8786", "--host", f"10.9.{place}.2",
                                         "--nthreads", "1", "--no-dashboard"))
        return self.environment

    def __exit__(self, *_):
        end(self.nodes)
        self.scratch.cleanup()


def measure(options):
    yield "Fiber", values([options.program, DRIVER, f"/run/netns/{NAME}"])
    python = os.path.join(options.frameworks, "bin/python")
    for name, framework in (("Ray", Ray), ("Dask", Dask)) if os.path.exists(python) else ():
        with framework(options.frameworks) as environment:
            peer = [python, os.path.join(HERE, "peers/distance_peer.py"), name.lower(), DRIVER]
            yield name, values(peer, env=environment)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--frameworks", default="build/frameworks")
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()

    print("| delay each way, loss | | map, tasks/s | apply, ms | round of 4 x 10 ms, ms |\n|---|---|---|---|---|")
    for delay, loss in LINES:
        network = Network()
        carrier = multiprocessing.Process(target=network.carry, args=(delay / 1e3, loss / 1e2), daemon=True)
        carrier.start()
        found = {}
        for _ in range(options.runs):
            for name, row in measure(options):
                found.setdefault(name, []).append(row)
        carrier.terminate()
        carrier.join()
        network.end()
        for name, rows in found.items():
            if not all(rows):
                cells = f"a run took more than {LIMIT} s | |"
            else:
                tasks, apply, lap = (statistics.median(row[key] for row in rows) for key in ("map", "apply", "round"))
                cells = f"{tasks:,.0f} | {apply:.3g} | {lap:.3g} |"
            print(f"| {delay} ms, {loss} % | {name} | {cells}", flush=True)


if __name__ == "__main__":
    main()
