#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""joblib with its default backend, loky: processes that are kept between calls."""

import contextlib
import sys

import joblib
import sleep_rows


@contextlib.contextmanager
def start(workers):
    with joblib.Parallel(n_jobs=workers, backend="loky", batch_size=1, pre_dispatch="all") as parallel:
        def run(function, tasks):
            return parallel(joblib.delayed(function)(task) for task in tasks)

        yield sleep_rows.Framework(f"joblib {joblib.__version__}", run, run)


if __name__ == "__main__":
    sys.exit(sleep_rows.main(start))
