#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How long a pool takes until all its containers have dialled in, against a plain client that creates and starts
as many containers of the same image, 16 at a time.

    tests/clusters/docker/up; tests/clusters/docker/load fiber-bench:engine_start build/release/bench/engine_start
    nsenter --net=/run/netns/fiber-docker bench/engine_start.py unix:///var/tmp/fiber-docker/docker.sock \\
        build/release/bench/engine_start
"""

import argparse
import concurrent.futures
import http.client
import json
import os
import socket
import statistics
import subprocess
import threading
import time

IMAGE = "fiber-bench:engine_start"
LABEL = "fiber-bench"


class Engine(http.client.HTTPConnection):
    """A kept connection to the engine's socket."""

    def __init__(self, path):
        super().__init__("docker", timeout=120)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self.path)

    def ask(self, method, path, body=None):
        self.request(method, "/v1.40" + path, json.dumps(body) if body else None, {"Content-Type": "application/json"})
        reply = self.getresponse()
        data = reply.read()
        if reply.status >= 300:
            raise RuntimeError(f"{method} {path}: {reply.status} {data.decode()}")
        return json.loads(data) if data else None


def containers(engine):
    filters = json.dumps({"label": [LABEL]})
    return [c["Id"] for c in engine.ask("GET", f"/containers/json?all=1&filters={filters}".replace('"', "%22").replace(" ", ""))]


def run_plain(path, count, parallel):
    """Milliseconds to create and start `count` containers that wait for their stdin."""
    kept = threading.local()

    def start(_):
        if not hasattr(kept, "engine"):
            kept.engine = Engine(path)
        body = {"Image": IMAGE, "Env": ["FIBER_NODE=stdin"], "OpenStdin": True, "Labels": {LABEL: "1"},
                "HostConfig": {"NetworkMode": "host", "AutoRemove": True, "NanoCpus": 1000000000}}
        made = kept.engine.ask("POST", "/containers/create", body)["Id"]
        kept.engine.ask("POST", f"/containers/{made}/start")

    with concurrent.futures.ThreadPoolExecutor(parallel) as threads:
        begin = time.monotonic()
        list(threads.map(start, range(count)))
        taken = time.monotonic() - begin
    engine = Engine(path)
    for made in containers(engine):
        engine.ask("DELETE", f"/containers/{made}?force=1")
    while containers(engine):
        time.sleep(0.1)
    return taken * 1000


def run_fiber(path, program, count):
    """Milliseconds to a pool of `count` workers, all dialled in."""
    environment = {**os.environ, "FIBER_BACKEND": "docker", "FIBER_DOCKER_HOST": f"unix://{path}", "FIBER_IMAGE": IMAGE}
    run = subprocess.run([program, str(count)], env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return float(run.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("engine", help="unix:///PATH")
    parser.add_argument("program", help="bench/engine_start, built; its image must be loaded")
    parser.add_argument("--count", type=int, default=64)
    parser.add_argument("--parallel", type=int, default=16, help="of the plain client")
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    path = options.engine.removeprefix("unix://")
    plain, fiber = [], []
    for run in range(options.runs):
        plain.append(run_plain(path, options.count, options.parallel))
        fiber.append(run_fiber(path, options.program, options.count))
        print(f"run {run + 1}: plain client {plain[-1]:.0f} ms, pool {fiber[-1]:.0f} ms, "
              f"ratio {fiber[-1] / plain[-1]:.2f}; load {os.getloadavg()[0]:.1f}")
    print(f"median of {options.runs}: plain client {statistics.median(plain):.0f} ms, pool {statistics.median(fiber):.0f} ms, "
          f"ratio {statistics.median(fiber) / statistics.median(plain):.2f}")


main()
