#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Measures what the live page costs the browser and the driver that serves it. Prints a table in Markdown.

usage: page.py BUILD [--seconds N]

BUILD is a folder of a build with tests. It needs chromium, chromium-driver and python3-selenium. docs/internals/performance-notes.md
has the results.
"""
import argparse
import os
import random
import statistics
import sys
import tempfile
import time

sys.dont_write_bytecode = True  # The source tree stays as it is.
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "libfiber", "dashboard"))
from screen import DEADLINE, Program, browser  # noqa: E402
from selenium.webdriver.support.ui import WebDriverWait  # noqa: E402
from viewers import Viewer, renderer_bytes  # noqa: E402

WORKERS, TASKS = 1024, 1_000_000
REPEAT = 5  # Of what takes no time.
EVENTS = 30
ROUNDS, MAPS = 7, 4  # Of tasks that are run with and without a page.

# Resolves to the frames in a second while the page, its task stream and its table of workers scroll, and to the longest time between two.
SCROLL = """
const done = arguments[arguments.length - 1], seconds = arguments[0], boxes = [document.getElementById('stream-box'), document.querySelector('#workers .body')];
const start = performance.now(), times = [];
const frame = (now) => {
  times.push(now);
  for (const box of boxes) box.scrollTop = (now - start) / 2 % Math.max(1, box.scrollHeight - box.clientHeight);
  scrollTo(0, (now - start) / 4 % Math.max(1, document.body.scrollHeight - innerHeight));
  if (now - start < 1000 * seconds) { requestAnimationFrame(frame); return; }
  const gaps = times.slice(1).map((time, i) => time - times[i]).sort((a, b) => a - b);
  done([1000 * gaps.length / (times[times.length - 1] - times[0]), gaps[Math.floor(0.95 * gaps.length)], gaps[gaps.length - 1]]);
};
requestAnimationFrame(frame);"""

# Notes when a text comes into a section.
WATCH = """
window.seenAt = null;
const [section, text] = arguments, node = document.getElementById(section);
new MutationObserver((all, self) => { if (node.textContent.includes(text)) { window.seenAt = Date.now(); self.disconnect(); } })
  .observe(node, { subtree: true, childList: true, characterData: true });"""


def row(what, value):
    print(f"| {what} | {value} |", flush=True)


def await_script(chrome, script):
    return WebDriverWait(chrome, DEADLINE, 0.05).until(lambda _: chrome.execute_script(script))


def cpu_seconds(pid):
    """Returns the processor time of a process, and that of its page's thread."""
    total = page = 0
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/schedstat", encoding="utf-8") as file:
            used = int(file.read().split()[0]) / 1e9
        with open(f"/proc/{pid}/task/{thread}/comm", encoding="utf-8") as file:
            name = file.read().strip()
        total += used
        page += used if name == "fiber-page" else 0
    return total, page


def cost(program, seconds, viewers=0, stalled=0):
    """Returns which part of a core a driver and its page use while viewers look, and the pictures that each gets in a second."""
    reading = [Viewer(program.url) for _ in range(viewers)]
    others = [Viewer(program.url, stalls=True) for _ in range(stalled)]
    time.sleep(2)  # The first, whole picture is another matter.
    pictures, before, begin = sum(viewer.pictures for viewer in reading), cpu_seconds(program.process.pid), time.monotonic()
    time.sleep(seconds)
    after, passed = cpu_seconds(program.process.pid), time.monotonic() - begin
    seen = sum(viewer.pictures for viewer in reading) - pictures
    for viewer in reading + others:
        viewer.close()
    total, page = ((b - a) / passed for a, b in zip(before, after))
    return f"{100 * total:.1f} %; {100 * page:.1f} %; {seen / passed / max(1, viewers):.1f}"


def measure_cost(program, seconds):
    for viewers, stalled in ((0, 0), (1, 0), (5, 0), (49, 1)):
        row(f"{viewers} viewers" + (f", {stalled} stalled" if stalled else "") +
            ": part of a core for the driver; of that for the page; pictures/s for each", cost(program, seconds, viewers, stalled))


def measure_run(build, folder):
    """Runs the same tasks in drivers with and without a page, in turn: 2 workers, tasks of 5 ms, each a message of its own."""
    driver = [os.path.join(build, "tests/libfiber/dashboard_page_driver")]
    cases = {"without the page": (0, 0), "with it, no viewer": (0, 0), "5 viewers": (5, 0), "49 viewers, 1 stalled": (49, 1)}
    programs, viewers, figures = {}, [], {what: [] for what in cases}
    for what, (reading, stalled) in cases.items():
        programs[what] = Program(driver, folder, **({"FIBER_DASHBOARD": ""} if what == "without the page" else {}))
        viewers += [Viewer(programs[what].url) for _ in range(reading)] + [Viewer(programs[what].url, stalls=True) for _ in range(stalled)]
    for _ in range(ROUNDS):
        for what, program in programs.items():
            before, begin = cpu_seconds(program.process.pid)[0], time.monotonic()
            for _ in range(MAPS):
                program.do("tasks")
            passed = time.monotonic() - begin
            figures[what].append((cpu_seconds(program.process.pid)[0] - before, passed))
    for what, pairs in figures.items():
        cpu, wall = zip(*pairs)
        row(f"{MAPS * 300:,} tasks of 5 ms, 2 workers, {what}: time; the driver's processor time (median of {ROUNDS}, from, to)",
            f"{statistics.median(wall):.2f} s ({min(wall):.2f}, {max(wall):.2f}); "
            f"{statistics.median(cpu):.3f} s ({min(cpu):.3f}, {max(cpu):.3f})")
    for viewer in viewers:
        viewer.close()
    for program in programs.values():
        program.end()


