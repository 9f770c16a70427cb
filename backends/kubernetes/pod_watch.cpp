// SPDX-License-Identifier: Apache-2.0
#include "backends/kubernetes/pod_watch.hpp"

#include <utility>

#include "backends/kubernetes/reply_json.hpp"

#include "base/log.hpp"

namespace fiber::backends::kubernetes {

namespace {

using nlohmann::json;

constexpr int gone = 410;
constexpr int watch_seconds = 290;

std::string version_of(const json& object) {
  return text(object, "metadata", "resourceVersion");
}

} // namespace

PodWatch::PodWatch(Loop& loop, Api& api, const std::string& selector, Handler handler,
                   std::chrono::milliseconds silence_limit)
  : loop_(loop), api_(api), selector_(http::escape(selector)),
    handler_(std::move(handler)), silence_limit_(silence_limit) {}

void PodWatch::retry(void (PodWatch::*order)(), const http::Reply& reply) {
  loop_.after(pause_before(tries_++, reply), [this, order] { (this->*order)(); });
}

void PodWatch::list() {
  handler_.listing();
  api_.send({.path = api_.path("pods") + "?labelSelector=" + selector_},
            [this](const http::Reply& reply) { on_list(reply); });
}

/// Handles the list. A failed request says nothing about any pod.
void PodWatch::on_list(const http::Reply& reply) {
  auto told = parse_reply(reply.body);
  if (!reply.ok() || !part(told, "items").is_array() || version_of(told).empty()) {
    log().info("kubernetes: can't list pods: {}; trying again", problem(reply));
    return retry(&PodWatch::list, reply);
  }
  events_lost_ = false;
  version_ = version_of(told);
  handler_.listed(told);
  watch();
}

void PodWatch::watch() {
  line_.clear();
  began_ = Loop::Clock::now();
  api_.stream({.path = api_.path("pods") + "?watch=1&allowWatchBookmarks=true" +
                       "&timeoutSeconds=" + std::to_string(watch_seconds) +
                       "&resourceVersion=" + version_ + "&labelSelector=" + selector_,
               .limit = {},
               .silence_limit = silence_limit_},
              {.data =
                 [this](std::string_view piece) {
                   for (char c : piece)
                     if (c != '\n')
                       line_ += c;
                     else
                       on_line(std::exchange(line_, {}));
                   return true;
                 }},
              [this](const http::Reply& reply) { on_end(reply); });
}

/// Handles a line. An incomplete line at the end of a connection is dropped; the next
/// watch repeats it.
void PodWatch::on_line(const std::string& line) {
  auto event = parse_reply(line);
  auto type = text(event, "type");
  auto& object = part(event, "object");
  if (type.empty() || !object.is_object())
    return;
  if (type == "ERROR") {
    events_lost_ = part(object, "code") == gone;
    return;
  }
  tries_ = 0;
  if (auto version = version_of(object); !version.empty())
    version_ = version;
  if (type == "DELETED")
    handler_.deleted(object);
  else if (type != "BOOKMARK")
    handler_.changed(object);
}

void PodWatch::on_end(const http::Reply& reply) {
  constexpr std::chrono::seconds good_while{10};
  if (Loop::Clock::now() - began_ > good_while)
    tries_ = 0;
  bool events_lost = events_lost_ || reply.status == gone;
  auto next = events_lost ? &PodWatch::list : &PodWatch::watch;
  if ((reply.ok() || events_lost) && tries_ == 0) {
    ++tries_; // Backs off if the next watch ends at once without an event.
    return (this->*next)();
  }
  if (reply.ok() || is_transient(reply) || events_lost)
    log().debug("kubernetes: the watch broke: {}", problem(reply));
  else if (problem(reply) != std::exchange(last_problem_, problem(reply)))
    log().warn("kubernetes: can't watch pods: {}; trying again", problem(reply));
  retry(next, reply);
}

} // namespace fiber::backends::kubernetes
