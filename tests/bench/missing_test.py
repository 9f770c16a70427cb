#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench/run.py --peers=all names each framework that it cannot measure, and why.

usage: missing_test.py BENCH
"""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

RUN = Path(sys.argv.pop(1)) / "run.py"

# In place of every program that is measured.
MEASURES = """#!/usr/bin/env python3
import json, sys
print(json.dumps({"version": "Program 1.0"}))
print(json.dumps({"name": sys.argv[-1], "value": 1.0, "unit": "s"}))
"""
PROGRAMS = ("fiber_bench", "peers/threads", "peers/multiprocessing_peer.py", "peers/openmpi_farm",
            "peers/ipyparallel_peer.py", "peers/python_fiber_peer.py", "peers/ray_peer.py",
            "peers/dask_peer.py", "peers/joblib_peer.py", "peers/spark_peer.py")


class Missing(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        for program in PROGRAMS:
            self.program(program, MEASURES)
        (self.root / "frameworks/bin").mkdir(parents=True)
        (self.root / "frameworks/bin/python").symlink_to(sys.executable)
        (self.root / "frameworks/missing.json").write_text("{}")

    def program(self, name, text):
        path = self.root / "build/bench" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)

    def run_all(self, *options):
        done = subprocess.run([sys.executable, RUN, "--build", self.root / "build", "--out",
                               self.root / "out", "--frameworks", self.root / "frameworks",
                               "--rows", "overhead_batch_10ms", "--runs", "1", *options],
                              capture_output=True, text=True, check=False)
        report = json.loads((self.root / "out/bench.json").read_text())
        self.labels = {values["of"] for values in report["values"]}
        self.missing = report["missing"]
        return done

    def test_one_that_was_not_installed_is_named(self):
        (self.root / "frameworks/missing.json").write_text('{"Ray": "no wheel for this Python"}')
        done = self.run_all("--peers=all")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.missing, {"Ray": "no wheel for this Python"})
        self.assertIn("- Ray: no wheel for this Python", done.stdout)
        self.assertNotIn("Ray", self.labels)
        self.assertIn("Dask", self.labels)

    def test_one_that_does_not_start_is_named(self):
        self.program("peers/spark_peer.py", "import sys; sys.exit('no Java')")
        done = self.run_all("--peers=all")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.missing, {"Spark": "does not start: ended with 1: no Java"})

    def test_all_are_named_if_none_was_installed(self):
        (self.root / "frameworks/missing.json").unlink()
        self.run_all("--peers=all")
        self.assertEqual(set(self.missing), {"Fiber for Python", "Ray", "Dask", "joblib", "Spark"})

    def test_by_default_they_are_not_asked_for(self):
        done = self.run_all()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.missing, {})
        self.assertIn("OpenMPI", self.labels)
        self.assertNotIn("Ray", self.labels)

    def test_a_peer_that_fails_later_is_named_and_the_run_fails(self):
        self.program("peers/ipyparallel_peer.py", "#!/usr/bin/env python3\nimport sys; sys.exit('no controller')")
        done = self.run_all()
        self.assertEqual(done.returncode, 1)
        self.assertIn("ipyparallel_peer.py overhead_batch_10ms: ended with 1: no controller", done.stdout)

    def test_versions_are_in_the_report(self):
        self.assertIn("Peers: Program 1.0.", self.run_all().stdout)


if __name__ == "__main__":
    unittest.main()
