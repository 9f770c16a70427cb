# SPDX-License-Identifier: Apache-2.0
"""The table and the plots of bench/paper/es, from the rows that it has measured."""

import csv

import plots  # Of ../plots.py.
from es_programs import FIBER, PEERS

PUBLISHED_ITERATIONS = 50
# Read from the chart in the documentation of Fiber for Python, +- 5 s. Its hardware is not stated.
PUBLISHED = {32: 1475, 64: 797, 128: 460, 256: 307, 512: 243, 1024: 243}
PUBLISHED_IPYPARALLEL = {32: 1520, 64: 906, 128: 762, 256: 896, 512: 1371}  # 1,024: not finished.

GOALS = {"plain": 1.05, "by-8": 1.05, "killed": 1.10}  # Times ideal().


def seconds(value):
    return f"{value:,.1f} s" if value < 100 else f"{value:,.0f} s"


def ideal(row):
    """The greedy list schedule of the same draws; if workers are killed, one whose workers die as often."""
    return row["with_deaths" if row["kind"] == "killed" else "greedy"]


def verdict(row):
    goal = GOALS[row["kind"]]
    ratio = row["es"] / ideal(row)
    return f"{ratio:.3f} x{'' if ratio <= goal else f', **missed** (goal {goal:.2f} x)'}"


OF = {"plain": "", "by-8": ", 8 to a job", "killed": ", 1 % killed an iteration"}  # By the kind of a row.


def name(row):
    return f"{row['workers']:,}{OF[row['kind']]}"


def published(row, figures):
    if row["kind"] != "plain":
        return ""
    return f"{figures[row['workers']]:,} s" if row["workers"] in figures else "-"


def table(rows):
    """One line for each run; `rows` are those of one setting."""
    lines = ["| workers | Fiber for C++ | greedy list schedule | ratio | driver's processor time, of one core | "
             "driver's memory after 1, 1/5 and all iterations | published: Fiber for Python | published: IPyParallel |",
             "|---|---|---|---|---|---|---|---|"]
    for row in sorted(rows, key=lambda row: (list(OF).index(row["kind"]), row["workers"])):
        memory = ", ".join(f"{row['es_memory_' + at]:.1f}" for at in ("begin", "fifth", "end"))
        lines.append(
            f"| {name(row)} | {seconds(row['es'])} | {seconds(ideal(row))} | {verdict(row)} | "
            f"{row['es_driver']:.1f} % | {memory} MB | {published(row, PUBLISHED)} | "
            f"{published(row, PUBLISHED_IPYPARALLEL)} |")
    return lines


def losses(rows):
    return [f"- {name(row)}: {row['es_killed']:.0f} workers killed, {row['es_lost']:.0f} lost, "
            f"{row['es_retries']:.0f} retries. The schedule in the table is one whose workers die as "
            f"often; without deaths it is {seconds(row['greedy'])}." for row in rows if row["kind"] == "killed"]


def policies(rows):
    """Whether all runs end with the same parameters: a sentence, and whether it is so."""
    by_policy = {}
    for row in rows:
        by_policy.setdefault(row["policy"], []).append(row["title"])
    if len(by_policy) == 1:
        return f"All {len(rows)} runs end with the same parameters, byte for byte ({next(iter(by_policy))}).", True
    found = "; ".join(f"{policy}: {', '.join(titles)}" for policy, titles in sorted(by_policy.items()))
    return f"**The runs end with different parameters**: {found}.", False


def peers_table(rows):
    """One line for each framework and number of workers."""
    lines = ["| workers | | seconds per iteration | greedy list schedule | ratio | driver, of one core | the framework's "
             "own processes | until all workers work | memory of all processes |",
             "|---|---|---|---|---|---|---|---|---|"]
    for row in rows:
        for label, run in row["runs"].items():
            servers = f"{run['es_servers']:.1f} %" if "es_servers" in run else "-"
            memory = f"{run['memory']:,.0f} MB" if run["memory"] else "-"
            lines.append(
                f"| {row['workers']:,} | {label} | {seconds(run['es'] / row['iterations'])} | "
                f"{seconds(row['greedy'] / row['iterations'])} | {run['es'] / row['greedy']:.3f} x | "
                f"{run['es_driver']:.1f} % | {servers} | {seconds(run['es_start'])} | {memory} |")
    return lines


def peers_policies(rows):
    """As policies(). NumPy draws other random numbers than Fiber for C++, so each are compared among themselves."""
    ours, theirs = [], []
    for row in rows:
        for label, run in row["runs"].items():
            (ours if label == FIBER else theirs).append(
                {"title": f"{label} with {row['workers']:,}", "policy": run["policy"]})
    said = [(name, *policies(runs)) for name, runs in ((FIBER, ours), ("Peers", theirs)) if len(runs) > 1]
    return [f"{name}: {sentence[0].lower()}{sentence[1:]}" if same else f"{name}: {sentence}"
            for name, sentence, same in said], all(same for _, _, same in said)


def peers(rows):
    """The part of the report on the peers, and whether their policies are the same."""
    rows = sorted(rows, key=lambda row: row["workers"])
    versions = sorted({run["version"] for row in rows for run in row["runs"].values() if "version" in run})
    lines = [f"Fiber and its peers, measured one after the other: {rows[0]['iterations']} iteration"
             f"{'s' if rows[0]['iterations'] > 1 else ''} of {rows[0]['population']:,} episodes, the same draws for all.", ""]
    if versions:
        lines += [f"Peers: {', '.join(versions)}.", ""]
    lines += [*peers_table(rows), ""]
    missing = [f"- {label} with {row['workers']:,} workers: {reason}"
               for row in rows for label, reason in row["missing"].items()]
    if missing:
        lines += ["Missing:", "", *missing, ""]
    sentences, same = peers_policies(rows)
    return lines + sentences, same


