#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ray: remote functions of one CPU each, on a node that says it has one for each worker."""

import contextlib
import functools
import os
import secrets
import sys
import tempfile

import ray
import sleep_rows


@contextlib.contextmanager
def start(workers):
    os.environ["RAY_AUTH_TOKEN"] = secrets.token_hex(32)  # Else it writes one into the home folder.
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    with tempfile.TemporaryDirectory() as scratch:
        ray.init(num_cpus=workers, include_dashboard=False, log_to_driver=False,
                 object_store_memory=100_000_000, _node_ip_address="127.0.0.1", _temp_dir=scratch)

        @functools.cache
        def remote(function):
            return ray.remote(lambda *arguments: function(*arguments))  # It takes no built-in function.

        def submit(function, tasks):
            # What was put must be an argument: Ray looks for references nowhere else.
            function, bound = sleep_rows.parts(function)
            return [remote(function).remote(*bound, task) for task in tasks]

        def map_all(function, tasks):
            return ray.get(submit(function, tasks))

        def one_round(function, tasks):
            return [ray.get(handle) for handle in submit(function, tasks)]

        def put(_, value):
            return ray.put(value)  # Into the object store, which all workers map.

        try:
            yield sleep_rows.Framework(f"Ray {ray.__version__}", map_all, one_round, put,
                                       shares_arrays=True)
        finally:
            ray.shutdown()


if __name__ == "__main__":
    sys.exit(sleep_rows.main(start))
