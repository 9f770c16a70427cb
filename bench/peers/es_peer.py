#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""../paper/es_run.cpp in Python, on a framework: evolution strategies whose episodes are slept.

Broadcast of the parameters, noise table, candidates, centred ranks and Adam are real. The random
numbers are NumPy's, so the parameters at the end are those of the other frameworks, not of Fiber
for C++.
"""

import argparse
import functools
import hashlib
import importlib
import json
import os
import sys
import tempfile
import time
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # Workers inherit it. Nothing here uses BLAS.
import numpy  # noqa: E402
import sleep_rows  # noqa: E402
from es_episode import MappedTable, sleep_episode  # noqa: E402
from sleep_rows import report  # noqa: E402

sys.path.append(str(Path(__file__).resolve().parent.parent))
from offspring import offspring  # noqa: E402

FRAMEWORKS = {  # By name: MODULE_peer.py, and how its workers are started.
    "multiprocessing": ("multiprocessing", {}),
    "fiber": ("python_fiber", {}),
    "fiber_error_handling": ("python_fiber", {"error_handling": True}),
    "ipyparallel": ("ipyparallel", {}),
    "ray": ("ray", {}),
}
SEED = 1
TABLE = 1 << 22
PARAMETERS = 2804  # 24, 40, 40, 4 units.
SIGMA = numpy.float32(0.1)
RATE, BETA1, BETA2, EPSILON = 0.01, 0.9, 0.999, 1e-8


def centred_ranks(values):
    """From -0.5 (least) to 0.5 (most); equal values share the mean of their ranks."""
    _, place, counts = numpy.unique(values, return_inverse=True, return_counts=True)
    middles = numpy.cumsum(counts) - (counts + 1) / 2
    return (middles / max(1, len(values) - 1) - 0.5)[place.reshape(-1)]


class Evolution:
    """rl/es/evolution.cpp. RandomState, because its numbers are the same in every version of NumPy."""

    def __init__(self, directions):
        random = numpy.random.RandomState(SEED)
        self.noise = random.standard_normal(TABLE).astype(numpy.float32)
        self.parameters = (0.1 * random.standard_normal(PARAMETERS)).astype(numpy.float32)
        self.random = random
        self.directions = directions
        self.iteration = 0
        self.moment1 = numpy.zeros(PARAMETERS)
        self.moment2 = numpy.zeros(PARAMETERS)

    def ask(self):
        self.offsets = self.random.randint(0, TABLE - PARAMETERS + 1, self.directions).tolist()
        return self.offsets

    def tell(self, fitness):
        """`fitness` has plus and minus of each direction in turn."""
        ranks = centred_ranks(numpy.asarray(fitness))
        slope = numpy.zeros(PARAMETERS)
        # One after the other: a product of matrices adds up in an order that depends on the machine.
        for offset, weight in zip(self.offsets, ranks[0::2] - ranks[1::2]):
            slope += weight * self.noise[offset:offset + PARAMETERS].astype(float)
        slope /= len(fitness) * float(SIGMA)
        self.iteration += 1
        self.moment1 = BETA1 * self.moment1 + (1 - BETA1) * slope
        self.moment2 = BETA2 * self.moment2 + (1 - BETA2) * slope * slope
        rate = RATE * (1 - BETA2 ** self.iteration) ** 0.5 / (1 - BETA1 ** self.iteration)
        step = rate * self.moment1 / (numpy.sqrt(self.moment2) + EPSILON)
        self.parameters = (self.parameters + step).astype(numpy.float32)


def processor_seconds():
    """What each process below this one has used."""
    tick = os.sysconf("SC_CLK_TCK")
    used = {}
    for pid in offspring():
        try:
            fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
        except OSError:
            continue  # It has just ended.
        used[pid] = (int(fields[11]) + int(fields[12])) / tick
    return used


class Run:
    def __init__(self, framework, options, scratch):
        self.framework = framework
        self.options = options
        self.search = Evolution(options.population // 2)
        self.noise = framework.put("noise", self.search.noise if framework.shares_arrays else
                                   MappedTable(os.path.join(scratch, "noise.npy"), self.search.noise))
        self.busy = 0.0
        self.pids = set()

    def evaluation(self):
        """Sends the parameters, each framework in its own way.

        Ray puts them into its object store, IPyParallel pushes them to each engine, and tasks refer
        to them. A pool of multiprocessing, or of Fiber, has no call that reaches each worker, so
        there they travel with every task, as its users do it.
        """
        parameters = self.framework.put("parameters", self.search.parameters)
        return functools.partial(sleep_episode, parameters, self.noise)

    def wait_for_workers(self):
        """They have imported what they need, and mapped the table."""
        workers, evaluation = self.options.workers, self.evaluation()

        def pids_of_round(length):
            return [pid for _, _, pid in
                    self.framework.map(evaluation, [(0, 0.0, 1e6 * length)] * workers)]

        sleep_rows.wait_for_workers(workers, pids_of_round)

    def iterate(self, draws):
        steps = (float(SIGMA), -float(SIGMA))
        offsets = self.search.ask()
        tasks = [(offsets[i // 2], steps[i % 2], draw) for i, draw in enumerate(draws)]
        verdicts = self.framework.map(self.evaluation(), tasks)
        self.busy += sum(seconds for _, seconds, _ in verdicts)
        self.pids.update(pid for _, _, pid in verdicts)
        self.search.tell([fitness for fitness, _, _ in verdicts])

    def play(self, draws):
        population = self.options.population
        others = processor_seconds()
        begin, used = time.perf_counter(), time.process_time()
        for i in range(self.options.iterations):
            self.iterate(draws[i * population:(i + 1) * population])
        took, used = time.perf_counter() - begin, time.process_time() - used
        servers = sum(seconds - others.get(pid, 0.0) for pid, seconds in processor_seconds().items()
                      if pid not in self.pids)
        report("es", took, "s")
        report("es_busy", self.busy, "s")
        report("es_driver", 100 * used / took, "%")
        report("es_servers", 100 * servers / took, "%")
        policy = hashlib.sha256(self.search.parameters.tobytes()).hexdigest()[:16]
        print(json.dumps({"policy": policy}), flush=True)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("framework", choices=FRAMEWORKS)
    parser.add_argument("--draws", type=Path, required=True,
                        help="file: microseconds of each episode, in order")
    parser.add_argument("--workers", type=int, default=32)
    parser.add_argument("--population", type=int, default=2048)
    parser.add_argument("--iterations", type=int, default=50)
    options = parser.parse_args()
    if min(options.workers, options.population, options.iterations) < 1:
        parser.error("--workers, --population and --iterations must be above 0")
    if options.population % 2 != 0:
        parser.error("--population must be even: directions are mirrored")
    return options


def read_draws(options):
    draws = [int(line) for line in options.draws.read_text().split()]
    wanted = options.population * options.iterations
    if len(draws) != wanted:
        raise SystemExit(f"{options.draws}: expected {wanted} lines, a number of microseconds each "
                         f"(population x iterations), found {len(draws)}")
    return draws


def main():
    options = arguments()
    draws = read_draws(options)
    sleep_rows.let_workers_import()
    module, settings = FRAMEWORKS[options.framework]
    peer = importlib.import_module(f"{module}_peer")
    begin = time.perf_counter()
    with tempfile.TemporaryDirectory() as scratch, peer.start(options.workers, **settings) as framework:
        print(json.dumps({"version": framework.version}), flush=True)
        run = Run(framework, options, scratch)
        run.wait_for_workers()
        report("es_start", time.perf_counter() - begin, "s")
        run.play(draws)


if __name__ == "__main__":
    main()
