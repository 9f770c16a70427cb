# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# A Slurm of this computer's own, to be sourced by `up` and `down`. Its nodes are slurmd processes that listen on the
# loopback address only.

# shellcheck disable=SC2034 # For who sources this.
port=${SLURM_PORT:-16817} nodes=4 cpus=${SLURM_CPUS:-64} # Each node claims to have that many CPUs. They listen on the next ports.
memory=1024                    # MB for each CPU: as a claim of the node, and as the limit of jobs that set none.
accounting=${SLURM_ACCOUNTING:-no}
state=${SLURM_STATE:-/var/tmp/fiber-slurm}
cluster=${state##*/}      # Begins the names of the nodes, and so of their cgroups.
conf=$state/etc/slurm.conf
PATH=$PATH:/usr/sbin:/sbin

say() { printf '%s: %s\n' "${0##*/}" "$*" >&2; }
die() { say "$*"; exit 1; }
skip() { echo "SKIPPED: $*"; exit 77; }

# One of up and down at a time. The lock leaves no file behind; daemons must not inherit it.
take_lock() {
  exec 9<"$(dirname "$state")"
  flock -w 300 9 || die "another command is still at work after 5 minutes"
}

slurm() { timeout 20 env "SLURM_CONF=$conf" "$@"; }

idle_nodes() { slurm sinfo -h -N -t idle -o %N 2>/dev/null | sort -u | wc -l; }

# The daemons have this in their environment. A job's processes have the path of the configuration and a job's id there.
# A slurmstepd has overwritten its environment, but keeps files of the cluster open.
belongs_to_cluster() { # belongs_to_cluster PID
  local words name
  [[ $1 != "$$" && $1 != "$BASHPID" ]] || return 1
  words=$(tr '\0' '\n' 2>/dev/null <"/proc/$1/environ") || return 1
  if grep -qxF "FIBER_TEST_CLUSTER=$state" <<<"$words"; then return 0; fi
  if grep -qxF "SLURM_CONF=$conf" <<<"$words" && grep -q '^SLURM_JOB_ID=' <<<"$words"; then return 0; fi
  name=$(cat "/proc/$1/comm" 2>/dev/null) || return 1
  [[ $name == slurmstepd* && $(readlink "/proc/$1/cwd" "/proc/$1/fd/"* 2>/dev/null) == *"$state/"* ]]
}

cluster_pids() {
  local folder
  for folder in /proc/[0-9]*; do
    if belongs_to_cluster "${folder#/proc/}" 2>/dev/null; then echo "${folder#/proc/}"; fi
  done
}

cgroups() { find /sys/fs/cgroup -mindepth 1 -maxdepth 3 -type d -name "slurm_$cluster-*" 2>/dev/null || true; }
