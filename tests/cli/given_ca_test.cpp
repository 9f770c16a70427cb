// SPDX-License-Identifier: Apache-2.0
// The promise: a CA that is given is the only one. A server whose certificate only the
// system trusts gets no credentials.
#include <unistd.h>

#include <mutex>
#include <vector>

#include <gtest/gtest.h>

#include "tests/backends/http/https_server.hpp"
#include "tests/cli/command.hpp"

namespace fiber::cli {
namespace {

/// A server that notes what clients show it, and knows nothing.
class Curious {
public:
  Curious()
    : server_([this](auto& request, auto& connection) {
        auto shown = request.headers.find("authorization");
        {
          std::lock_guard lock(mutex_);
          seen_.push_back(shown == request.headers.end() ? "" : shown->second);
        }
        connection.reply(404, "{}");
      }) {}

  std::string port() const { return std::to_string(server_.port()); }
  const std::string& certificate() const { return server_.ca_pem(); }
  /// The headers Authorization of all requests.
  std::vector<std::string> seen() const {
    std::lock_guard lock(mutex_);
    return seen_;
  }

private:
  mutable std::mutex mutex_;
  std::vector<std::string> seen_;
  backends::HttpsServer server_;
};

/// In `system/` are the CAs that the system trusts: the server's, as OpenSSL's folder and
/// as Debian's file.
class GivenCa : public testing::Test {
protected:
  void SetUp() override {
    if (::geteuid() != 0)
      GTEST_SKIP() << "SKIPPED: a mount namespace needs root";
    folder_.write("system/server.pem", server_.certificate());
    auto made = shell("openssl rehash " + folder_.path("system"));
    ASSERT_EQ(made.code, 0) << made.err;
    folder_.write("system/ca-certificates.crt", server_.certificate());
    made = shell("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes "
                 "-subj /CN=me -days 2 -keyout " +
                 folder_.path("key.pem") + " -out " + folder_.path("cert.pem"));
    ASSERT_EQ(made.code, 0) << made.err;
  }

  /// A CA of another name, as OpenSSL looks CAs up by their names.
  std::string other_ca() const { return folder_.read("cert.pem"); }
  /// Runs `fiber` where the system trusts the server.
  static Outcome run(const TestFolder& folder, const std::string& words,
                     const Variables& variables) {
    return shell("exec unshare --mount sh -c 'mount --bind " + folder.path("system") +
                   " /etc/ssl/certs && exec " FIBER_COMMAND " " + words + "'",
                 variables);
  }
  /// `fiber` asks the API server with a kubeconfig that gives this CA; empty: none.
  Outcome ask_kubernetes(const std::string& ca) {
    folder_.write("ca.pem", ca);
    folder_.write(
      "config", R"({"apiVersion": "v1", "kind": "Config",
      "current-context": "a",
      "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}],
      "users": [{"name": "a", "user": {"token": "SECRET"}}],
      "clusters": [{"name": "a", "cluster": {"server": "https://127.0.0.1:)" +
                  server_.port() + "\"" +
                  (ca.empty() ? "" : ", \"certificate-authority\": \"ca.pem\"") + "}}]}");
    return run(folder_, "doctor kubernetes", {{"KUBECONFIG", folder_.path("config")}});
  }
  Outcome ask_docker(const std::string& ca) {
    folder_.write("ca.pem", ca);
    return run(folder_, "doctor docker",
               {{"DOCKER_HOST", "tcp://127.0.0.1:" + server_.port()},
                {"DOCKER_TLS_VERIFY", "1"},
                {"DOCKER_CERT_PATH", folder_.path("")}});
  }

  TestFolder folder_;
  Curious server_;
};

TEST_F(GivenCa, of_a_kubeconfig_is_the_only_one) {
  auto outcome = ask_kubernetes(other_ca());
  EXPECT_NE((outcome.out + outcome.err).find("certificate"), std::string::npos)
    << outcome.out << outcome.err;
  EXPECT_EQ(server_.seen(), std::vector<std::string>());
  ask_kubernetes(server_.certificate());
  ASSERT_FALSE(server_.seen().empty());
  EXPECT_EQ(server_.seen().front(), "Bearer SECRET");
}

TEST_F(GivenCa, of_docker_is_the_only_one) {
  auto outcome = ask_docker(other_ca());
  EXPECT_NE((outcome.out + outcome.err).find("certificate"), std::string::npos)
    << outcome.out << outcome.err;
  EXPECT_EQ(server_.seen(), std::vector<std::string>());
  ask_docker(server_.certificate());
  EXPECT_FALSE(server_.seen().empty());
}

TEST_F(GivenCa, that_is_none_leaves_those_of_the_system) {
  ask_kubernetes("");
  EXPECT_FALSE(server_.seen().empty());
}

TEST_F(GivenCa, that_is_empty_is_refused) {
  auto outcome = ask_docker("\n");
  EXPECT_NE((outcome.out + outcome.err).find("ca.pem holds no certificate"),
            std::string::npos)
    << outcome.out << outcome.err;
  EXPECT_EQ(server_.seen(), std::vector<std::string>());
}

} // namespace
} // namespace fiber::cli
