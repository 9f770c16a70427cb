#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the Kubernetes backend costs, on the cluster that tests/clusters/kubernetes/up has made (as root).

    kubernetes.py start PROGRAM [--workers 64] [--runs 3]
        from nothing to all workers dialled in, beside a plain client that creates as many pods like those and
        waits until the API says that all run
    kubernetes.py pods PROGRAM [--pods 500]
        pods that do nothing, through the backend alone: calls to the API server and bytes for each

PROGRAM is kubernetes_bench; its image, localhost/fiber-test:kubernetes_bench, is loaded by this.
"""

import argparse
import base64
import http.client
import json
import os
import re
import ssl
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.parse

SCRIPTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "clusters", "kubernetes")
IMAGE = "localhost/fiber-test:kubernetes_bench"
PAUSE = "localhost/fiber-k8s/pause:1"
NAMESPACE = "fiber-bench"


def read_cluster():
    path = os.path.join(os.environ.get("K8S_STATE", "/var/tmp/fiber-k8s"), "env")
    with open(path) as file:
        return dict(line.strip().split("=", 1) for line in file)


def decode(data):
    return base64.b64decode(data).decode()


class Client:
    """The plainest client: one connection, one request after another."""

    def __init__(self, url, kubeconfig):
        user = kubeconfig["users"][0]["user"]
        ca = decode(kubeconfig["clusters"][0]["cluster"]["certificate-authority-data"])
        context = ssl.create_default_context(cadata=ca)
        with tempfile.NamedTemporaryFile("w") as pair:
            pair.write(decode(user["client-certificate-data"]) + decode(user["client-key-data"]))
            pair.flush()
            context.load_cert_chain(pair.name)
        parts = urllib.parse.urlsplit(url)
        self.connection = http.client.HTTPSConnection(parts.hostname, parts.port, context=context)

    def call(self, method, path, body=None):
        self.connection.request(
            method, path, body and json.dumps(body), {"Content-Type": "application/json", "Accept": "application/json"}
        )
        reply = self.connection.getresponse()
        data = reply.read()
        if reply.status >= 300 and reply.status not in (404, 409):
            raise SystemExit(f"{method} {path}: {reply.status} {data[:300]}")
        return data


class Bench:
    def __init__(self, program):
        self.program = program
        self.cluster = read_cluster()
        os.environ["KUBECONFIG"] = self.cluster["KUBECONFIG"]
        raw = subprocess.check_output([self.cluster["K8S_KUBECTL"], "config", "view", "--raw", "-o", "json"])
        self.client = Client(self.cluster["K8S_API_URL"], json.loads(raw))
        self.pods_path = f"/api/v1/namespaces/{NAMESPACE}/pods"

    def prepare(self):
        space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
        self.client.call("POST", "/api/v1/namespaces", space)
        account = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/default"
        while b'"NotFound"' in self.client.call("GET", account):
            time.sleep(0.1)

    def wait_for_no_pods(self):
        while json.loads(self.client.call("GET", self.pods_path))["items"]:
            time.sleep(0.5)

    def run_program(self, *words):
        settings = {
            "FIBER_BACKEND": "kubernetes",
            "FIBER_IMAGE": IMAGE,
            "FIBER_KUBERNETES_NAMESPACE": NAMESPACE,
            "FIBER_START_DEADLINE": "300s",
        }
        output = subprocess.check_output([self.program, *words], env={**os.environ, **settings}, text=True)
        rows = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
        return {row["name"]: row["value"] for row in rows}

    # -- start --

    def plain_pod(self, number):
        """Like one of Fiber's, but for the keys that it mounts."""
        container = {
            "name": "plain",
            "image": IMAGE,
            "args": ["wait", "1"],
            "resources": {"requests": {"cpu": "10m"}},
        }
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": f"plain-{number}"},
            "spec": {
                "restartPolicy": "Never",
                "automountServiceAccountToken": False,
                "enableServiceLinks": False,
                "containers": [container],
            },
        }

    def start_plain(self, count):
        start = time.monotonic()
        for number in range(count):
            self.client.call("POST", self.pods_path, self.plain_pod(number))
        while True:
            pods = json.loads(self.client.call("GET", self.pods_path))["items"]
            if sum(pod["status"]["phase"] == "Running" for pod in pods) == count:
                break
            time.sleep(0.1)
        taken = time.monotonic() - start
        options = {"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 1}
        self.client.call("DELETE", self.pods_path, options)
        return taken

    def compare_start(self, count, runs):
        plain, fiber = [], []
        for _ in range(runs):
            self.wait_for_no_pods()
            plain.append(self.start_plain(count))
            self.wait_for_no_pods()
            fiber.append(self.run_program("workers", str(count))[f"start_workers_{count}"])
            print(f"plain client {plain[-1]:.2f} s, Fiber {fiber[-1]:.2f} s, load {os.getloadavg()[0]:.1f}", flush=True)
        ratio = statistics.median(fiber) / statistics.median(plain)
        print(f"{count} workers, medians of {runs}: plain client {statistics.median(plain):.2f} s, "
              f"Fiber {statistics.median(fiber):.2f} s, ratio {ratio:.2f}")

    # -- pods --

    def requests(self):
        """Those about pods of one namespace, by verb and subresource; the kubelets' and controllers' too."""
        counts = {}
        for line in self.client.call("GET", "/metrics").decode().splitlines():
            if line.startswith("apiserver_request_total{") and 'resource="pods"' in line:
                labels = dict(re.findall(r'(\w+)="([^"]*)"', line))
                key = (labels["verb"], labels["subresource"], labels["scope"])
                counts[key] = counts.get(key, 0) + float(line.rsplit(" ", 1)[1])
        return counts

    def link_bytes(self):
        folder = "/sys/class/net/fiber-k8s/statistics/"
        return [int(open(folder + name).read()) for name in ("tx_bytes", "rx_bytes")]

    def count_pods(self, count):
        self.wait_for_no_pods()
        before, sent_before = self.requests(), self.link_bytes()
        times = self.run_program("pods", str(count), PAUSE, NAMESPACE)
        sent = [now - then for now, then in zip(self.link_bytes(), sent_before)]
        time.sleep(2)  # The last counts.
        after = self.requests()
        grown = {key: n - before.get(key, 0) for key, n in after.items() if n > before.get(key, 0)}
        print(f"{count} pods: started {times['pods_started']:.1f} s, ended {times['pods_ended']:.1f} s, {times['ended_in_time']:.0f} of them seen to")
        print(f"bytes a pod: sent {sent[0] / count:.0f}, received {sent[1] / count:.0f}")
        for (verb, subresource, scope), number in sorted(grown.items()):
            print(f"  {verb:17} pods/{subresource:12} {scope:10} {number:7.0f}  {number / count:.2f} a pod")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["start", "pods"])
    parser.add_argument("program")
    parser.add_argument("--workers", type=int, default=64)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--pods", type=int, default=500)
    arguments = parser.parse_args()
    bench = Bench(os.path.abspath(arguments.program))
    bench.prepare()
    if arguments.what == "pods":
        bench.count_pods(arguments.pods)
        return
    subprocess.check_call([os.path.join(SCRIPTS, "load"), IMAGE, bench.program], stderr=subprocess.DEVNULL)
    bench.compare_start(arguments.workers, arguments.runs)


if __name__ == "__main__":
    sys.exit(main())
