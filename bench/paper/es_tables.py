# SPDX-License-Identifier: Apache-2.0
"""The table and the plots of bench/paper/es, from the rows that it has measured."""

import csv

import plots  # Of ../plots.py.

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
    lines = ["| workers | Fiber for C++ | greedy list schedule | ratio | driver, of one core | its memory after"
             " iteration 1, a fifth, all | published: Fiber for Python | published: IPyParallel |",
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
            f"{row['es_retries']:.0f} tasks run again. The schedule in the table is one whose workers die as "
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


def plot_scaling(rows, path):
    """Seconds against workers, both axes logarithmic."""
    plain = sorted((row for row in rows if row["kind"] == "plain"), key=lambda row: row["workers"])
    blocks = {
        "ours": [f"{row['workers']} {row['es']:.3f}" for row in plain],
        "greedy": [f"{row['workers']} {row['greedy']:.3f}" for row in plain],
        "published": [f"{workers} {value}" for workers, value in PUBLISHED.items()],
        "ipyparallel": [f"{workers} {value}" for workers, value in PUBLISHED_IPYPARALLEL.items()],
    }
    data = "\n".join(f"${name} << EOD\n" + "\n".join(points) + "\nEOD" for name, points in blocks.items())
    plots.run_gnuplot(f"""set terminal svg size 860,520 font 'sans-serif,13' background '#ffffff'
set output '{path}'
set title 'ES: 50 iterations of 2,048 episodes (slept, not simulated)' font ',15' noenhanced
set logscale x 2
set logscale y
set xrange [28:1170]
set yrange [50:2200]
set xtics (32, 64, 128, 256, 512, '1,024' 1024)
set ytics (60, 100, 200, 400, 800, '1,600' 1600)
set xlabel 'workers'
set ylabel 'seconds'
set border 3 linecolor '#555555'
set tics nomirror out
set grid ytics linetype 1 linecolor '#e6e6e6'
set key bottom left reverse Left noenhanced
{data}
plot $ipyparallel with linespoints pointtype 9 linewidth 1.6 linecolor '#e08a3c' title 'IPyParallel, as published (1,024: did not finish)', \\
  $published with linespoints pointtype 5 linewidth 1.6 linecolor '#6a9f58' title 'Fiber for Python, as published', \\
  $greedy with lines dashtype 2 linewidth 1.6 linecolor '#555555' title 'greedy list schedule of the same draws', \\
  $ours with linespoints pointtype 7 linewidth 2.4 linecolor '{plots.FIBER}' title 'Fiber for C++'
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
