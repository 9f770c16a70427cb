#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the ssh backend costs, on the hosts that tests/clusters/ssh/up has made (as root).

    ssh.py start BUILD [--workers 64] [--runs 5] [--dask PYTHON]
        from the start of the program to all workers dialled in, evenly on all hosts, the program already copied. Beside it
        `mpirun --hostfile` of as many ranks, until all have met, and Dask's SSHCluster of as many workers, if PYTHON has
        distributed and asyncssh: ./dev bench --peers=all installs build/frameworks/bin/python
    ssh.py tasks BUILD [--runs 5]
        no-op tasks per second of one worker on each of four hosts, and of four workers of this machine over TLS
    ssh.py share BUILD [--runs 5] [--dask PYTHON]
        from share() of 100 MB until each of 64 workers has the value and has read a byte of it. With --dask, Dask's
        scatter(broadcast=True) beside it

BUILD is the folder of fiber_bench, engine_start and peers/openmpi_start: build/release/bench.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent


def read_cluster():
    path = os.path.join(os.environ.get("SSH_STATE", "/var/tmp/fiber-ssh"), "env")
    with open(path) as file:
        return dict(line.strip().split("=", 1) for line in file)


class Bench:
    def __init__(self, build, workers, python):
        cluster = read_cluster()
        self.build, self.python = Path(build).resolve(), python
        self.command, self.scripts, self.user = cluster["SSH_COMMAND"], cluster["SSH_SCRIPTS"], cluster["SSH_USER"]
        self.configuration = Path(self.command.split()[-1])
        self.net = cluster["SSH_ADDRESS"].rpartition(".")[0] + ".0/24"
        self.hosts = cluster["SSH_HOSTS"].split(",")
        self.slots = -(-workers // len(self.hosts))
        self.workers = self.slots * len(self.hosts)

    def host(self, *words):
        subprocess.run([self.scripts + "/host", *words], check=True)

    def prepare(self, folder):
        """The hosts have what the peers need under the paths that this machine has; mpirun needs ways back."""
        shutil.copy(self.build / "peers/openmpi_start", folder)
        Path(folder).chmod(0o755)
        self.host("usual")
        for name in self.hosts:
            self.host("unwall", name)
            self.host("share", name, folder)
            if self.python:
                self.host("share", name, str(Path(self.python).absolute().parent.parent))

    def wait_for_idle_hosts(self):
        while any(subprocess.run([self.scripts + "/host", "pids", name], check=True, stdout=subprocess.PIPE).stdout
                  for name in self.hosts):
            time.sleep(0.2)
        time.sleep(1)

    @staticmethod
    def seconds_to_line(words, settings=None):
        """Seconds from the start of a program until its first line."""
        begin = time.monotonic()
        with subprocess.Popen(words, env={**os.environ, **(settings or {})}, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              text=True) as program:
            line = program.stdout.readline()
            taken = time.monotonic() - begin
            program.stdin.close()
            program.stdout.read()
        if not line or program.returncode != 0:
            sys.exit(f"{words[0]} ended with {program.returncode} after '{line.strip()}'")
        return taken

    def settings(self):
        return {
            "FIBER_BACKEND": "ssh",
            "FIBER_SSH_COMMAND": self.command,
            "FIBER_SSH_HOSTS": ",".join(f"{name}:{self.slots}" for name in self.hosts),
        }

    def run_fiber(self):
        return self.seconds_to_line([self.build / "engine_start", str(self.workers)], self.settings())

    def row(self, name, settings):
        """What fiber_bench prints for a row: its figures by name."""
        printed = subprocess.run([self.build / "fiber_bench", name], env={**os.environ, **settings}, check=True,
                                 stdout=subprocess.PIPE, text=True).stdout
        return {figure["name"]: figure["value"] for figure in map(json.loads, printed.splitlines())}

    def run_openmpi(self, folder):
        hostfile = Path(folder, "hosts")
        hostfile.write_text("".join(f"{name} slots={self.slots}\n" for name in self.hosts))
        settings = {"plm_rsh_agent": self.command, "oob_tcp_if_include": self.net, "btl_tcp_if_include": self.net,
                    "btl": "self,vader,tcp", "pml": "ob1", "mpi_yield_when_idle": "1"}
        words = [word for name, value in settings.items() for word in ("--mca", name, value)]
        return self.seconds_to_line(["mpirun", "--hostfile", hostfile, "-n", str(self.workers), "--bind-to", "none", *words,
                                     Path(folder, "openmpi_start")],
                                    {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"})

    def dask(self, what):
        addresses = [line.split()[1] for line in self.configuration.read_text().splitlines() if "HostName" in line]
        return [self.python, HERE / "peers/dask_ssh_peer.py", what, self.user, self.configuration.with_name("id"),
                self.configuration.with_name("known_hosts"), str(self.slots), *addresses]

    def run_dask(self, _):
        return self.seconds_to_line(self.dask("start"))

    def compare_start(self, runs):
        ways = {"Fiber": lambda _: self.run_fiber(), "OpenMPI": self.run_openmpi}
        if self.python:
            ways["Dask"] = self.run_dask
        times = {name: [] for name in ways}
        with tempfile.TemporaryDirectory(prefix="fiber-bench-", dir="/var/tmp") as folder:
            self.prepare(folder)
            try:
                for run in range(runs + 1):  # The first fills caches, and copies Fiber's program.
                    for name, way in ways.items():
                        self.wait_for_idle_hosts()
                        taken = way(folder)
                        print(f"{name} {taken:.2f} s{'' if run else ' (not counted)'}, load {os.getloadavg()[0]:.1f}", flush=True)
                        if run:
                            times[name].append(taken)
            finally:
                self.host("usual")
        fiber = statistics.median(times["Fiber"])
        for name, taken in times.items():
            median = statistics.median(taken)
            print(f"{name}: {self.workers} workers on {len(self.hosts)} hosts, median of {runs}: {median:.2f} s "
                  f"({min(taken):.2f} .. {max(taken):.2f}), Fiber's time is {fiber / median:.2f} of that")

    def compare_tasks(self, runs):
        if len(self.hosts) != 4:
            sys.exit(f"wanted are four hosts, and there are {len(self.hosts)}")
        self.host("usual")
        for name in self.hosts:
            self.host("unwall", name)  # A tunnel encrypts everything a second time.
        hosts, here = [], []
        for run in range(runs + 1):
            self.wait_for_idle_hosts()
            hosts.append(self.row("noop", self.settings())["noop"])
            here.append(self.row("noop_tls", {})["noop_tls"])
            print(f"{hosts[-1]:.0f} tasks/s on the hosts, {here[-1]:.0f} here over TLS{'' if run else ' (not counted)'}", flush=True)
        self.host("usual")
        hosts, here = statistics.median(hosts[1:]), statistics.median(here[1:])
        print(f"median of {runs}: {hosts:.0f} tasks/s on the hosts, {hosts / here:.2f} of {here:.0f} here over TLS")

    def compare_share(self, runs):
        times = {"Fiber": [], "Dask": []}
        with tempfile.TemporaryDirectory(prefix="fiber-bench-", dir="/var/tmp") as folder:
            self.prepare(folder)
            try:
                for run in range(runs + 1):
                    self.wait_for_idle_hosts()
                    figures = self.row("share_64", self.settings())
                    print(f"Fiber {figures['share_64']:.2f} s, {figures['share_64_copies']:.2f} copies sent"
                          f"{'' if run else ' (not counted)'}", flush=True)
                    times["Fiber"].append(figures["share_64"])
                    if self.python:
                        self.wait_for_idle_hosts()
                        times["Dask"].append(float(subprocess.run(self.dask("share"), check=True, stdin=subprocess.DEVNULL,
                                                                  stdout=subprocess.PIPE).stdout))
                        print(f"Dask {times['Dask'][-1]:.2f} s", flush=True)
            finally:
                self.host("usual")
        fiber = statistics.median(times["Fiber"][1:])
        for name, taken in times.items():
            if taken:
                median = statistics.median(taken[1:])
                print(f"{name}: 100 MB to {self.workers} workers on {len(self.hosts)} hosts, median of {runs}: {median:.2f} s, "
                      f"Fiber's time is {fiber / median:.2f} of that")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["start", "tasks", "share"])
    parser.add_argument("build", metavar="BUILD")
    parser.add_argument("--workers", type=int, help="of start; 64 by default")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--dask", metavar="PYTHON")
    arguments = parser.parse_args()
    if arguments.workers is not None and arguments.what != "start":
        parser.error("--workers is for start")
    if arguments.dask is not None and arguments.what == "tasks":
        parser.error("--dask is for start and share")
    workers = {"start": arguments.workers or 64, "tasks": 4, "share": 64}[arguments.what]
    bench = Bench(arguments.build, workers, arguments.dask)
    {"start": bench.compare_start, "tasks": bench.compare_tasks, "share": bench.compare_share}[arguments.what](arguments.runs)


if __name__ == "__main__":
    main()
