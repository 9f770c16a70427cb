# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The machines of the cluster, to be sourced: one for the control plane and one for each node. A machine is a
# set of namespaces (network, processes, mounts, host name) whose first process is `boot`, plus cgroups. The
# functions keep no state of their own: they find what is there, also after a kill -9 of anything.

cluster=fiber-k8s # Names the control plane's machine; prefix of all other names.
state=$(realpath -m "${K8S_STATE:-/var/tmp/$cluster}")
cache=$(realpath -m "${K8S_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/fiber/kubernetes-1.20.2}")
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
bin=$cache/bin

say() { printf '%s: %s\n' "${0##*/}" "$*" >&2; }
die() { say "$*"; exit 1; }
skip() { echo "SKIPPED: $*"; exit 77; }

# One of up, down and control at a time. The lock leaves no file behind; daemons must not inherit it.
take_lock() {
  exec 9<"$(dirname "$state")"
  flock -n 9 || { say "another command is at work, waiting for it"; flock -w 300 9; } ||
    die "another command is still at work after 5 minutes"
}


# -- machines ---------------------------------------------------------------------------------------------

folder() { echo "$state/$1"; }
log() { echo "$state/$1/log/$2.log"; } # log MACHINE PROGRAM

# wait_for MACHINE PROGRAM COMMAND... polls the command, which tells whether the program does its work. Fails,
# with the end of the program's log, after a minute or if the program ended.
wait_for() {
  local machine=$1 program=$2 since=$SECONDS
  shift 2
  until "$@" >/dev/null 2>&1; do
    if ((SECONDS > since + 60)); then say "$machine: $program does not serve after a minute; its log ends so:"
    elif ((SECONDS > since + 2)) && ! machine_pids "$machine" "$program" >/dev/null; then
      say "$machine: $program has ended; its log ends so:"
    else
      sleep 0.1
      continue
    fi
    tail -n 10 "$(log "$machine" "$program")" | cut -c 1-300 >&2
    return 1
  done
}

# Of programs on a machine, whatever that of the scripts is: what containerd unpacks must be readable by pods that
# do not run as root.
machine_umask=022

# machine_boot MACHINE: gives the machine a network without links, and boots it.
machine_boot() {
  local machine=$1 log
  log=$(log "$machine" boot)
  mkdir -p "$(folder "$machine")"/{lib,log}
  ip netns add "$machine"
  ip -n "$machine" link set lo up
  (
    umask "$machine_umask"
    exec setsid nsenter "--net=/run/netns/$machine" unshare --mount --propagation slave --uts --pid --fork \
      --kill-child --mount-proc "$here/boot" "$machine" "$(folder "$machine")" "$bin/pause"
  ) >"$log" 2>&1 </dev/null 9<&- &
  local try
  for try in {1..100}; do
    if machine_is_up "$machine"; then return; fi
    sleep 0.1
  done
  die "machine $machine did not boot in $((try / 10)) s: $(tail -n 3 "$log")"
}

# Prints the process id, on the host, of the machine's first process.
machine_init() {
  local pid
  for pid in $(ip netns pids "$1" 2>/dev/null); do
    if awk '/^NSpid:/ { exit !(NF == 3 && $3 == 1) }' "/proc/$pid/status" 2>/dev/null; then
      echo "$pid"
      return
    fi
  done
  return 1
}

machine_is_up() {
  local pid
  pid=$(machine_init "$1") && [[ $(tr '\0' '\n' <"/proc/$pid/cmdline") == "$1" ]]
}

# machine_run MACHINE COMMAND...
machine_run() {
  local pid
  pid=$(machine_init "$1") || die "machine $1 is not up"
  nsenter --target "$pid" --mount --net --uts --pid -- "${@:2}"
}

# machine_daemon MACHINE PROGRAM ARGUMENT... starts a program that stays; its log is named after it.
machine_daemon() {
  machine_is_up "$1" || die "machine $1 is not up"
  (
    umask "$machine_umask"
    machine_run "$1" setsid --fork -- "${@:2}"
  ) >>"$(log "$1" "$(basename "$2")")" 2>&1 </dev/null 9<&-
}

# machine_pids MACHINE PROGRAM: its process ids on the host. Programs in pods do not count.
machine_pids() {
  local pid
  pid=$(machine_init "$1") && pgrep --ns "$pid" --nslist pid -x "${2:0:15}"
}

# -- network ----------------------------------------------------------------------------------------------
#
#   host            net.0.1 -- net.0.2      control plane: a veth named after the cluster, on the host
#   nodes           net.1.(10 + i)          a bridge in the control plane's machine, at net.1.1
#   pods of node i  net.(10 + i).*          a bridge on the node
#   services        net.250.*

