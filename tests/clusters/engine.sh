# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# The machine that a container engine has for itself, to be sourced by docker/machine.sh and podman/machine.sh, which
# say which engine that is: a network, processes and mounts of its own. When its first process ends, the kernel ends
# all the others in it.

# shellcheck disable=SC2154 # Who sources this sets state, socket and engine.
cluster=${state##*/} # Names the network namespace and the cgroup: another state is another engine.

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

# The process outside that ends the machine when it ends; there is no more than one.
machine_pid() { pgrep -f "^unshare .* --boot $state\$" || true; }

engine_pid() { pgrep -f "^$name .*$state/data " | head -n 1; }

await_engine() {
  local since=$SECONDS
  until engine_answers; do
    if ((SECONDS > since + 60)) || { ((SECONDS > since + 3)) && [[ -z $(machine_pid) ]]; }; then
      say "$name does not answer; its log ends so:"
      tail -n 10 "$state/$name.log" >&2
      return 1
    fi
    sleep 0.1
  done
}

cgroups() { find /sys/fs/cgroup -depth -type d \( -name "$cluster" -o -path "*/$cluster/*" \) 2>/dev/null || true; }
network_is_there() { ip netns list | cut -d ' ' -f 1 | grep -qx "$cluster"; }
