# SPDX-License-Identifier: Apache-2.0
"""Programs with a page, and what a real browser shows of it."""
import base64
import os
import re
import subprocess
import unittest

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

DEADLINE = 60


def browser(width=1280, height=1000):
    options = webdriver.ChromeOptions()
    for argument in ("--headless=new", f"--window-size={width},{height}", "--disable-gpu", "--disable-dev-shm-usage",
                     "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update",
                     "--disable-sync"):
        options.add_argument(argument)
    if os.geteuid() == 0:
        options.add_argument("--no-sandbox")  # Chromium refuses to run as root with it.
    options.binary_location = "/usr/bin/chromium"
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(service=Service("/usr/bin/chromedriver"), options=options)


class Program:
    """A program with a page, in a folder of its own. It obeys words on its standard input."""

    def __init__(self, command, folder, **settings):
        environment = {k: v for k, v in os.environ.items() if not k.startswith("FIBER_")}
        environment |= {"FIBER_DASHBOARD": "127.0.0.1:0", "FIBER_NAME": "shown", "XDG_RUNTIME_DIR": folder, **settings}
        self.process = subprocess.Popen(command, cwd=folder, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
        self.url = None
        if environment["FIBER_DASHBOARD"]:
            self.url = re.search(r"dashboard at (http://\S+)", self.process.stderr.readline()).group(1)
        self.await_word("ready")

    def at(self, target):
        """The address of something besides the page, with the token."""
        page, query = self.url.split("?")
        return page + target + ("&" if "?" in target else "?") + query

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


class ScreenTest(unittest.TestCase):
    """A test that looks at self.browser."""

    def text(self, section):
        return self.browser.find_element(By.ID, section).text

    def await_text(self, section, pattern):
        try:
            WebDriverWait(self.browser, DEADLINE, 0.1).until(lambda _: re.search(pattern, self.text(section)))
        except Exception as error:
            raise AssertionError(f"no {pattern!r} in {section}:\n{self.text(section)}") from error

    def await_that(self, condition):
        """Waits until the condition is true, and returns what it returned then."""
        return WebDriverWait(self.browser, DEADLINE, 0.1).until(lambda _: condition())

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

    def curve(self, css):
        """Returns where the first curve of a chart is drawn: for each column of pixels that it has any in, x and the mean y."""
        return self.browser.execute_script("""
            const c = document.querySelector(arguments[0]), all = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
            const wanted = colour('c0').slice(1).match(/../g).map((x) => parseInt(x, 16)), columns = [];
            for (let x = 0; x < c.width; ++x) {
              let sum = 0, n = 0;
              for (let y = 0; y < c.height; ++y) {
                const at = 4 * (y * c.width + x);
                if (all[at + 3] > 64 && wanted.every((value, i) => Math.abs(value - all[at + i]) < 12)) { sum += y; ++n; }
              }
              if (n) columns.push([x, sum / n]);
            }
            return columns;""", css)

    def save(self, path, height):
        """Keeps a picture of the page."""
        picture = self.browser.execute_cdp_cmd("Page.captureScreenshot", {"clip": {
            "x": 0, "y": 0, "width": self.browser.execute_script("return document.documentElement.clientWidth"), "height": height, "scale": 1}})
        with open(path, "wb") as file:
            file.write(base64.b64decode(picture["data"]))

    def look(self, path, width, height, scheme):
        """Looks at the page in a window of this size, and keeps the picture."""
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 640})
        self.browser.execute_script("scrollTo(0, 0)")
        wide, room = self.browser.execute_script("return [document.documentElement.scrollWidth, innerWidth]")
        self.assertLessEqual(wide, room, "it must be scrolled sideways")
        back = self.browser.execute_script("return getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)")
        self.assertEqual("dark" if max(back) < 128 else "light", scheme)
        self.await_that(lambda: self.painted("#trainings canvas") > 200)
        self.save(path, height)
