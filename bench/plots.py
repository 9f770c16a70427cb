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


def plot(title, rows, results, path):
    """Bars, a group a row; on a logarithmic axis, since peers lie far apart."""
    labels = labels_of(rows, results)
    lines = []
    for row in rows:
        cells = []
        for label in labels:
            values = results.values.get((row.name, label))
            cells += [f"{statistics.median(values):.9g} {min(values):.9g} {max(values):.9g}"
                      if values else "NaN NaN NaN"]
        lines.append(f'"{row.title}" ' + " ".join(cells))
    data = "\n".join(lines)
    series = ", ".join(
        f"$data using {3 * i + 2}:{3 * i + 3}:{3 * i + 4}:xtic(1) title '{label}' "
        f"linecolor '{colour_of(label, labels)}'" for i, label in enumerate(labels))
    run_gnuplot(f"""set terminal pngcairo size 1200,640 font 'DejaVu Sans,13' background '#ffffff'
set output '{path}'
set title '{title}' font ',17' noenhanced
set ylabel '{rows[0].unit}'
set style data histograms
set style histogram errorbars gap 1.5 linewidth 1.2
set style fill solid 0.9 border -1
set boxwidth 0.9
set logscale y
set format y '%.0s%c'
set border 3 linecolor '#555555'
set tics nomirror out noenhanced
set grid ytics linetype 1 linecolor '#e6e6e6'
set key outside bottom center horizontal noenhanced
$data << EOD
{data}
EOD
plot {series}
""", path)


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


def overhead_bars(tables, results, path):
    """For the README: overhead at 1 ms, sorted, with the value at each bar."""
    rows = {row.name: row for table in tables.values() for row in table}
    panels = []
    tallest = 0
    for name, title, unit in (
            ("overhead_batch_1ms", "5,000 sleeps of 1 ms, one map: time above the ideal 1 s", "ms"),
            ("overhead_lockstep_1ms", "rounds of 5 sleeps of 1 ms: time above 1 ms, a round", "us")):
        if name not in rows:
            return
        bars = [(above_ideal(rows[name], label, results), label)
                for label in labels_of([rows[name]], results)]
        bars = sorted((above, label) for above, label in bars if above > 0)
        if not bars:
            return
        panels.append((name, title, unit, bars))
        tallest = max(tallest, len(bars))
    script = []
    for side, (name, title, unit, bars) in enumerate(panels):
        # The fastest on top. The axis begins below it, so that its bar too has a length.
        rows_of_data = "\n".join(f'{len(bars) - i} {above:.6g} "{label}" "{digits(above)} {unit}" '
                                 f"{int(FIBER[1:], 16) if label == 'Fiber' else int('b9bec4', 16)}"
                                 for i, (above, label) in enumerate(bars))
        low = 10 ** math.floor(math.log10(bars[0][0] / 2))
        high = bars[-1][0] * (bars[-1][0] / low) ** 0.3  # Room for the value.
        left = 0.13 + side * 0.5
        script.append(f"""${name} << EOD
{rows_of_data}
EOD
set lmargin at screen {left}
set rmargin at screen {left + 0.36}
set title '{title}' font ',13' offset 0,-0.6 noenhanced
set xlabel '{unit}, logarithmic axis'
set xrange [{low}:{high:.6g}]
plot ${name} using ({low}):1:({low}):2:($1-0.38):($1+0.38):5:ytic(3) \\
  with boxxyerror fillstyle solid noborder linecolor rgb variable notitle, \\
  ${name} using 2:1:4 with labels left offset 0.6,0 noenhanced notitle""")
    height = 105 + 30 * tallest
    run_gnuplot(f"""set terminal svg size 1040,{height} font 'sans-serif,12' background '#ffffff'
set output '{path}'
set multiplot
set tmargin at screen {1 - 42 / height:.4f}
set bmargin at screen {62 / height:.4f}
set logscale x
set format x '%.0s%c'
set yrange [0.4:{tallest + 0.6}]
set border 1 linecolor '#555555'
set xtics nomirror out
set ytics nomirror scale 0 noenhanced
set grid xtics linetype 1 linecolor '#e6e6e6'
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
            path = out / f"{shown[0].name.rsplit('_', 1)[0]}.png"
            plot(title, shown, results, path)
    overhead(tables, results, out / "overhead.png")
    overhead_bars(tables, results, out / "overhead_1ms.svg")
