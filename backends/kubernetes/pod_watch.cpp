// SPDX-License-Identifier: Apache-2.0
#include "backends/kubernetes/pod_watch.hpp"

#include <utility>

#include <nlohmann/json.hpp>

#include "wire/log.hpp"

namespace fiber::backends::kubernetes {

namespace {

using nlohmann::json;

constexpr int gone = 410;
// A server ends a watch after a while, so that a dead one is noticed; bookmarks come
// about once a minute.
constexpr int watch_seconds = 290;
constexpr std::chrono::seconds silence_limit{150};

std::string version_of(const json& object) {
  return object.value("/metadata/resourceVersion"_json_pointer, "");
}

} // namespace

PodWatch::PodWatch(Loop& loop, Api& api, std::string selector, Handler handler)
  : loop_(loop), api_(api), selector_(http::escape(selector)),
    handler_(std::move(handler)) {}

void PodWatch::again(void (PodWatch::*order)(), const http::Reply& reply) {
  loop_.after(pause_before(tries_++, reply), [this, order] { (this->*order)(); });
}

void PodWatch::list() {
  handler_.listing();
  api_.send({.path = api_.path("pods") + "?labelSelector=" + selector_},
            [this](const http::Reply& reply) { on_list(reply); });
}

/// A list that fails says nothing about any pod.
void PodWatch::on_list(const http::Reply& reply) {
  auto told = json::parse(reply.body, nullptr, false);
  if (!reply.ok() || !told.is_object() || !told.contains("items")) {
    log().info("kubernetes: can't list pods: {}; trying again", problem(reply));
    return again(&PodWatch::list, reply);
  }
  tries_ = 0;
  forgotten_ = false;
  version_ = version_of(told);
  handler_.listed(told);
  watch();
}

void PodWatch::watch() {
  line_.clear();
  api_.stream({.path = api_.path("pods") + "?watch=1&allowWatchBookmarks=true" +
                       "&timeoutSeconds=" + std::to_string(watch_seconds) +
                       "&resourceVersion=" + version_ + "&labelSelector=" + selector_,
               .limit = {},
               .silence_limit = silence_limit},
              {.data =
                 [this](std::string_view piece) {
                   for (char c : piece)
                     if (c != '\n')
                       line_ += c;
                     else
                       hear(std::exchange(line_, {}));
                   return true;
                 }},
              [this](const http::Reply& reply) { on_end(reply); });
}

/// Half a line, where a connection broke, is never heard; the next watch begins before
/// it.
void PodWatch::hear(const std::string& line) {
  auto event = json::parse(line, nullptr, false);
  if (!event.is_object() || !event.contains("object") || !event["object"].is_object() ||
      !event.contains("type") || !event["type"].is_string())
    return;
  std::string type = event["type"];
  auto& object = event["object"];
  if (type == "ERROR") {
    forgotten_ = object.value("code", 0) == gone;
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
  if (forgotten_ || reply.status == gone)
    return list();
  if (reply.ok() && tries_ == 0) {
    ++tries_; // One that ends at once without a word is not asked for in a hurry.
    return watch();
  }
  log().debug("kubernetes: the watch broke: {}", problem(reply));
  again(&PodWatch::watch, reply);
}

} // namespace fiber::backends::kubernetes
