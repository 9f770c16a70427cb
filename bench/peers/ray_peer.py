#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ray: remote functions of one CPU each, on a node that says it has five."""

import contextlib
import functools
import os
import secrets
import sys
import tempfile

import ray
import sleep_rows


@contextlib.contextmanager
def start():
    os.environ["RAY_AUTH_TOKEN"] = secrets.token_hex(32)  # Else it writes one into the home folder.
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    with tempfile.TemporaryDirectory() as scratch:
        ray.init(num_cpus=sleep_rows.WORKERS, include_dashboard=False, log_to_driver=False,
                 object_store_memory=100_000_000, _node_ip_address="127.0.0.1", _temp_dir=scratch)

        @functools.cache
        def remote(function):
            return ray.remote(lambda task: function(task))  # It takes no built-in function.

        def map_all(function, tasks):
            return ray.get([remote(function).remote(task) for task in tasks])

        def one_round(function, tasks):
            handles = [remote(function).remote(task) for task in tasks]
            return [ray.get(handle) for handle in handles]

        try:
            yield sleep_rows.Framework(f"Ray {ray.__version__}", map_all, one_round)
        finally:
            ray.shutdown()


if __name__ == "__main__":
    sys.exit(sleep_rows.main(start))
