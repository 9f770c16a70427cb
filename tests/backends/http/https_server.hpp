// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include <openssl/ssl.h>

#include "base/unique_fd.hpp"

namespace fiber::backends {

/// A request to an HttpsServer.
struct HttpsRequest {
  std::string method, path;                   ///< Without its query.
  std::map<std::string, std::string> query;   ///< Decoded.
  std::map<std::string, std::string> headers; ///< Names in lower case.
  std::string body;
  std::string server_name; ///< From the TLS handshake (SNI).
  bool proxied = false;    ///< It came through a CONNECT.
};

/// A client's connection, for the reply. Member functions return false once the client is
/// gone.
class HttpsConnection {
public:
  explicit HttpsConnection(UniqueFd fd) : fd_(std::move(fd)) {}
  using Headers = std::map<std::string, std::string>;

  bool reply(int status, const std::string& body, const Headers& headers = {});
  /// A reply in pieces: begin(), piece() as often as wanted, end().
  bool begin(int status, const Headers& headers = {});
  bool piece(std::string_view text);
  bool end();
  /// Resets the connection, like a rebooted machine.
  void reset();
  /// Closes it after the bytes sent, like a proxy with a time limit. For any thread.
  void shut();
  /// Returns whether the client has left or the server is stopping. Does not wait.
  bool gone();

private:
  friend class HttpsServer;
  bool accept(SSL_CTX* context);
  bool read(HttpsRequest& request);
  bool write(std::string_view bytes);

  struct SslDelete {
    void operator()(SSL* ssl) const { SSL_free(ssl); }
  };
  std::mutex mutex_; // Guards fd_ against shut().
  UniqueFd fd_;
  std::unique_ptr<SSL, SslDelete> ssl_;
  std::string received_;
  std::atomic<bool> shut_ = false;
  bool proxied_ = false;
};

/// An HTTPS/1.1 server on 127.0.0.1, for tests that inspect or disturb connections. It
/// has one thread per connection and its own key and certificate. It is its own proxy
/// too: any CONNECT leads back to it.
class HttpsServer {
public:
  /// Called concurrently on many threads.
  using Handler = std::function<void(const HttpsRequest&, HttpsConnection&)>;

  /// `names` are the certificate's, in OpenSSL's form: "DNS:a,IP:127.0.0.1".
  explicit HttpsServer(Handler handler,
                       const std::string& names = "IP:127.0.0.1,DNS:localhost");
  ~HttpsServer();
  /// Ends all connections and threads. Handlers must not be waiting for anything.
  void stop();

  int port() const { return port_; }
  /// Returns the certificate in PEM, which clients must trust.
  const std::string& ca_pem() const { return ca_pem_; }
  /// Returns the number of handshakes so far.
  std::size_t handshakes() const { return handshakes_; }

private:
  void make_certificate(const std::string& names);
  void run();
  void serve(HttpsConnection& connection);

  struct ContextDelete {
    void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  };
  Handler handler_;
  std::unique_ptr<SSL_CTX, ContextDelete> context_;
  std::string ca_pem_;
  UniqueFd listener_;
  int port_ = 0;
  std::atomic<std::size_t> handshakes_ = 0;
  std::atomic<bool> stopping_ = false;
  std::mutex mutex_; // Guards connections_.
  std::list<std::pair<std::shared_ptr<HttpsConnection>, std::thread>> connections_;
  std::thread thread_;
};

} // namespace fiber::backends
