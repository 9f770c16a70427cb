# SPDX-License-Identifier: Apache-2.0
"""The clusters of tests/clusters, as far as histories need them: how the program runs there, and what can go wrong.

A fault is a class with the function begin(nemesis, number). It writes the event, begins the fault, sets nemesis.mend
if the fault has to be ended, and returns how long it lasts.
"""

import os
import subprocess
import sys
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parents[1] / "clusters"
TIMEOUT = 3.0  # Seconds: the heartbeat timeout of the program.
NODE_LOST = 8.0  # Seconds of silence, after which the Kubernetes of the tests gives up a node.
SHORT, LONG = (0.05, TIMEOUT / 3), (TIMEOUT, 2 * TIMEOUT)  # Of cuts. Those between may end a client or not.


def run(*command, **rest) -> None:
    """A script that must succeed."""
    end = subprocess.run([str(word) for word in command], check=False, capture_output=True, text=True, **rest)
    if end.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command))}: exit code {end.returncode}: {end.stdout}{end.stderr}")


def attempt(*command) -> None:
    """One that may fail, as what it is about may be gone."""
    subprocess.run([str(word) for word in command], check=False, capture_output=True)


def links(namespace: str, kind: str) -> list[str]:
    """The network devices of this kind."""
    shown = subprocess.run(["ip", "-n", namespace, "-o", "link", "show", "type", kind],
                           check=True, capture_output=True, text=True).stdout
    return [line.split(":")[1].split("@")[0].strip() for line in shown.splitlines()]


def length_of_cut(random) -> float:
    return random.uniform(*random.choice((SHORT, SHORT, LONG, (SHORT[0], LONG[1]))))


def deadly() -> int:
    """How many nanoseconds of a cut may end a client."""
    return int(TIMEOUT / 2 * 1e9)


class CutClient:
    """Drops what one client receives, sends or both, in its own network."""

    weight = 4

    @staticmethod
    def begin(nemesis, number: int) -> float:
        found = nemesis.victim()
        if found is None:
            return 0
        client, pid = found
        chains = nemesis.random.choice((["PREROUTING"], ["POSTROUTING"], ["PREROUTING", "POSTROUTING"]))
        try:
            network = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY)  # Stays when the process ends.
        except OSError:
            return 0

        def drop(action):
            for chain in chains:
                interface = "-i" if chain == "PREROUTING" else "-o"
                rule = "iptables", "-w", "-t", "mangle", action, chain, interface, "eth0", "-j", "DROP"
                attempt("nsenter", f"--net=/proc/{os.getpid()}/fd/{network}", *rule)

        def mend():
            drop("-D")
            os.close(network)
            nemesis.write("mended", number)

        value = {"number": number, "deadly": deadly(), "clients": [client.name]}
        nemesis.write("cut", value, object=" ".join(chains))
        drop("-A")
        nemesis.mend = mend
        return length_of_cut(nemesis.random)


class CutAll:
    """Takes the bridge of an engine down, by which containers reach each other and the driver."""

    weight = 2

    def __init__(self, namespace: str):
        self.namespace = namespace

    def begin(self, nemesis, number: int) -> float:
        bridges = links(self.namespace, "bridge")

        def set_links(state):
            for bridge in bridges:
                run("ip", "-n", self.namespace, "link", "set", bridge, state)

        def mend():
            set_links("up")
            nemesis.write("mended", number)

        nemesis.write("cut", {"number": number, "deadly": deadly()}, object=" ".join(bridges))
        set_links("down")
        nemesis.mend = mend
        return length_of_cut(nemesis.random)


class CutNode:
    """Drops packets of a node of Kubernetes or a host with sshd: those from it and to it, or those of one way."""

    weight = 2

    def __init__(self, control: str, nodes: list[str], ways: tuple[str, ...] = ("cut",)):
        self.control, self.nodes, self.ways = control, nodes, ways

    def begin(self, nemesis, number: int) -> float:
        node, way = nemesis.random.choice(self.nodes), nemesis.random.choice(self.ways)

        def mend():
            run(self.control, "mend", node)
            nemesis.write("mended", number)

        nemesis.write("cut", {"number": number, "deadly": deadly(), "node": node}, object=f"{way} {node}")
        run(self.control, way, node)
        nemesis.mend = mend
        return length_of_cut(nemesis.random)


class RestartEngine:
    """Kills the engine and starts it anew. Containers of Docker end with it, those of Podman go on."""

    weight = 1

    def __init__(self, scripts: Path, namespace: str, ends_containers: bool):
        self.scripts, self.namespace, self.ends_containers = scripts, namespace, ends_containers

    def begin(self, nemesis, number: int) -> float:
        if self.ends_containers:
            nemesis.write("restart", number, object="engine")
            before = links(self.namespace, "veth")
            run(self.scripts / "restart")
            # Docker 20.10 leaves some networks of dead containers, and gives their addresses to new ones. When a bridge
            # has forgotten who is where, such a network answers with a reset.
            for link in before:
                attempt("ip", "-n", self.namespace, "link", "delete", link)
            nemesis.write("restarted", number)
        else:
            nemesis.write("outage", {"number": number}, object="restart")
            run(self.scripts / "restart")
        return 0


class RestartSshd:
    """Kills the sshd of a host with its connections, which ends all jobs there, and starts it anew."""

    weight = 1

    def __init__(self, control: Path, hosts: list[str]):
        self.control, self.hosts = control, hosts

    def begin(self, nemesis, number: int) -> float:
        host = nemesis.random.choice(self.hosts)
        nemesis.write("restart", number, object=f"sshd {host}", node=host)
        run(self.control, "sshd-kill", host)
        run(self.control, "sshd", host)
        nemesis.write("restarted", number)
        return 0


