# SPDX-License-Identifier: Apache-2.0
"""Plots of what run.py measured, drawn by gnuplot."""

import math
import shutil
import statistics
import subprocess

FIBER = "#2a6ebb"
# As many as a row has peers, neighbours well apart; Fiber's blue is not among them.
COLOURS = ("#555555", "#e08a3c", "#6a9f58", "#a7d08c", "#c75d5d", "#9bc4e2", "#967bb6", "#d9b43c",
           "#4aa3a2", "#d98cb3", "#8c6d4f", "#b5aca4")


def labels_of(rows, results):
    found = []
    for row in rows:
        for label in ("Fiber", *(label for label, _ in row.peers)):
            if label not in found and (row.name, label) in results.values:
                found.append(label)
    return found


def colour_of(label, labels):
    """Fiber's is the same in every plot."""
    if label == "Fiber":
        return FIBER
    others = [other for other in labels if other != "Fiber"]
    return COLOURS[others.index(label) % len(COLOURS)]


def run_gnuplot(script, path):
    if subprocess.run(["gnuplot"], input=script, text=True, check=False).returncode != 0:
        print(f"gnuplot could not draw {path}")


GREY = "#7d858c"
# Of a plot whose dots lie on horizontal lines, one a category, over a logarithmic axis.
DOTS = """set logscale x
set format x '%.0s%c'
set border 1 linecolor '#555555'
set xtics nomirror out
set ytics nomirror scale 0 noenhanced
set grid xtics linetype 1 linecolor '#e6e6e6'
set grid ytics linetype 1 linecolor '#e6e6e6'"""


def span_of(values):
    """Median, least and most, for gnuplot."""
    return f"{statistics.median(values):.9g} {min(values):.9g} {max(values):.9g}"


def axis_of(values, room):
    """A range of a logarithmic axis with all values inside, and `room` times its length behind the last."""
    low, high = min(values) / 1.25, max(values) * 1.25
    return f"[{low:.6g}:{high * (high / low) ** room:.6g}]"


def ranking(data, dots, unit):
    """Data block and plot of categories from best to worst, each a dot with its value. Dots: (label, values, text)."""
    lines = "\n".join(f'{len(dots) - i} {span_of(values)} "{label}" "{text}" '
                      f"{int((FIBER if label == 'Fiber' else GREY)[1:], 16)}"
                      for i, (label, values, text) in enumerate(dots))
    return f"""${data} << EOD
{lines}
EOD
set xlabel '{unit}, logarithmic axis' noenhanced
set xrange {axis_of([value for _, values, _ in dots for value in values], 0.3)}
plot ${data} using 2:1:3:4:7:ytic(5) with xerrorbars pointtype 7 pointsize 0.9 linewidth 1.5 linecolor rgb variable notitle, \\
  ${data} using 4:1:6 with labels left offset 0.9,0 noenhanced notitle
"""


def plot(title, rows, results, path):
    """Dots: a line for each row and a colour for each program, or for a single row a line for each program."""
    labels = labels_of(rows, results)
    unit = rows[0].unit
    if len(rows) == 1:
        measured = [(label, results.values[(rows[0].name, label)]) for label in labels]
        measured.sort(key=lambda each: statistics.median(each[1]), reverse=unit.endswith("/s"))
        dots = [(label, values, digits(statistics.median(values))) for label, values in measured]
        body, lines, margin = f"set yrange [0.4:{len(dots) + 0.6}]\n" + ranking("rows", dots, unit), len(dots), 60
    else:
        blocks, series, every = [], [], []
        for k, label in enumerate(labels):
            points = []
            for i, row in enumerate(rows):
                values = results.values.get((row.name, label))
                if values:
                    points.append(f"{len(rows) - i + 0.5 * ((len(labels) - 1) / 2 - k) / len(labels):.4g} {span_of(values)}")
                    every += values
            blocks.append(f"$data{k} << EOD\n" + "\n".join(points) + "\nEOD")
            series.append(f"$data{k} using 2:1:3:4 with xerrorbars pointtype 7 pointsize 0.9 linewidth 1.5 "
                          f"linecolor '{colour_of(label, labels)}' title '{label}'")
        tics = ", ".join(f"'{row.title}' {len(rows) - i}" for i, row in enumerate(rows))
        body = "\n".join(blocks) + f"""
set ytics ({tics})
set yrange [0.4:{len(rows) + 0.6}]
set xlabel '{unit}, logarithmic axis' noenhanced
set xrange {axis_of(every, 0)}
set key outside top center horizontal reverse Left noenhanced
plot {", ".join(series)}
"""
        lines, margin = 1.3 * len(rows), 110
    run_gnuplot(f"""set terminal svg size 860,{round(70 + margin + 30 * lines)} font 'sans-serif,13' background '#ffffff'
set output '{path}'
set title '{title}' font ',15' noenhanced
{DOTS}
{body}""", path)


