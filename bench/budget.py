#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Says where the time of a row goes, as a budget that adds up to what was measured.

    budget.py NAME PROGRAM [ARGUMENT...]            by what the processors do
    budget.py --rounds 5 NAME PROGRAM [ARGUMENT...]  by what rounds of 5 sleeping tasks wait for

PROGRAM prints the row NAME as the programs of run.py do. The first form takes samples of all processors while it
runs, with its start and end. In proportion to these it divides the processors' time for one operation, which it
measures in three other runs, among kinds of work. The second form looks when the tasks of each round fall asleep and
wake. Both need perf, root, and a machine that does nothing else.
"""

import argparse
import collections
import json
import os
import re
import statistics
import subprocess
import tempfile

COPIES = re.compile(r"copy_user|rep_movs|copy_(to|from)_iter|_copy_(to|from)|memcpy|memmove")
SYSTEM_CALLS = (
    ("sending", "sendmsg|sendto|sys_write|writev"),
    ("receiving", "recvmsg|recvfrom|sys_read|readv"),
    ("waiting and waking", "futex|epoll|poll|nanosleep|timerfd|sched_yield|eventfd"),
    ("mapping memory", "mmap|munmap|madvise|mprotect|brk|ftruncate|memfd|fallocate"),
)
SCHEDULER = re.compile("schedule|switch|ttwu|wake|hrtimer|pick_next|dequeue|enqueue")
# Of a program: by the name of a function and by the file that it is in.
FUNCTIONS = (
    ("locks", re.compile("pthread_mutex")),
    ("allocator", re.compile("malloc|free|calloc|operator new|operator delete|^_int_")),
    ("copying in the program", COPIES),
)
FILES = (
    ("encryption", re.compile("libcrypto|libssl")),
    ("CAF", re.compile("libcaf")),
    ("the other libraries", re.compile("/lib/")),
)


def kernel_kind(functions):
    if COPIES.search(functions[0]):
        return "copying in the kernel"
    stack = " ".join(functions)
    if "page_fault" in stack:
        return "page faults"
    for kind, calls in SYSTEM_CALLS:
        if re.search(rf"(__x64_sys_|ksys_|__sys_|do_)\w*({calls})", stack):
            return kind
    return "waiting and waking" if SCHEDULER.search(stack) else "the rest of the kernel"


def kind_of(command, frames):
    """The kind of a sample. `frames` are pairs of a function and a file, innermost first."""
    if command == "swapper":
        return "idle"
    function, file = frames[0]
    if "kernel" in file or file.startswith("["):
        return kernel_kind([name for name, where in frames if "kernel" in where or where.startswith("[")])
    for kind, pattern in FUNCTIONS:
        if pattern.search(function):
            return kind
    for kind, pattern in FILES:
        if pattern.search(file):
            return kind
    return "the program's own code"


def samples(text):
    """Yields the command and the frames of each sample that `perf script` prints."""
    for block in text.split("\n\n"):
        command, *lines = block.strip("\n").split("\n")
        found = (re.match(r"\s*[0-9a-f]+ (.*) \((.*)\)$", line) for line in lines)
        frames = [(match[1], match[2]) for match in found if match]
        if frames:
            yield command.strip(), frames


def record(program, events, fields):
    """Runs the program. Returns what it printed, and what perf recorded as text."""
    with tempfile.TemporaryDirectory() as folder:
        data = os.path.join(folder, "perf.data")
        run = subprocess.run(("perf", "record", "-q", "-a", *events, "-o", data, "--", *program),
                             check=True, stdout=subprocess.PIPE, text=True)
        script = subprocess.run(("perf", "script", "-i", data, "-F", fields), check=True,
                                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return run.stdout, script.stdout


def microseconds(printed, name):
    """How long one operation takes."""
    rows = [json.loads(line) for line in printed.splitlines() if line.startswith("{")]
    found = [row for row in rows if row.get("name") == name]
    if not found:
        raise SystemExit(f"the program does not print {name}; it prints {', '.join(r['name'] for r in rows)}")
    value, unit = float(found[0]["value"]), found[0]["unit"]
    return {"us": value, "s": value * 1e6}.get(unit) or 1e6 / value


def show(title, parts):
    print(f"| {title} | us |\n|---|---|")
    for what, time in (*parts, ("**together**", sum(time for _, time in parts))):
        print(f"| {what} | {time:.4g} |")


def alone(program):
    return subprocess.run(program, check=True, stdout=subprocess.PIPE, text=True).stdout


def by_work(name, program):
    each = statistics.median(microseconds(alone(program), name) for _ in range(3))
    _, script = record(program, ("-g", "-F", "1000", "-e", "cpu-clock"), "comm,ip,sym,dso")
    kinds = collections.Counter(kind_of(*sample) for sample in samples(script))
    processors = len(os.sched_getaffinity(0))
    whole = each * processors / sum(kinds.values())
    show(f"{name}, {processors} processors",
         [(kind, count * whole) for kind, count in kinds.most_common()])


def rounds_of(script, tasks):
    """Yields when the tasks of each round fell asleep, and when they woke, in microseconds."""
    asleep, awake = [], []
    for line in script.splitlines():
        found = re.search(r"([\d.]+):\s+syscalls:sys_(enter|exit)_clock_nanosleep", line)
        if not found:
            continue
        if found[2] == "exit":
            awake.append(1e6 * float(found[1]))
            continue
        if awake:
            if len(asleep) == len(awake) == tasks:
                yield asleep, awake
            asleep, awake = [], []
        asleep.append(1e6 * float(found[1]))


def by_round(name, program, tasks):
    sleep = "syscalls:sys_enter_clock_nanosleep,syscalls:sys_exit_clock_nanosleep"
    printed, script = record(program, ("-e", sleep), "time,event")
    rounds = list(rounds_of(script, tasks))
    steps = list(zip(rounds, rounds[1:]))
    parts = {
        "first task asleep, to the last": [asleep[-1] - asleep[0] for asleep, _ in rounds],
        "last task asleep, to the last awake": [awake[-1] - asleep[-1] for asleep, awake in rounds],
        "last task awake, to the next asleep": [after[0][0] - before[1][-1] for before, after in steps],
    }
    show(f"{name}, a mean of {microseconds(printed, name):.4g} us; medians of {len(rounds)} rounds",
         [(what, statistics.median(times)) for what, times in parts.items()])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, metavar="TASKS", help="tasks in a round")
    parser.add_argument("name")
    parser.add_argument("program", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    if options.rounds:
        by_round(options.name, options.program, options.rounds)
    else:
        by_work(options.name, options.program)


if __name__ == "__main__":
    main()
