# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# shellcheck disable=SC2154 # machines.sh sets them.
# Certificates and kubeconfigs, to be sourced after machines.sh. All lie in $state/pki and $state/users.

# issue NAME SUBJECT [EXTENSION...]: NAME.key and NAME.crt, signed by the cluster's CA.
issue() {
  local name=$1 subject=$2 extension extensions=() pki=$state/pki
  for extension in "${@:3}"; do extensions+=(-addext "$extension"); done
  local by=(-CA "$pki/ca.crt" -CAkey "$pki/ca.key")
  if [[ $name == ca ]]; then by=(); fi
  openssl req -x509 "${by[@]}" -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 3650 \
    -config <(printf '[req]\ndistinguished_name=name\n[name]\n') -subj "$subject" "${extensions[@]}" \
    -keyout "$pki/$name.key" -out "$pki/$name.crt" 2>"$state/openssl.log" ||
    die "openssl: $(tail -n 3 "$state/openssl.log")"
}

issue_client() { issue "$1" "$2" extendedKeyUsage=clientAuth; }

# write_kubeconfig NAME CREDENTIALS... prints the path of the kubeconfig it wrote. CREDENTIALS is "certificate"
# for NAME.crt and NAME.key, or "token TOKEN". Everything is in the one file: it can be copied.
write_kubeconfig() {
  local name=$1 kind=$2 file=$state/users/$1.kubeconfig user pki=$state/pki
  if [[ $kind == token ]]; then
    user="token: $3"
  else
    user="{client-certificate-data: $(base64 -w0 "$pki/$name.crt"), client-key-data: $(base64 -w0 "$pki/$name.key")}"
  fi
  if [[ $kind == token ]]; then user="{$user}"; fi
  mkdir -p "$state/users"
  cat >"$file" <<END
apiVersion: v1
kind: Config
clusters:
- name: $cluster
  cluster:
    server: $K8S_API_URL
    certificate-authority-data: $(base64 -w0 "$pki/ca.crt")
users:
- name: $name
  user: $user
contexts:
- name: $name
  context: {cluster: $cluster, user: $name}
current-context: $name
END
  echo "$file"
}

make_credentials() {
  local node name pki=$state/pki
  mkdir -p "$pki"
  issue ca "/CN=$cluster" basicConstraints=critical,CA:TRUE keyUsage=critical,keyCertSign,cRLSign
  issue apiserver /CN=kube-apiserver extendedKeyUsage=serverAuth \
    "subjectAltName=DNS:localhost,DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc,IP:127.0.0.1,IP:$K8S_NET.250.1,IP:$K8S_NET.0.2"
  issue_client kubelet-client /O=system:masters/CN=kube-apiserver-kubelet-client
  issue_client admin /O=system:masters/CN=admin
  for name in kube-controller-manager kube-scheduler kube-proxy; do issue_client "$name" "/CN=system:$name"; done
  for node in $K8S_NODES; do
    issue "$node" "/O=system:nodes/CN=system:node:$node" extendedKeyUsage=serverAuth,clientAuth \
      "subjectAltName=DNS:$node,IP:$K8S_NET.1.$((10 + ${node#node}))"
  done
  openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$pki/service-accounts.key"
  openssl pkey -in "$pki/service-accounts.key" -pubout -out "$pki/service-accounts.pub"
  for name in admin kube-controller-manager kube-scheduler kube-proxy $K8S_NODES; do
    write_kubeconfig "$name" certificate >/dev/null
  done
}
