#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The promise: what happens to a session is on the screen, in a real browser, and nothing that a worker says is run.

usage: page_test.py DRIVER
"""
import json
import os
import re
import socket
import sys
import tempfile
import unittest
import urllib.error
import urllib.parse
import urllib.request

from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

sys.dont_write_bytecode = True  # The source tree stays as it is.
from screen import DEADLINE, Program, ScreenTest, browser  # noqa: E402

driver_program = None


class PageTest(ScreenTest):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.folder = cls.scratch.name
        cls.browser = browser()

    @classmethod
    def tearDownClass(cls):
        cls.browser.quit()
        cls.scratch.cleanup()

    def nothing_was_run(self):
        self.assertIn(self.browser.title, ("shown - Fiber",))
        self.assertEqual(self.browser.find_elements(By.CSS_SELECTOR, "main img, main b[onmouseover], main u, #output b, main script"), [])
        severe = [entry for entry in self.browser.get_log("browser") if entry["level"] == "SEVERE" and "ERR_" not in entry["message"]]
        self.assertEqual(severe, [])

    def test_what_happens_is_on_the_screen_until_the_driver_dies(self):
        program = Program(driver_program, self.folder)
        self.addCleanup(program.end, kill=True)
        self.browser.get(program.url)
        self.await_text("state", "live")
        self.await_text("pools", r"pool1[\s\S]*workers\s+2 of 2[\s\S]*done\s+4")
        self.assertIn("backend local", self.text("facts"))
        self.await_text("workers", r"pool1\.w0-\d+ pool up")
        self.await_text("workers", r"managers and objects 1")
        self.await_text("supervisors", re.escape("<i>counter</i>"))
        self.await_text("queues", r"queue#1 queue 1 10 1 0 0 1 \(driver\) 0")
        self.assertIn("no ring", self.text("rings"))
        self.assertIn("no manager", self.text("managers"))
        silent = [self.client_that_reads_nothing(program) for _ in range(3)]
        self.assertIn("Nothing has failed", self.text("failures"))
        self.assertIn("Nothing is published", self.text("trainings"))

        program.do("fail")
        self.await_text("failures", r"3 ×\s*task: [\s\S]*<script>document.title = 'hacked'</script>")
        self.browser.find_element(By.CSS_SELECTOR, "#failures summary").click()
        for task in range(3):
            self.await_text("failures", rf"pool1 task {task}\n")
        self.await_text("failures", r"\\x1b\[31m")
        self.assertIn("Failures by cause 3", self.browser.find_element(By.TAG_NAME, "nav").text)

        program.do("kill")
        self.await_text("pools", r"retries\s+1[\s\S]*workers lost\s+1")
        self.await_text("failures", r"1 ×\s*job: .*SIGKILL")
        self.await_text("events", r"was lost: .*SIGKILL")
        self.await_text("pools", r"workers\s+2 of 2")  # It was replaced.

        program.do("grow")
        self.await_text("pools", r"workers\s+4 of 4")
        self.await_text("workers", r"5 of 5 are shown")

        program.do("take")
        self.await_text("queues", r"queue#1 queue 0 10 1 0 0 1 \(driver\) 1 \(pool1\.w\d-\d+\)")
        program.do("manage")
        self.await_text("managers", r"<u>shelf</u> up 3 3 0 0 0 .*Counter 2.*std::vector<int.* 1")
        program.do("ring")
        self.await_text("rings", r"Ring-\d+ up 2 of 2 1 0 of 3 [1-9]")
        program.do("end-ring")
        self.await_text("rings", r"Ring-\d+ has ended 0 of 2 1 0 of 3 [1-9]")

        program.do("publish-in-a-task")
        self.await_text("trainings", r"of a task\s+last 7, 1 values")
        program.do("publish")
        self.await_text("trainings", r"return <u>[\s\S]*last 499.5, 1,000 values; thinned: each point is the mean of 2")
        self.assertGreater(self.painted("#trainings canvas"), 500)
        self.point_at_the_end_of_a_curve("[data-series^=return] canvas")

        program.do("tasks")
        self.await_text("stream-window", r"(?!0 tasks)\d+ tasks")
        WebDriverWait(self.browser, DEADLINE, 0.1).until(lambda _: {"failed", "lost"} <= set(self.colours("#stream")))
        self.browser.execute_script("stream.end = stream.now; stream.seconds = 60")
        self.browser.find_element(By.ID, "stream").send_keys("+")
        self.assertEqual(self.browser.execute_script("return stream.seconds"), 30)
        self.browser.find_element(By.ID, "stream").send_keys("f")  # On with the present.
        self.browser.find_element(By.ID, "stream").send_keys("n")  # The next failure.
        self.await_text("tasks", r"failed after[\s\S]*pool1 task \d: [\s\S]*<script>document.title = 'hacked'</script>")
        def at_the_lost_one(_):
            self.browser.find_element(By.ID, "stream").send_keys("n")
            return "worker lost" in self.text("stream-task")
        WebDriverWait(self.browser, DEADLINE, 0.1).until(at_the_lost_one)
        self.await_text("stream-error", r"pool1\.w\d-\d+: .*SIGKILL")
        self.assertGreater(self.painted("#pools .chart canvas"), 200)
        self.point_at_a_loss_in_the_line_of_events()
        for client in silent:
            client.close()

        # The output of a job, by keyboard: the filter, then the button of the first row.
        self.browser.find_element(By.TAG_NAME, "body").send_keys("/")
        self.browser.switch_to.active_element.send_keys("pool1.w1")
        self.await_text("workers", r"1 of 6 are shown")
        self.browser.find_element(By.CSS_SELECTOR, "#workers tbody button").send_keys(Keys.ENTER)
        self.await_text("output", r"Output of pool1\.w1-\d+\s[\s\S]*(<b onmouseover=alert\(1\)>printed</b>|It has printed nothing)")
        self.browser.find_element(By.TAG_NAME, "body").send_keys(Keys.ESCAPE)
        self.assertFalse(self.browser.find_element(By.ID, "output").is_displayed())
        # And of one that was killed.
        lost = re.search(r"(pool1\.w\d-\d+) was lost", self.text("events")).group(1)
        try:
            reply = json.load(urllib.request.urlopen(program.at("output?job=" + lost)))
        except urllib.error.HTTPError as error:  # It may have been killed before it printed.
            self.assertEqual(error.code, 404)
            reply = json.load(error)
        self.assertTrue(reply.get("ended") or "error" in reply, reply)
        self.nothing_was_run()

        program.end(kill=True)
        self.await_text("state", "lost")
        self.await_text("banner", "The driver does not answer.*This is the last picture")
        self.assertIn("4 of 4", self.text("pools"))
        self.assertIn("return <u>", self.text("trainings"))

    def point_at_the_end_of_a_curve(self, css):
        canvas = self.browser.find_element(By.CSS_SELECTOR, css)
        self.browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", canvas)
        before = self.painted(css)
        ActionChains(self.browser).move_to_element_with_offset(canvas, canvas.size["width"] // 2 - 8, 0).perform()
        self.await_that(lambda: self.painted(css) > before + 100)  # A line, and the value beside it.

    def point_at_a_loss_in_the_line_of_events(self):
        canvas = self.browser.find_element(By.ID, "stream")
        self.browser.execute_script("stream.choose(null); stream.seconds = 600; stream.draw(); arguments[0].scrollIntoView()", canvas)

        def told():  # The picture moves on, so it is pointed at anew until it is hit.
            x = self.browser.execute_script(
                "return stream.left + (stream.events.find((e) => e.what === 'lost').time - stream.t0) * stream.scale")
            size = canvas.size
            ActionChains(self.browser).move_to_element_with_offset(
                canvas, round(x - size["width"] / 2), round(8 - size["height"] / 2)).perform()
            return re.search(r"pool1\.w\d-\d+ was lost: .*SIGKILL", self.text("stream-task"))
        self.await_that(told)
        self.await_text("stream-error", "SIGKILL")

    @staticmethod
    def client_that_reads_nothing(program):
        address = urllib.parse.urlsplit(program.url)
        client = socket.socket()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.connect((address.hostname, address.port))
        client.sendall(f"GET /events?{address.query} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        return client

    def test_a_session_that_ends_says_so(self):
        program = Program(driver_program, self.folder)
        self.addCleanup(program.end, kill=True)
        self.browser.get(program.url)
        self.await_text("state", "live")
        self.await_text("pools", "pool1")
        program.end()
        self.await_text("state", "ended")
        self.await_text("banner", "The session ended at")
        self.await_text("pools", "pool1")

    def test_a_report_opens_without_a_server_after_the_death_of_its_driver(self):
        path = os.path.join(self.folder, "run.html")
        program = Program(driver_program, self.folder, FIBER_REPORT=path)
        self.addCleanup(program.end, kill=True)
        for word in ("fail", "kill", "publish", "tasks"):
            program.do(word)

        def written(_):
            with open(path, encoding="utf-8") as file:
                return "1000" in file.read() and self.is_in_report(path, "return <u>")
        WebDriverWait(None, DEADLINE, 0.2).until(written)
        program.end(kill=True)
        self.browser.get("file://" + path)
        self.await_text("state", "report")
        self.await_text("banner", "while the session ran. If it does not run any more, it was killed after that")
        self.await_text("pools", "pool1")
        self.await_text("failures", re.escape("<script>document.title = 'hacked'</script>"))
        self.await_text("trainings", "return <u>")
        self.assertGreater(self.painted("#stream"), 100)
        self.assertGreater(self.painted("#pools .chart canvas"), 200)
        self.browser.find_element(By.ID, "stream").send_keys("n")
        self.await_text("stream-error", r"pool1 task \d: [\s\S]*<script>document.title = 'hacked'</script>")
        self.nothing_was_run()

    @staticmethod
    def is_in_report(path, series):
        with open(path, encoding="utf-8") as file:
            data = re.search(r'id="report">(.*?)</script>', file.read(), re.DOTALL).group(1)
        return any(one["name"] == series for one in json.loads(data)["series"])


if __name__ == "__main__":
    driver_program = os.path.abspath(sys.argv.pop(1))
    unittest.main()
