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

/// A request as an HttpsServer got it.
struct HttpsRequest {
  std::string method, path;                   ///< Without its query.
  std::map<std::string, std::string> query;   ///< Decoded.
  std::map<std::string, std::string> headers; ///< Names in lower case.
  std::string body;
  std::string server_name; ///< As TLS was asked for it.
  bool proxied = false;    ///< It came by way of a CONNECT.
};

/// One client's connection, to be answered on. A member returns false once the client is
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
  /// Ends it as a machine does that has lost its memory.
  void reset();
  /// Ends it after what was sent, as a proxy does that has had enough. From any thread.
  void shut();
  /// Whether the client has left, or the server is to stop. Waits for neither.
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

/// An HTTPS/1.1 server on 127.0.0.1, for tests that have to see and to spoil what goes
/// over the wire: one thread a connection, a key and a certificate of its own. It is its
/// own proxy, too: a CONNECT to anywhere leads back to it.
class HttpsServer {
public:
  /// Called on many threads at a time.
  using Handler = std::function<void(const HttpsRequest&, HttpsConnection&)>;

  /// `names`: of the certificate, as OpenSSL writes them: "DNS:a,IP:127.0.0.1".
  explicit HttpsServer(Handler handler,
                       const std::string& names = "IP:127.0.0.1,DNS:localhost");
  ~HttpsServer();
  /// Ends all connections and threads; a handler must not wait for anything by then.
  void stop();

  int port() const { return port_; }
  /// Whom to trust: the certificate itself, in PEM.
  const std::string& ca_pem() const { return ca_pem_; }
  /// Handshakes so far.
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
