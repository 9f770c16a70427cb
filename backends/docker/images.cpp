// SPDX-License-Identifier: Apache-2.0
#include "backends/docker/images.hpp"

#include <memory>
#include <utility>

#include <nlohmann/json.hpp>
#include <spdlog/fmt/fmt.h>

#include "backends/engine/loop.hpp"
#include "base/log.hpp"

namespace fiber::backends::docker {

namespace {

constexpr std::chrono::seconds progress_every{2};
constexpr std::chrono::minutes pull_silence{3};

/// Returns the path of the pull request. Adds a tag, without which the engine would pull
/// all tags.
std::string pull_path(const std::string& name) {
  auto slash = name.rfind('/');
  auto last = name.substr(slash == name.npos ? 0 : slash + 1);
  auto path = "/images/create?fromImage=" + http::escape(name);
  bool tagged = last.find(':') != last.npos || last.find('@') != last.npos;
  return tagged ? path : path + "&tag=latest";
}

} // namespace

/// A running pull. The engine replies 200, then reports progress, and failure too, in
/// lines of JSON.
struct Images::Pull {
  News tell;
  std::string line, problem;
  std::map<std::string, std::pair<std::int64_t, std::int64_t>>
    layers; // Bytes pulled, and total.
  Loop::Clock::time_point last = Loop::Clock::now();

  void feed(std::string_view piece, const std::string& name) {
    for (char c : piece)
      if (c != '\n')
        line += c;
      else
        take(std::exchange(line, {}), name);
  }

  void take(const std::string& told, const std::string& name) {
    auto news = nlohmann::json::parse(told, nullptr, false);
    if (!news.is_object())
      return;
    if (auto error = news.find("error"); error != news.end() && error->is_string())
      problem = *error;
    if (auto all = number(news, {"progressDetail", "total"}); all > 0)
      layers[text(news, {"id"})] = {number(news, {"progressDetail", "current"}), all};
    if (Loop::Clock::now() - last < progress_every)
      return;
    last = Loop::Clock::now();
    double there = 0, all = 0;
    for (auto& [id, bytes] : layers) {
      there += static_cast<double>(bytes.first);
      all += static_cast<double>(bytes.second);
    }
    auto words =
      fmt::format("pulling {}: {:.0f} of {:.0f} MB", name, there / 1e6, all / 1e6);
    log().warn("docker: {}", words);
    tell(words);
  }
};

void Images::ensure(const std::string& name, Done done, News news) {
  if (auto known = known_.find(name); known != known_.end())
    return done(known->second);
  auto& wanted = waiting_[name];
  if (!wanted.words.empty())
    news(wanted.words);
  wanted.by.emplace_back(std::move(done), std::move(news));
  if (wanted.by.size() == 1)
    inspect(name, true);
}

void Images::inspect(const std::string& name, bool may_pull) {
  engine_.client().send(
    engine_.request("GET", "/images/" + http::escape(name) + "/json"),
    [this, name, may_pull](const http::Reply& reply) {
      if (reply.status == 404 && may_pull)
        return pull(name);
      if (!reply.ok())
        return settle(name, {.problem = "image " + name + ": " + problem(reply),
                             .status = reply.status});
      auto told = nlohmann::json::parse(reply.body, nullptr, false);
      auto id = text(told, {"Id"});
      if (id.empty())
        return settle(name, {.problem = "image " + name + ": the engine names no id"});
      Image image{.id = id,
                  .has_entrypoint = !part(told, {"Config", "Entrypoint"}).empty(),
                  .user = text(told, {"Config", "User"})};
      for (auto& variable : part(told, {"Config", "Env"})) {
        auto word = text(variable, {});
        image.variables.insert(word.substr(0, word.find('=')));
      }
      settle(name, image);
    });
}

void Images::pull(const std::string& name) {
  log().warn("docker: the engine has no image {}; pulling it", name);
  tell(name, "pulling " + name);
  auto request = engine_.request("POST", pull_path(name));
  request.limit = {};
  request.silence_limit = pull_silence;
  auto pulling = std::make_shared<Pull>();
  pulling->tell = [this, name](const std::string& words) { tell(name, words); };
  engine_.client().stream(
    std::move(request),
    {.data =
       [pulling, name](std::string_view piece) {
         pulling->feed(piece, name);
         return true;
       }},
    [this, name, pulling](const http::Reply& reply) {
      auto& why = pulling->problem;
      if (!reply.ok())
        why = problem(reply);
      if (!why.empty())
        return settle(name,
                      {.problem = "image " + name +
                                  " is not on the engine and can't be pulled: " + why,
                       .status = reply.ok() ? 404 : reply.status});
      log().warn("docker: pulled {}", name);
      tell(name, "");
      inspect(name, false);
    });
}

void Images::tell(const std::string& name, const std::string& words) {
  auto& wanted = waiting_[name];
  wanted.words = words;
  for (auto& [done, news] : wanted.by)
    news(words);
}

void Images::settle(const std::string& name, const Image& image) {
  auto wanted = std::exchange(waiting_[name], {});
  waiting_.erase(name);
  if (image.problem.empty())
    known_[name] = image;
  for (auto& [done, news] : wanted.by)
    done(image);
}

} // namespace fiber::backends::docker
