#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""deploy/image/make-image puts all a program needs to run into the image, and nothing that varies.

usage: make_image_test.py MAKE_IMAGE COMPILER
"""

import hashlib
import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import unittest

MAKE_IMAGE = COMPILER = ""

LIBRARY = """
#include <cstdlib>
extern "C" const char* greeting() { return std::getenv("GREETING") ? "hi" : "hello from a library"; }
"""
PROGRAM = """
#include <cstdio>
#include <iostream>
#include <netdb.h>
#include <pwd.h>
extern "C" const char* greeting();
int main() {
  passwd* root = getpwuid(0);
  std::FILE* note = std::fopen("/data/current/note", "r");
  char text[32] = {};
  std::cout << greeting() << ", user " << (root ? root->pw_name : "nobody")
            << ", note " << (note ? std::fgets(text, sizeof text, note) : "missing") << std::endl;
}
"""
# Its note is that of backends/http/curl.cpp.
OPENS = r"""
#include <dlfcn.h>
#include <cstdio>
asm(".pushsection .note.dlopen, \"a\", %%note\n.balign 4\n.long 2f - 1f\n.long 4f - 3f\n.long 0x407c0c0a\n"
    "1: .asciz \"FDO\"\n2: .balign 4\n3: .asciz \"[{\\\"soname\\\":[\\\"%s\\\"]}]\"\n4: .balign 4\n.popsection\n");
