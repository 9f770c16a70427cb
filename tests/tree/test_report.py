#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Says in a few lines how a run of the tests ended, from the JUnit report that ctest writes.

usage: test_report.py REPORT [--refuse-skips] [--cluster NAME]... [--left-out NAME=WHY]...

Prints each skipped test with its reason, a line for each cluster, each failed test with the lines of its first failure,
and as the last line the counts. Exit code 1 if a test failed, or if one was skipped in spite of --refuse-skips; 2 if
there is no report.
"""

import argparse
import re
import sys
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from pathlib import Path

LINES = 12  # Of a failed test.


@dataclass
class Test:
    name: str
    status: str  # ctest's: run, fail, notrun, disabled.
    skip: str  # Why ctest itself says that it is skipped.
    output: list[str]

    @property
    def skipped(self) -> bool:
        return self.status in ("notrun", "disabled")


def tests_of(report: Path) -> list[Test]:
    tests = []
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        skip = case.find("skipped")
        tests.append(Test(case.get("name", ""), case.get("status", ""),
                          skip.get("message", "") if skip is not None else "",
                          (case.findtext("system-out") or "").splitlines()))
    return tests


def reason_of(test: Test) -> str:
    """What stands behind "SKIPPED: " or between GoogleTest's two lines; for a test that was not even started, ctest's
    own words."""
    reason = []
    reading = False
    for line in test.output:
        if re.search(r":\d+: Skipped$", line):
            reading = True
        elif line.startswith("[  SKIPPED ]"):
            reading = False
        elif reading or "SKIPPED: " in line:
            reason.append(line.rpartition("SKIPPED: ")[2])
    if reason:
        return " ".join(reason)
    if test.skip.startswith("SKIP_"):
        return "no reason in its output"
    return next((line for line in test.output if line), test.skip)


def failure_of(test: Test) -> list[str]:
    """The lines from the first failure on, or else the last ones."""
    begin = next((at for at, line in enumerate(test.output) if line.endswith(": Failure")), max(len(test.output) - LINES, 0))
    return test.output[begin:begin + LINES]


def cluster_line(name: str, tests: list[Test], left_out: dict[str, str]) -> str:
    if name in left_out:
        return f"cluster {name}: left out ({left_out[name]})"
    up = next((test for test in tests if test.name == f"{name}.up"), None)
    if up and up.status == "run":
        return f"cluster {name}: ran"
    return f"cluster {name}: SKIPPED: {reason_of(up) if up and up.skipped else 'no test asked for it'}"


def summary(tests: list[Test], refuse_skips: bool, clusters: list[str], left_out: dict[str, str]) -> list[str]:
    skipped = [test for test in tests if test.skipped]
    failed = [test for test in tests if test.status == "fail"]
    word = "skipped, which fails here" if refuse_skips else "skipped"
    lines = [f"{word}: {test.name}: {reason_of(test)}" for test in skipped]
    lines += [cluster_line(name, tests, left_out) for name in clusters]
    for test in failed:
        lines += [f"failed: {test.name}"] + [f"  {line}" for line in failure_of(test)]
    passed = sum(test.status == "run" for test in tests)
    return lines + [f"tests: {passed} passed, {len(failed)} failed, {len(skipped)} skipped"]


def ended_well(tests: list[Test], refuse_skips: bool) -> bool:
    return not any(test.status == "fail" or (refuse_skips and test.skipped) for test in tests)


def main() -> int:
    parser = argparse.ArgumentParser(description="Says how a run of the tests ended.")
    parser.add_argument("report", type=Path)
    parser.add_argument("--refuse-skips", action="store_true")
    parser.add_argument("--cluster", action="append", default=[], metavar="NAME")
    parser.add_argument("--left-out", action="append", default=[], metavar="NAME=WHY")
    options = parser.parse_args()
    try:
        tests = tests_of(options.report)
    except (OSError, ElementTree.ParseError) as error:
        print(f"test_report: no report of ctest in {options.report}: {error}", file=sys.stderr)
        return 2
    left_out = dict(pair.split("=", 1) for pair in options.left_out)
    print("\n".join(summary(tests, options.refuse_skips, options.cluster, left_out)))
    return 0 if ended_well(tests, options.refuse_skips) else 1


if __name__ == "__main__":
    sys.exit(main())
