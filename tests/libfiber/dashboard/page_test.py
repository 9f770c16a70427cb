#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The promise: what happens to a session is on the screen, in a real browser, and nothing that a worker says is run.

usage: page_test.py DRIVER [--pictures FOLDER]
"""
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import unittest
import urllib.error
import urllib.parse
import urllib.request

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

DEADLINE = 60
driver_program = None
pictures = None


def browser():
    options = webdriver.ChromeOptions()
    for argument in ("--headless=new", "--window-size=1280,1000", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    if os.geteuid() == 0:
        options.add_argument("--no-sandbox")  # Chromium refuses to run as root with it.
    options.binary_location = "/usr/bin/chromium"
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(service=Service("/usr/bin/chromedriver"), options=options)


class Program:
    """A program with a page, in a folder of its own."""

    def __init__(self, folder, **settings):
        environment = {k: v for k, v in os.environ.items() if not k.startswith("FIBER_")}
        environment |= {"FIBER_DASHBOARD": "127.0.0.1:0", "FIBER_NAME": "shown", "XDG_RUNTIME_DIR": folder, **settings}
        self.process = subprocess.Popen([driver_program], cwd=folder, env=environment, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        line = self.process.stderr.readline()
        self.url = re.search(r"dashboard at (http://\S+)", line).group(1)
        self.await_word("ready")

    def await_word(self, word):
        for line in self.process.stdout:
            if line.strip() == word:
                return
        raise AssertionError(f"the program ended before it said {word}")

    def do(self, word):
        self.process.stdin.write(word + "\n")
        self.process.stdin.flush()
        self.await_word(word)

    def end(self, kill=False):
        if kill:
            self.process.kill()
        elif self.process.poll() is None:
            self.process.stdin.write("end\n")
            self.process.stdin.flush()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.stderr.close()


class PageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.folder = cls.scratch.name
        cls.browser = browser()

    @classmethod
    def tearDownClass(cls):
        cls.browser.quit()
        cls.scratch.cleanup()

    def text(self, section):
        return self.browser.find_element(By.ID, section).text

    def await_text(self, section, pattern):
        try:
            WebDriverWait(self.browser, DEADLINE, 0.1).until(lambda _: re.search(pattern, self.text(section)))
        except Exception as error:
            raise AssertionError(f"no {pattern!r} in {section}:\n{self.text(section)}") from error

    def painted(self, css):
        """Returns how many pixels of a canvas are not transparent."""
        return self.browser.execute_script(
            "const c = document.querySelector(arguments[0]);"
            "return c.getContext('2d').getImageData(0, 0, c.width, c.height).data.filter((x, i) => i % 4 == 3 && x).length", css)

    def colours(self, css):
        """Returns which of the colours of outcomes a canvas has."""
        return self.browser.execute_script("""
            const c = document.querySelector(arguments[0]), all = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
            const found = new Set();
            for (let i = 0; i < all.length; i += 4) if (all[i + 3] == 255) found.add(all[i] + ',' + all[i + 1] + ',' + all[i + 2]);
            const hex = (name) => colour(name).slice(1).match(/../g).map((x) => parseInt(x, 16)).join(',');
            return ['failed', 'lost'].filter((name) => found.has(hex(name)));""", css)

    def nothing_was_run(self):
        self.assertIn(self.browser.title, ("shown - Fiber",))
        self.assertEqual(self.browser.find_elements(By.CSS_SELECTOR, "main img, main b[onmouseover], main u, #output b, main script"), [])
        severe = [entry for entry in self.browser.get_log("browser") if entry["level"] == "SEVERE" and "ERR_" not in entry["message"]]
        self.assertEqual(severe, [])

    def picture(self, name):
        if pictures:
            self.browser.execute_script("scrollTo(0, 0)")
            self.browser.save_screenshot(os.path.join(pictures, name + ".png"))

    def test_what_happens_is_on_the_screen_until_the_driver_dies(self):
        program = Program(self.folder)
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

        program.do("tasks")
        self.await_text("stream-window", r"(?!0 tasks)\d+ tasks")
        WebDriverWait(self.browser, DEADLINE, 0.1).until(lambda _: {"failed", "lost"} <= set(self.colours("#stream")))
        self.browser.find_element(By.ID, "stream").send_keys("+")
        self.await_text("stream-window", "0:30 in view")
        self.browser.find_element(By.ID, "stream").send_keys("n")  # The next failure.
        self.await_text("tasks", r"failed after[\s\S]*pool1 task \d: [\s\S]*<script>document.title = 'hacked'</script>")
        def at_the_lost_one(_):
            self.browser.find_element(By.ID, "stream").send_keys("n")
            return "worker lost" in self.text("stream-task")
        WebDriverWait(self.browser, DEADLINE, 0.1).until(at_the_lost_one)
        self.await_text("stream-error", r"pool1\.w\d-\d+: .*SIGKILL")
        self.assertGreater(self.painted("#pools .chart canvas"), 200)
        self.picture("live")
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
            reply = json.load(urllib.request.urlopen(program.url + "output?job=" + lost))
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

    @staticmethod
    def client_that_reads_nothing(program):
        address = urllib.parse.urlsplit(program.url)
        client = socket.socket()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.connect((address.hostname, address.port))
        client.sendall(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        return client

    def test_a_session_that_ends_says_so(self):
        program = Program(self.folder)
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
        program = Program(self.folder, FIBER_REPORT=path)
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
    if "--pictures" in sys.argv:
        at = sys.argv.index("--pictures")
        pictures = sys.argv[at + 1]
        del sys.argv[at:at + 2]
    unittest.main()
