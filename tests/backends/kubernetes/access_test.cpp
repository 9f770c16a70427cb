// SPDX-License-Identifier: Apache-2.0
// The promise: a cluster is reached as by kubectl, and configuration errors name their
// place.
#include "backends/kubernetes/access.hpp"

#include "backends/kubernetes/base64.hpp"
#include "tests/backends/heard_log.hpp"
#include "tests/backends/kubernetes/kubernetes_files.hpp"

namespace fiber::backends::kubernetes {

namespace {

using Kubeconfig = KubernetesFiles;
using InCluster = KubernetesFiles;
using Lines = std::vector<std::string>;

const std::string token_user = "    token: sesame\n";

TEST_F(Kubeconfig, the_current_context_tells_server_user_and_namespace) {
  auto access = read(config(token_user));
  EXPECT_EQ(access.endpoint.url, "https://10.0.0.1:6443");
  EXPECT_EQ(access.identity.token, "sesame");
  EXPECT_EQ(access.name_space, "default");
  EXPECT_EQ(access.source, "kubeconfig " + path("config") + ", context test");
  EXPECT_FALSE(access.endpoint.insecure);
  EXPECT_FALSE(access.identity.plugin);
}

const std::string two_contexts = R"(apiVersion: v1
kind: Config
current-context: one
contexts:
- {name: one, context: {cluster: a, user: "", namespace: nest}}
- {name: two, context: {cluster: b, user: u}}
clusters:
- {name: a, cluster: {server: "http://localhost:8001/prefix/"}}
- {name: b, cluster: {server: "https://b"}}
users:
- {name: u, user: {username: jane, password: "p:w"}}
)";

TEST_F(Kubeconfig, a_context_and_a_namespace_can_be_named) {
  auto one = read(two_contexts);
  EXPECT_EQ(one.endpoint.url, "http://localhost:8001/prefix");
  EXPECT_EQ(one.name_space, "nest");
  EXPECT_TRUE(one.identity.token.empty());
  auto two = read(two_contexts, {.context = "two"});
  EXPECT_EQ(two.endpoint.url, "https://b");
  EXPECT_EQ(two.name_space, "default");
  EXPECT_EQ(two.identity.username, "jane");
  EXPECT_EQ(two.identity.password, "p:w");
  EXPECT_EQ(read(two_contexts, {.name_space = "mine"}).name_space, "mine");
}

TEST_F(Kubeconfig, an_unknown_context_is_refused_with_the_known_ones) {
  auto error = error_of(two_contexts, {.context = "three"});
  EXPECT_EQ(error.key, "context");
  EXPECT_EQ(error.place, path("config"));
  EXPECT_EQ(error.valid, "one of: one, two");
  EXPECT_EQ(error.problem, "there is no \"three\"");
  error = error_of("kind: Config\ncurrent-context: gone\n");
  EXPECT_EQ(error.key, "current-context");
  EXPECT_EQ(error.place, path("config") + ":2");
  EXPECT_EQ(error.valid, "one of: (there is none)");
  EXPECT_EQ(error_of("").problem, "is not set");
}

TEST_F(Kubeconfig, the_first_file_with_an_entry_wins) {
  auto first = write("first", "current-context: test\n"
                              "users:\n- {name: me, user: {token: first}}\n");
  auto second = write("sub/second", config("    {token: second, as: root}\n",
                                           "    certificate-authority: ca.crt\n"));
  write("sub/ca.crt", certificate);
  set("KUBECONFIG", path("missing") + ":" + first + "::" + second + ":" + first);
  auto access = from_kubeconfig();
  EXPECT_EQ(access.identity.token, "first");
  EXPECT_TRUE(access.identity.impersonation.empty()); // Entries are not mixed.
  EXPECT_EQ(access.endpoint.ca_pem, certificate);     // The path is relative to the file.
  EXPECT_EQ(access.source, "kubeconfig " + first + ", " + second + ", context test");
}

TEST_F(Kubeconfig, the_default_is_in_the_home_folder) {
  set("HOME", folder());
  try {
    from_kubeconfig();
    FAIL();
  } catch (const AccessError& error) {
    EXPECT_EQ(error.problem, "there is no " + path(".kube/config"));
  }
  write(".kube/config", config(token_user));
  EXPECT_EQ(from_kubeconfig().identity.token, "sesame");
  set("KUBECONFIG", path("missing"));
  EXPECT_THROW(from_kubeconfig(), AccessError); // $KUBECONFIG takes precedence.
}

TEST_F(Kubeconfig, paths_are_relative_to_their_file) {
  write("pki/ca.crt", certificate + "ca");
  write("pki/me.crt", certificate);
  write("me.key", private_key);
  auto access =
    read(config("    client-certificate: pki/me.crt\n    client-key: " + path("me.key") +
                  "\n    tokenFile: ./pki/../token\n    token: fallback\n",
                "    certificate-authority: pki/ca.crt\n"));
  EXPECT_EQ(access.endpoint.ca_pem, certificate + "ca");
  EXPECT_EQ(access.endpoint.client_cert_pem, certificate);
  EXPECT_EQ(access.endpoint.client_key_pem, private_key);
  EXPECT_EQ(access.files.ca, path("pki/ca.crt"));
  EXPECT_EQ(access.files.client_cert, path("pki/me.crt"));
  EXPECT_EQ(access.files.client_key, path("me.key"));
  EXPECT_EQ(access.identity.token_file, path("token"));
}

TEST_F(Kubeconfig, data_wins_over_files) {
  auto access = read(config(
    "    client-certificate: gone\n    client-key: gone\n    client-certificate-data: " +
      encode_base64(certificate) +
      "\n    client-key-data: " + encode_base64(private_key) + "\n",
    "    certificate-authority: gone\n    certificate-authority-data: |\n      " +
      encode_base64(certificate + "ca").insert(20, "\n      ") + "\n"));
  EXPECT_EQ(access.endpoint.ca_pem, certificate + "ca");
  EXPECT_EQ(access.endpoint.client_cert_pem, certificate);
  EXPECT_EQ(access.endpoint.client_key_pem, private_key);
  EXPECT_TRUE(access.files.ca.empty());
  EXPECT_TRUE(access.files.client_cert.empty());
}

TEST_F(Kubeconfig, other_options_of_a_cluster_reach_the_endpoint) {
  auto endpoint = read(config(token_user, "    insecure-skip-tls-verify: true\n"
                                          "    tls-server-name: api.example\n"
                                          "    proxy-url: socks5://proxy:1080\n"
                                          "    disable-compression: true\n"))
                    .endpoint;
  EXPECT_TRUE(endpoint.insecure);
  EXPECT_EQ(endpoint.server_name, "api.example");
  EXPECT_EQ(endpoint.proxy, "socks5://proxy:1080");
}

/// A kubeconfig of a server at `url`, and of a user with a token.
std::string server_at(const std::string& url, const std::string& more = "") {
  return R"({"current-context": "a",
    "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}],
    "users": [{"name": "a", "user": {"token": "sesame"}}],
    "clusters": [{"name": "a", "cluster": {"server": ")" +
         url + "\"" + more + "}}]}";
}

TEST_F(Kubeconfig, a_server_without_tls_on_another_machine_is_refused) {
  for (std::string host :
       {"10.0.0.1:8001", "example.org", "127.0.0.1@example.org", "127.0.0.1:1@10.0.0.1",
        "127.0.0.1.example.org", "localhost.example.org:80", "0.0.0.0:1", "[::2]:1",
        "127.1:8001", "2130706433", "10.0.0.1/127.0.0.1", "10.0.0.1?@127.0.0.1",
        "LOCALHOST.", "[::1]x:1"}) {
    auto error = error_of(server_at("http://" + host));
    EXPECT_EQ(error.key, "clusters[0].cluster.server") << host;
    EXPECT_EQ(error.problem.find("has no TLS, so the network could read"), 0u) << host;
    EXPECT_NE(error.valid.find("https://HOST:PORT"), std::string::npos);
    EXPECT_NE(error.valid.find("kubernetes_allow=plaintext"), std::string::npos);
    EXPECT_EQ(
      read(server_at("http://" + host), {.plaintext = true}).endpoint.url.find("http://"),
      0u);
  }
}

TEST_F(Kubeconfig, a_server_without_tls_on_this_machine_is_as_good_as_kubectl_proxy) {
  for (std::string host :
       {"127.0.0.1", "127.0.0.1:8001", "127.8.9.1:1/prefix", "localhost:8001",
        "localhost", "[::1]", "[::1]:8001", "[::1]:8001/prefix"})
    EXPECT_EQ(read(server_at("http://" + host)).endpoint.url, "http://" + host);
  // Behind a proxy, 127.0.0.1 is the machine of the proxy.
  auto proxied =
    server_at("http://127.0.0.1:8001", R"(, "proxy-url": "http://10.0.0.1:3128")");
  EXPECT_EQ(error_of(proxied).key, "clusters[0].cluster.server");
}

TEST_F(Kubeconfig, a_cluster_whose_certificate_nobody_checks_is_warned_of_once) {
  write("config", server_at("https://10.0.0.1", R"(, "insecure-skip-tls-verify": true)"));
  set("KUBECONFIG", path("config"));
  HeardLog heard;
  EXPECT_TRUE(chosen_access({}).endpoint.insecure);
  EXPECT_TRUE(chosen_access({}).endpoint.insecure);
  EXPECT_EQ(heard.count("insecure-skip-tls-verify"), 1u) << heard.text();
  EXPECT_TRUE(heard.has("https://10.0.0.1"));
}

TEST_F(Kubeconfig, the_setting_that_takes_a_server_without_tls_reaches_it) {
  write("config", server_at("http://10.0.0.1"));
  set("KUBECONFIG", path("config"));
  EXPECT_THROW(chosen_access({}), AccessError);
  EXPECT_EQ(chosen_access({.allow = "plaintext"}).endpoint.url, "http://10.0.0.1");
}

TEST_F(Kubeconfig, impersonation_becomes_headers) {
  auto access = read(config("    token: sesame\n"
                            "    as: jane\n"
                            "    as-uid: \"7\"\n"
                            "    as-groups: [dev, ops]\n"
                            "    as-user-extra:\n"
                            "      acme.com/project: [x, y]\n"
                            "      100%: [é]\n"));
  EXPECT_EQ(
    access.identity.impersonation,
    (Lines{"Impersonate-User: jane", "Impersonate-Uid: 7", "Impersonate-Group: dev",
           "Impersonate-Group: ops", "Impersonate-Extra-acme.com%2Fproject: x",
           "Impersonate-Extra-acme.com%2Fproject: y", "Impersonate-Extra-100%25: é"}));
}

TEST_F(Kubeconfig, json_is_read_too) {
  auto access = read(R"({"kind": "Config", "apiVersion": "v1", "current-context": "c",
    "clusters": [{"name": "k", "cluster": {"server": "https://k"}}], "users": null,
    "contexts": [{"name": "c", "context": {"cluster": "k", "user": ""}}]})");
  EXPECT_EQ(access.endpoint.url, "https://k");
}

/// A wrong line for the user or the cluster, and the expected error.
struct Wrong {
  std::string user, cluster;
  int line = 0;
  std::string key, problem;
};

TEST_F(Kubeconfig, errors_name_file_line_and_key) {
  const std::string u = "users[0].user.", c = "clusters[0].cluster.";
  auto pem = encode_base64(certificate);
  const Wrong cases[] = {
    {"    client-key-data: x\n    client-certificate-data: '*'\n", "", 9,
     u + "client-certificate-data", "is no base64"},
    {"    client-certificate-data: AAAA\n", "", 8, u + "client-certificate-data",
     "is no PEM"},
    {"    client-certificate-data: " + pem + "\n", "", 8, u + "client-key", "is missing"},
    {"    client-key: gone\n", "", 8, u + "client-key",
     path("gone") + ": No such file or directory"},
    {"    tokenFile: gone\n", "", 8, u + "tokenFile",
     path("gone") + ": No such file or directory"},
    {"    token: \"se\\nsame\"\n", "", 8, u + "token",
     "has a line break or another control character"},
    {"    token: [sesame]\n", "", 8, u + "token", "is no text"},
    {"    token: sesame\n    username: me\n", "", 9, u + "username",
     "there is a token, too"},
    {"    username: a:b\n", "", 8, u + "username", "has a ':'"},
    {"    as-groups: [x]\n", "", 8, u + "as-groups", "there is no as"},
    {"    as: \"x\\r\\nAuthorization: y\"\n", "", 8, u + "as",
     "has a line break or another control character"},
    {"    {as: me, as-groups: x}\n", "", 8, u + "as-groups", "is no list"},
    {"    {as: me, as-user-extra: {k: [\"a\\nb\"]}}\n", "", 8, u + "as-user-extra.k",
     "has a control character"},
    {"    auth-provider: {name: gcp}\n", "", 8, u + "auth-provider",
     "\"gcp\" is not supported"},
    {"    {}\n", "    certificate-authority: gone\n", 13, c + "certificate-authority",
     path("gone") + ": No such file or directory"},
    {"    {}\n", "    insecure-skip-tls-verify: perhaps\n", 13,
     c + "insecure-skip-tls-verify", "is neither true nor false"},
    {"    {}\n",
     "    certificate-authority-data: " + pem + "\n    insecure-skip-tls-verify: true\n",
     14, c + "insecure-skip-tls-verify", "contradicts certificate-authority"},
    {"    {}\n", "    proxy-url: ftp://user:sesame@proxy\n", 13, c + "proxy-url",
     "has an unknown scheme"},
  };
  for (const auto& wrong : cases) {
    auto error = error_of(config(wrong.user, wrong.cluster));
    EXPECT_EQ(error.key, wrong.key);
    EXPECT_EQ(error.place, path("config") + ":" + std::to_string(wrong.line))
      << wrong.key;
    EXPECT_EQ(error.problem, wrong.problem);
    EXPECT_EQ(std::string(error.what()).find("sesame"), std::string::npos);
  }
}

TEST_F(Kubeconfig, an_auth_provider_is_refused_with_its_replacement) {
  auto valid = error_of(config("    auth-provider: {name: azure}\n")).valid;
  EXPECT_NE(valid.find("kubelogin convert-kubeconfig"), valid.npos);
  valid = error_of(config("    auth-provider: {name: other}\n")).valid;
  EXPECT_EQ(valid, "an exec plugin (users[].user.exec)");
}

TEST_F(Kubeconfig, a_broken_structure_is_reported_with_its_line) {
  auto error = error_of("a: 1\nb: [\n");
  EXPECT_EQ(error.key, "(syntax)");
  EXPECT_EQ(error.place, path("config") + ":3");
  EXPECT_FALSE(error.problem.empty());
  const Wrong cases[] = {
    {"- x\n", "", 1, "(all)", "is no mapping"},
    {"apiVersion: v2\n", "", 1, "apiVersion", "\"v2\" is unknown"},
    {"kind: Pod\n", "", 1, "kind", "\"Pod\" is unknown"},
    {"users: x\n", "", 1, "users", "is no list"},
    {"users:\n- me\n", "", 2, "users[0]", "is no mapping"},
    {"users:\n- user: {}\n", "", 2, "users[0].name", "is missing"},
    {"users:\n- name: me\n", "", 2, "users[0].user", "is missing"},
    {"users:\n- {name: me, user: {}}\n- {name: me, user: {}}\n", "", 3, "users[1].name",
     "\"me\" is there twice"},
    {"current-context: c\ncontexts:\n- name: c\n  context: {cluster: k}\n", "", 4,
     "contexts[0].context.cluster", "there is no cluster \"k\""},
    {"current-context: c\ncontexts:\n- name: c\n  context: {user: u}\n", "", 4,
     "contexts[0].context.cluster", "is missing"},
    {"current-context: c\ncontexts:\n- {name: c, context: {cluster: k}}\n"
     "clusters:\n- {name: k, cluster: {server: k:6443}}\n",
     "", 5, "clusters[0].cluster.server", "is no http or https address"},
    {"current-context: c\ncontexts:\n- {name: c, context: {cluster: k, user: u}}\n"
     "clusters:\n- {name: k, cluster: {server: \"https://k\"}}\n",
     "", 3, "contexts[0].context.user", "there is no user \"u\""},
    {"current-context: c\ncontexts:\n- name: c\n  context:\n    cluster: k\n"
     "    namespace: No\nclusters:\n- {name: k, cluster: {server: \"https://k\"}}\n",
     "", 6, "namespace", "\"No\" can't name a namespace"},
  };
  for (const auto& wrong : cases) {
    error = error_of(wrong.user);
    EXPECT_EQ(error.key, wrong.key);
    EXPECT_EQ(error.place, path("config") + ":" + std::to_string(wrong.line))
      << wrong.key;
    EXPECT_EQ(error.problem, wrong.problem);
  }
  EXPECT_EQ(error_of("", {.files = folder()}).problem, "Is a directory");
}

TEST_F(Kubeconfig, an_error_reads_as_a_sentence) {
  EXPECT_EQ(error_of(config("    client-certificate-data: '*'\n")).what(),
            path("config") + ":8: users[0].user.client-certificate-data: is no base64; "
                             "valid: a PEM file in base64");
}

TEST_F(InCluster, the_service_account_gives_access) {
  write("sa/token", "sesame\n");
  write("sa/ca.crt", certificate);
  write("sa/namespace", "nest\n");
  InClusterOptions options{.folder = path("sa")};
  EXPECT_FALSE(inside_pod(options));
  set("KUBERNETES_SERVICE_HOST", "10.0.0.1");
  set("KUBERNETES_SERVICE_PORT", "443");
  EXPECT_TRUE(inside_pod(options));
  auto access = in_cluster(options);
  EXPECT_EQ(access.endpoint.url, "https://10.0.0.1:443");
  EXPECT_EQ(access.endpoint.ca_pem, certificate);
  EXPECT_EQ(access.identity.token_file, path("sa/token"));
  EXPECT_EQ(access.name_space, "nest");
  EXPECT_EQ(access.source, "in-cluster service account");
  set("KUBERNETES_SERVICE_HOST", "fd00::1");
  options.name_space = "mine";
  EXPECT_EQ(in_cluster(options).endpoint.url, "https://[fd00::1]:443");
  EXPECT_EQ(in_cluster(options).name_space, "mine");
}

TEST_F(InCluster, missing_parts_are_named) {
  auto missing = [this] {
    try {
      in_cluster({.folder = path("sa")});
    } catch (const AccessError& error) {
      return error.place + ": " + error.key + ": " + error.problem;
    }
    return std::string("nothing");
  };
  EXPECT_EQ(missing(), "environment: KUBERNETES_SERVICE_HOST: is not set");
  set("KUBERNETES_SERVICE_HOST", "10.0.0.1");
  EXPECT_EQ(missing(), "environment: KUBERNETES_SERVICE_PORT: is not set");
  set("KUBERNETES_SERVICE_PORT", "443");
  EXPECT_FALSE(inside_pod({.folder = path("sa")}));
  EXPECT_EQ(missing(), path("sa/ca.crt") + ": ca.crt: No such file or directory");
  write("sa/ca.crt",
        "damaged\n"); // Not the same as none: the system's CAs would be trusted.
  EXPECT_EQ(missing(), path("sa/ca.crt") + ": ca.crt: is no PEM");
  write("sa/ca.crt", certificate);
  EXPECT_EQ(missing(), path("sa/token") + ": token: No such file or directory");
  write("sa/token", "");
  EXPECT_EQ(missing(), path("sa/token") + ": token: is empty");
}

TEST(Base64, base64_is_decoded_or_refused) {
  for (const char* text : {"", "f", "fo", "foo", "foob"})
    EXPECT_EQ(decode_base64(encode_base64(text)), text);
  EXPECT_EQ(decode_base64(" Zm9v\nYg= =\r\n"), "foob");
  EXPECT_EQ(decode_base64(encode_base64(std::string(3, '\0'))), std::string(3, '\0'));
  for (const char* text :
       {"Zg", "Zg=", "Z===", "====", "Zg==Zg==", "Zm9-", "Zm9\x80", "-"})
    EXPECT_FALSE(decode_base64(text)) << text;
}

} // namespace

} // namespace fiber::backends::kubernetes
