// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/message.hpp>

#include "libfiber/dashboard/guard.hpp"

namespace fiber::observer {
class SessionView;
}

namespace fiber::dashboard {

using Request = boost::beast::http::request<boost::beast::http::empty_body>;

/// What a request comes to.
struct Answer {
  std::string text;        ///< As it goes to the peer: head and body.
  bool keep_alive = false; ///< The peer may ask again on this connection.
  bool events = false;     ///< `text` is a head; pictures follow, one after the other.
};

/// What there is to show.
struct Shows {
  observer::SessionView& view;
  /// Returns a picture as JSON text: the last one if a new one is not due yet.
  std::function<std::string()> snapshot;
};

/// Answers a request of `peer`, a numeric address. `secure`: it came by TLS.
Answer answer(const Request& request, const std::string& peer, bool secure, Guard& guard,
              const Shows& shows);

} // namespace fiber::dashboard