# Prints the first two numbers of a /16 that nothing on this host uses.
choose_net() {
  local net
  for net in 10.{213..249}; do
    if ! { ip -4 route show table all root "$net.0.0/16"; ip -4 route show table all match "$net.0.0/16"; } |
      grep -v '^default' | grep -q .; then
      echo "$net"
      return
    fi
  done
  die "no private network from 10.213.0.0/16 to 10.249.0.0/16 is unused on this host"
}

connect_control_plane() {
  local net=$1
  ip link add "$cluster" type veth peer name host netns "$cluster"
  ip addr add "$net.0.1/24" dev "$cluster"
  ip link set "$cluster" up
  ip -n "$cluster" addr add "$net.0.2/24" dev host
  ip -n "$cluster" link set host up
  ip -n "$cluster" link add nodes type bridge
  ip -n "$cluster" addr add "$net.1.1/24" dev nodes
  ip -n "$cluster" link set nodes up
  ip netns exec "$cluster" sysctl -qw net.ipv4.ip_forward=1
  ip route add "$net.0.0/16" via "$net.0.2"
}

connect_node() {
  local net=$1 node=$2 number=$3
  ip -n "$cluster" link add "$node" type veth peer name eth0 netns "$cluster-$node"
  ip -n "$cluster" link set "$node" master nodes up
  ip -n "$cluster-$node" addr add "$net.1.$((10 + number))/24" dev eth0
  ip -n "$cluster-$node" link set eth0 up
  ip -n "$cluster-$node" route add default via "$net.1.1"
  ip -n "$cluster" route add "$net.$((10 + number)).0/24" via "$net.1.$((10 + number))"
  ip netns exec "$cluster-$node" sysctl -qw net.ipv4.ip_forward=1
}

# -- cgroups ----------------------------------------------------------------------------------------------

cgroup_version() { if [[ $(stat -fc %T /sys/fs/cgroup) == cgroup2fs ]]; then echo 2; else echo 1; fi; }

cgroup_folders() { find /sys/fs/cgroup -maxdepth 2 -type d -name "$cluster-*" 2>/dev/null; }

# machine_cgroups MACHINE makes the cgroup under which the kubelet keeps its pods.
machine_cgroups() {
  local hierarchy controller file
  if [[ $(cgroup_version) == 2 ]]; then
    for controller in cpuset cpu io memory hugetlb pids; do
      if grep -qw "$controller" /sys/fs/cgroup/cgroup.controllers &&
        ! grep -qw "$controller" /sys/fs/cgroup/cgroup.subtree_control; then
        echo "+$controller" >/sys/fs/cgroup/cgroup.subtree_control
        echo "-$controller" >>"$state/cgroup-controllers" # For down.
      fi
    done
    mkdir -p "/sys/fs/cgroup/$1"
    return
  fi
  for hierarchy in /sys/fs/cgroup/*/; do
    if [[ -L ${hierarchy%/} ]]; then continue; fi # cpu -> cpu,cpuacct
    mkdir -p "$hierarchy$1"
    for file in cpuset.cpus cpuset.mems; do
      if [[ -e $hierarchy$file ]]; then cat "$hierarchy$file" >"$hierarchy$1/$file"; fi
    done
  done
}

# -- what is there ----------------------------------------------------------------------------------------

netns_names() { ip netns list 2>/dev/null | awk -v name="$cluster" '$1 == name || index($1, name "-node") == 1 { print $1 }'; }

# All processes of all machines, pods included, as far as anything still ties them to the cluster.
cluster_pids() {
  local name folder
  {
    for name in $(netns_names); do ip netns pids "$name" || true; done
    pgrep -f "^$cluster(-node[0-9]+)?\$" || true
    for folder in $(cgroup_folders); do find "$folder" -name cgroup.procs -exec cat {} + || true; done
  } 2>/dev/null | grep -vx 0 | sort -un
}

# Prints a line for everything that belongs to a cluster; nothing if all is gone.
leftovers() {
  local pid
  for pid in $(cluster_pids); do echo "process $pid ($(cat "/proc/$pid/comm" 2>/dev/null || true))"; done
  netns_names | sed 's/^/network namespace /'
  if ip link show "$cluster" >/dev/null 2>&1; then echo "link $cluster"; fi
  cgroup_folders | sed 's/^/cgroup /'
  awk -v under="$state/" '$2 == substr(under, 1, length(under) - 1) || index($2, under) == 1 { print "mount " $2 }' \
    /proc/self/mounts
  if [[ -e $state ]]; then echo "folder $state"; fi
}
