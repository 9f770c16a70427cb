// SPDX-License-Identifier: Apache-2.0
#include "backends/output/log_above.hpp"

#include <cstdio>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <spdlog/details/os.h>
#include <spdlog/sinks/ansicolor_sink.h>
#include <spdlog/sinks/base_sink.h>

#include "base/log.hpp"

namespace fiber::backends {
namespace {

using spdlog::details::log_msg;

ssize_t append(void* text, const char* bytes, std::size_t n) {
  static_cast<std::string*>(text)->append(bytes, n);
  return static_cast<ssize_t>(n);
}

/// Prints records above the lines, with the colours and pattern of stderr.
class PrintAbove final : public spdlog::sinks::base_sink<std::mutex> {
public:
  explicit PrintAbove(std::shared_ptr<StatusLines> lines)
    : lines_(std::move(lines)),
      file_(::fopencookie(&text_, "w", {nullptr, append, nullptr, nullptr}), std::fclose),
      colours_(file_.get(), spdlog::details::os::is_color_terminal()
                              ? spdlog::color_mode::always
                              : spdlog::color_mode::never) {
    colours_.set_pattern(log_pattern);
  }

private:
  using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

  void sink_it_(const log_msg& record) override {
    colours_.log(record);
    if (!text_.empty() && text_.back() == '\n')
      text_.pop_back();
    lines_->print(std::exchange(text_, {}));
  }
  void flush_() override {}
  void set_pattern_(const std::string& pattern) override {
    colours_.set_pattern(pattern);
  }
  void set_formatter_(std::unique_ptr<spdlog::formatter> formatter) override {
    colours_.set_formatter(std::move(formatter));
  }

  const std::shared_ptr<StatusLines> lines_;
  std::string text_; // The current record.
  const File file_;
  spdlog::sinks::ansicolor_sink<spdlog::details::console_nullmutex> colours_;
};

class WriteAbove final : public spdlog::sinks::sink {
public:
  WriteAbove(std::shared_ptr<StatusLines> lines, std::vector<spdlog::sink_ptr> sinks)
    : lines_(std::move(lines)), sinks_(std::move(sinks)) {}

  void log(const log_msg& record) override {
    lines_->above([&] {
      for (auto& sink : sinks_) {
        if (sink->should_log(record.level)) {
          sink->log(record);
          sink->flush();
        }
      }
    });
  }
  void flush() override {
    for (auto& sink : sinks_)
      sink->flush();
  }
  // The program sets these on its own sinks.
  void set_pattern(const std::string&) override {}
  void set_formatter(std::unique_ptr<spdlog::formatter>) override {}

private:
  const std::shared_ptr<StatusLines> lines_;
  const std::vector<spdlog::sink_ptr> sinks_;
};

} // namespace

spdlog::sink_ptr print_above(std::shared_ptr<StatusLines> lines) {
  return std::make_shared<PrintAbove>(std::move(lines));
}

spdlog::sink_ptr write_above(std::shared_ptr<StatusLines> lines,
                             std::vector<spdlog::sink_ptr> sinks) {
  return std::make_shared<WriteAbove>(std::move(lines), std::move(sinks));
}

spdlog::sink_ptr log_above(std::shared_ptr<StatusLines> lines) {
  return log_is_the_programs() ? write_above(std::move(lines), log_sinks())
                               : print_above(std::move(lines));
}

} // namespace fiber::backends
