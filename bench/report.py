# SPDX-License-Identifier: Apache-2.0
"""Tables of what run.py measured."""

import statistics


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
    goals = ["## Goals", ""]
    for title, rows in tables.items():
        lines += [f"### {title}", "", "| | Fiber | peers |", "|---|---|---|"]
        judged = []
        for row in rows:
            peers = "<br>".join(f"{label}: {cell(results.values.get((row.name, label)), row.unit)}"
                                for label, _ in row.peers) or "-"
            ours = cell(results.values.get((row.name, "Fiber")), row.unit)
            lines.append(f"| {row.title} | {ours} | {peers} |")
            verdicts = [verdict(goal, row, results) for goal in row.goals]
            missed += sum(miss for _, miss in verdicts)
            if verdicts:
                judged.append(f"| {row.title} | {ours} | {'<br>'.join(text for text, _ in verdicts)} |")
        lines.append("")
        if judged:
            goals += [f"### {title}", "", "| | Fiber | goal |", "|---|---|---|", *judged, ""]
    lines += goals if len(goals) > 2 else []
    if about["missing"]:
        lines += ["Missing:", ""]
        lines += [f"- {label}: {reason}" for label, reason in about["missing"].items()] + [""]
    if results.failures:
        lines += ["Not measured:", ""]
        lines += [f"- `{failure}`" for failure in results.failures] + [""]
    return "\n".join(lines), missed
