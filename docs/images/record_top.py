#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records `fiber top` while a worker of a training is killed, as an animated SVG.

usage: record_top.py [BUILD [SVG]]    default: build/release docs/images/top.svg

BUILD needs programs/es_train and cli/fiber.
"""

import fcntl
import html
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
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROWS, COLUMNS = 17, 96
SECONDS, KILL_AT, HOLD = 8.5, 3.0, 2.5  # Recorded; when the kill is sent; how long the last frame stays.
CHAR, LINE, MARGIN, FONT = 8.4, 19, 16, 14  # In pixels.
PROMPT_ROWS = 2
# Of a program that draws a whole picture at a time, as `fiber top` does.
PICTURE = re.compile(r"\x1b\[H((?:(?!\x1b\[H).)*?)\x1b\[J", re.DOTALL)


class Training:
    """A training, of which the newest line of output names the workers' processes."""

    def __init__(self, build: Path, folder: str, environment: dict):
        self.output = Path(folder) / "output"
        self.process = subprocess.Popen(
            [build / "programs/es_train", "--env", "cartpole", "--workers", "4", "--directions", "16384", "--episodes", "16",
             "--out", f"{folder}/out"],
            cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=self.output.open("wb"), stderr=subprocess.STDOUT)

    def worker(self) -> int:
        """The process of the first worker, as soon as there is one."""
        for _ in range(600):
            pids = re.findall(rb"pids (\d+)", self.output.read_bytes())
            if pids:
                return int(pids[-1])
            if self.process.poll() is not None:
                sys.exit(f"record_top: es_train ended: {self.output.read_text()}")
            time.sleep(0.1)
        sys.exit("record_top: es_train names no worker within a minute")

    def end(self) -> None:
        self.process.kill()
        self.process.wait()


def record(build: Path) -> list[tuple[float, str, str]]:
    """What top shows, and what is typed, from which second on."""
    frames: list[tuple[float, str, str]] = []
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("FIBER_")}
        environment |= {"FIBER_NAME": "train", "XDG_RUNTIME_DIR": folder, "TERM": "xterm"}
        training = Training(build, folder, environment)
        try:
            victim = training.worker()
            top, terminal = pty.fork()
            if top == 0:
                os.execvpe(build / "cli/fiber", ["fiber", "top", "train"], environment)
            fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
            raw, typed, begin = "", "", None
            while begin is None or time.monotonic() < begin + SECONDS:
                now = time.monotonic() - begin if begin else 0.0
                if begin and now > KILL_AT and not typed:
                    typed = f"kill -9 {victim}"
                    frames.append((now, frames[-1][1], typed))
                    os.kill(victim, signal.SIGKILL)
                if not select.select([terminal], [], [], 0.05)[0]:
                    continue
                raw += os.read(terminal, 65536).decode(errors="replace")
                pictures = PICTURE.findall(raw)
                if pictures and "call" in pictures[-1] and (not frames or pictures[-1] != frames[-1][1]):
                    begin = begin or time.monotonic()
                    frames.append((time.monotonic() - begin, pictures[-1], typed))
            os.kill(top, signal.SIGKILL)
            os.waitpid(top, 0)
        finally:
            training.end()
    if "SIGKILL" not in frames[-1][1]:
        sys.exit("record_top: top does not show the kill: record again")
    return frames


def line_of(text: str, y: float, extra: str = "") -> str:
    """A line of a terminal as SVG: spans in bold or inverse, each as wide as its characters."""
    shapes, x, style = [], MARGIN, ""
    for piece in re.split(r"(\x1b\[[0-9]*m)", text):
        if piece.startswith("\x1b["):
            style = {"1": "b", "7": "i"}.get(piece[2:-1], "")
        elif piece:
            width = len(piece) * CHAR
            if style == "i":
                shapes.append(f'<rect x="{x:g}" y="{y - 14:g}" width="{width:g}" height="{LINE}" class="mark"/>')
            if piece.strip():
                kept = piece.rstrip(" ")
                shapes.append(f'<text x="{x:g}" y="{y:g}" textLength="{len(kept) * CHAR:g}"'
                              f'{f""" class="{style}" """.rstrip() if style else ""}{extra}>{html.escape(kept)}</text>')
            x += width
    return "".join(shapes)


def lines_of(picture: str) -> list[str]:
    """The lines of a picture, cut at the width of the terminal."""
    lines = re.sub(r"\x1b\[K|\r", "", picture).rstrip("\n").split("\n")[:ROWS]
    return [re.sub(r" +(\x1b\[0m)?$", r"\1", line) for line in lines]


def svg_of(frames: list[tuple[float, str, str]]) -> str:
    total = frames[-1][0] + HOLD
    width = COLUMNS * CHAR + 2 * MARGIN
    split = MARGIN + ROWS * LINE + 8
    height = split + PROMPT_ROWS * LINE + MARGIN
    groups, rules = [], []
    for i, (begin, picture, typed) in enumerate(frames):
        end = frames[i + 1][0] if i + 1 < len(frames) else total
        first, last = 100 * begin / total, 100 * end / total
        shown = [f"{first:.2f}%{{visibility:visible}}"]
        if i > 0:
            shown.insert(0, "0%{visibility:hidden}")
        if last < 100:
            shown.append(f"{last:.2f}%,100%{{visibility:hidden}}")
        rules.append(f"@keyframes f{i}{{{''.join(shown)}}} #f{i}{{animation:f{i} {total:.2f}s step-end infinite}}")
        body = "".join(line_of(line, MARGIN + 14 + row * LINE) for row, line in enumerate(lines_of(picture)))
        body += line_of(f"$ {typed}", split + LINE + 2)
        groups.append(f'<g id="f{i}"{"" if i + 1 == len(frames) else " visibility=" + chr(34) + "hidden" + chr(34)}>{body}</g>')
    rules = "\n".join(rules)
    groups = "\n".join(groups)
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}">
<title>fiber top: a worker of a running training is killed with kill -9, and another takes its place</title>
<style>
text{{font:{FONT}px ui-monospace,"DejaVu Sans Mono",Menlo,Consolas,monospace;fill:#e4e9ec;white-space:pre}}
.b{{font-weight:bold}} .i{{fill:#14181b}} .mark{{fill:#e4e9ec}}
@media (prefers-reduced-motion:reduce){{g{{animation:none!important}}}}
{rules}
</style>
<rect width="{width:g}" height="{height:g}" rx="8" fill="#14181b"/>
<path d="M0 {split - 2:g}H{width:g}" stroke="#3a4147"/>
{groups}
</svg>
"""


def main() -> None:
    build = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build/release").resolve()
    path = Path(sys.argv[2] if len(sys.argv) > 2 else ROOT / "docs/images/top.svg")
    frames = record(build)
    path.write_text(svg_of(frames), encoding="utf-8")
    print(f"{path}: {len(frames)} frames, {path.stat().st_size // 1000} kB")


if __name__ == "__main__":
    main()
