// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>

#include "libfiber/dashboard/guard.hpp"

namespace fiber::observer {
class SessionView;
}

namespace fiber::dashboard {

using Request = boost::beast::http::request<boost::beast::http::empty_body>;
using Response = boost::beast::http::response<boost::beast::http::string_body>;

/// What a request comes to.
struct Answer {
  Response response;
  bool events = false; ///< Instead of the response: pictures, one after the other.
};

/// Answers a request of `peer`, a numeric address. `secure`: it came by TLS.
Answer answer(const Request& request, const std::string& peer, bool secure, Guard& guard,
              observer::SessionView& view);

/// The beginning of an answer that is a stream of events.
std::string events_head();

} // namespace fiber::dashboard
