// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "backends/backend.hpp"
#include "backends/http/client.hpp"

namespace fiber::backends::kubernetes {

/// The configured access or pod template is invalid.
using AccessError = SettingError;

/// Throws AccessError with key "namespace" if the name is invalid.
void check_namespace(const std::string& name, const std::string& place);

/// An exec plugin: a program that prints an ExecCredential.
struct ExecPlugin {
  std::string command; ///< The configured name, for messages.
  std::string program; ///< Path of its file.
  std::vector<std::string> args;
  std::vector<std::string> environment; ///< The complete environment, NAME=VALUE.
  std::string api_version;              ///< Required in its answer.
  std::string install_hint;
  std::string place;        ///< "/home/me/.kube/config:12"
  bool interactive = false; ///< It may use the terminal.
};

/// Our identity for the API server. Empty parts are not sent.
struct Identity {
  std::string token;
  std::string token_file; ///< Preferred to `token`, the fallback if it is unreadable.
  std::string username, password;
  std::vector<std::string> impersonation; ///< Headers "Impersonate-User: jane", ...
  std::optional<ExecPlugin> plugin;       ///< Used if all of the above are empty.
};

/// Files of parts of an Endpoint, reread when they change. Empty: none.
struct EndpointFiles {
  std::string ca, client_cert, client_key;
};

/// How to reach an API server, and with which identity: the input of Credentials.
struct Access {
  http::Endpoint endpoint;
  EndpointFiles files;
  Identity identity;
  std::string name_space;
  /// The source, for messages: "kubeconfig /home/me/.kube/config, context kind".
  std::string source;
};

struct InClusterOptions {
  std::string name_space = {}; ///< Empty: the pod's namespace.
  std::string folder = "/var/run/secrets/kubernetes.io/serviceaccount";
};

/// Returns whether this process runs in a pod with a service account's token.
bool inside_pod(const InClusterOptions& options = {});

/// Returns access by the pod's service account. Throws AccessError.
Access in_cluster(const InClusterOptions& options = {});

struct KubeconfigOptions {
  std::string context = {};    ///< Empty: current-context.
  std::string name_space = {}; ///< Empty: the context's, or "default".
  /// Files, separated by ':'; the first one that sets a value wins. Empty: $KUBECONFIG,
  /// or
  /// ~/.kube/config.
  std::string files = {};
  bool plaintext = false; ///< Takes a server without TLS on another machine, too.
};

/// Returns the access that kubectl would have. Reads files but runs no program. Throws
/// AccessError.
Access from_kubeconfig(const KubeconfigOptions& options = {});

/// What may be that is refused by default: the words of the setting kubernetes_allow.
inline constexpr auto plaintext = "plaintext";
inline constexpr const char* allowed_words[] = {plaintext};

/// The settings that choose a cluster, each as it was given.
struct ClusterSettings {
  std::string context = {}, name_space = {}, allow = {};
};

/// Returns the access that the settings choose: the kubeconfig's, or that of this pod.
/// The first access of this process that trusts any certificate is logged as a warning.
/// Throws AccessError.
Access chosen_access(const ClusterSettings& settings);

} // namespace fiber::backends::kubernetes
