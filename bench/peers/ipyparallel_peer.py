#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""IPyParallel: a load-balanced view of five engines. Debian's package, so Debian's Python."""

import contextlib
import os
import sys
import tempfile

import ipyparallel
import sleep_rows


@contextlib.contextmanager
def start():
    with tempfile.TemporaryDirectory() as home:
        os.environ["IPYTHONDIR"] = home  # Not the user's profile.
        cluster = ipyparallel.Cluster(n=sleep_rows.WORKERS, profile_dir=home, log_level=40)
        with cluster as client:
            client.wait_for_engines(sleep_rows.WORKERS, interactive=False)
            view = client.load_balanced_view()

            def map_all(function, tasks):
                return view.map_sync(function, tasks, chunksize=1)

            def one_round(function, tasks):
                handles = [view.apply_async(function, task) for task in tasks]
                return [handle.get() for handle in handles]

            yield sleep_rows.Framework(f"IPyParallel {ipyparallel.__version__}", map_all,
                                       one_round)


if __name__ == "__main__":
    sys.exit(sleep_rows.main(start))
