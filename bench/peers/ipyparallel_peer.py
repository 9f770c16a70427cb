#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""IPyParallel: a load-balanced view of the engines. Debian's package, so Debian's Python."""

import contextlib
import os
import sys
import tempfile
from pathlib import Path

import ipyparallel
import sleep_rows


@contextlib.contextmanager
def start(workers):
    with tempfile.TemporaryDirectory() as home:
        os.environ["IPYTHONDIR"] = home  # Not the user's profile.
        # A nanny is a second process for each engine, as large as the engine.
        Path(home, "ipengine_config.py").write_text("c.IPEngine.enable_nanny = False\n")
        cluster = ipyparallel.Cluster(n=workers, profile_dir=home, log_level=40)
        with cluster as client:
            client.wait_for_engines(workers, interactive=False)
            view = client.load_balanced_view()

            def map_all(function, tasks):
                # What was put must be an argument: engines look for references nowhere else.
                function, bound = sleep_rows.parts(function)
                return view.map_sync(function, *([each] * len(tasks) for each in bound), tasks,
                                     chunksize=1)

            def one_round(function, tasks):
                handles = [view.apply_async(function, task) for task in tasks]
                return [handle.get() for handle in handles]

            def put(name, value):
                client[:].push({name: value}, block=True)  # Once to each engine.
                return ipyparallel.Reference(name)

            try:
                yield sleep_rows.Framework(f"IPyParallel {ipyparallel.__version__}", map_all,
                                           one_round, put)
            finally:
                client.shutdown(block=True)  # All engines at once; the cluster stops them in turn.


if __name__ == "__main__":
    sys.exit(sleep_rows.main(start))