def overhead(tables, results, path):
    """The figure of the Fiber paper: time above the ideal against the length of a task.

    Two panels, batch and lock step, with one line a peer and one legend for both.
    """
    rows = {kind: [row for table in tables.values() for row in table
                   if row.name.startswith(f"overhead_{kind}_")] for kind in ("batch", "lockstep")}
    labels = labels_of(rows["batch"] + rows["lockstep"], results)
    if not labels or not all(rows.values()):
        return
    lengths = [row.name.rsplit("_", 1)[1] for row in rows["batch"]]
    tics = ", ".join(f"'{length}' {i}" for i, length in enumerate(lengths))
    panels, blocks = [], []
    for side, (kind, title, unit) in enumerate((
            ("batch", "one map of all tasks", "ms above the ideal 1 s"),
            ("lockstep", "rounds of 5", "us above the ideal round"))):
        series = []
        for i, label in enumerate(labels):
            points = []
            for at, row in enumerate(rows[kind]):
                above = above_ideal(row, label, results)
                points.append(f"{at} {above:.6g}" if above and above > 0 else f"{at} NaN")
            blocks.append(f"${kind}{i} << EOD\n" + "\n".join(points) + "\nEOD")
            series.append(f"${kind}{i} using 1:2 with linespoints notitle pointtype {4 + i % 10} "
                          f"pointsize 1.1 linewidth {3.5 if label == 'Fiber' else 1.8} "
                          f"linecolor '{colour_of(label, labels)}'")
        series.append(series.pop(0))  # Fiber, if it was measured, is on top of what is equal.
        left = 0.07 + side * 0.5
        panels.append(f"""set lmargin at screen {left}
set rmargin at screen {left + 0.41}
set title '{title}' font ',15' noenhanced
set ylabel '{unit}' noenhanced
set xlabel 'length of a task'
plot {", ".join(series)}""")
    # One legend below both panels, from lines that are not within any range.
    legend = ", ".join(f"NaN with linespoints pointtype {4 + i % 10} pointsize 1.1 "
                       f"linewidth {3.5 if label == 'Fiber' else 1.8} "
                       f"linecolor '{colour_of(label, labels)}' title '{label}'"
                       for i, label in enumerate(labels))
    run_gnuplot("\n".join(blocks) + f"""
set terminal pngcairo size 1300,660 font 'DejaVu Sans,13' background '#ffffff'
set output '{path}'
set multiplot
set tmargin at screen 0.91
set bmargin at screen 0.29
set xrange [-0.3:{len(lengths) - 0.7}]
set xtics ({tics})
set logscale y
set format y '%.0s%c'
set border 3 linecolor '#555555'
set tics nomirror out noenhanced
set grid ytics linetype 1 linecolor '#e6e6e6'
{chr(10).join(panels)}
set lmargin at screen 0.07
set rmargin at screen 0.98
set tmargin at screen 0.18
set bmargin at screen 0.02
unset title
unset xlabel
unset ylabel
unset border
unset tics
unset grid
unset logscale y
set yrange [0:1]
set key at screen 0.5,0.17 center top horizontal reverse Left maxrows {math.ceil(len(labels) / 5)} noenhanced
plot {legend}
unset multiplot
""", path)


def above_ideal(row, label, results):
    """What the median is above the sleep alone; in ms for a batch, in us for a round."""
    values = results.values.get((row.name, label))
    if not values:
        return None
    length = row.name.rsplit("_", 1)[1]
    median = statistics.median(values)
    if row.name.startswith("overhead_batch_"):
        return (median - 1) * 1e3
    for unit, scale in (("ms", 1e3), ("us", 1), ("s", 1e6)):
        if length.endswith(unit):
            return median - int(length[:-len(unit)]) * scale
    raise ValueError(f"no length in {row.name}")


def digits(value):
    """Three significant ones, and thousands apart: 1,830."""
    rounded = float(f"{value:.3g}")
    return f"{rounded:,.0f}" if rounded >= 100 else f"{rounded:g}"


def overhead_dots(tables, results, path):
    """Overhead at 1 ms, sorted, with the value at each dot."""
    rows = {row.name: row for table in tables.values() for row in table}
    panels = []
    for name, title, unit in (
            ("overhead_batch_1ms", "5,000 sleeps of 1 ms, one map: time above the ideal 1 s", "ms"),
            ("overhead_lockstep_1ms", "rounds of 5 sleeps of 1 ms: time of a round above 1 ms", "us")):
        if name not in rows:
            return
        dots = [(above, label) for label in labels_of([rows[name]], results)
                if (above := above_ideal(rows[name], label, results)) > 0]
        if not dots:
            return
        panels.append((name, title, unit, sorted(dots)))
    tallest = max(len(dots) for _, _, _, dots in panels)
    script = []
    for side, (name, title, unit, dots) in enumerate(panels):
        left = 0.13 + side * 0.5
        script.append(f"""set lmargin at screen {left}
set rmargin at screen {left + 0.36}
set title '{title}' font ',13' offset 0,-0.6 noenhanced
""" + ranking(name, [(label, [above], f"{digits(above)} {unit}") for above, label in dots], unit))
    height = 105 + 30 * tallest
    run_gnuplot(f"""set terminal svg size 1040,{height} font 'sans-serif,12' background '#ffffff'
set output '{path}'
set multiplot
set tmargin at screen {1 - 42 / height:.4f}
set bmargin at screen {62 / height:.4f}
{DOTS}
set yrange [0.4:{tallest + 0.6}]
{chr(10).join(script)}
unset multiplot
""", path)


def draw(tables, results, out):
    """One plot for each unit of each table that has something to compare; the overhead as lines."""
    if not shutil.which("gnuplot"):
        print("no plots: gnuplot is not installed")
        return
    for title, rows in tables.items():
        for unit in dict.fromkeys(row.unit for row in rows):
            shown = [row for row in rows if row.unit == unit and row.peers
                     and not row.name.startswith("overhead_")
                     and any((row.name, label) in results.values for label, _ in row.peers)]
            if not shown:
                continue
            path = out / f"{shown[0].name.rsplit('_', 1)[0]}.svg"
            plot(title, shown, results, path)
    overhead(tables, results, out / "overhead.png")
    overhead_dots(tables, results, out / "overhead_1ms.svg")
