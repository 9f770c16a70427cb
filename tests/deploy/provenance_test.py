#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The provenance names each package by its digest and the commit that it was built from, or says why it can't."""

import hashlib
import json
import subprocess
import tempfile
import unittest
from pathlib import Path

PROVENANCE = Path(__file__).resolve().parents[2] / "deploy" / "provenance.py"


class Provenance(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.source = self.folder / "source"
        self.git("init", "--quiet", str(self.source))
        (self.source / "file").write_text("1", encoding="utf-8")
        self.git("-C", str(self.source), "add", "file")
        self.git("-C", str(self.source), "-c", "user.name=n", "-c", "user.email=e", "commit", "--quiet", "-m", "m")
        (self.folder / "fiber.deb").write_bytes(b"package")
        (self.folder / "fiber.cdx.json").write_text(json.dumps({"components": [{"purl": "pkg:deb/debian/libc6"}]}), encoding="utf-8")

    def git(self, *words):
        return subprocess.run(("git", *words), check=True, stdout=subprocess.PIPE, text=True).stdout.strip()

    def run_it(self, source, packages="."):
        return subprocess.run((str(PROVENANCE), "--command", "./dev package", str(self.folder), str(self.folder / packages)),
                              check=False, cwd=source, stderr=subprocess.PIPE, text=True)

    def test_names_the_packages_and_the_commit(self):
        self.assertEqual(self.run_it(self.source).returncode, 0)
        told = json.loads((self.folder / "fiber.intoto.json").read_text(encoding="utf-8"))
        self.assertEqual(told["predicateType"], "https://slsa.dev/provenance/v1")
        self.assertEqual(told["subject"], [{"name": "fiber.deb", "digest": {"sha256": hashlib.sha256(b"package").hexdigest()}}])
        parts = told["predicate"]["buildDefinition"]["resolvedDependencies"]
        self.assertEqual(parts[0]["digest"]["gitCommit"], self.git("-C", str(self.source), "rev-parse", "HEAD"))
        self.assertEqual(parts[1]["uri"], "pkg:deb/debian/libc6")

    def test_of_a_source_with_changes_is_refused(self):
        (self.source / "file").write_text("2", encoding="utf-8")
        self.assertIn("has changes that no commit has", self.run_it(self.source).stderr)

    def test_says_what_is_missing(self):
        self.assertIn("is no clone", self.run_it(self.folder).stderr)
        self.assertIn("has no packages", self.run_it(self.source, "source").stderr)


if __name__ == "__main__":
    unittest.main()
