#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The promise: somebody who trains with PPO sees its curves grow, and sees that it goes on after the loss of a job.
The pictures stay in a folder, to be looked at.

usage: ppo_page_test.py PPO FOLDER
"""
import csv
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import unittest
import urllib.request

sys.dont_write_bytecode = True  # The source tree stays as it is.
from screen import DEADLINE, ScreenTest, browser  # noqa: E402

SERIES = {"return": "return", "policy loss": "loss/policy", "value loss": "loss/value"}  # And their columns in curve.csv.
ppo = pictures = None


def chart(series):
    return f"[data-series='{series}'] canvas"


class PpoPageTest(ScreenTest):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.addCleanup(scratch.cleanup)
        self.folder = scratch.name
        self.browser = browser()
        self.addCleanup(self.browser.quit)

    def train(self):
        """Starts a training that goes on until it is interrupted, or for some minutes. Returns where its page is."""
        said = os.path.join(self.folder, "said")
        environment = {k: v for k, v in os.environ.items() if not k.startswith("FIBER_")}
        environment |= {"FIBER_DASHBOARD": "127.0.0.1:0", "FIBER_DASHBOARD_TOKEN": "none", "FIBER_NAME": "ppo", "XDG_RUNTIME_DIR": self.folder}
        with open(said, "wb") as file:
            self.training = subprocess.Popen(
                [ppo, "--env", "cartpole", "--jobs", "2", "--seed", "1", "--steps", "2000000", "--out", os.path.join(self.folder, "out")],
                cwd=self.folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=file)
        self.addCleanup(self.kill)
        return self.await_that(lambda: self.url_in(said))

    def url_in(self, said):
        with open(said, encoding="utf-8") as file:
            text = file.read()
        self.assertIsNone(self.training.poll(), text)
        found = re.search(r"dashboard at (http://\S+/)\s", text)
        return found and found.group(1)

    def kill(self):
        self.training.kill()
        self.training.wait()

    def shown(self, series):
        """Returns the last value of a series and how many there are, as the page says."""
        text = self.browser.execute_script("return document.querySelector(\"[data-series='\" + arguments[0] + \"'] p\").textContent", series)
        last, values = re.match(r"last (\S+), ([\d,]+) values", text).groups()
        return float(last), int(values.replace(",", ""))

    def points(self, series):
        """Returns how many points the chart of a series was drawn with."""
        return self.browser.execute_script("return document.querySelector(arguments[0]).chart.lines[0].points.length", chart(series))

    def test_the_curves_grow_while_it_trains(self):
        self.browser.get(self.train())
        self.await_text("state", "live")
        for series in (*SERIES, "steps/s"):
            self.await_text("trainings", rf"(?m)^{series}\nlast -?\d\S*, \d+ values")
            values, points = self.shown(series)[1], self.points(series)
            self.await_that(lambda s=series, n=values, m=points: self.shown(s)[1] > n + 5 and self.points(s) > m + 5)
            self.await_that(lambda s=series: self.is_across(chart(s)))
        self.assertGreater(self.shown("steps/s")[0], 0)

        # The curve of the returns climbs, on the screen too.
        self.await_that(lambda: self.shown("return")[0] > 40)
        def climbs():
            curve = self.curve(chart("return"))
            return len(curve) > 1 and curve[-1][1] < curve[0][1] - 20
        self.await_that(climbs)

        self.kill_a_job()
        values = self.shown("return")[1]
        self.await_that(lambda: self.shown("return")[1] > values + 10)
        for scheme in ("light", "dark"):
            self.look(os.path.join(pictures, f"ppo-{scheme}.png"), 1280, 1700, scheme)

        # It ends, and the page keeps what it learned last.
        self.training.send_signal(signal.SIGINT)
        self.await_text("state", "ended")
        self.training.wait(DEADLINE)
        with open(os.path.join(self.folder, "out", "curve.csv"), encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        for series, column in SERIES.items():
            last, values = self.shown(series)
            self.assertEqual(values, len(rows), series)
            self.assertAlmostEqual(last, float(rows[-1][column]), delta=abs(last) * 0.001)
        self.assertIn("ppo - Fiber", self.browser.title)

    def is_across(self, css):
        """Returns whether the curve of a chart goes from its left side to its right one."""
        curve, width = self.curve(css), self.browser.execute_script("return document.querySelector(arguments[0]).width", css)
        return curve and curve[0][0] < width / 4 and curve[-1][0] > width * 0.9

    def kill_a_job(self):
        with urllib.request.urlopen(self.browser.current_url + "snapshot.json", timeout=DEADLINE) as reply:
            job = next(job for job in json.load(reply)["jobs"] if job["state"] == "up")
        os.kill(job["pid"], signal.SIGKILL)
        self.await_text("events", re.escape(job["job"]) + " was lost: .*SIGKILL")
        self.await_text("failures", r"1 ×\s*job: .*SIGKILL")
        self.await_text("supervisors", r"restarts 1")
        self.await_text("workers", r"2 up, 0 starting, 0 draining; 1 was lost so far")


if __name__ == "__main__":
    ppo, pictures = map(os.path.abspath, (sys.argv.pop(1), sys.argv.pop(1)))
    os.makedirs(pictures, exist_ok=True)
    unittest.main()