def measure_small_session(chrome, build, folder, seconds):
    program = Program([os.path.join(build, "tests/libfiber/dashboard_page_driver")], folder)
    paints, seen = [], []
    for i in range(REPEAT):
        chrome.get("about:blank")
        begin = time.time()
        chrome.get(program.url)
        await_script(chrome, "return document.getElementById('state').textContent === 'live'")
        paints.append(time.time() - begin)
        chrome.execute_script(WATCH, "trainings", f"{(i + 1) * 1000:,} values")
        begin = time.time()
        program.do("publish")
        seen.append(await_script(chrome, "return window.seenAt") / 1000 - begin)
    row(f"2 workers: until the page shows the session, {REPEAT} times", ", ".join(f"{1000 * x:.0f}" for x in paints) + " ms")
    row(f"2 workers: a published value until it is seen, {REPEAT} times", ", ".join(f"{1000 * x:.0f}" for x in seen) + " ms")
    chrome.get("about:blank")
    measure_cost(program, seconds)
    program.end()


def measure_scrolling(chrome, seconds):
    def used():
        metrics = chrome.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]
        return next(metric["value"] for metric in metrics if metric["name"] == "TaskDuration")
    before, begin = used(), time.monotonic()
    fps, p95, longest = chrome.execute_async_script(SCROLL, seconds)
    part = (used() - before) / (time.monotonic() - begin)
    row("page, stream and workers scroll: frames/s; 95 % of frames within; longest; part of a core for the page's thread",
        f"{fps:.0f}; {p95:.0f} ms; {longest:.0f} ms; {100 * part:.0f} %")


def measure_events(chrome, program):
    seen = []
    for i in range(EVENTS):
        time.sleep(random.random())  # A picture is made now and then: the time since the last one counts.
        chrome.execute_script(WATCH, "events", f"pool1.w{i}-{i + 1} was lost")
        begin = time.time()
        program.do("lose")
        seen.append(1000 * (await_script(chrome, "return window.seenAt") / 1000 - begin))
    seen.sort()
    row(f"from the loss of a worker until the page shows it, {EVENTS} times (median, 90 %, longest)",
        f"{statistics.median(seen):.0f}, {seen[EVENTS * 9 // 10 - 1]:.0f}, {seen[-1]:.0f} ms")


def measure_crowd(chrome, build, folder, seconds):
    program = Program([os.path.join(build, "tests/libfiber/dashboard_crowd"), str(WORKERS), str(TASKS)], folder)
    program.do("tasks")
    print(f"\n| {WORKERS:,} workers and {TASKS:,} tasks | |\n|---|---|")
    begin = time.time()
    chrome.get(program.url)
    await_script(chrome, "return document.getElementById('state').textContent === 'live'")
    row("until the page shows the session", f"{1000 * (time.time() - begin):.0f} ms")
    await_script(chrome, "return document.getElementById('pools').textContent.includes('(100 %)')")
    measure_scrolling(chrome, seconds)
    chrome.execute_cdp_cmd("HeapProfiler.collectGarbage", {})
    heap = chrome.execute_cdp_cmd("Runtime.getHeapUsage", {})["usedSize"]
    row("the browser's process of the page; its JavaScript heap", f"{renderer_bytes(chrome) / 1e6:.0f} MB; {heap / 1e6:.0f} MB")
    chrome.get("about:blank")
    measure_cost(program, seconds)
    chrome.get(program.url)
    await_script(chrome, "return document.getElementById('state').textContent === 'live'")
    measure_events(chrome, program)
    program.end()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    parser.add_argument("--seconds", type=float, default=20, help="of each measurement of processor time")
    options = parser.parse_args()
    build = os.path.abspath(options.build)
    for name in ("dashboard_page_driver", "dashboard_crowd"):
        if not os.access(os.path.join(build, "tests/libfiber", name), os.X_OK):
            sys.exit(f"page.py: there is no tests/libfiber/{name} in {build}; build it, with FIBER_BUILD_TESTS")
    chrome = browser()
    chrome.set_script_timeout(DEADLINE + options.seconds)
    chrome.execute_cdp_cmd("Performance.enable", {"timeDomain": "threadTicks"})  # Processor time.
    try:
        with tempfile.TemporaryDirectory() as folder:
            print("| A session | |\n|---|---|")
            measure_small_session(chrome, build, folder, options.seconds)
            measure_run(build, folder)
            measure_crowd(chrome, build, folder, options.seconds)
    finally:
        chrome.quit()


if __name__ == "__main__":
    main()
