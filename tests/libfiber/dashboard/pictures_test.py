#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The promise: the page of a training whose worker is killed can be read, light, dark and on a phone; and so can `fiber top`.
The pictures stay in a folder, to be looked at and for the docs.

usage: pictures_test.py ES_TRAIN FIBER FOLDER
"""
import fcntl
import html
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest
import urllib.request

sys.dont_write_bytecode = True  # The source tree stays as it is.
from screen import DEADLINE, ScreenTest, browser  # noqa: E402

es_train = fiber = pictures = None


class Terminal:
    """A program on a terminal of its own, and what it shows there."""
    ROWS, COLUMNS = 28, 100

    def __init__(self, command, environment):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execvpe(command[0], command, environment)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", self.ROWS, self.COLUMNS, 0, 0))
        self.raw = b""

    def await_picture(self, pattern):
        """Returns the first whole picture that the pattern is in."""
        limit = time.monotonic() + DEADLINE
        while time.monotonic() < limit:
            if not select.select([self.fd], [], [], 1)[0]:
                continue
            self.raw += os.read(self.fd, 65536)
            whole = re.findall(r"\x1b\[H((?:(?!\x1b\[H).)*?)\x1b\[J", self.raw.decode(errors="replace"), re.DOTALL)
            if whole and re.search(pattern, whole[-1]):
                return whole[-1]
        raise AssertionError(f"no {pattern!r} in {self.raw[-4000:]!r}")

    def close(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.fd)


def html_of(picture):
    """Returns what a terminal shows as a page."""
    styles = {"0": "</span>", "1": "<span class=bold>", "7": "<span class=marked>"}
    text = html.escape(re.sub(r"\x1b\[K|\r", "", picture))
    return ("<!DOCTYPE html><meta charset=utf-8><style>body { margin: 0; background: #14181b; color: #e4e9ec } pre { margin: 12px; "
            "display: inline-block; font: 14px/1.3 monospace } .bold { font-weight: bold } .marked { background: #e4e9ec; color: #14181b }"
            "</style><pre>" + re.sub(r"\x1b\[(\d)m", lambda style: styles[style[1]], text) + "</pre>")


class PicturesTest(ScreenTest):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.addCleanup(scratch.cleanup)
        self.browser = browser()
        self.addCleanup(self.browser.quit)
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith("FIBER_")}
        self.environment |= {"FIBER_DASHBOARD": "127.0.0.1:0", "FIBER_DASHBOARD_TOKEN": "none", "FIBER_NAME": "train", "XDG_RUNTIME_DIR": scratch.name, "TERM": "xterm"}
        self.training = subprocess.Popen(
            [es_train, "--env", "pendulum", "--workers", "4", "--iterations", "1000000", "--out", os.path.join(scratch.name, "out")],
            cwd=scratch.name, env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.end)
        self.url = re.search(r"dashboard at (http://\S+)", self.training.stderr.readline()).group(1)

    def end(self):
        self.training.kill()
        self.training.wait()
        self.training.stderr.close()

    def kill_a_worker(self):
        with urllib.request.urlopen(self.url + "snapshot.json") as reply:
            job = next(job for job in json.load(reply)["jobs"] if job["state"] == "up")
        os.kill(job["pid"], signal.SIGKILL)
        self.await_text("events", re.escape(job["job"]) + " was lost")
        self.await_text("pools", "workers\n4 of 4")

    def test_a_training_whose_worker_is_killed(self):
        self.browser.get(self.url)
        self.await_text("state", "live")
        self.await_text("trainings", r"return[\s\S]*last -?\d")
        self.kill_a_worker()
        self.await_text("trainings", r"\b([2-9]\d|\d\d\d) values")
        self.await_that(lambda: self.painted("#stream") > 200)
        for name, width, height, scheme in (("light", 1280, 1000, "light"), ("dark", 1280, 1000, "dark"), ("phone", 390, 1800, "light")):
            self.look(os.path.join(pictures, f"page-{name}.png"), width, height, scheme)

    def test_top(self):
        self.browser.get(self.url)  # So that a worker can be killed once the pool is up.
        self.await_text("pools", "workers\n4 of 4")
        self.kill_a_worker()
        terminal = Terminal([fiber, "top", "train"], self.environment)
        self.addCleanup(terminal.close)
        picture = terminal.await_picture(r"LAST FAILURES[\s\S]*SIGKILL")
        for what in ("train", "POOLS?", r"pool1 +4/4", r"pool1\.w0-\d+ +pool +up"):
            self.assertRegex(picture, what)
        page = os.path.join(pictures, "top.html")
        with open(page, "w", encoding="utf-8") as file:
            file.write(html_of(picture))
        self.browser.get("file://" + page)
        size = self.browser.execute_script("const box = document.querySelector('pre').getBoundingClientRect(); return [box.right, box.bottom]")
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": round(size[0]) + 12, "height": round(size[1]) + 12, "deviceScaleFactor": 1, "mobile": False})
        self.save(os.path.join(pictures, "top.png"), round(size[1]) + 12)
        os.remove(page)


if __name__ == "__main__":
    es_train, fiber, pictures = map(os.path.abspath, (sys.argv.pop(1), sys.argv.pop(1), sys.argv.pop(1)))
    os.makedirs(pictures, exist_ok=True)
    unittest.main()
