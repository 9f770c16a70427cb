#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Dask's SSHCluster: prints "up" once all workers have dialled in. For ../ssh.py.

usage: dask_ssh_peer.py USER KEY KNOWN_HOSTS WORKERS-PER-HOST ADDRESS...
"""

import logging
import os
import sys

from distributed import Client, SSHCluster


def main():
    user, key, known_hosts, workers, *hosts = sys.argv[1:]
    logging.getLogger("distributed.deploy.ssh").setLevel(logging.WARNING)
    cluster = SSHCluster(
        [hosts[0], *hosts],  # The scheduler is on the first.
        connect_options={"username": user, "client_keys": [key], "known_hosts": known_hosts, "config": []},
        worker_options={"n_workers": int(workers), "nthreads": 1},
        scheduler_options={"port": 0, "dashboard": False},
        remote_python=sys.executable,
    )
    client = Client(cluster)
    client.wait_for_workers(int(workers) * len(hosts))
    print("up", flush=True)
    sys.stdin.readline()  # The end of ssh.py's interest.
    client.close()
    cluster.close()
    os._exit(0)  # Its threads may wait for the hosts.


if __name__ == "__main__":
    main()
