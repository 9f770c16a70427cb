#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Dask's distributed: a local cluster of worker processes with one thread each."""

import contextlib
import sys
import tempfile

import distributed
import sleep_rows


@contextlib.contextmanager
def start(workers):
    with tempfile.TemporaryDirectory() as scratch, \
            distributed.LocalCluster(n_workers=workers, threads_per_worker=1,
                                     dashboard_address=None, local_directory=scratch) as cluster, \
            distributed.Client(cluster) as client:
        # pure=False: equal tasks are not one task.
        def map_all(function, tasks):
            return client.gather(client.map(function, tasks, pure=False))

        def one_round(function, tasks):
            handles = [client.submit(function, task, pure=False) for task in tasks]
            return [handle.result() for handle in handles]

        yield sleep_rows.Framework(f"Dask distributed {distributed.__version__}", map_all,
                                   one_round)


if __name__ == "__main__":
    sys.exit(sleep_rows.main(start))
