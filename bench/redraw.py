#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws the plots of docs/images anew from the tables of the docs, so that both say the same.

usage: redraw.py [FOLDER]    default: docs/images

bench/run.py, bench/rl/run.py and bench/paper/es draw the same plots from a run. Use this one after a change of plots.py,
or of a table.
"""

import re
import sys
from pathlib import Path
from types import SimpleNamespace

BENCH = Path(__file__).resolve().parent
sys.path[:0] = [str(BENCH), str(BENCH / "paper"), str(BENCH / "rl")]

import plots  # noqa: E402
from es_tables import plot_scaling  # noqa: E402
from rows import Row  # noqa: E402

DOCS = BENCH.parent / "docs"
NUMBER = r"([0-9][0-9,.]*)( [kM])?(?: ?[a-z]+(?:/s)?)?"
CELL = re.compile(rf"{NUMBER} \({NUMBER} \.\. {NUMBER}\)")


def table_of(page: str, *words: str) -> list[list[str]]:
    """The cells of the only table of a page that has all these words, without its head."""
    text = (DOCS / page).read_text(encoding="utf-8")
    tables = [table for table in re.findall(r"(?m)(?:^\|.*\n)+", text) if all(word in table for word in words)]
    if len(tables) != 1:
        sys.exit(f"redraw: {page} has {len(tables)} tables with {' and '.join(map(repr, words))}, not one")
    return [[cell.strip() for cell in line.strip("|\n").split("|")] for line in tables[0].splitlines()[2:]]


def number(text: str, scale: str | None = None) -> float:
    return float(text.replace(",", "")) * {"k": 1e3, "M": 1e6}.get((scale or "").strip(), 1)


def measured(cell: str) -> list[float]:
    """Least, median and most of "1.2 k steps/s (1.1 k .. 1.3 k)"."""
    match = CELL.search(cell)
    if match is None:
        sys.exit(f"redraw: no measurement in '{cell}'")
    middle, low, high = (number(*match.groups()[i:i + 2]) for i in (0, 2, 4))
    return [low, middle, high]


def results_of(named: dict[str, list[str]], unit: str) -> tuple[list[Row], SimpleNamespace]:
    """Rows and results for plots.py: `named` has the cells of a line of a table by the name of its row."""
    rows, values = [], {}
    for name, cells in named.items():
        peers = [] if cells[2] == "-" else [each.split(": ", 1) for each in cells[2].split("<br>")]
        rows.append(Row(name, cells[0], unit, tuple((label, ()) for label, _ in peers)))
        values[name, "Fiber"] = measured(cells[1])
        for label, cell in peers:
            values[name, label] = measured(cell)
    return rows, SimpleNamespace(values=values)


def draw_overhead(path: Path, mark: str = "Ray: ") -> None:
    """From the tables that have `mark`: those with the frameworks, or those of the rows with shorter tasks."""
    lines = {name: next(line for line in table_of("reference/performance.md", words, mark) if line[0] == words)
             for name, words in (("overhead_batch_1ms", "batch, 1ms sleep"), ("overhead_lockstep_1ms", "rounds of 5, 1ms sleep"))}
    rows, results = results_of(lines, "")
    plots.overhead_dots({"": rows}, results, path)


def line_with_peers(title: str, fiber: str, peers: dict[str, str]) -> list[str]:
    """A line as results_of() takes it."""
    return [title, fiber, "<br>".join(f"{label}: {cell}" for label, cell in peers.items() if CELL.search(cell)) or "-"]


def draw_vec_env(path: Path) -> None:
    (_, fiber), *peers = table_of("rl/performance.md", "EnvPool, async", "shared-memory farm")
    line = line_with_peers("64 CartPoles", fiber, {label.split(", driven")[0].split(", in Py")[0]: cell for label, cell in peers})
    rows, results = results_of({"cartpole_64": line}, "steps/s")
    plots.plot("64 CartPoles in one VecEnv, on 2 cores", rows, results, path)


def draw_sleepers(path: Path) -> None:
    lines = table_of("rl/performance.md", "environments, steps of", "lock-step farm")
    named = {f"sleep_{i}": line_with_peers(title, fiber, {"lock-step farm": farm, "SubprocVecEnv": subproc})
             for i, (title, fiber, farm, subproc) in enumerate(lines)}
    rows, results = results_of(named, "steps/s")
    plots.plot("Environments that sleep, a job each, on 2 cores", rows, results, path)


def draw_scaling(path: Path) -> None:
    seconds = [[cell.removesuffix(" s") for cell in line] for line in
               table_of("reference/paper.md", "greedy list schedule", "published: IPyParallel")]
    rows = [{"kind": "plain", "workers": int(number(line[0])), "iterations": 50, "es": number(line[1]), "greedy": number(line[2])}
            for line in seconds if re.fullmatch(r"[0-9,]+", line[0])]
    peers: dict[int, dict] = {}
    for workers, label, _, _, ratio, *_ in table_of("reference/paper.md", "greedy list schedule", "| multiprocessing |"):
        row = peers.setdefault(int(number(workers)), {"kind": "peers", "workers": int(number(workers)), "greedy": 1.0, "runs": {}})
        row["runs"][label] = {"es": number(ratio.removesuffix(" x"))}
    plot_scaling(rows + list(peers.values()), path)


PICTURES = {"overhead_1ms.svg": draw_overhead, "overhead.svg": lambda path: draw_overhead(path, "100us sleep"),
            "vec_env_cartpole.svg": draw_vec_env, "vec_env_sleep.svg": draw_sleepers, "es_scaling.svg": draw_scaling}


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else DOCS / "images"
    for name, draw in PICTURES.items():
        draw(folder / name)


if __name__ == "__main__":
    main()