int main() {
  std::puts(dlopen("libcurl.so.4", RTLD_NOW) ? "opened" : dlerror());
}
"""


class MakeImage(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.root = folder.name
        cls.library = cls.compile(LIBRARY, "plugins/libgreeting.so", "-shared", "-fPIC")
        cls.program = cls.compile(PROGRAM, "program", "-Lplugins", "-lgreeting", "-Wl,-rpath,$ORIGIN/plugins")
        os.makedirs(f"{cls.root}/data/v2")
        os.symlink("v2", f"{cls.root}/data/current")
        with open(f"{cls.root}/data/v2/note", "w") as note:
            note.write("found")

    @classmethod
    def compile(cls, source, output, *flags):
        os.makedirs(os.path.dirname(f"{cls.root}/{output}"), exist_ok=True)
        subprocess.run([COMPILER, "-x", "c++", "-", "-x", "none", "-o", output, *flags],
                       input=source, text=True, cwd=cls.root, check=True)
        return f"{cls.root}/{output}"

    def make(self, *arguments):
        run = subprocess.run([MAKE_IMAGE, *arguments], capture_output=True)
        self.assertEqual(run.returncode, 0, run.stderr.decode())
        return run.stdout

    def refusal(self, *arguments):
        run = subprocess.run([MAKE_IMAGE, *arguments], capture_output=True, text=True)
        self.assertEqual(run.returncode, 1, run.stderr)
        self.assertNotIn("Traceback", run.stderr)
        return run.stderr

    def open(self, archive):
        """The image's name, its configuration and its layer, their digests checked."""
        with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
            read = lambda path: tar.extractfile(path).read()
            (manifest,) = json.loads(read("manifest.json"))
            config = read(manifest["Config"])
            layer = read(manifest["Layers"][0])
        self.assertEqual(manifest["Config"], hashlib.sha256(config).hexdigest() + ".json")
        config = json.loads(config)
        self.assertEqual(config["rootfs"]["diff_ids"], ["sha256:" + hashlib.sha256(layer).hexdigest()])
        return manifest["RepoTags"], config, layer

    def run_in_image(self, archive):
        """What the entrypoint prints where there is nothing but the image's files."""
        _, config, layer = self.open(archive)
        with tempfile.TemporaryDirectory() as root:
            with tarfile.open(fileobj=io.BytesIO(layer)) as tar:
                tar.extractall(root)
            into = ["chroot"] if os.geteuid() == 0 else ["unshare", "--map-root-user", "chroot"]
            run = subprocess.run([*into, root, *config["config"]["Entrypoint"]], capture_output=True, text=True)
        self.assertEqual(run.returncode, 0, run.stderr)
        return run.stdout

    def test_the_program_runs_with_nothing_but_what_is_in_the_image(self):
        archive = self.make("--file", f"{self.root}/data:/data", "-", "greet:1", self.program)
        names, config, _ = self.open(archive)
        self.assertEqual(names, ["greet:1"])
        self.assertEqual(config["config"]["Entrypoint"], ["/usr/local/bin/program"])
        self.assertEqual(self.run_in_image(archive), "hello from a library, user root, note found\n")

    def test_the_same_files_make_the_same_bytes(self):
        arguments = ["--file", f"{self.root}/data:/data", "-", "greet:1", self.program]
        first = self.make(*arguments)
        os.utime(self.program, (1, 1))
        os.utime(f"{self.root}/data/v2", (1, 1))
        self.assertEqual(first, self.make(*arguments))

    def test_an_archive_comes_into_being_as_a_whole(self):
        out = f"{self.root}/whole.tar"
        self.make(out, "greet:1", self.program)
        with open(out, "rb") as archive:
            self.assertEqual(archive.read(), self.make("-", "greet:1", self.program))
        self.assertEqual([name for name in os.listdir(self.root) if name.startswith("whole.tar.")], [])

    def test_no_path_runs_through_a_symlink_and_all_symlinks_lead_somewhere(self):
        _, _, layer = self.open(self.make("-", "greet:1", self.program, "/usr/local/bin/program", "--flag"))
        with tarfile.open(fileobj=io.BytesIO(layer)) as tar:
            entries = {entry.name: entry for entry in tar}
            parents = {name.rpartition("/")[0] for name in entries} - {""}
            self.assertEqual([name for name in parents if not entries[name].isdir()], [])
            with tempfile.TemporaryDirectory() as root:
                tar.extractall(root)
                for name, entry in entries.items():
                    if entry.issym() and not entry.linkname.startswith("/"):
                        self.assertTrue(os.path.exists(f"{root}/{name}"), name)

    def test_the_entrypoint_can_be_given(self):
        _, config, _ = self.open(self.make("-", "r.example:5000/team/greet:v1.2", self.program, "/bin/x", "--flag"))
        self.assertEqual(config["config"]["Entrypoint"], ["/bin/x", "--flag"])

    def test_the_user_is_not_root_unless_asked_for(self):
        _, config, layer = self.open(self.make("-", "greet:1", self.program))
        self.assertEqual(config["config"]["User"], "65532:65532")
        with tarfile.open(fileobj=io.BytesIO(layer)) as tar:
            for entry in tar:
                self.assertTrue(entry.issym() or entry.mode & 0o004, f"{entry.name} can't be read by others")
        for user in "root", "1000:100":
            _, config, _ = self.open(self.make("--user", user, "-", "greet:1", self.program))
            self.assertEqual(config["config"]["User"], user)
        self.assertIn("wanted is UID", self.refusal("--user", "me", "-", "greet:1", self.program))

    def test_a_library_that_the_program_says_it_opens_is_there_with_what_it_links(self):
        program = self.compile(OPENS % "libcurl.so.4", "opens")
        archive = self.make("-", "opens:1", program)
        self.assertEqual(self.run_in_image(archive), "opened\n")

    def test_a_library_to_open_that_this_machine_lacks_is_told(self):
        program = self.compile(OPENS % "libnowhere.so.9", "lacks")
        run = subprocess.run([MAKE_IMAGE, "-", "lacks:1", program], capture_output=True)
        self.assertEqual(run.returncode, 0)
        self.assertIn(b"libnowhere.so.9 is not on this machine", run.stderr)

    def test_a_static_program_needs_no_library(self):
        program = self.compile("int main() {}", "static", "-static")
        _, _, layer = self.open(self.make("-", "static:1", program))
        with tarfile.open(fileobj=io.BytesIO(layer)) as tar:
            self.assertEqual([name for name in tar.getnames() if "lib" in name], [])

    def test_what_a_plugin_links_comes_along(self):
        program = self.compile("int main() {}", "static", "-static")
        _, _, layer = self.open(self.make("--file", f"{self.library}:/plugins/", "-", "static:1", program))
        with tarfile.open(fileobj=io.BytesIO(layer)) as tar:
            names = tar.getnames()
        self.assertIn("plugins/libgreeting.so", names)
        self.assertTrue([name for name in names if name.endswith("/libc.so.6")], names)

    def test_mistakes_are_told(self):
        self.assertIn("is no image name", self.refusal("-", "Greet", self.program))
        self.assertIn("No such file", self.refusal("-", "greet:1", f"{self.root}/absent"))
        self.assertIn("no ELF program", self.refusal("-", "greet:1", f"{self.root}/data/v2/note"))
        self.assertIn("must begin with /", self.refusal("--file", "a:b", "-", "greet:1", self.program))
        moved = self.compile(PROGRAM, "elsewhere/program", "-Lplugins", "-lgreeting")
        self.assertIn("not found: libgreeting.so", self.refusal("-", "greet:1", moved))


if __name__ == "__main__":
    COMPILER, MAKE_IMAGE = sys.argv.pop(), os.path.abspath(sys.argv.pop())
    unittest.main(verbosity=2)
