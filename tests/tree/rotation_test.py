#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The promise of .ci/rotation.py: whatever ./dev check offers and CI does not always run, it runs before long."""

import importlib.util
import re
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
SPEC = importlib.util.spec_from_file_location("rotation", ROOT / ".ci" / "rotation.py")
rotation = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(rotation)

TURNS = rotation.TURNS
STEPS = {step for turn in TURNS for step in turn}
LONGEST = max(map(len, TURNS))


def folders_of(step: str) -> set[str]:
    """The folders that this step's parts have, all together."""
    return {folder for name in STEPS if name.startswith(f"{step}:") for folder in name.split(":")[1].split(",")}


def folders_of_tests() -> set[str]:
    """The folders of tests/ that have tests, each with the folder of the sources that it mirrors."""
    return {path.parent.name for path in (ROOT / "tests").glob("*/CMakeLists.txt")
            if "fiber_test(" in "".join(file.read_text(encoding="utf-8") for file in path.parent.rglob("CMakeLists.txt"))}


class Choice(unittest.TestCase):
    def test_is_each_step_within_so_many_commits(self):
        for start in (0, 1, 919, 123456):
            following = {rotation.chosen(number) for number in range(start, start + len(TURNS) * LONGEST)}
            self.assertEqual(following, STEPS)

    def test_takes_each_turn_within_as_many_commits_as_there_are_turns(self):
        for start in (0, 7, 919):
            following = [rotation.chosen(number) for number in range(start, start + len(TURNS))]
            self.assertTrue(all(any(step in turn for step in following) for turn in TURNS))

    def test_takes_each_turn_for_landings_of_several_commits(self):
        for stride in range(1, len(TURNS)):
            taken = {number * stride % len(TURNS) for number in range(len(TURNS))}
            self.assertEqual(len(taken), len(TURNS), f"{len(TURNS)} turns, {stride} commits a landing")


class Steps(unittest.TestCase):
    def test_are_all_that_ci_does_not_always_run(self):
        dev = (ROOT / "dev").read_text(encoding="utf-8")
        offered = set(re.search(r"^check_steps=\(([^)]*)\)", dev, re.MULTILINE).group(1).split())
        run = (ROOT / ".ci/run").read_text(encoding="utf-8")
        always = {word for words in re.findall(r"\./dev check ([\w -]*)", run) for word in words.split()} - {"--rotation"}
        self.assertEqual({step.split(":")[0] for step in STEPS} | always, offered)
        for step in STEPS:
            if ":" in step:
                self.assertIn(f"part_{step.split(':')[0]}() {{", dev)

    def test_name_folders_that_exist(self):
        for step in ("clang", "tidy"):
            for folder in folders_of(step):
                self.assertTrue((ROOT / folder / "CMakeLists.txt").is_file(), f"{step}:{folder}")
        for step in ("sanitize", "thread", "caf", "debian13", "locale"):
            for folder in folders_of(step):
                self.assertTrue((ROOT / "tests" / folder / "CMakeLists.txt").is_file(), f"{step}:{folder}")

    def test_leave_out_no_folder_of_tests(self):
        e2e = {f"e2e/{path.parent.name}" for path in (ROOT / "tests/e2e").glob("*/CMakeLists.txt")}
        e2e -= {"e2e/support", "e2e/clusters"}  # Has no tests; needs clusters.
        self.assertEqual(folders_of("sanitize") | folders_of("thread"), (folders_of_tests() - {"e2e"}) | e2e)
        self.assertEqual({folder.removeprefix("tests/") for folder in folders_of("clang") if folder.startswith("tests/")},
                         (folders_of_tests() - {"sanitizers"}) | {"history"})  # sanitizers: only with one.


class Verdict(unittest.TestCase):
    def test_is_good_if_the_step_passed(self):
        self.assertEqual(rotation.verdict(0, "x.cpp:1:2: error: in a test of errors"), ("passed", True))

    def test_tells_of_a_step_that_skipped_itself(self):
        log = "== check debian13-demo\nSKIPPED: needs root\ncheck: debian13-demo skipped\n"
        self.assertEqual(rotation.verdict(0, log), ("skipped", True))

    def test_is_good_if_the_limit_came_before_a_finding(self):
        log = "[1/9] Building\n  1/70 Test #1: a ....   Passed\nc++: fatal error: Terminated signal terminated program cc1plus\n"
        self.assertEqual(rotation.verdict(124, log), ("ended by the limit; it had found nothing", True))

    def test_is_bad_if_the_limit_came_after_a_finding(self):
        for line in ("  2/70 Test #2: b ....***Failed    0.01 sec", "==7==ERROR: AddressSanitizer: heap-use-after-free",
                     "WARNING: ThreadSanitizer: data race (pid=7)", "a.cpp:3:4: error: use after move [bugprone-use-after-move]"):
            self.assertFalse(rotation.verdict(124, f"x\n{line}\n")[1], line)

    def test_is_bad_if_the_step_failed_and_names_what_was_found(self):
        self.assertFalse(rotation.verdict(1, "")[1])
        self.assertEqual(rotation.findings("a\nfailed: pool_test.Map.x\nb"), ["failed: pool_test.Map.x"])

    def test_of_a_run_takes_the_limit_and_the_exit_status(self):
        old = rotation.ROOT
        with tempfile.TemporaryDirectory() as folder:
            rotation.ROOT = Path(folder)
            try:
                dev = Path(folder, "dev")
                dev.write_text("#!/bin/sh\nshift\nexec sh -c \"$1\"\n")
                dev.chmod(0o755)
                self.assertEqual(rotation.run("sleep 60", 1, 1), 0)
                self.assertEqual(rotation.run("echo 'failed: x.y'; sleep 60", 1, 1), 1)
                self.assertEqual(rotation.run("exit 3", 1, 60), 1)
                self.assertEqual(rotation.run("test $FUZZER_SEED = 5", 5, 60), 0)
            finally:
                rotation.ROOT = old


if __name__ == "__main__":
    unittest.main()
