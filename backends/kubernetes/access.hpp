// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "backends/backend.hpp"
#include "backends/http/client.hpp"

namespace fiber::backends::kubernetes {

/// Access, or the pod template, as it is configured can't be used.
using AccessError = SettingError;

/// Throws AccessError, key "namespace", if no namespace can have this name.
void check_namespace(const std::string& name, const std::string& place);

/// A program that prints an ExecCredential.
struct ExecPlugin {
  std::string command; ///< As configured, for messages.
  std::string program; ///< Its file.
  std::vector<std::string> args;
  std::vector<std::string> environment; ///< All of it, NAME=VALUE.
  std::string api_version;              ///< It must answer with the same.
  std::string install_hint;
  std::string place;        ///< "/home/me/.kube/config:12"
  bool interactive = false; ///< It may ask on the terminal.
};

/// Who we are to the API server. What is empty is not shown.
struct Identity {
  std::string token;
  std::string token_file; ///< Wins over `token`, which stands in while it can't be read.
  std::string username, password;
  std::vector<std::string> impersonation; ///< Headers "Impersonate-User: jane", ...
  std::optional<ExecPlugin> plugin;       ///< Asked if there is nothing of the above.
};

/// Files behind parts of an Endpoint, to be read again when they change. Empty: none.
struct EndpointFiles {
  std::string ca, client_cert, client_key;
};

/// How to reach an API server, and as whom: what Credentials is made from.
struct Access {
  http::Endpoint endpoint;
  EndpointFiles files;
  Identity identity;
  std::string name_space;
  /// Where it is from, for messages: "kubeconfig /home/me/.kube/config, context kind".
  std::string source;
};

struct InClusterOptions {
  std::string name_space = {}; ///< Empty: the pod's own.
  std::string folder = "/var/run/secrets/kubernetes.io/serviceaccount";
};

/// Whether this process runs in a pod that has a service account's token.
bool inside_pod(const InClusterOptions& options = {});

/// Access by the pod's service account. Throws AccessError.
Access in_cluster(const InClusterOptions& options = {});

struct KubeconfigOptions {
  std::string context = {};    ///< Empty: current-context.
  std::string name_space = {}; ///< Empty: the context's, else "default".
  /// Files, separated by ':'; of what several of them set, the first one's holds. Empty:
  /// $KUBECONFIG, else ~/.kube/config.
  std::string files = {};
};

/// Access as kubectl has it. Reads files but runs nothing. Throws AccessError.
Access from_kubeconfig(const KubeconfigOptions& options = {});

} // namespace fiber::backends::kubernetes
