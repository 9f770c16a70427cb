#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""./dev installs what a verb needs and nothing else, says what it installs and that it asks for sudo, and refuses words
that it does not know before it does anything.

Its commands that reach beyond the tree are replaced by ones that note how they were called.
"""

import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NOBODY = 65534
INSTALLED = '#!/bin/sh\n[ -z "$ALL_INSTALLED" ] || printf installed\n'
NOTE = '#!/bin/sh\necho "$(basename "$0") $*" >>"$NOTES"\n'


class Dev(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.folder.chmod(0o777)
        for name in ("dev", "packages.txt", *(f"examples/{path.name}" for path in (ROOT / "examples").glob("*.cpp"))):
            (self.folder / name).parent.mkdir(exist_ok=True)
            shutil.copy(ROOT / name, self.folder / name)
        (self.folder / "bin").mkdir()
        for name, text in (("apt-get", NOTE), ("cmake", NOTE), ("ln", NOTE), ("dpkg-query", INSTALLED), ("sudo", NOTE + 'exec "$@"\n')):
            (self.folder / "bin" / name).write_text(text, encoding="utf-8")
            (self.folder / "bin" / name).chmod(0o755)

    def ran(self, *command, as_user=(), **variables):
        notes = self.folder / "notes"
        notes.unlink(missing_ok=True)
        environment = {**os.environ, "NOTES": str(notes), "PATH": f"{self.folder}/bin:{os.environ['PATH']}",
                       **variables}
        done = subprocess.run([*as_user, "./dev", *command], cwd=self.folder, env=environment, check=False,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True)
        return done, notes.read_text(encoding="utf-8") if notes.exists() else ""

    def packages(self, *command):
        _, notes = self.ran(*command)
        return set(re.search(r"(?m)^apt-get .* install (.*)$", notes).group(1).split())

    def test_the_first_program_needs_neither_the_tests_nor_other_backends(self):
        needed = self.packages("run", "pi")
        self.assertLessEqual(needed, self.packages("demo"))
        self.assertLessEqual(needed, self.packages("build", "release"))
        self.assertFalse(needed & {"chromium", "fish", "zsh", "gnuplot-nox", "libcurl4-openssl-dev", "libeigen3-dev",
                                   "libgtest-dev", "libpython3-dev"})
        self.assertEqual(self.packages("run", "ring") - needed, {"libgloo-dev"})

    def test_a_build_of_the_product_installs_and_builds_no_tests(self):
        self.assertFalse(self.packages("build", "release") & {"chromium", "fish", "zsh", "libgtest-dev"})
        self.assertLessEqual({"chromium", "fish", "zsh", "libgtest-dev"}, self.packages("build", "dev", "--tests"))
        _, notes = self.ran("build", "release", "pi", ALL_INSTALLED="1")
        self.assertIn("cmake --preset release -DFIBER_BUILD_TESTS=OFF", notes)
        self.assertRegex(notes, r"cmake --build --preset release -j \d+ --target pi\n")
        self.assertIn("-DFIBER_BUILD_TESTS=ON", self.ran("build", "--tests", ALL_INSTALLED="1")[1])

    def test_a_training_installs_what_its_arguments_need(self):
        torch, gym = {"libtorch-dev"}, {"libpython3-dev", "pybind11-dev"}
        for what in ("es", "ars"):
            self.assertFalse(self.packages("train", what) & (torch | gym))
        self.assertFalse(self.packages("train", "ppo", "--env", "cartpole") & torch)
        self.assertFalse(self.packages("train", "pbt", "--trainer=ppo", "--problem", "acrobot") & torch)
        for words in (("ppo", "--env", "breakout"), ("ppo", "--env=ALE/Pong-v5", "--seed", "2"),
                      ("pbt", "--problem", "breakout", "--trainer", "ppo")):
            self.assertLessEqual(torch, self.packages("train", *words), words)
        for words in (("es", "--env", "ALE/Breakout-v5"), ("ars", "--env", "Hopper-v5"), ("deep_ga", "--env=CartPole-v1"),
                      ("pbt", "--problem", "CartPole-v1")):
            self.assertLessEqual(gym, self.packages("train", *words), words)
        for words in (("es", "--out", "x-v2"), ("es", "--env", "cartpole", "--out", "runs/try-v2"), ("es", "--env=cartpole", "x-v2")):
            self.assertFalse(self.packages("train", *words) & gym, words)

    def test_it_says_what_it_installs_and_that_it_asks_for_sudo(self):
        done, notes = self.ran("run", "pi")
        self.assertRegex(done.stdout, r"== installing.*: .*libcaf-dev")
        self.assertEqual("sudo" in notes, os.geteuid() != 0)
        user = () if os.geteuid() else ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")
        done, notes = self.ran("run", "pi", as_user=user)
        self.assertRegex(done.stdout, r"== installing with sudo, which may ask for your password: .*libcaf-dev")
        self.assertIn("sudo apt-get ", notes)
        self.assertNotIn("installing", self.ran("run", "pi", ALL_INSTALLED="1")[0].stdout)

    def test_a_machine_without_an_sshd_gets_none_that_listens(self):
        mask = "ln -sT /dev/null /etc/systemd/system/ssh.service"
        _, notes = self.ran("install-deps", "ssh")
        self.assertRegex(notes, rf"(?s){mask}\n.*apt-get .* install .*openssh-server")
        self.assertNotIn(mask, self.ran("install-deps", "slurm")[1])
        self.assertNotIn(mask, self.ran("install-deps", "ssh", ALL_INSTALLED="1")[1])

    def test_words_that_it_does_not_know_are_refused_before_anything_is_installed(self):
        for command, error in ((("run", "pie"), "dev: run: no program 'pie'; there are: early_stop hello "),
                               (("run",), "dev: run: no program ''; there are: early_stop hello "),
                               (("build", "realease"), "dev: build: no preset 'realease'; there are: dev release "),
                               (("build", "--test"), "dev: build: unknown option '--test'"),
                               (("train", "pp"), "dev: train: ppo, es, "),
                               (("test", "--santize"), "dev: test: unknown option in: --santize"),
                               (("check", "fromat"), "dev: check: no step 'fromat'; there are: format "),
                               (("check", "format:base"), "dev: check: 'format' takes no folders, in 'format:base'"),
                               (("check", "tidy:"), "dev: name folders, with commas between them, not ''"),
                               (("check", "tidy:examples/"), "dev: no folder examples/"),
                               (("check", "clang:bsae,wire"), "dev: no folder bsae"),
                               (("check", "thread:wire"), "dev: no folder tests/wire"),
                               (("test", "--folders", ","), "dev: no folder tests/"),
                               (("test", "--folders", "wrie"), "dev: no folder tests/wrie"),
                               (("install-deps", "torhc"), "dev: install-deps: no group 'torhc' in packages.txt"),
                               (("buidl",), "dev: no verb 'buidl'")):
            done, notes = self.ran(*command)
            self.assertEqual(done.returncode, 1, command)
            self.assertIn(error, done.stderr)
            self.assertEqual(notes, "", command)

    def test_its_presets_are_those_of_cmake(self):
        presets = [preset["name"] for preset in json.loads((ROOT / "CMakePresets.json").read_text("utf-8"))
                   ["configurePresets"] if not preset.get("hidden")]
        named = re.search(r"(?m)^presets=\((.*)\)$", (ROOT / "dev").read_text(encoding="utf-8")).group(1).split()
        self.assertEqual(sorted(named + ["package"]), sorted(presets))

    def test_each_group_that_it_installs_has_packages(self):
        lines = [line.split() for line in (ROOT / "packages.txt").read_text(encoding="utf-8").splitlines()
                 if line and not line.startswith("#")]
        groups = {group for group, _ in lines}
        self.assertEqual([line for line in lines if len(line) != 2], [])
        self.assertLessEqual({package[1:] for _, package in lines if package.startswith("@")}, groups)
        for words in re.findall(r"(?:install_deps|groups\+?=\()([ a-z_]+)", (ROOT / "dev").read_text(encoding="utf-8")):
            self.assertLessEqual(set(words.split()), groups)


if __name__ == "__main__":
    unittest.main()
