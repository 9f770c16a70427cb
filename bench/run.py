#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures Fiber and its peers in the same run, alternating, and says which goals are met.

Writes OUT/bench.md (tables), OUT/bench.json (every value), OUT/*.png and OUT/*.svg (plots, with
gnuplot).
Ends with 1 if a program fails; with --strict also if a goal is missed.
"""

import argparse
import datetime
import json
import os
import platform
import re
import statistics
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

sys.dont_write_bytecode = True  # The source tree stays as it is.
import offspring  # noqa: E402
import plots  # noqa: E402
import report  # noqa: E402
from rows import FRAMEWORKS, TABLES  # noqa: E402

SOURCE = Path(__file__).resolve().parent


def arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=SOURCE.parent / "build/release",
                        help="CMake's build folder [default: build/release]")
    parser.add_argument("--out", type=Path, default=SOURCE.parent / "out/bench")
    parser.add_argument("--runs", type=int, default=7, help="runs of each [default: 7]")
    parser.add_argument("--rows", default="", metavar="REGEX", help="only rows whose name matches")
    parser.add_argument("--peers", choices=("default", "all"), default="default",
                        help="all: with the frameworks that ./dev bench --peers=all installs")
    parser.add_argument("--frameworks", type=Path, metavar="FOLDER",
                        default=SOURCE.parent / "build/frameworks",
                        help="where they are [default: build/frameworks]")
    parser.add_argument("--timeout", type=float, default=300, help="seconds a program may take")
    parser.add_argument("--strict", action="store_true", help="a missed goal is a failure")
    return parser.parse_args()


def selected(pattern, left_out):
    for title, rows in TABLES.items():
        chosen = [replace(row, peers=tuple(peer for peer in row.peers if peer[0] not in left_out))
                  for row in rows if re.search(pattern, row.name)]
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


def measure(options, command):
    """What one run of a program prints: {name: (value, unit)}, and the version it states."""
    program = options.build.resolve() / "bench" / command[0]
    if not program.exists():
        raise FileNotFoundError(f"{program} is not built")
    interpreter = ()
    if command[0] in {framework[0] for framework in FRAMEWORKS.values()}:
        interpreter = (options.frameworks.absolute() / "bin/python",)
    output = offspring.run((*interpreter, program, *command[1:]), options.timeout)
    lines = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    version = "".join(line["version"] for line in lines if "version" in line)
    return {line["name"]: (float(line["value"]), line["unit"])
            for line in lines if "name" in line}, version


def not_installed(folder):
    """The frameworks that are not in FOLDER: {label: reason}."""
    try:
        return json.loads((folder / "missing.json").read_text())
    except OSError:
        return dict.fromkeys(FRAMEWORKS, "not installed; ./dev bench --peers=all does it")


def missing_frameworks(options, tables):
    """Those of these tables that cannot be measured: {label: reason}. Starts the others once."""
    wanted = {label for rows in tables.values() for row in rows for label, _ in row.peers}
    missing = not_installed(options.frameworks)
    for label, program in FRAMEWORKS.items():
        if label in missing or label not in wanted:
            continue
        print(f"does {label} start?", file=sys.stderr)
        try:
            measure(options, tuple(part.format(row="overhead_batch_100ms") for part in program))
        except (OSError, RuntimeError, ValueError) as error:
            missing[label] = f"does not start: {error}"
    for label, reason in missing.items():
        print(f"missing: {label}: {reason}", file=sys.stderr)
    return missing


class Results:
    """Values by (row, label), in the order of the runs."""

    def __init__(self):
        self.values = {}
        self.failures = []
        self.versions = set()

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
            printed, version = measure(options, command)
        except (OSError, RuntimeError, ValueError) as error:
            results.failures.append(f"{' '.join(command)}: {error}")
            print(f"  failed: {results.failures[-1]}", file=sys.stderr)
            continue
        if version:
            results.versions.add(version)
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
    tables = dict(selected(options.rows, () if options.peers == "all" else FRAMEWORKS))
    if not tables:
        print("no row matches", options.rows, file=sys.stderr)
        return 2
    offspring.become_reaper()
    missing = {}
    if options.peers == "all":
        missing = missing_frameworks(options, tables)
        tables = dict(selected(options.rows, missing))
    results = Results()
    for turn in range(options.runs):
        print(f"run {turn + 1} of {options.runs}", file=sys.stderr)
        for title, rows in tables.items():
            print(f"  {title}", file=sys.stderr)
            run_once(options, rows, turn, results)

    options.out.mkdir(parents=True, exist_ok=True)
    about = {"machine": str(Machine()), "commit": commit(), "runs": options.runs,
             "date": datetime.date.today().isoformat(), "versions": sorted(results.versions),
             "missing": missing}
    document, missed = report.markdown(tables, results, about)
    (options.out / "bench.md").write_text(document)
    (options.out / "bench.json").write_text(json.dumps({
        **about,
        "values": [{"row": row, "of": label, "values": values}
                   for (row, label), values in results.values.items()],
        "failures": results.failures}, indent=1) + "\n")
    plots.draw(tables, results, options.out)
    print(document)
    print(f"written to {options.out}", file=sys.stderr)
    return 1 if results.failures or (options.strict and missed) else 0


if __name__ == "__main__":
    sys.exit(main())
