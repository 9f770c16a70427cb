#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A clone works wherever it lies, whatever its folder is called, and for a user without root.

The clone lies in folders that are called like those of the tree, has a space in its path, and is also reached through a
symbolic link. If root runs this test, another user owns the clone and runs its commands.
"""

import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NOBODY = 65534
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"  # That of root may lead into root's home.
PLACE = "docs/detail/tests/a (new) clone/fiber"


class Clones(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.folder.chmod(0o755)
        cls.clone = cls.folder / PLACE
        cls.link = cls.folder / "link"
        cls.link.symlink_to(cls.clone)
        listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT,
                                check=True, capture_output=True, text=True).stdout.split("\0")
        for name in listed:
            if name and (ROOT / name).is_file():
                (cls.clone / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / name, cls.clone / name)
        cls.as_user = []
        if os.geteuid() == 0:
            subprocess.run(["chown", "-R", str(NOBODY), cls.folder], check=True)
            cls.as_user = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "env", f"PATH={PATH}"]
        for command in (["init", "-q"], ["add", "-A"]):
            cls.run_in(cls.clone, "git", *command)

    @classmethod
    def run_in(cls, folder, *command):
        environment = {**os.environ, "HOME": str(cls.folder), "PWD": str(folder), "CCACHE_DISABLE": "1"}
        done = subprocess.run([*cls.as_user, *map(str, command)], cwd=folder, env=environment, check=False,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode != 0:
            raise AssertionError(f"{command} in {folder}: exit code {done.returncode}\n{done.stdout}")
        return done.stdout

    def test_dev_starts_from_everywhere(self):
        (self.folder / "bin").mkdir()
        (self.folder / "bin/dev").symlink_to(self.link / "dev")
        for command in (self.clone / "dev", self.link / "dev", self.folder / "bin/dev"):
            self.assertIn("usage: ./dev", self.run_in("/", command, "--help"))

    def test_the_checks_of_the_tree_pass(self):
        for folder in (self.clone, self.link):
            for step in ("layers", "length"):
                self.run_in(folder, "./dev", "check-step", step)

    def test_the_pages_of_the_site_are_laid_out_with_each_header(self):
        for number, folder in enumerate((self.clone, self.link)):
            self.assertEqual(self.run_in(folder, "python3", "docs/site/stage.py", f"build/source {number}"), "")
            seen = self.run_in(folder, "docs/site/group_header.py", folder / "rl/fiber/rl/vec_env.hpp")
            self.assertIn("@addtogroup fiber_rl_vec_env\n", seen)

    # Of no test run, as only ./dev docs installs doxygen. It runs this by its name.
    def doxygen_sees_the_headers(self):
        self.run_in(self.clone, "mkdir", "-p", "build/docs/doxygen")
        self.run_in(self.clone, "doxygen", "docs/site/Doxyfile")
        names = {path.name for path in (self.clone / "build/docs/doxygen/xml").glob("*.xml")}
        self.assertIn("group__fiber__rl__vec__env.xml", names)
        self.assertIn("group__fiber__value.xml", names)

    def test_a_preset_is_configured_and_compiles(self):
        self.run_in(self.clone, "cmake", "--preset", "demo", "-DFIBER_UNITY=OFF", "--log-level=WARNING")
        self.run_in(self.link, "cmake", "--preset", "demo", "-DFIBER_UNITY=OFF", "--log-level=WARNING")
        self.run_in(self.clone, "ninja", "-C", "build/demo", "wire/CMakeFiles/fiber_wire.dir/frame.cpp.o")


if __name__ == "__main__":
    unittest.main()
