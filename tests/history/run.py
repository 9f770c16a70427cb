#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a program under chaos again and again, and checks each history that it writes.

usage: run.py PROGRAM [--cluster docker|podman|kubernetes|ssh] [--seconds S] [--each S] [--seed N]
              [--folder DIR] [--plant]

--cluster brings one of tests/clusters up, runs the clients there, and also cuts their network and stops and restarts
the engine. The cluster stays up; its script `down` ends it. Without --cluster the backend is that of FIBER_BACKEND.
--each is the length of one run; runs follow each other, with growing seeds, until --seconds are over. A history that
breaks a promise stays in --folder. --plant plants faults in the last history and fails unless the check finds each.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import check
import planted
from checker.operations import read, read_events
from clusters import Cluster
from nemesis import Nemesis

PATIENCE = 120  # Seconds for the end of a run, on a busy machine.
QUIET = 3  # Seconds without faults before the end, on a cluster.
NEEDED = ("task", "queue", "lock", "barrier", "value", "kill", "stall")
NEEDED_ON_LOCAL = ("redelivered", "lost with a client")  # Clients on clusters are killed less often.
NEEDED_ON_CLUSTERS = (("cut",), ("restart", "outage"))  # One of each.
MOST_RUNS = 3  # Until all of these were seen: on a busy machine a run may end before its second fault.


def find_planted(path: Path) -> list[str]:
    """The faults that the check does not find, or that could not be planted."""
    events = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    missed = []
    for fault in planted.FAULTS:
        changed = fault(events)
        if changed is None:
            missed.append(f"{fault.__name__}: there is no place for it")
            continue
        found = check.problems(read_events(changed))
        print(f"planted {fault.__name__}: {found[0] if found else 'NOT FOUND'}")
        if not found:
            missed.append(f"{fault.__name__} was not found")
    return missed


def run_disturbed(command, environment, length: int, nemesis: Nemesis) -> int | None:
    """Disturbs the program for so many seconds. Returns how it ended; nothing if it hangs."""
    nemesis.start()
    with subprocess.Popen(command, env=environment) as program:
        try:
            return program.wait(length)
        except subprocess.TimeoutExpired:
            pass
        finally:
            nemesis.stop()
        try:
            return program.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            program.kill()
            return None


def one_run(options, seed: int, path: Path) -> tuple[Counter, list[str]]:
    path.unlink(missing_ok=True)
    path.touch()
    path.chmod(0o666)  # Jobs in containers are not root.
    cluster = options.on
    command = [options.program, str(path), str(options.each), str(seed)]
    environment = None
    if cluster:
        command = [*cluster.command(), *command, str(cluster.kills)]
        environment = cluster.environment(path.parent)
    nemesis = Nemesis(path, cluster, seed)
    end = run_disturbed(command, environment, options.each - (QUIET if cluster else 0), nemesis)
    history = check.load(path)
    problems = check.problems(history)
    if nemesis.problem:
        problems.append(f"the faults stopped early: {nemesis.problem}")
        cluster.begin_again()
    if end != 0:
        problems.append("the program hangs" if end is None else f"the program ended with {end}")
    return Counter(check.figures(history)), problems


def lacking(total: Counter, on_cluster: bool) -> list[str]:
    """What no history has shown yet."""
    kinds = [kind for kind in NEEDED if total[kind] == 0]
    if not on_cluster:
        kinds += [kind for kind in NEEDED_ON_LOCAL if total[kind] == 0]
    else:
        kinds += [" or ".join(either) for either in NEEDED_ON_CLUSTERS if not any(total[kind] for kind in either)]
    return kinds


def run(options, folder: Path) -> int:
    total: Counter = Counter()
    runs, seed, bad = 0, options.seed, 0
    path = folder / "history.jsonl"
    begin = time.monotonic()
    while (runs == 0 or time.monotonic() - begin < options.seconds
           or (runs < MOST_RUNS and not bad and lacking(total, bool(options.on)))):
        counts, problems = one_run(options, seed, path)
        total += counts
        if problems:
            bad += 1
            kept = path.rename(folder / f"broken-{seed}.jsonl")
            print(f"seed {seed}: {len(problems)} broken promises; see {kept}")
            print("\n".join(f"  {problem}" for problem in problems[:20]), flush=True)
        runs, seed = runs + 1, seed + 1
    print(f"{runs} histories in {time.monotonic() - begin:.0f} s: "
          + ", ".join(f"{kind} {total[kind]}" for kind in check.figures(read(()))) + f"; {bad} broken")
    missing = lacking(total, bool(options.on))
    if missing:
        print(f"the histories show nothing of: {', '.join(missing)}")
    missed = find_planted(path) if options.plant and path.exists() else []
    print("\n".join(missed), end="\n" if missed else "")
    return 1 if bad or missing or missed else 0


def main() -> int:
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("program")
    parser.add_argument("--cluster", choices=("docker", "podman", "kubernetes", "ssh"))
    parser.add_argument("--seconds", type=float, default=0)
    parser.add_argument("--each", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--plant", action="store_true")
    options = parser.parse_args()
    if not Path(options.program).is_file():
        parser.error(f"there is no program {options.program}")
    options.on = Cluster(options.cluster, options.program) if options.cluster else None
    if options.folder:
        options.folder = options.folder.resolve()
        options.folder.mkdir(parents=True, exist_ok=True)
        return run(options, options.folder)
    with tempfile.TemporaryDirectory() as folder:
        return run(options, Path(folder))


if __name__ == "__main__":
    sys.exit(main())
