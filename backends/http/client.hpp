// SPDX-License-Identifier: Apache-2.0
// http/ is the HTTP client of backends whose engine has an HTTP API.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "backends/engine/loop.hpp"

namespace fiber::backends::http {

/// A server: how to reach it, and whom to trust.
struct Endpoint {
  std::string url; ///< "https://10.0.0.1:6443/prefix"; "http://docker" on a socket.
  std::string unix_socket; ///< Path; then the host in `url` is only a name.
  std::string ca_pem;      ///< The only CAs that are trusted; empty: the system's.
  std::string client_cert_pem, client_key_pem; ///< Empty: none.
  /// Expected in its certificate; empty: url's host.
  std::string server_name;
  /// "http://..", "socks5://.."; empty: from the environment, and none to loopback.
  std::string proxy;
  bool insecure = false; ///< Trusts any certificate.
};

struct Request {
  std::string method = "GET";
  std::string path;                      ///< Includes the query; see escape().
  std::vector<std::string> headers = {}; ///< "Name: value"
  std::string body = {};
  /// Time limit for the whole reply; 0: none, as for a stream.
  std::chrono::milliseconds limit{60000};
  /// Limit on the time without a byte; 0: none. For streams that are never silent for
  /// long.
  std::chrono::milliseconds silence_limit{0};
  std::string protocol = "tcp"; ///< What upgrade() asks for, such as "websocket".
};

struct Reply {
  int status = 0;                                  ///< 0: no reply; see `error`.
  std::map<std::string, std::string> headers = {}; ///< Names in lower case.
  std::string body = {};                           ///< Empty if streamed.
  std::string error = {}; ///< "could not connect to ...", "timed out after ..".
  bool untrusted = false; ///< No reply, because the server's certificate is not trusted.
  std::string local_address = {}; ///< Our address, if by TCP.

  bool ok() const { return status >= 200 && status < 300; }
};

/// Callbacks of a stream. `head` is called once, with the status. `data` gets the body of
/// a 2xx reply in pieces; if it returns false, it is called again a little later with an
/// empty piece, and reading pauses until it returns true.
struct StreamHandler {
  std::function<void(int status)> head = {};
  std::function<bool(std::string_view piece)> data;
};

/// A non-blocking HTTP/1.1 and HTTP/2 client of one server, over libcurl, with persistent
/// connections.
///
/// Thread safety: used on the loop's thread only, except call() and close(), which other
/// threads use.
class Client {
public:
  using Id = std::uint64_t;
  using Done = std::function<void(Reply)>;

  Client(Loop& loop, Endpoint endpoint);
  ~Client();
  /// Drops running requests without calling back. Nothing may be sent after that. Call it
  /// while the loop runs.
  void close();

  /// Sends a request; `done` is called once, never before send() returns.
  Id send(Request request, Done done);
  /// Sends a request; the body of a 2xx reply goes to `handler` as it comes.
  Id stream(Request request, StreamHandler handler, Done done);
  /// Drops a request, whose Done is not called. No effect if unknown or ended.
  void cancel(Id id);
  /// Sets the endpoint of later requests, which use new connections.
  void set_endpoint(Endpoint endpoint);
  /// Sends a request from another thread and waits for the reply.
  Reply call(Request request);

  class Upgrade;
  /// Requests a connection that becomes a plain two-way byte stream after the reply.
  std::shared_ptr<Upgrade> upgrade(const Request& request, StreamHandler handler,
                                   Done done);

  class Impl;

private:
  std::shared_ptr<Impl> impl_;
};

/// An upgraded connection. `head` gets the reply's status; pieces come as with stream();
/// `done` is called at the end, with the body if the upgrade was refused.
class Client::Upgrade {
public:
  virtual ~Upgrade() = default;
  /// Sends bytes. Call it only once the server has agreed.
  virtual void write(std::string bytes) = 0;
  /// Drops the connection without calling back.
  virtual void close() = 0;
};

/// Returns whether the host of a URL is this machine, whatever name service is asked:
/// localhost, 127.0.0.0/8 or [::1].
bool is_loopback(const std::string& url);

/// Percent-encodes `text` for a path segment or a query value.
std::string escape(std::string_view text);

} // namespace fiber::backends::http
