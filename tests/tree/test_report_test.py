#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The summary of a run names what failed and what was skipped, with the reason of each, and fails when it should."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import test_report

REPORT = """<?xml version="1.0" encoding="UTF-8"?>
<testsuite name="Linux-c++" tests="7" failures="2" disabled="0" skipped="3">
  <testcase name="a.Suite.passes" classname="a" time="0.1" status="run">
    <properties/>
    <system-out>[ RUN      ] Suite.passes
x.cpp:3: Skipped is no line of GoogleTest here
</system-out>
  </testcase>
  <testcase name="a.Suite.skips" classname="a" time="0.1" status="notrun">
    <skipped message="SKIP_REGULAR_EXPRESSION_MATCHED"/>
    <properties/>
    <system-out>[ RUN      ] Suite.skips
/tree/x.cpp:7: Skipped
needs &quot;root&quot; &amp; mounts &lt;here&gt;
and time
[  SKIPPED ] Suite.skips (0 ms)
</system-out>
  </testcase>
  <testcase name="docker.up" classname="docker.up" time="0.1" status="notrun">
    <skipped message="SKIP_RETURN_CODE=77"/>
    <properties/>
    <system-out>up: SKIPPED: dockerd is missing
</system-out>
  </testcase>
  <testcase name="podman.up" classname="podman.up" time="1" status="run">
    <properties/>
    <system-out/>
  </testcase>
  <testcase name="a.silent" classname="a" time="0.1" status="notrun">
    <skipped message="SKIP_RETURN_CODE=77"/>
    <properties/>
  </testcase>
  <testcase name="b.Suite.fails" classname="b" time="0.1" status="fail">
    <failure message="Failed"/>
    <properties/>
    <system-out>before
/tree/y.cpp:9: Failure
Value of: f()
  Actual: 'a' &amp;&amp; &lt;b&gt;
</system-out>
  </testcase>
  <testcase name="b.long" classname="b" time="0.1" status="fail">
    <failure message="Timeout"/>
    <properties/>
    <system-out>LINES</system-out>
  </testcase>
</testsuite>
"""
SUMMARY = """skipped: a.Suite.skips: needs "root" & mounts <here> and time
skipped: docker.up: dockerd is missing
skipped: a.silent: no reason in its output
cluster docker: SKIPPED: dockerd is missing
cluster podman: ran
cluster kubernetes: left out (--clusters=ready)
cluster slurm: SKIPPED: no test asked for it
failed: b.Suite.fails
  /tree/y.cpp:9: Failure
  Value of: f()
    Actual: 'a' && <b>
failed: b.long
"""
CLUSTERS = [word for name in ("docker", "podman", "kubernetes", "slurm") for word in ("--cluster", name)]


class Report(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name) / "tests.xml"

    def ran(self, report, *options):
        self.path.write_text(report, encoding="utf-8")
        return subprocess.run([sys.executable, test_report.__file__, str(self.path), *options], check=False,
                              capture_output=True, text=True)

    def test_names_failures_skips_and_clusters_and_ends_with_the_counts(self):
        done = self.ran(REPORT.replace("LINES", "\n".join(map(str, range(30)))), *CLUSTERS,
                        "--left-out", "kubernetes=--clusters=ready")
        last = "".join(f"  {n}\n" for n in range(18, 30))
        self.assertEqual(done.stdout, SUMMARY + last + "tests: 2 passed, 2 failed, 3 skipped\n")
        self.assertEqual(done.returncode, 1)

    def test_a_skip_fails_only_where_skips_are_refused(self):
        skips = REPORT.replace('status="fail"', 'status="run"')
        self.assertEqual(self.ran(skips).returncode, 0)
        done = self.ran(skips, "--refuse-skips")
        self.assertEqual(done.returncode, 1)
        self.assertIn("skipped, which fails here: a.silent: no reason in its output\n", done.stdout)

    def test_a_test_that_was_not_started_has_the_reason_of_ctest(self):
        case = ('<testsuite><testcase name="c" status="notrun"><skipped message=""/><system-out>Unable to find executable'
                '</system-out></testcase></testsuite>')
        self.assertEqual(self.ran(case).stdout, "skipped: c: Unable to find executable\ntests: 0 passed, 0 failed, 1 skipped\n")

    def test_without_a_report_there_is_an_error_that_says_so(self):
        for report in ("", "<testsuite><testcase"):
            done = self.ran(report)
            self.assertEqual(done.returncode, 2)
            self.assertIn("no report of ctest in", done.stderr)


if __name__ == "__main__":
    unittest.main()
