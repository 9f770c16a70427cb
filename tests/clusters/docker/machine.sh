# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# The machine that the engine has for itself, to be sourced: a network, processes and mounts of its own. When its
# first process ends, the kernel ends all the others in it.

state=${DOCKER_STATE:-/var/tmp/fiber-docker}
cluster=${state##*/} # Names the network namespace and the cgroup: another state is another engine.
socket=$state/docker.sock
export net=10.87.0 # Of the bridge; .1 is the machine itself.

# shellcheck disable=SC2034 # For who sources this.
engine=(dockerd --data-root "$state/data" --exec-root "$state/run" --pidfile "$state/docker.pid"
  --host "unix://$socket" --bip "$net.1/24" --userland-proxy=false --cgroup-parent "/$cluster"
  --exec-opt native.cgroupdriver=cgroupfs --shutdown-timeout 1)

say() { printf '%s: %s\n' "${0##*/}" "$*" >&2; }
die() { say "$*"; exit 1; }
skip() { echo "SKIPPED: $*"; exit 77; }

# One of up and down at a time. The lock leaves no file behind; daemons must not inherit it.
take_lock() {
  exec 9<"$(dirname "$state")"
  flock -w 300 9 || die "another command is still at work after 5 minutes"
}

api() { curl -sS --max-time 60 --unix-socket "$socket" "$@"; }
engine_answers() { [[ -S $socket && $(api http://docker/_ping 2>/dev/null) == OK ]]; }

# The process outside that ends the machine when it ends.
machine_pid() { pgrep -f "^unshare .*$state/boot.pid" | head -n 1; }

engine_pid() { pgrep -f "^dockerd --data-root $state/data " | head -n 1; }

await_engine() {
  local since=$SECONDS
  until engine_answers; do
    if ((SECONDS > since + 60)) || { ((SECONDS > since + 3)) && [[ -z $(machine_pid) ]]; }; then
      say "dockerd does not answer; its log ends so:"
      tail -n 10 "$state/dockerd.log" >&2
      return 1
    fi
    sleep 0.1
  done
}

cgroups() { find /sys/fs/cgroup -depth -type d \( -name "$cluster" -o -path "*/$cluster/*" \) 2>/dev/null || true; }
network_is_there() { ip netns list | cut -d ' ' -f 1 | grep -qx "$cluster"; }
