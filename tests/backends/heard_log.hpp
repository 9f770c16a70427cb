// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include <spdlog/sinks/base_sink.h>

#include "base/log.hpp"

namespace fiber::backends {

/// Records log lines during its life. Must be created and destroyed while nothing logs.
class HeardLog {
public:
  HeardLog() { log().sinks().push_back(sink_); }
  ~HeardLog() { log().sinks().pop_back(); }
  HeardLog(const HeardLog&) = delete;
  HeardLog& operator=(const HeardLog&) = delete;

  std::string text() const { return sink_->text(); }
  bool has(const std::string& words) const {
    return text().find(words) != std::string::npos;
  }
  std::size_t count(const std::string& words) const {
    std::size_t count = 0;
    auto all = text();
    for (std::size_t at = 0; (at = all.find(words, at)) != all.npos; ++at)
      ++count;
    return count;
  }

private:
  class Sink : public spdlog::sinks::base_sink<std::mutex> {
  public:
    std::string text() {
      std::lock_guard lock(mutex_);
      return text_;
    }

  protected:
    void sink_it_(const spdlog::details::log_msg& message) override {
      text_.append(message.payload.data(), message.payload.size()).append(1, '\n');
    }
    void flush_() override {}

  private:
    std::string text_;
  };
  std::shared_ptr<Sink> sink_ = std::make_shared<Sink>();
};

} // namespace fiber::backends
