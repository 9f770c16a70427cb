#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records what the package cmaes (Debian's python3-cmaes) computes: fixtures/cma_es.txt, for cma_es_test.cpp.

    apt-get install python3-cmaes
    python3 tests/rl/es/record_cma_es.py > tests/rl/es/fixtures/cma_es.txt

Of three runs on the ellipsoid: the strategy parameters, then for each generation the candidates, their values, and the
mean, step size, covariance and paths after the update. Of three functions: the evaluations that the median of 21 runs
needs for a value of 1e-10. One number, or one list of numbers, a line.
"""
import math
import statistics
import warnings

import numpy as np
from cmaes import CMA

warnings.filterwarnings("ignore")


def write(name, values):
    print(name, *(float(value).hex() for value in np.ravel(values)))


def ellipsoid(x):
    n = len(x)
    return sum(10 ** (4 * i / max(1, n - 1)) * x[i] ** 2 for i in range(n))


def sphere(x):
    return sum(x * x)


def rosenbrock(x):
    return sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def rastrigin(x):
    return 10 * len(x) + sum(x * x - 10 * np.cos(2 * np.pi * x))


def record_updates(n, population, generations):
    search = CMA(mean=np.linspace(-1, 2, n), sigma=0.7, seed=n, population_size=population)
    print("run", n, search.population_size, generations)
    write("weights", search._weights)
    write("constants", [search._mu_eff, search._c_sigma, search._d_sigma, search._cc, search._c1, search._cmu,
                        search._chi_n])
    for _ in range(generations):
        candidates = [search.ask() for _ in range(search.population_size)]
        values = [ellipsoid(x) for x in candidates]
        write("candidates", candidates)
        write("values", values)
        search.tell(list(zip(candidates, values)))
        write("mean", search._mean)
        write("sigma", search._sigma)
        write("covariance", search._C)
        write("path_sigma", search._p_sigma)
        write("path_c", search._pc)


def evaluations(f, n, start, sigma, population, seed):
    """Evaluations until a value below 1e-10; infinity if the search ends before."""
    search = CMA(mean=np.full(n, float(start)), sigma=sigma, seed=seed, population_size=population)
    count = 0
    while not search.should_stop() and count < 200_000:
        told = []
        for _ in range(search.population_size):
            x = search.ask()
            told.append((x, f(x)))
            count += 1
            if told[-1][1] < 1e-10:
                return count
        search.tell(told)
    return math.inf


def record_convergence(f, n, start, sigma, population):
    counts = [evaluations(f, n, start, sigma, population, seed) for seed in range(1, 22)]
    print("convergence", f.__name__, n, start, sigma, population or 0, sum(map(math.isfinite, counts)),
          int(statistics.median(filter(math.isfinite, counts))))


record_updates(2, None, 12)
record_updates(5, None, 20)
record_updates(10, 30, 12)
record_convergence(sphere, 10, 3, 1.0, None)
record_convergence(rosenbrock, 8, 0, 0.5, None)
record_convergence(rastrigin, 5, 2, 2.0, 80)
