// SPDX-License-Identifier: Apache-2.0
// The promise: with a token and a certificate the page is served to others by TLS, and to
// nobody without it.
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include "libfiber/dashboard/dashboard.hpp"
#include "libfiber/observer/session_view.hpp"
#include "tests/libfiber/dashboard/peer.hpp"

namespace fiber::dashboard {
namespace {

namespace fs = std::filesystem;

/// A key and a certificate that it has signed itself, in a folder of their own.
class SelfSigned {
public:
  SelfSigned()
    : folder(fs::temp_directory_path() / ("tls_test" + std::to_string(::getpid()))) {
    fs::create_directories(folder);
    std::unique_ptr<EVP_PKEY, void (*)(EVP_PKEY*)> made(EVP_EC_gen("P-256"),
                                                        EVP_PKEY_free);
    std::unique_ptr<X509, void (*)(X509*)> x509(X509_new(), X509_free);
    X509_gmtime_adj(X509_getm_notBefore(x509.get()), 0);
    X509_gmtime_adj(X509_getm_notAfter(x509.get()), 3600);
    X509_set_pubkey(x509.get(), made.get());
    X509_sign(x509.get(), made.get(), EVP_sha256());
    write(certificate(), [&](std::FILE* file) { PEM_write_X509(file, x509.get()); });
    write(key(), [&](std::FILE* file) {
      PEM_write_PrivateKey(file, made.get(), nullptr, nullptr, 0, nullptr, nullptr);
    });
  }
  ~SelfSigned() { fs::remove_all(folder); }
  SelfSigned(const SelfSigned&) = delete;
  SelfSigned& operator=(const SelfSigned&) = delete;

  std::string certificate() const { return folder / "chain.pem"; }
  std::string key() const { return folder / "key.pem"; }

private:
  template <class Write>
  static void write(const std::string& path, Write write_to) {
    std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "w"),
                                                         std::fclose);
    ASSERT_TRUE(file);
    write_to(file.get());
  }

  const fs::path folder;
};

/// Returns the beginning of the answer to a request that is sent by TLS.
std::string get_by_tls(std::uint16_t port, const std::string& request) {
  UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
    return "not connected";
  std::unique_ptr<SSL_CTX, void (*)(SSL_CTX*)> context(SSL_CTX_new(TLS_client_method()),
                                                       SSL_CTX_free);
  std::unique_ptr<SSL, void (*)(SSL*)> tls(SSL_new(context.get()), SSL_free);
  SSL_set_fd(tls.get(), socket.get());
  if (SSL_connect(tls.get()) != 1)
    return "no TLS";
  SSL_write(tls.get(), request.data(), static_cast<int>(request.size()));
  std::string text(65536, '\0');
  auto n = SSL_read(tls.get(), text.data(), static_cast<int>(text.size()));
  text.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  return text;
}

observer::SessionView::Session plain_session() {
  return {.name = "train",
          .backend = "local",
          .roster = std::make_shared<actors::Roster>(),
          .read_output = [](const std::string&) { return nullptr; },
          .end_job = [](const std::string&) {}};
}

TEST(PageByTls, is_served_to_all_addresses_of_the_machine) {
  SelfSigned files;
  observer::SessionView view(plain_session());
  Dashboard page({.host = "0.0.0.0",
                  .port = 0,
                  .token = "0123456789abcdef",
                  .certificate = files.certificate(),
                  .key = files.key()},
                 view);
  auto url = page.url();
  EXPECT_TRUE(url.starts_with("https://0.0.0.0:")) << url;
  auto port = static_cast<std::uint16_t>(std::stoi(url.substr(url.rfind(':') + 1)));
  std::string head = "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n";
  EXPECT_TRUE(get_by_tls(port, head + "\r\n").starts_with("HTTP/1.1 401 "));
  auto right = head + "Authorization: Bearer 0123456789abcdef\r\n\r\n";
  EXPECT_TRUE(get_by_tls(port, right).starts_with("HTTP/1.1 200 "));
  auto moved =
    get_by_tls(port, "GET /?token=0123456789abcdef HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
  EXPECT_NE(moved.find("SameSite=Strict; Secure"), moved.npos) << moved;
  Peer plain(port);
  plain.send(right);
  EXPECT_TRUE(plain.read_until("200 OK").find("200 OK") == std::string::npos);
}

TEST(PageByTls, needs_a_key_that_fits) {
  SelfSigned files;
  observer::SessionView view(plain_session());
  try {
    Dashboard page({.host = "127.0.0.1",
                    .port = 0,
                    .token = {},
                    .certificate = files.certificate(),
                    .key = files.certificate()},
                   view);
    FAIL() << "accepted";
  } catch (const SettingProblem& problem) {
    EXPECT_EQ(problem.key(), "dashboard_key");
  }
}

} // namespace
} // namespace fiber::dashboard
