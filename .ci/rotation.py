#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The step of ./dev check that CI takes besides those it always takes. It is another one at each commit.

The number of commits up to this one chooses it: the kinds of steps take turns, and with each round a kind moves on to
its next part. Of eleven commits in a row each takes another turn. As eleven is prime, that also holds for every second
commit, every third and so on: for whoever lands several commits at once.
"""

import argparse
import os
import re
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LIMIT = 15 * 60

E2E = ("e2e/faults", "e2e/pool", "e2e/objects,e2e/locks", "e2e/queues,e2e/processes,e2e/strangers", "e2e/network,e2e/rings,e2e/observing")


def parts(step: str, *folders: str) -> tuple[str, ...]:
    return tuple(f"{step}:{folder}" for folder in folders)


# What each turn goes through, one part per round. Parts are cut so that one fits into LIMIT from nothing, on two processors.
TURNS = (
    parts("clang", "base,wire,backends", "actors", "libfiber,cli", "rl", "examples,programs,bench", "tests/e2e,tests/history,tests/planted",
          "tests/base,tests/wire,tests/backends", "tests/actors", "tests/libfiber,tests/golden,tests/cli,tests/rl,tests/examples,tests/programs"),
    parts("sanitize", *E2E),
    parts("tidy", "base,wire", "backends", "actors", "libfiber", "examples,programs", "tests/base,tests/wire", "tests/backends",
          "tests/actors", "tests/e2e", "tests/libfiber,tests/golden,tests/history,tests/planted", "tests/cli,tests/rl,tests/examples,tests/programs"),
    ("docs",),
    parts("thread", "base,wire,backends,sanitizers", "actors", "libfiber", *E2E),
    ("fuzz",),
    parts("caf", "actors", "libfiber", *E2E),
    parts("sanitize", "base,wire,backends", "actors", "libfiber,golden,planted", "cli", "rl", "examples,programs"),
    ("debian12-package", "debian13-package", "debian12-demo"),
    parts("debian13", "base,wire,backends", "actors", "libfiber", *E2E),
    ("release", "locale:base,wire,backends,libfiber", "release", "locale:actors,golden", "release", "locale:rl,e2e/observing",
     "release", "locale:cli,programs"),
)

# A line that tells of a finding: of a compiler, clang-tidy, ctest, a sanitizer, or a script of this repository.
FINDING = re.compile(r": (?:fatal )?error: |\*\*\*(?:Failed|Timeout|Exception|Not Run)|ERROR: \w+Sanitizer"
                     r"|(?:WARNING|SUMMARY): \w+Sanitizer|runtime error: |skipped, which fails here|^dev: .*failed"
                     r"|^FAILED: |^failed: ")
ENDED = "signal terminated program"  # What g++ says when the limit ends its compiler.


def chosen(number: int) -> str:
    """The step of the commit with this number."""
    turn = TURNS[number % len(TURNS)]
    return turn[number // len(TURNS) % len(turn)]


def git(*words: str) -> str:
    return subprocess.run(("git", *words), cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


def number_of_commit() -> int:
    """How many commits there are up to HEAD. Of a clone without history, a number that its commit's name gives."""
    if git("rev-parse", "--is-shallow-repository") == "true":
        return int(git("rev-parse", "HEAD")[:8], 16)
    return int(git("rev-list", "--count", "--first-parent", "HEAD"))


def findings(log: str) -> list[str]:
    return [line for line in log.splitlines() if FINDING.search(line) and ENDED not in line]


def verdict(status: int, log: str) -> tuple[str, bool]:
    """What became of a step with this exit status and output, and whether it is good."""
    if status == 0:
        return "skipped" if re.search(r"^check: .* skipped$", log, re.MULTILINE) else "passed", True
    found = findings(log)
    if status != 124 or found:
        return f"FAILED, {len(found)} lines tell of it" if found else f"FAILED with exit code {status}", False
    return "ended by the limit; it had found nothing", True


def run(step: str, number: int, limit: int) -> int:
    path = ROOT / "build" / "rotation.log"
    path.parent.mkdir(exist_ok=True)
    print(f"rotation: {step}, for {limit} s at most", flush=True)
    environment = {**os.environ, "FUZZER_SECONDS": "30", "FUZZER_SEED": str(number % 2**31 or 1)}
    start = time.monotonic()
    with path.open("w", encoding="utf-8") as out:
        status = subprocess.run(("timeout", "--kill-after=30", str(limit), "./dev", "check", step), cwd=ROOT,
                                env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=out, check=False).returncode
    log = path.read_text(encoding="utf-8", errors="replace")
    if status == -9 or status == 137:  # It ignored the end of its time.
        status = 124
    what, good = verdict(status, log)
    if not good:
        print("\n".join(log.splitlines()[-60:]))
        for line in findings(log)[:40]:
            print(f"rotation: {step}: {line}")
        print(f"rotation: the whole output is in {path.relative_to(ROOT)}; by hand: ./dev check {step}")
    print(f"rotation: {step}: {what} ({time.monotonic() - start:.0f} s)", flush=True)
    return 0 if good else 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", action="store_true", help="run the step; else its name is printed")
    parser.add_argument("--list", action="store_true", help="print the steps of the next commits, and end")
    parser.add_argument("--number", type=int, help="choose as for the commit of this number (default: that of HEAD)")
    parser.add_argument("--limit", type=int, default=LIMIT, metavar="SECONDS", help="the time of a step (default: %(default)s)")
    options = parser.parse_args()
    number = options.number if options.number is not None else number_of_commit()
    if options.list:
        for ahead in range(len(TURNS) * max(map(len, TURNS))):
            print(f"{number + ahead} {chosen(number + ahead)}")
    elif options.run:
        return run(chosen(number), number, options.limit)
    else:
        print(chosen(number))
    return 0


if __name__ == "__main__":
    sys.exit(main())
