# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Podman's service on a machine of its own, to be sourced. The scripts beside are those of ../docker.

# shellcheck disable=SC2034 # For who sources this.
name=podman group=podman state_variable=PODMAN_STATE
state=${PODMAN_STATE:-/var/tmp/fiber-podman}
socket=$state/podman.sock
net=10.88.0 # Of the bridge; .1 is the machine itself.
# shellcheck source-path=SCRIPTDIR source=../engine.sh
. "$(dirname "${BASH_SOURCE[0]}")/../engine.sh"

tools=(podman conmon runc iptables /usr/lib/podman/netavark)
# It leaves some of what it puts in TMPDIR.
engine=(env "TMPDIR=$state" "CONTAINERS_CONF=$state/containers.conf" podman --root "$state/data" --runroot "$state/run"
  --tmpdir "$state/tmp" system service --time=0 "unix://$socket")

configure() {
  cat >"$state/containers.conf" <<END
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
[network]
network_backend = "netavark"
network_config_dir = "$state/networks"
default_subnet = "$net.0/24"
END
}

# Its locks are in /dev/shm and much else is in /run, whatever the options. All its containers are in one cgroup, and
# no option names the parent of that: here the machine's own is the uppermost there is.
hide_host() {
  local hierarchy hierarchies file
  mount -t tmpfs -o mode=0755 "$cluster" /run
  mount -t tmpfs "$cluster" /dev/shm
  mkdir /run/cgroup
  mapfile -t hierarchies < <(awk '$3 ~ /^cgroup2?$/ {print $2}' /proc/mounts)
  for hierarchy in "${hierarchies[@]}"; do
    mkdir -p "$hierarchy/$cluster"
    if [[ $hierarchy == /sys/fs/cgroup ]]; then # Version 2 alone: it hands down what it is told to.
      sed 's/[^ ]*/+&/g' "$hierarchy/cgroup.controllers" >"$hierarchy/cgroup.subtree_control"
    fi
    for file in cpuset.cpus cpuset.mems; do # Empty in a new one of version 1.
      [[ ! -e $hierarchy/$file ]] || cat "$hierarchy/$file" >"$hierarchy/$cluster/$file"
    done
    mount --bind "$hierarchy/$cluster" /run/cgroup
    umount -l "$hierarchy" # runc would take it for the one to use.
    mount --move /run/cgroup "$hierarchy"
  done
}

after_crash() { :; }
