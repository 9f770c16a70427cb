// SPDX-License-Identifier: Apache-2.0
#include "backends/kubernetes/kubeconfig_user.hpp"

#include <algorithm>
#include <array>

#include "backends/kubernetes/base64.hpp"
#include "backends/kubernetes/header.hpp"
#include "backends/kubernetes/watched_file.hpp"

namespace fiber::backends::kubernetes {

namespace {

/// Returns a value for a header, which must have no line break.
std::string header_text(const Section& section, const std::string& key) {
  auto text = section.text(key);
  if (!fits_header(text))
    section.fail(key, "has a line break or another control character", "one line");
  return text;
}

void read_token(const Section& user, Identity& identity) {
  identity.token = header_text(user, "token");
  auto path = user.text("tokenFile");
  if (path.empty())
    return;
  WatchedFile file(user.resolve(path));
  if (!file.error().empty() && identity.token.empty())
    user.fail("tokenFile", file.path() + ": " + file.error(), "a file with a token");
  identity.token_file = file.path();
}

void read_password(const Section& user, Identity& identity) {
  identity.username = user.text("username");
  identity.password = user.text("password");
  if (identity.username.empty() && identity.password.empty())
    return;
  if (!identity.token.empty() || !identity.token_file.empty())
    user.fail("username", "there is a token, too", "only one way to log in");
  if (identity.username.find(':') != std::string::npos)
    user.fail("username", "has a ':'", "a name without ':'");
}

void read_client_certificate(const Section& user, Access& access) {
  auto& endpoint = access.endpoint;
  endpoint.client_cert_pem =
    read_pem(user, "client-certificate", access.files.client_cert);
  endpoint.client_key_pem = read_pem(user, "client-key", access.files.client_key);
  if (endpoint.client_cert_pem.empty() != endpoint.client_key_pem.empty())
    user.fail(endpoint.client_key_pem.empty() ? "client-key" : "client-certificate",
              "is missing", "both client-certificate(-data) and client-key(-data)");
}

void read_extra(const Section& user, std::vector<std::string>& headers) {
  auto extra = user.section("as-user-extra");
  for (const auto& key : extra.keys())
    for (const auto& value : extra.texts(key)) {
      if (!fits_header(value))
        extra.fail(key, "has a control character", "one line each");
      headers.push_back("Impersonate-Extra-" + escape_header_name(key) + ": " + value);
    }
}

std::vector<std::string> read_impersonation(const Section& user) {
  auto as = header_text(user, "as");
  std::vector<std::string> headers;
  if (as.empty()) {
    for (const char* key : {"as-uid", "as-groups", "as-user-extra"})
      if (user.has(key))
        user.fail(key, "there is no as", "as: USER beside it");
    return headers;
  }
  headers.push_back("Impersonate-User: " + as);
  if (auto uid = header_text(user, "as-uid"); !uid.empty())
    headers.push_back("Impersonate-Uid: " + uid);
  for (const auto& group : user.texts("as-groups")) {
    if (!fits_header(group))
      user.fail("as-groups", "has a control character", "one line each");
    headers.push_back("Impersonate-Group: " + group);
  }
  read_extra(user, headers);
  return headers;
}

/// Rejects auth providers, which clients no longer support, and names the exec plugin to
/// use instead.
void refuse_auth_provider(const Section& user) {
  if (!user.has("auth-provider"))
    return;
  auto name = user.section("auth-provider").text("name");
  std::string valid = "an exec plugin (users[].user.exec)";
  if (name == "gcp")
    valid += ": install gke-gcloud-auth-plugin, then run "
             "`gcloud container clusters get-credentials CLUSTER`";
  else if (name == "azure")
    valid += ": install kubelogin, then run `kubelogin convert-kubeconfig`";
  else if (name == "oidc")
    valid += ": `kubectl oidc-login`";
  user.fail("auth-provider", "\"" + name + "\" is not supported", valid);
}

} // namespace

std::string read_pem(const Section& section, const std::string& name, std::string& file) {
  std::string pem, key = name + "-data";
  if (auto text = section.text(key); !text.empty()) {
    auto bytes = decode_base64(text);
    if (!bytes)
      section.fail(key, "is no base64", "a PEM file in base64");
    pem = *bytes;
  } else if (auto path = section.text(name); !path.empty()) {
    key = name;
    WatchedFile content(section.resolve(path));
    if (!content.error().empty())
      section.fail(key, content.path() + ": " + content.error(), "a PEM file");
    pem = content.text();
    file = content.path();
  } else {
    return {};
  }
  if (pem.find("-----BEGIN ") == pem.npos)
    section.fail(key, "is no PEM", "-----BEGIN ...");
  return pem;
}

void read_user(const Section& user, const Section& cluster, Access& access) {
  refuse_auth_provider(user);
  auto& identity = access.identity;
  read_token(user, identity);
  read_password(user, identity);
  read_client_certificate(user, access);
  identity.impersonation = read_impersonation(user);
  // Like kubectl, runs no plugin if the file has credentials.
  bool known = !identity.token.empty() || !identity.token_file.empty() ||
               !identity.username.empty() || !identity.password.empty();
  if (user.has("exec") && !known)
    identity.plugin = read_exec(user.section("exec"), cluster, access);
}

} // namespace fiber::backends::kubernetes
