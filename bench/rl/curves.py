#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws trainings of several seeds: the mean of their returns, and a band of one deviation around it.

    bench/rl/curves.py --out ppo.svg 'Hopper-v4=out/hopper-*/curve.csv:2383' ...

Each argument is a panel: a title, the training curves of its seeds, and a published mean to draw as a line, if there
is one.
"""

import argparse
import csv
import glob
import re
import statistics
import subprocess
import sys
from pathlib import Path

POINTS = 60  # Along a curve.
STYLE = """set terminal svg size {width},{height} font 'sans,13' background '#ffffff'
set output '{out}'
set datafile missing ''
set border 3 linecolor '#555555'
set tics nomirror out
set format x '%.0s%c'
set grid ytics linetype 1 linecolor '#e6e6e6'
set key off
set multiplot layout {rows},2 margins 0.08,0.98,0.08,0.93 spacing 0.1,0.14
"""


def column(path, name):
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return [(float(row["step"]), float(row[name])) for row in rows if row[name]]


def at(curve, step):
    """The last value not after `step`."""
    before = [value for when, value in curve if when <= step]
    return before[-1] if before else curve[0][1]


def band(paths):
    """[(step, mean, mean - deviation, mean + deviation)]"""
    curves = [column(path, "return") for path in paths]
    first, last = max(curve[0][0] for curve in curves), min(curve[-1][0] for curve in curves)
    found = []
    for index in range(POINTS):
        step = first + (last - first) * index / (POINTS - 1)
        values = [at(curve, step) for curve in curves]
        mean, deviation = statistics.mean(values), statistics.pstdev(values)
        found.append((step, mean, mean - deviation, mean + deviation))
    return found


def panel(text):
    """(title, paths, published mean or None)"""
    match = re.fullmatch(r"(.+?)=(.+?)(?::(-?[0-9.]+))?", text)
    paths = sorted(glob.glob(match.group(2))) if match else []
    if not paths:
        sys.exit(f"curves: {text!r} is no panel TITLE=PATTERN[:MEAN], or no file matches")
    return match.group(1), paths, match.group(3)


def script(panels, out):
    rows = (len(panels) + 1) // 2
    text = STYLE.format(width=900, height=300 * rows, rows=rows, out=out)
    for index, (title, paths, published) in enumerate(panels):
        found = band(paths)
        lines = "\n".join(" ".join(f"{number:.6g}" for number in row) for row in found)
        text += f"$data{index} << EOD\n{lines}\nEOD\n"
        quoted = title.replace("'", "''")
        text += f"set title '{quoted}, {len(paths)} seeds' noenhanced\nset xtics {found[-1][0] / 4:.1g}\n"
        if published:
            text += (f"set arrow 1 from graph 0, first {published} to graph 1, first {published} nohead dashtype '-' "
                     "linecolor '#888888'\n")
        text += (f"plot $data{index} using 1:3:4 with filledcurves fillcolor '#2a6ebb' fillstyle transparent solid 0.2 "
                 f"noborder, $data{index} using 1:2 with lines linewidth 2.5 linecolor '#2a6ebb'\n"
                 "unset arrow 1\n")
    return text + "unset multiplot\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("panels", nargs="+", metavar="TITLE=PATTERN[:MEAN]")
    parser.add_argument("--out", type=Path, required=True, help="an SVG")
    options = parser.parse_args()
    drawn = subprocess.run(["gnuplot", "-d", "-"], input=script([panel(text) for text in options.panels], options.out), text=True,
                           check=False)
    return drawn.returncode


if __name__ == "__main__":
    sys.exit(main())
