#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Dask's SSHCluster, for ../ssh.py.

usage: dask_ssh_peer.py WHAT USER KEY KNOWN_HOSTS WORKERS-PER-HOST ADDRESS...

WHAT is start, which prints "up" once all workers have dialled in, or share, which prints the seconds from scatter() of
100 MB until each worker has the value and has read a byte of it.
"""

import logging
import os
import sys
import time

from distributed import Client, SSHCluster


def first_byte(value):
    return value[0]


def share(client):
    data = bytes(100_000_000)
    workers = list(client.scheduler_info(n_workers=-1)["workers"])
    begin = time.monotonic()
    value = client.scatter(data, broadcast=True, hash=False)
    client.gather([client.submit(first_byte, value, workers=[worker], pure=False) for worker in workers])
    return f"{time.monotonic() - begin:.3f}"


def main():
    what, user, key, known_hosts, workers, *hosts = sys.argv[1:]
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
    print(share(client) if what == "share" else "up", flush=True)
    sys.stdin.readline()  # The end of ssh.py's interest.
    client.close()
    cluster.close()
    os._exit(0)  # Its threads may wait for the hosts.


if __name__ == "__main__":
    main()
