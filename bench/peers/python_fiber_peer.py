#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fiber for Python on its local backend: fiber.Pool as its authors measured it, so without
error handling, unless asked.

Without, it deals the tasks to the workers in turn, before they ask. With error handling a worker
asks for each task.
"""

import contextlib
import os
import sys
import tempfile

import sleep_rows


@contextlib.contextmanager
def start(workers, error_handling=False):
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["FIBER_LOG_FILE"] = os.path.join(scratch, "log")  # Not /tmp/fiber.log.
        import fiber  # Reads the variable.
        pool = fiber.Pool(workers, error_handling=error_handling)
        try:
            yield sleep_rows.of_pool(f"Fiber for Python {fiber.__version__}", pool)
        finally:
            pool.terminate()
            pool.join()


if __name__ == "__main__":
    sys.exit(sleep_rows.main(start))
