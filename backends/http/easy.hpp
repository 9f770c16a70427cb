// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "backends/http/client.hpp"
#include "backends/http/curl.hpp"

namespace fiber::backends::http {

/// A libcurl handle. Its constructor throws EngineError on failure.
class Easy {
public:
  Easy();
  CURL* get() const { return easy_.get(); }
  /// Returns libcurl's error message.
  std::string problem(CURLcode result) const;
  /// Sets the address, the trusted certificates and the time limits.
  void configure(const Endpoint& endpoint, const Request& request);
  /// Adds a header, which takes effect with the next configure().
  void add_header(const std::string& header);

private:
  struct ListDelete {
    void operator()(curl_slist* list) const { curl().slist_free_all(list); }
  };
  using List = std::unique_ptr<curl_slist, ListDelete>;
  static void append(List& list, const std::string& text);
  std::string with_server_name(const Endpoint& endpoint);

  struct EasyDelete {
    void operator()(CURL* easy) const { curl().easy_cleanup(easy); }
  };
  std::unique_ptr<CURL, EasyDelete> easy_;
  std::unique_ptr<char[]> words_;
  List connect_to_, headers_;
};

/// A running request.
class Transfer {
public:
  /// `on_pause` is called when the handler has no room.
  Transfer(const Endpoint& endpoint, Request request, StreamHandler handler,
           Client::Done done, std::function<void()> on_pause);
  CURL* easy() const { return easy_.get(); }
  bool paused() const { return paused_; }
  /// Offers the pending bytes to the handler again.
  void unpause();
  /// Calls the Done.
  void finish(CURLcode result);
  /// Suppresses all further callbacks.
  void silence();

private:
  std::size_t take(std::string_view piece);
  void take_header(std::string_view line);
  int status() const;

  Easy easy_;
  Request request_;
  StreamHandler handler_;
  Client::Done done_;
  std::function<void()> on_pause_;
  Reply reply_;
  bool head_told_ = false, paused_ = false;
};

// The parts of HTTP that an upgraded connection needs.
std::string request_text(const Endpoint& endpoint, const Request& request);
int status_of(std::string_view head);
std::optional<std::size_t> content_length(std::string_view head);

} // namespace fiber::backends::http
