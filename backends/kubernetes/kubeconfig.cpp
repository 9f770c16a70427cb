// SPDX-License-Identifier: Apache-2.0
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <sstream>

#include "backends/kubernetes/access.hpp"
#include "backends/kubernetes/kubeconfig_user.hpp"
#include "fiber/detail/classic_locale.hpp"

namespace fiber::backends::kubernetes {

namespace {

using Sections = std::map<std::string, Section>;

/// Several kubeconfigs merged into one.
struct Merged {
  std::string files; // The existing ones, for messages.
  Sections clusters, users, contexts;
  std::string current;
  std::string current_place;
};

std::string join(const std::vector<std::string>& words) {
  std::string text;
  for (const auto& word : words)
    text += (text.empty() ? "" : ", ") + word;
  return text;
}

std::string names(const Sections& sections) {
  std::vector<std::string> words;
  for (const auto& entry : sections)
    words.push_back(entry.first);
  return words.empty() ? "(there is none)" : join(words);
}

std::string home() {
  if (const char* home = std::getenv("HOME"); home && *home)
    return home;
  const passwd* user = ::getpwuid(::geteuid());
  return user && user->pw_dir ? user->pw_dir : "/";
}

/// Returns the files to read, and in `place` the source of the list.
std::vector<std::string> configured_files(const std::string& option, std::string& place) {
  const char* variable = std::getenv("KUBECONFIG");
  std::string list = option;
  place = "options";
  if (list.empty() && variable) {
    list = variable;
    place = "environment KUBECONFIG";
  }
  if (list.empty()) {
    place = "default";
    return {home() + "/.kube/config"};
  }
  std::vector<std::string> files;
  fiber::detail::Classic<std::istringstream> stream(list);
  for (std::string file; std::getline(stream, file, ':');)
    if (!file.empty() && std::ranges::find(files, file) == files.end())
      files.push_back(file);
  return files;
}

/// Adds the entries of a list. Entries of earlier files take precedence.
void merge(const Section& root, const std::string& list, const std::string& inner,
           Sections& all) {
  Sections here;
  for (const auto& entry : root.sections(list)) {
    auto name = entry.required("name", "a name");
    if (here.contains(name))
      entry.fail("name", "\"" + name + "\" is there twice", "different names");
    if (!entry.has(inner))
      entry.fail(inner, "is missing", "a mapping");
    here.emplace(name, entry.section(inner));
  }
  all.merge(here);
}

void merge(const Section& root, Merged& all) {
  for (const auto& [key, value] : {std::pair("apiVersion", "v1"), {"kind", "Config"}})
    if (auto text = root.text(key); !text.empty() && text != value)
      root.fail(key, "\"" + text + "\" is unknown", value);
  merge(root, "clusters", "cluster", all.clusters);
  merge(root, "users", "user", all.users);
  merge(root, "contexts", "context", all.contexts);
  if (all.current.empty()) {
    all.current = root.text("current-context");
    all.current_place = root.place("current-context");
  }
}

Merged load(const std::string& option) {
  Merged all;
  std::string place;
  auto files = configured_files(option, place);
  std::vector<std::string> read;
  for (const auto& file : files) {
    std::error_code unknown; // Ignored: reading the file reports it.
    if (std::filesystem::status(file, unknown).type() ==
        std::filesystem::file_type::not_found)
      continue;
    merge(Section::load(file), all);
    read.push_back(file);
  }
  if (read.empty())
    throw AccessError("kubeconfig", place, "the path of a kubeconfig",
                      "there is no " + join(files));
  all.files = join(read);
  return all;
}

std::pair<std::string, Section> pick_context(const Merged& all,
                                             const std::string& wanted) {
  auto name = wanted.empty() ? all.current : wanted;
  auto found = all.contexts.find(name);
  if (found != all.contexts.end())
    return *found;
  auto valid = "one of: " + names(all.contexts);
  if (!wanted.empty())
    throw AccessError("context", all.files, valid, "there is no \"" + wanted + "\"");
  if (name.empty())
    throw AccessError("current-context", all.files, valid, "is not set");
  throw AccessError("current-context", all.current_place, valid,
                    "there is no context \"" + name + "\"");
}

const Section& referred(const Section& context, const char* key, const Sections& all) {
  auto name = context.required(key, "one of: " + names(all));
  auto found = all.find(name);
  if (found == all.end())
    context.fail(key, "there is no " + std::string(key) + " \"" + name + "\"",
                 "one of: " + names(all));
  return found->second;
}

std::string read_server(const Section& cluster) {
  const char* const valid = "https://HOST:PORT";
  auto url = cluster.required("server", valid);
  bool known = url.starts_with("https://") || url.starts_with("http://");
  if (!known || url.find_first_of(" \t\r\n") != url.npos)
    cluster.fail("server", "is no http or https address", valid);
  while (url.ends_with('/'))
    url.pop_back();
  return url;
}

std::string read_proxy(const Section& cluster) {
  auto url = cluster.text("proxy-url");
  for (const char* scheme : {"http://", "https://", "socks5://", "socks5h://"})
    if (url.empty() || url.starts_with(scheme))
      return url;
  // Does not print the URL, which may contain a password.
  cluster.fail("proxy-url", "has an unknown scheme",
               "http://.., https://.., socks5://..");
}

/// Refuses a server that is reached without TLS, except on this machine.
void check_encrypted(const Section& cluster, const http::Endpoint& endpoint) {
  if (endpoint.url.starts_with("https://") ||
      (http::is_loopback(endpoint.url) && endpoint.proxy.empty()))
    return;
  cluster.fail("server",
               "has no TLS, so the network could read your credentials and the keys of "
               "workers",
               "https://HOST:PORT; http:// only to this machine without a proxy, as for "
               "kubectl proxy, unless kubernetes_allow=plaintext, for a network that "
               "only you use");
}

void read_cluster(const Section& cluster, bool plaintext, Access& access) {
  access.endpoint.url = read_server(cluster);
  access.endpoint.ca_pem = read_pem(cluster, "certificate-authority", access.files.ca);
  access.endpoint.insecure = cluster.flag("insecure-skip-tls-verify");
  if (access.endpoint.insecure && !access.endpoint.ca_pem.empty())
    cluster.fail("insecure-skip-tls-verify", "contradicts certificate-authority",
                 "one of both");
  access.endpoint.server_name = cluster.text("tls-server-name");
  access.endpoint.proxy = read_proxy(cluster);
  if (!plaintext)
    check_encrypted(cluster, access.endpoint);
}

} // namespace

Access from_kubeconfig(const KubeconfigOptions& options) {
  auto all = load(options.files);
  auto [name, context] = pick_context(all, options.context);
  Access access;
  const auto& cluster = referred(context, "cluster", all.clusters);
  read_cluster(cluster, options.plaintext, access);
  if (!context.text("user").empty()) // Otherwise anonymous, as for `kubectl proxy`.
    read_user(referred(context, "user", all.users), cluster, access);
  bool theirs = options.name_space.empty();
  access.name_space = theirs ? context.text("namespace") : options.name_space;
  if (access.name_space.empty())
    access.name_space = "default";
  check_namespace(access.name_space, theirs ? context.place("namespace") : "options");
  access.source = "kubeconfig " + all.files + ", context " + name;
  return access;
}

} // namespace fiber::backends::kubernetes
