# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# shellcheck disable=SC2154 # machines.sh sets them.
# How each program of the cluster is started, to be sourced after machines.sh. Needs the variables of
# $state/env. start_PROGRAM works for the first start and for one after a kill.

kubectl() { "$bin/kubectl" --kubeconfig "$state/users/admin.kubeconfig" "$@"; }

api_ready() { [[ $(kubectl --request-timeout=2s get --raw /readyz) == ok ]]; }
node_ready() { kubectl get node "$1" -o 'jsonpath={.status.conditions[?(@.type=="Ready")].status}' | grep -qx True; }

# -- control plane ----------------------------------------------------------------------------------------

start_etcd() {
  local client=http://127.0.0.1:2379 peer=http://127.0.0.1:2380
  machine_daemon "$cluster" etcd --data-dir /var/lib/etcd --listen-client-urls "$client" \
    --advertise-client-urls "$client" --listen-peer-urls "$peer" --initial-advertise-peer-urls "$peer" \
    --initial-cluster "default=$peer" --unsafe-no-fsync
}

start_kube-apiserver() {
  local pki=$state/pki
  machine_daemon "$cluster" "$bin/kube-apiserver" --etcd-servers=http://127.0.0.1:2379 \
    --advertise-address="$K8S_NET.0.2" --secure-port=6443 --service-cluster-ip-range="$K8S_NET.250.0/24" \
    --tls-cert-file="$pki/apiserver.crt" --tls-private-key-file="$pki/apiserver.key" \
    --client-ca-file="$pki/ca.crt" --service-account-issuer=https://kubernetes.default.svc \
    --service-account-key-file="$pki/service-accounts.pub" \
    --service-account-signing-key-file="$pki/service-accounts.key" \
    --authorization-mode=Node,RBAC --enable-admission-plugins=NodeRestriction --allow-privileged=true \
    --kubelet-certificate-authority="$pki/ca.crt" --kubelet-preferred-address-types=InternalIP \
    --kubelet-client-certificate="$pki/kubelet-client.crt" --kubelet-client-key="$pki/kubelet-client.key" \
    --default-not-ready-toleration-seconds=5 --default-unreachable-toleration-seconds=5 \
    --feature-gates=TTLAfterFinished=true
}

# A node is NotReady after 8 s of silence (default: 40 s), and its pods are evicted 5 s later (300 s).
start_kube-controller-manager() {
  local user=$state/users/kube-controller-manager.kubeconfig
  machine_daemon "$cluster" "$bin/kube-controller-manager" --kubeconfig="$user" \
    --authentication-kubeconfig="$user" --authorization-kubeconfig="$user" --use-service-account-credentials=true \
    --service-account-private-key-file="$state/pki/service-accounts.key" --root-ca-file="$state/pki/ca.crt" \
    --leader-elect=false --allocate-node-cidrs=false --bind-address=127.0.0.1 --port=0 \
    --node-monitor-period=1s --node-monitor-grace-period=8s --kube-api-qps=200 --kube-api-burst=400 \
    --feature-gates=TTLAfterFinished=true
}

start_kube-scheduler() {
  local user=$state/users/kube-scheduler.kubeconfig
  machine_daemon "$cluster" "$bin/kube-scheduler" --kubeconfig="$user" --authentication-kubeconfig="$user" \
    --authorization-kubeconfig="$user" --leader-elect=false --bind-address=127.0.0.1 --port=0 \
    --kube-api-qps=200 --kube-api-burst=400
}

# -- nodes ------------------------------------------------------------------------------------------------

socket() { echo "$state/$cluster-$1/containerd.sock"; }

# containerd NODE...: the client of the node's containerd, in the namespace of Kubernetes.
ctr_on() { ctr --address "$(socket "$1")" --namespace k8s.io "${@:2}"; }

