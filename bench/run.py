#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures Fiber and its peers in the same run, alternating, and says which goals are met.

Writes OUT/bench.md (tables), OUT/bench.json (every value) and OUT/*.png (plots, with gnuplot).
Ends with 1 if a program fails; with --strict also if a goal is missed.
"""

import argparse
import datetime
import json
import os
import platform
import re
import signal
import statistics
import subprocess
import sys
from pathlib import Path

sys.dont_write_bytecode = True  # The source tree stays as it is.
import report  # noqa: E402
from rows import TABLES  # noqa: E402

SOURCE = Path(__file__).resolve().parent


def arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=SOURCE.parent / "build/release",
                        help="CMake's build folder [default: build/release]")
    parser.add_argument("--out", type=Path, default=SOURCE.parent / "out/bench")
    parser.add_argument("--runs", type=int, default=7, help="runs of each [default: 7]")
    parser.add_argument("--rows", default="", metavar="REGEX", help="only rows whose name matches")
    parser.add_argument("--timeout", type=float, default=120, help="seconds a program may take")
    parser.add_argument("--strict", action="store_true", help="a missed goal is a failure")
    return parser.parse_args()


def selected(pattern):
    for title, rows in TABLES.items():
        chosen = [row for row in rows if re.search(pattern, row.name)]
        if chosen:
            yield title, chosen


def commands(rows):
    """The programs that measure `rows`, each once, though it may print several of them."""
    found = {}
    for row in rows:
        source = row.also or row.name
        for label, program in (("Fiber", row.program), *row.peers):
            command = tuple(part.format(row=source) for part in program)
            found.setdefault(command, (label, set()))[1].add(row.name)
    return [(command, label, names) for command, (label, names) in found.items()]


class Machine:
    def __init__(self):
        with open("/proc/cpuinfo") as lines:
            models = [line.split(":", 1)[1].strip() for line in lines
                      if line.startswith("model name")]
        self.cpu = models[0] if models else platform.machine()
        self.cores = len(os.sched_getaffinity(0))
        self.kernel = platform.release()
        self.python = platform.python_version()

    def __str__(self):
        return (f"{self.cores} cores of {self.cpu}, Linux {self.kernel}, "
                f"Python {self.python}")


def commit():
    def git(*args):
        return subprocess.run(("git", "-C", SOURCE, *args), capture_output=True, text=True,
                              check=False).stdout.strip()
    name = git("rev-parse", "--short", "HEAD") or "unknown"
    return name + (" with changes" if git("status", "--porcelain", "-uno") else "")


def measure(build, command, timeout):
    """What one run of a program prints: {name: (value, unit)}."""
    program = build / "bench" / command[0]
    if not program.exists():
        raise FileNotFoundError(f"{program} is not built")
    with subprocess.Popen((program, *command[1:]), stdout=subprocess.PIPE, text=True,
                          stderr=subprocess.PIPE, start_new_session=True) as running:
        try:
            output, errors = running.communicate(timeout=timeout)
        except BaseException:
            os.killpg(running.pid, signal.SIGKILL)  # Its workers as well.
            raise
    if running.returncode != 0:
        raise RuntimeError(f"ended with {running.returncode}: {errors.strip()[-400:]}")
    lines = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    return {line["name"]: (float(line["value"]), line["unit"]) for line in lines}


class Results:
    """Values by (row, label), in the order of the runs."""

    def __init__(self):
        self.values = {}
        self.failures = []

    def add(self, row, label, value):
        self.values.setdefault((row, label), []).append(value)

    def median(self, row, label="Fiber"):
        values = self.values.get((row, label))
        return statistics.median(values) if values else None


def key_of(command, names, row):
    """A program prints a row by its own name, but peers of one name may serve several rows."""
    if row.name in names:
        return row.name
    return command[-1] if command[-1] in names else next(iter(names), None)


def run_once(options, rows, turn, results):
    todo = commands(rows)
    for command, _, names in todo[turn % len(todo):] + todo[:turn % len(todo)]:
        if any(failure.startswith(" ".join(command) + ":") for failure in results.failures):
            continue
        try:
            printed = measure(options.build, command, options.timeout)
        except (OSError, RuntimeError, ValueError, subprocess.TimeoutExpired) as error:
            if isinstance(error, subprocess.TimeoutExpired):
                error = f"not done after {options.timeout:g} s"
            results.failures.append(f"{' '.join(command)}: {error}")
            print(f"  failed: {results.failures[-1]}", file=sys.stderr)
            continue
        for row in rows:
            if row.name not in names:
                continue
            name = key_of(command, printed.keys(), row)
            if name is None:
                results.failures.append(f"{' '.join(command)}: prints no {row.name}")
                continue
            value, unit = printed[name]
            if unit != row.unit:
                results.failures.append(f"{' '.join(command)}: {name} is in {unit}, "
                                        f"not in {row.unit}")
                continue
            for label, program in (("Fiber", row.program), *row.peers):
                source = row.also or row.name
                if tuple(part.format(row=source) for part in program) == command:
                    results.add(row.name, label, value)


def main():
    options = arguments()
    tables = dict(selected(options.rows))
    if not tables:
        print("no row matches", options.rows, file=sys.stderr)
        return 2
    results = Results()
    for turn in range(options.runs):
        print(f"run {turn + 1} of {options.runs}", file=sys.stderr)
        for title, rows in tables.items():
            print(f"  {title}", file=sys.stderr)
            run_once(options, rows, turn, results)

    options.out.mkdir(parents=True, exist_ok=True)
    about = {"machine": str(Machine()), "commit": commit(), "runs": options.runs,
             "date": datetime.date.today().isoformat()}
    document, missed = report.markdown(tables, results, about)
    (options.out / "bench.md").write_text(document)
    (options.out / "bench.json").write_text(json.dumps({
        **about,
        "values": [{"row": row, "of": label, "values": values}
                   for (row, label), values in results.values.items()],
        "failures": results.failures}, indent=1) + "\n")
    report.plots(tables, results, options.out)
    print(document)
    print(f"written to {options.out}", file=sys.stderr)
    return 1 if results.failures or (options.strict and missed) else 0


if __name__ == "__main__":
    sys.exit(main())
