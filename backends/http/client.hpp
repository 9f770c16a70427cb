// SPDX-License-Identifier: Apache-2.0
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

/// Where a server is, and how to reach and to trust it.
struct Endpoint {
  std::string url; ///< "https://10.0.0.1:6443/prefix"; "http://docker" on a socket.
  std::string unix_socket; ///< Path; then the host in `url` is no more than a name.
  std::string ca_pem;      ///< Empty: what the system trusts.
  std::string client_cert_pem, client_key_pem; ///< Empty: none is shown.
  std::string server_name;                     ///< In its certificate; empty: url's host.
  std::string proxy;     ///< "http://..", "socks5://.."; empty: the environment's.
  bool insecure = false; ///< Trusts any certificate.
};

struct Request {
  std::string method = "GET";
  std::string path;                      ///< With its query; escape() makes parts of it.
  std::vector<std::string> headers = {}; ///< "Name: value"
  std::string body = {};
  /// To the reply's last byte; 0: no limit, as for a stream.
  std::chrono::milliseconds limit{60000};
  /// Without a byte; 0: no limit. For streams that are never silent for long.
  std::chrono::milliseconds silence_limit{0};
};

struct Reply {
  int status = 0; ///< 0: there was none, and `error` says why.
  std::map<std::string, std::string> headers = {}; ///< Names in lower case.
  std::string body = {};                           ///< Empty if it was streamed.
  std::string error = {}; ///< "could not connect to ...", "timed out after ..".
  bool untrusted =
    false; ///< There was none, as the certificate of the server is no good.
  std::string local_address = {}; ///< Of our end, if it is TCP.

  bool ok() const { return status >= 200 && status < 300; }
};

/// What a stream is told. `head` comes once, with the status; `data` gets pieces of the
/// body of a 2xx reply as they come and returns false to be asked again with nothing (an
/// empty piece) a little later, the rest waiting meanwhile.
struct StreamHandler {
  std::function<void(int status)> head = {};
  std::function<bool(std::string_view piece)> data;
};

/// Speaks HTTP/1.1 and 2 over libcurl to one server, keeps its connections and never
/// blocks.
///
/// Thread safety: on the loop's thread only, but for call() and close(), which are for
/// others.
class Client {
public:
  using Id = std::uint64_t;
  using Done = std::function<void(Reply)>;

  Client(Loop& loop, Endpoint endpoint);
  ~Client();
  /// Drops what is under way without a word; nothing may be sent any more. While the loop
  /// runs.
  void close();

  /// Sends a request; `done` is called once, never before send() returns.
  Id send(Request request, Done done);
  /// The same, the body of a 2xx reply going to `handler` as it comes.
  Id stream(Request request, StreamHandler handler, Done done);
  /// Drops a request; its Done is not called. Unknown or over: no effect.
  void cancel(Id id);
  /// For requests from now on, on new connections.
  void set_endpoint(Endpoint endpoint);
  /// send() for another thread, which waits for the reply.
  Reply call(Request request);

  class Upgrade;
  /// Asks for a connection that is a plain byte stream both ways from the reply on.
  std::shared_ptr<Upgrade> upgrade(Request request, StreamHandler handler, Done done);

  class Impl;

private:
  std::shared_ptr<Impl> impl_;
};

/// One upgraded connection. `head` tells the reply's status; pieces come as with
/// stream(); `done` says when it is over, with the body if it was refused.
class Client::Upgrade {
public:
  virtual ~Upgrade() = default;
  /// Sends bytes, once the server has agreed.
  virtual void write(std::string bytes) = 0;
  /// Drops it; no more is told.
  virtual void close() = 0;
};

/// Percent-encodes what may stand in a path segment or a query value.
std::string escape(std::string_view text);

} // namespace fiber::backends::http
