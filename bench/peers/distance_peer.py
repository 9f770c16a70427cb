#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What distance.cpp measures, by Ray or Dask: distance_peer.py ray|dask ADDRESS, in the driver's namespace.

Their servers and workers run already: distance.py has started them.
"""

import sys

import sleep_rows

WORKERS = 4


def echo(data):
    return data


def ray_framework(address):
    import ray

    ray.init(address=f"{address}:6379", log_to_driver=False, _node_ip_address=address)
    remotes = {each: ray.remote(lambda argument, each=each: each(argument)) for each in (echo, sleep_rows.nap)}

    def submit(function, tasks):
        return [remotes[function].remote(task) for task in tasks]

    return sleep_rows.Framework(
        f"Ray {ray.__version__}",
        lambda function, tasks: ray.get(submit(function, tasks)),
        lambda function, tasks: [ray.get(handle) for handle in submit(function, tasks)],
    )


def dask_framework(address):
    import distributed

    client = distributed.Client(f"tcp://{address}:8786")

    def one_round(function, tasks):
        handles = [client.submit(function, task, pure=False) for task in tasks]
        return [handle.result() for handle in handles]

    return sleep_rows.Framework(
        f"Dask distributed {distributed.__version__}",
        lambda function, tasks: client.gather(client.map(function, tasks, pure=False)),
        one_round,
    )


def main():
    name, address = sys.argv[1:]
    framework = {"ray": ray_framework, "dask": dask_framework}[name](address)
    sleep_rows.wait_for_workers(WORKERS, lambda length: framework.round(sleep_rows.nap, [length] * WORKERS))
    tasks = [bytes(16)] * 4000
    framework.map(echo, tasks[:1000])
    sleep_rows.report("map", len(tasks) / sleep_rows.seconds(lambda: framework.map(echo, tasks)), "tasks/s")

    def repeat(times, step):
        return sleep_rows.seconds(lambda: [step() for _ in range(times)]) / times * 1e3

    sleep_rows.report("apply", repeat(100, lambda: framework.round(echo, tasks[:1])), "ms")
    sleep_rows.report("round", repeat(50, lambda: framework.round(sleep_rows.nap, [0.01] * WORKERS)), "ms")
    return 0


if __name__ == "__main__":
    sys.exit(main())