def throughput(samples, window=2.0):
    """Tasks a second at each sample, over the `window` seconds before it."""
    rates, begin = [], 0
    for at, (time, done) in enumerate(samples):
        while samples[begin][0] < time - window:
            begin += 1
        first_time, first_done = samples[begin]
        rates.append((done - first_done) / (time - first_time) if at > begin else 0.0)
    return rates


def read_samples(path):
    with open(path, encoding="utf-8", newline="") as lines:
        return [{key: float(value) for key, value in row.items()} for row in csv.DictReader(lines)]


def scaling_series(rows):
    """(title, gnuplot's style, points (workers, time / greedy list schedule)) of each line; `rows`: plain and peers."""
    rows = sorted(rows, key=lambda row: row["workers"])
    plain = [row for row in rows if row["kind"] == "plain"]
    beside = [row for row in rows if row["kind"] == "peers"]
    greedy = {row["workers"]: row["greedy"] / row["iterations"] for row in plain or beside}

    def measured(label):
        return [(row["workers"], row["runs"][label]["es"] / row["greedy"]) for row in beside if label in row["runs"]]

    ours = [(row["workers"], row["es"] / row["greedy"]) for row in plain]
    colours = dict(zip(PEERS, ("#9bc4e2", "#6a9f58", "#b6d7a8", "#e08a3c", "#967bb6")))
    # Fiber's line is below the others, and its points are larger: all that are near 1 can be seen.
    series = [(FIBER, f"linespoints pointtype 7 pointsize 1.5 linewidth 3 linecolor '{plots.FIBER}'", ours or measured(FIBER))]
    series += [
        (f"{label}, as published{note}",
         f"linespoints dashtype 3 pointtype {point} linewidth 1.4 linecolor '{colours[label]}'",
         [(workers, value / PUBLISHED_ITERATIONS / greedy[workers]) for workers, value in figures.items() if workers in greedy])
        for label, note, point, figures in (("IPyParallel", " (no 1,024)", 8, PUBLISHED_IPYPARALLEL),
                                            ("Fiber for Python", "", 4, PUBLISHED))]
    series += [(f"{label}, measured here", f"linespoints pointtype {point} pointsize 0.8 linewidth 1.6 linecolor '{colours[label]}'",
                measured(label)) for label, point in zip(PEERS, (11, 5, 15, 9, 13))]
    return [each for each in series if each[2]]


def plot_scaling(rows, path):
    """The time, as a multiple of the greedy list schedule, against workers. Both axes are logarithmic."""
    series = scaling_series(rows)
    data = "\n".join(f"$data{i} << EOD\n" + "\n".join(f"{workers} {value:.4f}" for workers, value in points) + "\nEOD"
                     for i, (_, _, points) in enumerate(series))
    lines = ", \\\n  ".join(f"$data{i} with {style} title '{title}'" for i, (title, style, _) in enumerate(series))
    plots.run_gnuplot(f"""set terminal svg size 1040,480 font 'sans-serif,13' background '#ffffff'
set output '{path}'
set title 'ES, iterations of 2,048 episodes (slept, not simulated): time / ideal time' font ',15' noenhanced
set logscale xy
set xrange [28:1170]
set yrange [0.9:12]
set xtics (32, 64, 128, 256, 512, '1,024' 1024)
set ytics (1, 1.2, 1.5, 2, 3, 5, 10)
set xlabel 'workers'
set ylabel 'time / greedy list schedule'
set border 3 linecolor '#555555'
set tics nomirror out
set grid ytics linetype 1 linecolor '#e6e6e6'
set arrow from graph 0, first 1 to graph 1, first 1 nohead dashtype 2 linewidth 1.6 linecolor '#555555'
set key outside right center vertical reverse Left samplen 3 spacing 1.3 noenhanced
{data}
plot {lines}
""", path)


def plot_resized(samples, path):
    """Workers, and episodes a second, over time."""
    rates = throughput([(each["seconds"], each["done"]) for each in samples])
    data = "\n".join(f"{each['seconds']:.2f} {each['workers']:.0f} {rate:.1f}"
                     for each, rate in zip(samples, rates))
    plots.run_gnuplot(f"""set terminal svg size 860,420 font 'sans-serif,13' background '#ffffff'
set output '{path}'
set title 'ES with 32, then 1,024, then 32 workers' font ',15' noenhanced
set xlabel 'seconds'
set ylabel 'workers up'
set y2label 'episodes a second'
set yrange [0:*]
set y2range [0:*]
set border 11 linecolor '#555555'
set tics nomirror out
set y2tics
set grid ytics linetype 1 linecolor '#e6e6e6'
set key outside bottom center horizontal noenhanced
$data << EOD
{data}
EOD
plot $data using 1:3 axes x1y2 with lines linewidth 1.4 linecolor '#e08a3c' title 'episodes a second, over 2 s', \\
  $data using 1:2 with steps linewidth 2.4 linecolor '{plots.FIBER}' title 'workers up'
""", path)
