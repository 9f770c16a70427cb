#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fiber for Python on its local backend: fiber.Pool as its authors measured it, so without
error handling."""

import contextlib
import os
import sys
import tempfile

import sleep_rows


@contextlib.contextmanager
def start():
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["FIBER_LOG_FILE"] = os.path.join(scratch, "log")  # Not /tmp/fiber.log.
        import fiber  # Reads the variable.
        pool = fiber.Pool(sleep_rows.WORKERS)

        def map_all(function, tasks):
            return pool.map(function, tasks, chunksize=1)

        def one_round(function, tasks):
            handles = [pool.apply_async(function, (task,)) for task in tasks]
            return [handle.get() for handle in handles]

        try:
            yield sleep_rows.Framework(f"Fiber for Python {fiber.__version__}", map_all, one_round)
        finally:
            pool.terminate()
            pool.join()


if __name__ == "__main__":
    sys.exit(sleep_rows.main(start))
