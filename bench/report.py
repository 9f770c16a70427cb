# SPDX-License-Identifier: Apache-2.0
"""Tables and plots of what run.py measured."""

import shutil
import statistics
import subprocess

COLOURS = ("#2a6ebb", "#e08a3c", "#6a9f58", "#967bb6", "#b5aca4", "#c75d5d")


def number(value):
    """Three digits, in the largest unit a reader can grasp at once."""
    if value == 0:
        return "0"
    for scale, suffix in ((1e6, " M"), (1e4, " k")):
        if abs(value) >= scale:
            scale = 1e3 if suffix == " k" else scale
            return f"{value / scale:.3g}{suffix}" if abs(value / scale) < 1000 \
                else f"{value / scale:.0f}{suffix}"
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}" \
        if not 0.9 <= abs(value) < 10 else f"{value:.3f}"


def cell(values, unit):
    if not values:
        return "-"
    median = number(statistics.median(values))
    if len(values) == 1:
        return f"{median} {unit}"
    return f"{median} {unit} ({number(min(values))} .. {number(max(values))})"


def bound_of(goal, row, results):
    """The number a goal asks for, or None if what it refers to was not measured."""
    if not goal.other:
        return goal.factor
    if any(goal.other == label for label, _ in row.peers):
        other = results.median(row.name, goal.other)
    else:
        other = results.median(goal.other)
    return None if other is None else goal.factor * other + goal.offset


def described(goal, unit):
    text = goal.sign.replace("<=", "&le;").replace(">=", "&ge;") + " "
    if not goal.other:
        return text + f"{number(goal.factor)} {unit}"
    text += goal.other if goal.factor == 1 else f"{goal.factor:g} x {goal.other}"
    return text + (f" + {number(goal.offset)} {unit}" if goal.offset else "")


def verdict(goal, row, results):
    """(text, whether the goal is missed)"""
    ours = results.median(row.name)
    bound = bound_of(goal, row, results)
    if ours is None or bound is None:
        return f"{described(goal, row.unit)}: not measured", False
    met = ours <= bound if goal.sign == "<=" else ours >= bound
    ratio = ours / bound if bound else float("inf")
    word = "pass" if met else "**miss**"
    return f"{described(goal, row.unit)}: {word} ({ratio:.2f} of the bound)", not met


def markdown(tables, results, about):
    missed = 0
    lines = [f"Machine: {about['machine']}. Commit {about['commit']}, {about['date']}. "
             f"Median (least .. most) of {about['runs']} runs, alternating with the peers.", ""]
    if about["versions"]:
        lines += [f"Peers: {', '.join(about['versions'])}.", ""]
    for title, rows in tables.items():
        lines += [f"### {title}", "", "| | Fiber | peers | goal |", "|---|---|---|---|"]
        for row in rows:
            peers = "<br>".join(f"{label}: {cell(results.values.get((row.name, label)), row.unit)}"
                                for label, _ in row.peers) or "-"
            verdicts = [verdict(goal, row, results) for goal in row.goals]
            missed += sum(miss for _, miss in verdicts)
            goals = "<br>".join(text for text, _ in verdicts) or "-"
            ours = cell(results.values.get((row.name, "Fiber")), row.unit)
            lines.append(f"| {row.title} | {ours} | {peers} | {goals} |")
        lines.append("")
    if about["missing"]:
        lines += ["Missing:", ""]
        lines += [f"- {label}: {reason}" for label, reason in about["missing"].items()] + [""]
    if results.failures:
        lines += ["Not measured:", ""]
        lines += [f"- `{failure}`" for failure in results.failures] + [""]
    return "\n".join(lines), missed


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
        return COLOURS[0]
    others = [other for other in labels if other != "Fiber"]
    return COLOURS[1 + others.index(label) % (len(COLOURS) - 1)]


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
    script = f"""set terminal pngcairo size 1200,640 font 'DejaVu Sans,13' background '#ffffff'
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
"""
    if subprocess.run(["gnuplot"], input=script, text=True, check=False).returncode != 0:
        print(f"gnuplot could not draw {path}")


def plots(tables, results, out):
    """One plot for each unit of each table that has something to compare."""
    if not shutil.which("gnuplot"):
        print("no plots: gnuplot is not installed")
        return
    for title, rows in tables.items():
        for unit in dict.fromkeys(row.unit for row in rows):
            shown = [row for row in rows if row.unit == unit and row.peers
                     and any((row.name, label) in results.values for label, _ in row.peers)]
            if not shown:
                continue
            path = out / f"{shown[0].name.rsplit('_', 1)[0]}.png"
            plot(title, shown, results, path)