start_containerd() {
  local node=$1 folder=$state/$cluster-$1
  mkdir -p "$folder/cni"
  cat >"$folder/cni/bridge.conflist" <<END
{"cniVersion": "0.4.0", "name": "pods", "plugins": [{
  "type": "bridge", "bridge": "pods", "isGateway": true, "hairpinMode": true,
  "ipam": {"type": "host-local", "ranges": [[{"subnet": "$K8S_NET.$((10 + ${node#node})).0/24"}]],
           "routes": [{"dst": "0.0.0.0/0"}]}}]}
END
  cat >"$folder/containerd.toml" <<END
version = 2
oom_score = 0
[grpc]
  address = "$(socket "$node")"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "$pause_image"
  restrict_oom_score_adj = true # Lower ones need a capability that containers lack.
  disable_apparmor = true
[plugins."io.containerd.grpc.v1.cri".cni]
  bin_dir = "/usr/lib/cni"
  conf_dir = "$folder/cni"
[plugins."io.containerd.grpc.v1.cri".containerd]
  snapshotter = "$K8S_SNAPSHOTTER"
END
  machine_daemon "$cluster-$node" containerd --config "$folder/containerd.toml"
}

pause_image=localhost/$cluster/pause:1

start_kubelet() {
  local node=$1 folder=$state/$cluster-$1
  cat >"$folder/kubelet.yaml" <<END
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
authentication: {anonymous: {enabled: false}, webhook: {enabled: true}, x509: {clientCAFile: $state/pki/ca.crt}}
authorization: {mode: Webhook}
tlsCertFile: $state/pki/$node.crt
tlsPrivateKeyFile: $state/pki/$node.key
cgroupDriver: cgroupfs
cgroupRoot: /$cluster-$node
enforceNodeAllocatable: [pods]
failSwapOn: false
makeIPTablesUtilChains: false
oomScoreAdj: 0
resolvConf: /dev/null
maxPods: 200
serializeImagePulls: false
imageGCHighThresholdPercent: 100
imageGCLowThresholdPercent: 99
evictionHard: {memory.available: 100Mi, nodefs.available: 256Mi}
nodeStatusUpdateFrequency: 1s
nodeLeaseDurationSeconds: 4
kubeAPIQPS: 200
kubeAPIBurst: 400
eventRecordQPS: 0
registryPullQPS: 0
syncFrequency: 10s
END
  AWS_EC2_METADATA_DISABLED=true machine_daemon "$cluster-$node" "$bin/kubelet" --config="$folder/kubelet.yaml" \
    --kubeconfig="$state/users/$node.kubeconfig" --hostname-override="$node" \
    --node-ip="$K8S_NET.1.$((10 + ${node#node}))" --container-runtime=remote \
    --container-runtime-endpoint="unix://$(socket "$node")" --containerd="$(socket "$node")" \
    --runtime-cgroups="/$cluster-$node" --pod-infra-container-image="$pause_image"
}

# Pods reach the API server by the address of its service. The limits of connection tracking are left alone.
start_kube-proxy() {
  machine_daemon "$cluster-$1" "$bin/kube-proxy" --kubeconfig="$state/users/kube-proxy.kubeconfig" \
    --hostname-override="$1" --proxy-mode=iptables --cluster-cidr="$K8S_NET.0.0/16" --oom-score-adj=0 \
    --conntrack-max-per-core=0 --conntrack-min=0 --conntrack-tcp-timeout-established=0 \
    --conntrack-tcp-timeout-close-wait=0
}

# import_image ARCHIVE NODE
import_image() {
  local output
  output=$(ctr_on "$2" images import --snapshotter "$K8S_SNAPSHOTTER" "$1" 2>&1) ||
    die "containerd of $2 does not take $1: $output"
}

# The registry of images that is on each node under the same name; these share what they hold. Containerd needs no TLS
# for a name that is the node itself.
registry=localhost:5000

start_registry() {
  cat >"$state/registry.yml" <<END
version: 0.1
log: {level: warn}
storage: {filesystem: {rootdirectory: $state/registry}}
http: {addr: "$registry"}
END
  machine_daemon "$cluster-$1" docker-registry serve "$state/registry.yml"
}

registry_ready() { machine_run "$cluster-$1" curl --silent --fail --noproxy '*' "http://$registry/v2/"; }

# push_image NODE IMAGE NAME
push_image() {
  local output
  ctr_on "$1" images tag --force "$2" "$3" >/dev/null
  output=$(machine_run "$cluster-$1" ctr --address "$(socket "$1")" --namespace k8s.io images push --plain-http "$3" 2>&1) ||
    die "the registry of $1 does not take $3: $output"
}

proxy_ready() { machine_run "$cluster-$1" iptables-save -t nat | grep -q 'default/kubernetes:https'; }
