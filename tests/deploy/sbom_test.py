#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The bill of materials names each package that a build has headers and libraries from, and nothing else.

usage: sbom_test.py SBOM BUILD PROGRAM
"""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SBOM, BUILD, PROGRAM = sys.argv[1:4]
del sys.argv[1:4]


def run(*arguments) -> subprocess.CompletedProcess:
    return subprocess.run((sys.executable, SBOM, *arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, check=False)


class Bill(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.texts = []
        with tempfile.TemporaryDirectory() as folder:
            for name in ("first", "second"):
                done = run("--build", BUILD, "--program", PROGRAM, "--version", "1.2.3", str(Path(folder) / name))
                if done.returncode != 0:
                    raise AssertionError(done.stderr)
                cls.texts.append((Path(folder) / name).read_text(encoding="utf-8"))
        cls.bill = json.loads(cls.texts[0])
        cls.packages = {component["name"]: component for component in cls.bill["components"]}

    def uses(self, package):
        return {item["value"] for item in self.packages[package]["properties"] if item["name"] == "fiber:use"}

    def test_is_a_whole_document(self):
        self.assertEqual((self.bill["bomFormat"], self.bill["specVersion"]), ("CycloneDX", "1.5"))
        self.assertEqual(self.bill["metadata"]["component"]["version"], "1.2.3")
        named = {component["bom-ref"] for component in self.bill["components"]}
        self.assertEqual(len(named), len(self.bill["components"]))
        self.assertEqual(set(self.bill["dependencies"][0]["dependsOn"]), named)

    def test_names_what_is_compiled_and_what_is_linked(self):
        for package in ("nlohmann-json3-dev", "libssl-dev"):
            self.assertIn("compiled", self.uses(package))
        self.assertIn("linked", self.uses("libssl3" if "libssl3" in self.packages else "libssl3t64"))

    def test_names_what_the_program_opens_while_it_runs(self):
        self.assertEqual({"opened"}, self.uses("libcurl4" if "libcurl4" in self.packages else "libcurl4t64"))

    def test_has_the_version_that_is_installed(self):
        told = subprocess.run(("dpkg-query", "--show", "--showformat", "${Version}", "libssl-dev"), check=True,
                              stdout=subprocess.PIPE, text=True).stdout
        self.assertEqual(self.packages["libssl-dev"]["version"], told)

    def test_leaves_out_what_only_tests_use(self):
        self.assertFalse({name for name in self.packages if "gtest" in name or "httplib" in name})

    def test_names_each_library_that_the_program_loads_itself(self):
        needed = subprocess.run(("readelf", "--dynamic", PROGRAM), check=True, stdout=subprocess.PIPE, text=True).stdout
        wanted = [line.split("[")[1].split("]")[0] for line in needed.splitlines() if "(NEEDED)" in line]
        found = subprocess.run(("ldd", PROGRAM), check=True, stdout=subprocess.PIPE, text=True).stdout
        paths = {line.split()[0]: line.split()[2] for line in found.splitlines() if "=> /" in line}
        for name in wanted:
            if name.startswith(("libc.", "libm.", "libstdc++.", "libgcc_s.", "ld-linux", "libasan.", "libubsan.", "libtsan.")):
                continue  # The compiler's own, which it adds itself.
            path = str(Path(paths[name]).resolve())
            if not path.startswith(("/usr/", "/lib/")):
                continue  # Of no package: a CAF that was built here.
            told = subprocess.run(("dpkg-query", "--search", path, path.removeprefix("/usr")), check=False,
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
            self.assertIn(told.split(":")[0], self.packages, name)

    def test_is_the_same_for_the_same_build(self):
        self.assertEqual(self.texts[0], self.texts[1])

    def test_of_nothing_is_an_error_that_says_so(self):
        with tempfile.TemporaryDirectory() as folder:
            done = run("--build", folder, "--program", "p", "--version", "1", str(Path(folder) / "out"))
            self.assertNotEqual(done.returncode, 0)
            self.assertTrue(done.stderr.startswith("sbom: "), done.stderr)
            self.assertFalse((Path(folder) / "out").exists())


if __name__ == "__main__":
    unittest.main()
