// SPDX-License-Identifier: Apache-2.0
// The promise: both ends of a TLS connection authenticate, and another server is refused.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

#include "backends/engine/loop.hpp"
#include "tests/backends/http/http_server.hpp"

namespace fiber::backends::http {

namespace {

/// A CA and the certificates that it has signed, created once.
class HttpTls : public testing::Test {
protected:
  static void SetUpTestSuite() {
    std::string name = "/tmp/http-test-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder = name;
    auto script = "cd " + name + R"( && exec 2>openssl.log
      new="openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes"
      for ca in ca other; do $new -x509 -subj /CN=$ca -keyout $ca.key -out $ca.pem -days 2; done
      sign() {
        $new -subj "/CN=$1" -keyout "$1.key" -out "$1.csr"
        printf 'subjectAltName=%s\n' "$2" >"$1.ext"
        openssl x509 -req -in "$1.csr" -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 \
          -extfile "$1.ext" -out "$1.pem"
      }
      sign server IP:127.0.0.1 && sign named DNS:engine.test && sign client DNS:client)";
    ASSERT_EQ(std::system(script.c_str()), 0) << name;
  }
  static void TearDownTestSuite() { std::filesystem::remove_all(folder); }

  static std::string path(const std::string& name) { return (folder / name).string(); }
  static std::string pem(const std::string& name) {
    std::ifstream file(folder / name);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  /// Requires client certificates of the CA.
  struct TlsServer : Serving<httplib::SSLServer> {
    explicit TlsServer(const std::string& who = "server")
      : Serving(path(who + ".pem").c_str(), path(who + ".key").c_str(),
                path("ca.pem").c_str()) {}
  };
  static Endpoint endpoint(int port) {
    Endpoint endpoint;
    endpoint.url = url_of(port, "https");
    endpoint.ca_pem = pem("ca.pem");
    endpoint.client_cert_pem = pem("client.pem");
    endpoint.client_key_pem = pem("client.key");
    return endpoint;
  }

  static inline std::filesystem::path folder;
};

TEST_F(HttpTls, the_client_sends_its_certificate_and_keeps_the_connection) {
  Loop loop;
  TlsServer web;
  Client client(loop, endpoint(web.start()));
  auto first = client.call({.path = "/port"});
  EXPECT_EQ(first.status, 200) << first.error;
  EXPECT_EQ(client.call({.path = "/port"}).body, first.body);
}

TEST_F(HttpTls, a_client_without_a_certificate_is_refused) {
  Loop loop;
  TlsServer web;
  auto to = endpoint(web.start());
  to.client_cert_pem = to.client_key_pem = "";
  Client client(loop, to);
  auto reply = client.call({.path = "/port"});
  EXPECT_EQ(reply.status, 0);
  EXPECT_FALSE(reply.error.empty());
}

TEST_F(HttpTls, a_server_of_another_ca_is_refused) {
  Loop loop;
  TlsServer web;
  auto to = endpoint(web.start());
  to.ca_pem = pem("other.pem");
  Client client(loop, to);
  auto reply = client.call({.path = "/port"});
  EXPECT_EQ(reply.status, 0);
  EXPECT_NE(reply.error.find("certificate"), std::string::npos) << reply.error;
}

TEST_F(HttpTls, an_insecure_client_trusts_any_server) {
  Loop loop;
  TlsServer web("named");
  auto to = endpoint(web.start());
  to.ca_pem = "";
  to.insecure = true;
  Client client(loop, to);
  EXPECT_EQ(client.call({.path = "/port"}).status, 200);
}

TEST_F(HttpTls, the_configured_server_name_is_checked) {
  Loop loop;
  TlsServer web("named");
  auto to = endpoint(web.start());
  {
    Client client(loop, to);
    auto reply = client.call({.path = "/port"});
    EXPECT_EQ(reply.status, 0);
    EXPECT_NE(reply.error.find("127.0.0.1"), std::string::npos) << reply.error;
  }
  to.server_name = "engine.test";
  {
    Client client(loop, to);
    auto reply = client.call({.path = "/port"});
    EXPECT_EQ(reply.status, 200) << reply.error;
  }
  to.server_name = "another.test";
  Client client(loop, to);
  EXPECT_EQ(client.call({.path = "/port"}).status, 0);
}

} // namespace

} // namespace fiber::backends::http
