// SPDX-License-Identifier: Apache-2.0
#include "peers/channel.hpp"

#include <cerrno>
#include <stdexcept>
#include <system_error>

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

namespace peers {
namespace {

void check(bool good, const char* what) {
  if (!good)
    throw std::system_error(errno, std::generic_category(), what);
}

void check_tls(bool good, const char* what) {
  if (!good)
    throw std::runtime_error(std::string(what) + ": " +
                             ERR_reason_error_string(ERR_peek_error()));
}

template <auto free>
struct Free {
  template <class T>
  void operator()(T* object) const {
    free(object);
  }
};
using Key = std::unique_ptr<EVP_PKEY, Free<EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, Free<X509_free>>;
using Context = std::unique_ptr<SSL_CTX, Free<SSL_CTX_free>>;
using Connection = std::unique_ptr<SSL, Free<SSL_free>>;

class PlainChannel : public Channel {
public:
  explicit PlainChannel(Socket socket) : socket_(std::move(socket)) {}

  void write(std::span<const char> bytes) override {
    while (!bytes.empty()) {
      const auto sent = ::send(socket_.fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      check(sent > 0, "send");
      bytes = bytes.subspan(static_cast<std::size_t>(sent));
    }
  }
  bool read(std::span<char> bytes) override {
    for (bool first = true; !bytes.empty(); first = false) {
      const auto got = ::recv(socket_.fd(), bytes.data(), bytes.size(), 0);
      check(got >= 0, "recv");
      if (got == 0 && first)
        return false;
      if (got == 0)
        throw std::runtime_error("closed within a message");
      bytes = bytes.subspan(static_cast<std::size_t>(got));
    }
    return true;
  }

private:
  Socket socket_;
};

class TlsChannel : public Channel {
public:
  TlsChannel(Socket socket, bool server) : socket_(std::move(socket)) {
    context_.reset(SSL_CTX_new(TLS_method()));
    check_tls(context_ != nullptr, "SSL_CTX_new");
    SSL_CTX_set_min_proto_version(context_.get(), TLS1_3_VERSION);
    if (server)
      certify();
    connection_.reset(SSL_new(context_.get()));
    check_tls(connection_ != nullptr && SSL_set_fd(connection_.get(), socket_.fd()) == 1,
              "SSL_new");
    const auto done =
      server ? SSL_accept(connection_.get()) : SSL_connect(connection_.get());
    check_tls(done == 1, "handshake");
  }
  ~TlsChannel() override { SSL_shutdown(connection_.get()); }
  TlsChannel(const TlsChannel&) = delete;
  TlsChannel& operator=(const TlsChannel&) = delete;

  void write(std::span<const char> bytes) override {
    std::size_t sent = 0;
    check_tls(SSL_write_ex(connection_.get(), bytes.data(), bytes.size(), &sent) == 1 &&
                sent == bytes.size(),
              "SSL_write");
  }
  bool read(std::span<char> bytes) override {
    for (bool first = true; !bytes.empty(); first = false) {
      std::size_t got = 0;
      const auto result =
        SSL_read_ex(connection_.get(), bytes.data(), bytes.size(), &got);
      if (result != 1 && first &&
          SSL_get_error(connection_.get(), result) == SSL_ERROR_ZERO_RETURN)
        return false;
      check_tls(result == 1, "SSL_read");
      bytes = bytes.subspan(got);
    }
    return true;
  }

private:
  // A fresh key, P-256 as Fiber's sessions have, and a certificate signed with it.
  void certify() {
    const Key key(EVP_EC_gen("P-256"));
    const Certificate certificate(X509_new());
    check_tls(key != nullptr && certificate != nullptr, "key");
    X509_gmtime_adj(X509_getm_notBefore(certificate.get()), 0);
    X509_gmtime_adj(X509_getm_notAfter(certificate.get()), 3600);
    check_tls(X509_set_pubkey(certificate.get(), key.get()) == 1 &&
                X509_sign(certificate.get(), key.get(), EVP_sha256()) > 0 &&
                SSL_CTX_use_certificate(context_.get(), certificate.get()) == 1 &&
                SSL_CTX_use_PrivateKey(context_.get(), key.get()) == 1,
              "certificate");
  }

  Socket socket_;
  Context context_;
  Connection connection_;
};

} // namespace

Socket& Socket::operator=(Socket&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

void Socket::close() {
  if (fd_ >= 0)
    ::close(std::exchange(fd_, -1));
}

std::array<Socket, 2> local_pair() {
  int fds[2] = {};
  check(::socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0, "socketpair");
  return {Socket(fds[0]), Socket(fds[1])};
}

std::array<Socket, 2> tcp_pair() {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  socklen_t size = sizeof address;
  const Socket listener(::socket(AF_INET, SOCK_STREAM, 0));
  check(::bind(listener.fd(), generic, size) == 0, "bind");
  check(::listen(listener.fd(), 1) == 0, "listen");
  check(::getsockname(listener.fd(), generic, &size) == 0, "getsockname");
  Socket client(::socket(AF_INET, SOCK_STREAM, 0));
  check(::connect(client.fd(), generic, size) == 0, "connect");
  Socket server(::accept(listener.fd(), nullptr, nullptr));
  check(server.fd() >= 0, "accept");
  const int on = 1;
  for (int fd : {client.fd(), server.fd()})
    check(::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) == 0, "nodelay");
  return {std::move(client), std::move(server)};
}

std::unique_ptr<Channel> make_channel(Socket socket, bool tls, bool server) {
  if (tls)
    return std::make_unique<TlsChannel>(std::move(socket), server);
  return std::make_unique<PlainChannel>(std::move(socket));
}

} // namespace peers
