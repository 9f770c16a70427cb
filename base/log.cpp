// SPDX-License-Identifier: Apache-2.0
#include "base/log.hpp"

#include <memory>
#include <mutex>
#include <string_view>
#include <utility>

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_color_sinks.h>

#include "base/terminal_text.hpp"

namespace fiber {
namespace {

/// The logger's only sink, which forwards to others. It stays, because spdlog's list of
/// sinks must not change while a thread logs.
class RedirectableSink final : public spdlog::sinks::sink {
public:
  explicit RedirectableSink(std::vector<spdlog::sink_ptr> own) : own_(std::move(own)) {}

  const std::vector<spdlog::sink_ptr>& own() const { return own_; }
  void set(spdlog::sink_ptr to) {
    std::lock_guard lock(mutex_);
    to_.swap(to); // The old sink is destroyed after the lock is released.
  }

  /// Records may quote what other processes said.
  void log(const spdlog::details::log_msg& record) override {
    std::string_view text(record.payload.data(), record.payload.size());
    if (!has_orders(text))
      return pass(record);
    auto plain = for_log(text);
    auto safe = record;
    safe.payload = plain;
    pass(safe);
  }
  void flush() override {
    if (auto to = current()) {
      to->flush();
      return;
    }
    for (auto& sink : own_)
      sink->flush();
  }
  void set_pattern(const std::string& pattern) override {
    set_formatter(std::make_unique<spdlog::pattern_formatter>(pattern));
  }
  void set_formatter(std::unique_ptr<spdlog::formatter> formatter) override {
    for (auto& sink : own_)
      sink->set_formatter(formatter->clone());
    if (auto to = current())
      to->set_formatter(std::move(formatter));
  }

private:
  void pass(const spdlog::details::log_msg& record) {
    if (auto to = current()) {
      to->log(record);
      return;
    }
    for (auto& sink : own_)
      if (sink->should_log(record.level))
        sink->log(record);
  }
  spdlog::sink_ptr current() {
    std::lock_guard lock(mutex_);
    return to_;
  }

  const std::vector<spdlog::sink_ptr> own_;
  std::mutex mutex_; ///< Not held while a sink writes, which may block.
  spdlog::sink_ptr to_;
};

struct Log {
  std::shared_ptr<spdlog::logger> logger;
  std::shared_ptr<RedirectableSink> sinks;
  bool of_the_program;
};

/// Lives until the process has ended: a static Session logs in the exit handlers, after
/// the registry of spdlog has gone.
const Log& the_log() {
  static const auto* log = [] {
    auto logger = spdlog::get("fiber");
    auto registered = logger != nullptr;
    if (!registered) {
      logger = spdlog::stderr_color_mt("fiber");
      logger->set_pattern(log_pattern);
    }
    auto sinks = std::make_shared<RedirectableSink>(logger->sinks());
    logger->sinks() = {sinks};
    return new Log{std::move(logger), std::move(sinks), registered};
  }();
  return *log;
}

} // namespace

spdlog::logger& log() {
  return *the_log().logger;
}

const std::vector<spdlog::sink_ptr>& log_sinks() {
  return the_log().sinks->own();
}

bool log_is_the_programs() {
  return the_log().of_the_program;
}

void redirect_log(spdlog::sink_ptr to) {
  the_log().sinks->set(std::move(to));
}

} // namespace fiber
