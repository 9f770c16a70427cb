# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Hosts on this computer that have nothing but a C library and sshd, to be sourced by `up`, `down` and `host`. Each host
# has its own network, processes, mounts, name, keys and users. A switch in a network namespace of its own joins the
# hosts and this computer.

# shellcheck disable=SC2034 # For who sources this.
scripts=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
state=${SSH_STATE:-/var/tmp/fiber-ssh}
cluster=${state##*/}     # Names the switch's namespace and this computer's interface to it.
net=${SSH_NET:-10.86.0}  # .1 is this computer; the hosts are .11 and up.
hosts=(fiber-a fiber-b fiber-c fiber-d)
shared=fiber-c           # Sees the folder `repository` under the path that it has here.
repository=$(realpath "$scripts/../../..")
walled=fiber-d           # Cannot open a connection to this computer.
user=fiber uid=64123     # Who drivers log in as; only the hosts know this user.
PATH=$PATH:/usr/sbin:/sbin

say() { printf '%s: %s\n' "${0##*/}" "$*" >&2; }
die() { say "$*"; exit 1; }
skip() { echo "SKIPPED: $*"; exit 77; }

# One of up and down at a time. The lock leaves no file behind; hosts must not inherit it.
take_lock() {
  exec 9<"$(dirname "$state")"
  flock -w 300 9 || die "another command is still at work after 5 minutes"
}

switch_is_there() { [[ -e /run/netns/$cluster ]]; }

# Daemons of a host and its first process have this in their environment. All others end with the first process.
belongs_to_cluster() { # belongs_to_cluster PID
  [[ $1 != "$$" && $1 != "$BASHPID" ]] || return 1
  tr '\0' '\n' 2>/dev/null <"/proc/$1/environ" | grep -qxF "FIBER_TEST_CLUSTER=$state"
}

cluster_pids() {
  local file
  { grep -lFz "FIBER_TEST_CLUSTER=$state" /proc/[0-9]*/environ 2>/dev/null || true; } | while IFS=/ read -r _ _ file _; do
    if belongs_to_cluster "$file" 2>/dev/null; then echo "$file"; fi
  done
}

address_of() { # address_of HOST
  local at
  for at in "${!hosts[@]}"; do
    if [[ ${hosts[at]} == "$1" ]]; then echo "$net.$((11 + at))"; return; fi
  done
  die "no host '$1'; there are: ${hosts[*]}"
}

# The first process of a host, as this computer numbers it; nothing if the host has no power.
first_process() { # first_process HOST
  local pid
  pid=$(cat "$state/hosts/$1/pid" 2>/dev/null) || return 0
  if belongs_to_cluster "$pid" 2>/dev/null; then echo "$pid"; fi
}

# Runs a command on a host as root, in an environment like that of a login.
on_host() { # on_host HOST COMMAND...
  local pid
  pid=$(first_process "$1")
  [[ -n $pid ]] || die "$1 has no power"
  env -i "FIBER_TEST_CLUSTER=$state" PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=dumb \
    nsenter --target "$pid" --mount --net --pid --uts --ipc -- "${@:2}"
}

sshd_answers() { # sshd_answers HOST
  local pid
  pid=$(cat "$state/hosts/$1/run/sshd.pid" 2>/dev/null) && [[ -n $pid ]] && on_host "$1" kill -0 "$pid" 2>/dev/null
}

await_sshd() { # await_sshd HOST
  local since=$SECONDS
  until sshd_answers "$1"; do
    ((SECONDS < since + 30)) || { say "the sshd of $1 does not start; its log ends so:"; tail -n 10 "$state/hosts/$1/log" >&2; return 1; }
    sleep 0.02
  done
}

# Gives a host power and waits until its sshd listens.
start_host() { # start_host HOST
  local here=$state/hosts/$1
  [[ -z $(first_process "$1") ]] || die "$1 has power"
  rm -f "$here"/{pid,shares,run/sshd.pid}
  # Without the caller's variables: tests know their processes by one.
  env -i "PATH=$PATH" "FIBER_TEST_CLUSTER=$state" "SSH_STATE=$state" "SSH_NET=$net" setsid \
    unshare --mount --propagation slave --net --pid --uts --ipc --fork --kill-child "$scripts/boot" "$1" >"$here/log" 2>&1 </dev/null 9<&- &
  await_sshd "$1" || return 1
  if [[ $1 == "$shared" ]]; then share "$1" "$repository"; fi
}

share() { # share HOST FOLDER
  on_host "$1" mkdir -p "$2"
  on_host "$1" mount --bind "/.computer/root$2" "$2"
  echo "$2" >>"$state/hosts/$1/shares"
}
