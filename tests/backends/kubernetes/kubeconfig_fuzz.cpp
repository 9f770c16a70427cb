// SPDX-License-Identifier: Apache-2.0
// The bytes should be a kubeconfig. Reading it gives access, or an error
// that says what is wrong.

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "backends/kubernetes/access.hpp"
#include "base/unique_fd.hpp"
#include "tests/fuzz/target.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fiber::backends::kubernetes;
  const fiber::UniqueFd file(::memfd_create("kubeconfig", MFD_CLOEXEC));
  if (::write(file.get(), data, size) != static_cast<ssize_t>(size))
    std::abort();
  try {
    const auto access =
      from_kubeconfig({.files = "/proc/self/fd/" + std::to_string(file.get())});
    if (access.endpoint.url.empty() || access.name_space.empty())
      std::abort();
    ++fiber::fuzz::taken;
  } catch (const AccessError&) { // What the user is told.
  }
  return 0;
}

std::vector<std::string> fiber::fuzz::seeds() {
  const std::string head = "apiVersion: v1\n"
                           "kind: Config\n"
                           "current-context: test\n"
                           "contexts:\n"
                           "- name: test\n"
                           "  context: {user: me, cluster: here, namespace: mine}\n"
                           "clusters:\n"
                           "- name: here\n"
                           "  cluster:\n"
                           "    server: https://10.0.0.1:6443/\n";
  const std::string user = "users:\n"
                           "- name: me\n"
                           "  user:\n";
  const std::string token = "    token: abc\n";
  const std::string exec = "    exec:\n"
                           "      apiVersion: client.authentication.k8s.io/v1\n"
                           "      command: /bin/true\n"
                           "      interactiveMode: Never\n"
                           "      provideClusterInfo: true\n"
                           "      args: [\"a b\", --token]\n"
                           "      env: [{name: A, value: b}]\n";
  const std::string more = "    insecure-skip-tls-verify: true\n"
                           "    tls-server-name: api\n"
                           "    proxy-url: socks5://proxy:1080\n"
                           "    extensions:\n"
                           "    - name: client.authentication.k8s.io/exec\n"
                           "      extension: {a: [1, 2.5, x], b: &here {c: null}}\n";
  return {head + user + token, head + more + user + token,
          head + user + "    username: me\n    password: word\n    as: you\n",
          head + more + user + exec,
          "{apiVersion: v1, current-context: c, contexts: [{name: c, context: {cluster: "
          "x}}], clusters: [{name: x, cluster: {server: 'http://127.0.0.1:8001'}}]}"};
}
