# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# A Docker engine on a machine of its own, to be sourced.

# shellcheck disable=SC2034 # For who sources this.
name=dockerd group=docker state_variable=DOCKER_STATE
state=${DOCKER_STATE:-/var/tmp/fiber-docker}
socket=$state/docker.sock
net=10.87.0 # Of the bridge; .1 is the machine itself.
# shellcheck source-path=SCRIPTDIR source=../engine.sh
. "$(dirname "${BASH_SOURCE[0]}")/../engine.sh"

tools=(dockerd containerd runc iptables)
engine=(dockerd --data-root "$state/data" --exec-root "$state/run" --pidfile "$state/docker.pid"
  --host "unix://$socket" --bip "$net.1/24" --userland-proxy=false --cgroup-parent "/$cluster"
  --exec-opt native.cgroupdriver=cgroupfs --shutdown-timeout 1)

configure() { :; }
hide_host() { :; } # Options tell it where all its files are.
after_crash() { rm -f "$state/run/containerd/containerd.pid"; } # Or the next one waits for the old containerd.