class Stop:
    """Stops a part of the engine for a while, or kills it and starts it after a while. Containers go on, unless this
    takes so long that Kubernetes gives up a node, as on a busy machine, where a kubelet is slow to start.
    """

    def __init__(self, weight: int, ways: list, **value):
        self.weight, self.ways, self.value = weight, ways, value  # Each way is two commands.

    def begin(self, nemesis, number: int) -> float:
        first, last = nemesis.random.choice(self.ways)

        def mend():
            run(*last)
            nemesis.write("recovered", number)

        nemesis.write("outage", {"number": number, **self.value}, object=" ".join(first[1:]))
        run(*first)
        nemesis.mend = mend
        return nemesis.random.uniform(0.5, 2 * TIMEOUT)


class Cluster:
    """One that is up and has an image of the program, where jobs run in images."""

    pause = (1.5, 4.0)  # Seconds between two faults.
    kills = 0.3  # Clients that the program kills in a second.
    image = "localhost/fiber-test:history_program"

    def __init__(self, kind: str, program: str):
        self.kind, self.scripts, self.program = kind, SCRIPTS / kind, program
        self.begin()

    def begin(self) -> None:
        self.told = self.up()
        self.shown = False
        faults = {"kubernetes": self.faults_of_kubernetes, "ssh": self.faults_of_ssh}
        self.faults = faults.get(self.kind, self.faults_of_engine)()
        if self.kind != "ssh":
            run(self.scripts / "load", self.image, self.program)

    def begin_again(self) -> None:
        """After a fault that could not be mended."""
        run(self.scripts / "down")
        self.begin()

    def up(self) -> dict[str, str]:
        """Brings it up unless it is. Ends this program as the script does, if this machine can't run it."""
        with subprocess.Popen([str(self.scripts / "up")], stdout=subprocess.PIPE, text=True) as script:
            output = script.communicate()[0]
        if script.returncode != 0:
            print(output, end="", flush=True)
            sys.exit(script.returncode)
        lines = [line.split("=", 1) for line in output.splitlines() if "=" in line]
        return {name: value.strip("'") for name, value in lines}

    def command(self) -> list[str]:
        """What goes before the program."""
        return [] if self.kind in ("kubernetes", "ssh") else ["nsenter", f"--net={self.told['DOCKER_NETNS']}"]

    def environment(self, folder: Path) -> dict[str, str]:
        """The settings of the program, whose jobs see the folder at the same path."""
        if self.kind == "ssh":
            self.show(folder)
            hosts = ",".join(f"{host}:16" for host in self.told["SSH_HOSTS"].split(","))
            return {**os.environ, "FIBER_BACKEND": "ssh", "FIBER_SSH_HOSTS": hosts,
                    "FIBER_SSH_COMMAND": self.told["SSH_COMMAND"], "FIBER_HEARTBEAT_TIMEOUT": f"{TIMEOUT}s"}
        told = {**os.environ, "FIBER_IMAGE": self.image, "FIBER_HEARTBEAT_TIMEOUT": f"{TIMEOUT}s"}
        if self.kind == "kubernetes":
            template = folder / "pod.yaml"
            template.write_text(POD.format(folder=folder), encoding="utf-8")
            return {**told, "FIBER_BACKEND": "kubernetes", "KUBECONFIG": self.told["KUBECONFIG"],
                    "FIBER_KUBERNETES_POD_TEMPLATE": str(template)}
        return {**told, "FIBER_BACKEND": "docker", "FIBER_DOCKER_HOST": self.told["DOCKER_HOST"],
                "FIBER_DOCKER_VOLUMES": f"{folder}:{folder}"}

    def show(self, folder: Path) -> None:
        """Shows the hosts a folder of this machine."""
        if not self.shown:
            run(self.scripts / "host", "usual")
            for host in self.told["SSH_HOSTS"].split(","):
                run(self.scripts / "host", "share", host, folder)
        self.shown = True

    def faults_of_ssh(self) -> list:
        control, hosts = self.scripts / "host", self.told["SSH_HOSTS"].split(",")

        def signal(host: str, name: str) -> list:
            """The agent is the oldest process of the program on a host, if there is one. The shell is not meant."""
            return [control, "run", host, "sh", "-c", f"pkill -{name} --oldest --full /history_progra[m] || true"]

        return [CutNode(control, hosts, ("cut", "mute", "deafen")), RestartSshd(control, hosts),
                Stop(1, [(signal(host, "STOP"), signal(host, "CONT")) for host in hosts])]

    def faults_of_engine(self) -> list:
        signal = self.scripts / "signal"
        namespace = Path(self.told["DOCKER_NETNS"]).name
        return [CutClient(), CutAll(namespace), RestartEngine(self.scripts, namespace, self.kind == "docker"),
                Stop(1, [([signal, "STOP"], [signal, "CONT"])])]

    def faults_of_kubernetes(self) -> list:
        control, nodes = self.told["K8S_CONTROL"], self.told["K8S_NODES"].split()
        parts = ["kube-apiserver"] + [f"{node}/{part}" for node in nodes for part in ("kubelet", "containerd")]
        ways = [([control, begin, part], [control, end, part])
                for begin, end in (("kill", "start"), ("freeze", "thaw")) for part in parts]
        return [CutClient(), CutNode(control, nodes), Stop(3, ways, deadly=int(NODE_LOST * 1e9))]


POD = """\
spec:
  containers:
  - name: fiber
    volumeMounts:
    - {{name: histories, mountPath: {folder}}}
  volumes:
  - {{name: histories, hostPath: {{path: {folder}, type: Directory}}}}
"""
