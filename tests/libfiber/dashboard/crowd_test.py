#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The promise: the page shows 1,024 workers and a million tasks, in little memory, and viewers that stall disturb nobody.

usage: crowd_test.py CROWD
"""
import os
import sys
import tempfile
import unittest

from selenium.webdriver.common.by import By

sys.dont_write_bytecode = True  # The source tree stays as it is.
from screen import Program, ScreenTest, browser  # noqa: E402
from viewers import Viewer, renderer_bytes  # noqa: E402

WORKERS, TASKS = 1024, 1_000_000
MOST_BYTES = 200_000_000  # Of the browser's process that has the page.
crowd_program = None


class CrowdTest(ScreenTest):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.browser = browser()
        self.addCleanup(self.browser.quit)
        self.program = Program([crowd_program, str(WORKERS), str(TASKS)], scratch.name)
        self.addCleanup(self.program.end)

    def test_is_shown_in_little_memory(self):
        self.browser.get(self.program.url)
        self.await_text("workers", r"1,024 up, .* 1,024 of 1,024 are shown")
        self.program.do("tasks")
        self.await_text("pools", r"1,000,000 of 1,000,000 \(100 %\)")
        self.await_text("tasks", r"[\d,]{6,} tasks are left out")

        # The rows of workers are made where they are scrolled to.
        rows = "#workers tbody tr"
        self.assertLess(len(self.browser.find_elements(By.CSS_SELECTOR, rows)), 100)
        self.assertNotIn("pool1.w1023-1024", self.text("workers"))
        self.browser.execute_script("document.querySelector('#workers .body').scrollTop = 1e6")
        self.await_text("workers", r"pool1\.w1023-1024 ")
        self.assertLess(len(self.browser.find_elements(By.CSS_SELECTOR, rows)), 100)
        self.browser.find_element(By.ID, "filter").send_keys("w77-")
        self.await_text("workers", r"1 of 1,024 are shown[\s\S]*pool1\.w77-78 ")

        # The lanes below are drawn when they are scrolled to, on a canvas that is not larger than what is in view.
        self.await_that(lambda: self.browser.execute_script("return stream.lanes.length") == WORKERS)
        self.browser.execute_script("stream.seconds = 60; stream.act('follow')")  # It stands still.
        lowest = ("const y = stream.visible - stream.foot - 2, lane = Math.floor((y - stream.head + stream.top) / stream.high);"
                  "return stream.lanes[lane] && stream.lanes[lane].name")
        self.assertNotEqual(self.browser.execute_script(lowest), "pool1.w1023")
        self.browser.execute_script("document.getElementById('stream-box').scrollTop = 1e6")
        self.await_that(lambda: self.browser.execute_script(lowest) == "pool1.w1023")
        self.assertGreater(self.painted("#stream"), 10_000)
        self.assertLess(self.browser.find_element(By.ID, "stream").size["height"], 600)
        self.browser.find_element(By.ID, "stream").send_keys("n")  # The lane of the next failure comes into view.
        self.await_text("stream-task", r"1 failed after")
        chosen = "const at = stream.lanes.findIndex((lane) => lane.name === laneOf(stream.chosen)) * stream.high;" \
                 "return at >= stream.top && at + stream.high <= stream.top + stream.visible - stream.head - stream.foot"
        self.await_that(lambda: self.browser.execute_script(chosen))
        self.browser.execute_cdp_cmd("HeapProfiler.collectGarbage", {})
        self.assertLess(renderer_bytes(self.browser), MOST_BYTES)

    def test_is_shown_to_fifty_viewers_of_whom_some_stall(self):
        self.program.do("tasks")
        viewers = [Viewer(self.program.url) for _ in range(45)]
        stalled = [Viewer(self.program.url, stalls=True) for _ in range(5)]
        for viewer in viewers + stalled:
            self.addCleanup(viewer.close)
        self.browser.get(self.program.url)
        self.await_text("workers", r"1,024 up")
        self.program.do("lose")
        self.await_text("events", r"pool1\.w0-1 was lost: killed by SIGKILL")
        self.program.do("wait")
        self.await_text("workers", r"waiting process starting for [0-9:]+: Unschedulable: <b>0/3 nodes</b>")
        for viewer in stalled:
            self.await_that(viewer.is_dropped)
        for viewer in viewers:
            seen = viewer.pictures
            self.await_that(lambda viewer=viewer, seen=seen: viewer.pictures > seen)
            self.assertFalse(viewer.is_dropped())
        self.await_text("state", "live")


if __name__ == "__main__":
    crowd_program = os.path.abspath(sys.argv.pop(1))
    unittest.main()
