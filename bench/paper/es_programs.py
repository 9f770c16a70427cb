# SPDX-License-Identifier: Apache-2.0
"""The programs that bench/paper/es runs: Fiber's, and the same on the frameworks for Python."""

import json
import sys
import threading
from pathlib import Path

import offspring
import run

FIBER = "Fiber for C++"
PEERS = {  # By label: the name in es_peer.py, and the framework of install.py that it needs.
    "multiprocessing": ("multiprocessing", None),  # The baseline.
    "Fiber for Python": ("fiber", "Fiber for Python"),
    "Fiber for Python, error handling": ("fiber_error_handling", "Fiber for Python"),
    "IPyParallel": ("ipyparallel", None),
    "Ray": ("ray", "Ray"),
}
DEBIAN = Path("/usr/bin/python3")  # Has Debian's packages of IPyParallel and NumPy.


def kilobytes(path, key):
    """The value of the line that begins with this key, or 0 if the process has just ended."""
    try:
        with open(path, encoding="utf-8") as lines:
            return sum(int(line.split()[1]) for line in lines if line.startswith(key))
    except OSError:
        return 0


class Memory:
    """Within the block it watches the memory of all processes below this one; shared pages count once.

    If the machine has nearly none left, it ends them.
    """

    EVERY = 10  # Seconds: a look at 256 workers takes a fraction of one.

    def __init__(self, reserve=2000):
        self.reserve = reserve  # MB that the machine must have left.
        self.megabytes = 0.0  # The most that was seen.
        self.exhausted = ""
        self.done = threading.Event()
        self.thread = threading.Thread(target=self.watch, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.done.set()
        self.thread.join()

    def watch(self):
        second = 0
        while not self.done.wait(1):
            second += 1
            left = kilobytes("/proc/meminfo", "MemAvailable:") * 1024 / 1e6
            if left < self.reserve:
                pids = offspring.offspring()
                offspring.kill(pids)
                self.exhausted = (f"ended, because its {len(pids)} processes left the machine "
                                  f"{left:,.0f} MB of memory")
                return
            if second % self.EVERY == 0:
                used = [kilobytes(f"/proc/{pid}/smaps_rollup", "Pss:") for pid in offspring.offspring()]
                self.megabytes = max(self.megabytes, sum(used) * 1024 / 1e6)


def built(options, program):
    path = options.build.resolve() / "bench" / program
    if not path.exists():
        raise FileNotFoundError(f"{path} is not built; ./dev bench does it")
    return path


def play(command, timeout):
    """What a run prints: its values by name, its policy, and the version of the framework if it has one."""
    values = {}
    for line in offspring.run(tuple(map(str, command)), timeout).splitlines():
        if line.startswith("{"):
            found = json.loads(line)
            if "name" in found:
                values[found["name"]] = float(found["value"])
            else:
                values.update(found)
    return values


def play_fiber(options, arguments, timeout):
    return play((built(options, "paper_es"), *arguments), timeout)


def play_peer(options, label, arguments, timeout):
    name, framework = PEERS[label]
    python = options.frameworks.absolute() / "bin/python" if framework else DEBIAN
    return play((python, "-B", built(options, "peers/es_peer.py"), name, *arguments), timeout)


def play_all(options, arguments, timeout):
    """Fiber and its peers, one after the other: {label: values}, and {label: why it is missing}."""
    built(options, "peers/es_peer.py")  # Else each peer would be missing.
    absent = run.not_installed(options.frameworks)
    runs, missing = {}, {}
    for label in (FIBER, *PEERS):
        print(f"  {label}", file=sys.stderr)
        framework = None if label == FIBER else PEERS[label][1]
        if framework in absent:
            missing[label] = absent[framework]
            continue
        memory = Memory()
        try:
            with memory:
                values = play_fiber(options, arguments, timeout) if label == FIBER else \
                    play_peer(options, label, arguments, timeout)
        except (OSError, RuntimeError, ValueError) as error:
            if label == FIBER:
                raise RuntimeError(memory.exhausted or str(error)) from error
            missing[label] = memory.exhausted or str(error)
            continue
        runs[label] = {**values, "memory": memory.megabytes or None}
    for label, reason in missing.items():
        print(f"  missing: {label}: {reason}", file=sys.stderr)
    return runs, missing
