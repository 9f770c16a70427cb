#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the ssh backend costs, on the hosts that tests/clusters/ssh/up has made (as root).

    ssh.py start BUILD [--workers 64] [--runs 5] [--dask PYTHON]
        from the start of the program to all workers dialled in, evenly on all hosts, the program already copied. Beside it
        `mpirun --hostfile` of as many ranks, until all have met, and Dask's SSHCluster of as many workers, if PYTHON has
        distributed and asyncssh: ./dev bench --peers=all installs build/frameworks/bin/python

BUILD is the folder of engine_start and peers/openmpi_start: build/release/bench.
"""

import argparse
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

    def run_fiber(self):
        return self.seconds_to_line([self.build / "engine_start", str(self.workers)], {
            "FIBER_BACKEND": "ssh",
            "FIBER_SSH_COMMAND": self.command,
            "FIBER_SSH_HOSTS": ",".join(f"{name}:{self.slots}" for name in self.hosts),
        })

    def run_openmpi(self, folder):
        hostfile = Path(folder, "hosts")
        hostfile.write_text("".join(f"{name} slots={self.slots}\n" for name in self.hosts))
        settings = {"plm_rsh_agent": self.command, "oob_tcp_if_include": self.net, "btl_tcp_if_include": self.net,
                    "btl": "self,vader,tcp", "pml": "ob1", "mpi_yield_when_idle": "1"}
        words = [word for name, value in settings.items() for word in ("--mca", name, value)]
        return self.seconds_to_line(["mpirun", "--hostfile", hostfile, "-n", str(self.workers), "--bind-to", "none", *words,
                                     Path(folder, "openmpi_start")],
                                    {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"})

    def run_dask(self, _):
        addresses = [line.split()[1] for line in self.configuration.read_text().splitlines() if "HostName" in line]
        return self.seconds_to_line([self.python, HERE / "peers/dask_ssh_peer.py", self.user, self.configuration.with_name("id"),
                                     self.configuration.with_name("known_hosts"), str(self.slots), *addresses])

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


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["start"])
    parser.add_argument("build", metavar="BUILD")
    parser.add_argument("--workers", type=int, default=64)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--dask", metavar="PYTHON")
    arguments = parser.parse_args()
    Bench(arguments.build, arguments.workers, arguments.dask).compare_start(arguments.runs)


if __name__ == "__main__":
    main()
