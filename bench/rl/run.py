#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures fiber::rl and its peers in the same run, alternating, and says which goals are met.

Writes OUT/rl.md (tables), OUT/rl.json (every value) and OUT/*.png (plots, with gnuplot). A program
or a peer that is not there is left out and named. Ends with 1 if a program fails; with --strict
also if a goal is missed.
"""

import argparse
import datetime
import json
import os
import re
import statistics
import sys
from pathlib import Path

sys.dont_write_bytecode = True  # The source tree stays as it is.
SOURCE = Path(__file__).resolve().parent
sys.path.insert(0, str(SOURCE.parent))  # Before this folder, which has a run.py too.
import offspring  # noqa: E402
import plots  # noqa: E402
import report  # noqa: E402
import run  # noqa: E402

sys.path.insert(0, str(SOURCE))
from tables import BUILT, MISSES_ALLOWED, NEEDS, TABLES  # noqa: E402

ROOT = SOURCE.parent.parent


def arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build/release",
                        help="CMake's build folder [default: build/release]")
    parser.add_argument("--peers", type=Path, default=ROOT / "build/rl-peers", metavar="FOLDER",
                        help="where install.py has put them [default: build/rl-peers]")
    parser.add_argument("--out", type=Path, default=ROOT / "out/bench-rl")
    parser.add_argument("--runs", type=int, default=5,
                        help="runs of each; a training's seeds are 1 to RUNS [default: 5]")
    parser.add_argument("--rows", default="", metavar="REGEX", help="only rows whose name matches")
    parser.add_argument("--timeout", type=float, default=1800,
                        help="seconds a program may take [default: 1800]")
    parser.add_argument("--strict", action="store_true", help="a missed goal is a failure")
    return parser.parse_args()


class Results(run.Results):
    """Of a return that all runs but a few must reach, the run that decides."""

    def median(self, row, label="Fiber"):
        values = self.values.get((row, label))
        if not values:
            return None
        if label == "Fiber" and row in MISSES_ALLOWED:
            return sorted(values)[min(MISSES_ALLOWED[row], len(values) - 1)]
        return statistics.median(values)


def missing_packages(options):
    """{name of install.py: why it is not there}"""
    try:
        return json.loads((options.peers / "missing.json").read_text())
    except OSError:
        reason = f"not installed: /usr/bin/python3 bench/rl/install.py {options.peers}"
        return dict.fromkeys(NEEDS.values(), reason)


def reason_to_leave_out(options, label, program, missing):
    """Why this cannot be measured; empty if it can."""
    if NEEDS.get(label) in missing:
        return missing[NEEDS[label]]
    built = options.build / BUILT.get(program[0], "")
    return "" if built.exists() or program[0] not in BUILT else f"{built} is not built"


def measure(options, label, command):
    """What one run prints: {name: (value, unit)}, and the version it states."""
    interpreter = options.peers.absolute() / "bin/python" if label in NEEDS else sys.executable
    os.environ["BENCH_BUILD"] = str(options.build.resolve())
    output = offspring.run((interpreter, SOURCE / command[0], *command[1:]), options.timeout)
    lines = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    version = "".join(line["version"] for line in lines if "version" in line)
    return {line["name"]: (float(line["value"]), line["unit"])
            for line in lines if "name" in line}, version


def take(results, row, label, command, printed):
    """Keeps the row's value among those that a program printed."""
    candidates = (f"{row.name}: {label}", row.name)
    if label in NEEDS:  # It may name what it does, not what it is held against.
        candidates += tuple(printed) if len(printed) == 1 else ()
    elif label != "Fiber":
        candidates = candidates[:1]
    name = next((name for name in candidates if name in printed), None)
    if name is None:
        # A training that did not reach its return prints no time.
        if not row.name.startswith("ppo_"):
            results.failures.append(f"{' '.join(command)}: prints no {row.name}")
        else:
            print(f"  {label} prints no {row.name}", file=sys.stderr)
        return
    value, unit = printed[name]
    if unit == row.unit:
        results.add(row.name, label, value)
    else:
        results.failures.append(f"{' '.join(command)}: {name} is in {unit}, not in {row.unit}")


def run_once(options, rows, turn, results, left_out):
    """Each program of these rows once, another one first from turn to turn."""
    todo = {}
    for row in rows:
        for label, program in (("Fiber", row.program), *row.peers):
            command = tuple(part.format(seed=turn + 1) for part in program)
            todo.setdefault(command, []).append((row, label))
    order = list(todo)
    for command in order[turn % len(order):] + order[:turn % len(order)]:
        label = todo[command][0][1]
        if (label, command[0]) in left_out:
            continue
        try:
            printed, version = measure(options, label, command)
        except (OSError, RuntimeError, ValueError) as error:
            results.failures.append(f"{' '.join(command)}: {error}")
            print(f"  failed: {results.failures[-1]}", file=sys.stderr)
            continue
        if version:
            results.versions.add(version)
        for row, of in todo[command]:
            take(results, row, of, command, printed)


def find_left_out(options, tables):
    """{(label, program): why it is left out}, said on stderr."""
    left_out, missing = {}, missing_packages(options)
    for rows in tables.values():
        for row in rows:
            for label, program in (("Fiber", row.program), *row.peers):
                reason = reason_to_leave_out(options, label, program, missing)
                if reason and (label, program[0]) not in left_out:
                    left_out[label, program[0]] = reason
                    print(f"left out: {label}, {program[0]}: {reason}", file=sys.stderr)
    return left_out


def write(options, tables, results, left_out):
    """Writes the files; returns the tables and how many goals are missed."""
    options.out.mkdir(parents=True, exist_ok=True)
    about = {"machine": str(run.Machine()), "commit": run.commit(), "runs": options.runs,
             "date": datetime.date.today().isoformat(), "versions": sorted(results.versions),
             "missing": {f"{label} ({program})": reason
                         for (label, program), reason in left_out.items()}}
    document, missed = report.markdown(tables, results, about)
    (options.out / "rl.md").write_text(document)
    (options.out / "rl.json").write_text(json.dumps({
        **about,
        "values": [{"row": row, "of": label, "values": values}
                   for (row, label), values in results.values.items()],
        "failures": results.failures}, indent=1) + "\n")
    plots.draw({title: rows for title, rows in tables.items() if not title.startswith("PPO")
                and any((row.name, "Fiber") in results.values for row in rows)},
               results, options.out)
    return document, missed


def main():
    options = arguments()
    tables = {title: [row for row in rows if re.search(options.rows, row.name)]
              for title, rows in TABLES.items()}
    tables = {title: rows for title, rows in tables.items() if rows}
    if not tables:
        print("no row matches", options.rows, file=sys.stderr)
        return 2
    offspring.become_reaper()
    left_out = find_left_out(options, tables)
    results = Results()
    for turn in range(options.runs):
        print(f"run {turn + 1} of {options.runs}", file=sys.stderr)
        for title, rows in tables.items():
            print(f"  {title}", file=sys.stderr)
            run_once(options, rows, turn, results, left_out)
    document, missed = write(options, tables, results, left_out)
    print(document)
    print(f"written to {options.out}", file=sys.stderr)
    return 1 if results.failures or (options.strict and missed) else 0


if __name__ == "__main__":
    sys.exit(main())
