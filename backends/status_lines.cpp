// SPDX-License-Identifier: Apache-2.0
#include "backends/status_lines.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace fiber::backends {
namespace {

constexpr std::size_t usual_columns = 80, least_columns = 20;
/// Of the ECMA-48 control functions: the line is erased; one line up.
constexpr std::string_view erase_line = "\r\x1b[2K", line_up = "\x1b[1A";

bool can_move_the_cursor() {
  const char* kind = std::getenv("TERM");
  return ::isatty(STDERR_FILENO) != 0 && kind != nullptr && *kind != '\0' &&
         std::string_view(kind) != "dumb";
}

class SinkAbove final : public spdlog::sinks::sink {
public:
  SinkAbove(std::shared_ptr<StatusLines> lines, std::vector<spdlog::sink_ptr> sinks)
    : lines_(std::move(lines)), sinks_(std::move(sinks)) {}

  void log(const spdlog::details::log_msg& record) override {
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
  void set_pattern(const std::string& pattern) override {
    for (auto& sink : sinks_)
      sink->set_pattern(pattern);
  }
  void set_formatter(std::unique_ptr<spdlog::formatter> formatter) override {
    for (auto& sink : sinks_)
      sink->set_formatter(formatter->clone());
  }

private:
  std::shared_ptr<StatusLines> lines_;
  std::vector<spdlog::sink_ptr> sinks_;
};

} // namespace

StatusLines::StatusLines() : live_(can_move_the_cursor()) {}

StatusLines::~StatusLines() {
  show({});
}

std::size_t StatusLines::columns() const {
  winsize size{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
    return usual_columns;
  return std::max<std::size_t>(size.ws_col, least_columns);
}

void StatusLines::show(std::vector<std::string> lines) {
  std::lock_guard lock(mutex_);
  lines_ = std::move(lines);
  if (clear())
    draw();
}

void StatusLines::print(const std::string& line) {
  std::lock_guard lock(mutex_);
  printed_ += line + "\n";
  if (clear())
    draw();
}

std::optional<std::size_t> StatusLines::write(StderrWriter& writer,
                                              std::string_view text) {
  std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock)
    return std::nullopt;
  if (!clear())
    return 0;
  auto written = writer.write(text);
  if (written > 0)
    in_a_line_ = text[written - 1] != '\n';
  draw();
  return written;
}

void StatusLines::above(const std::function<void()>& write) {
  std::lock_guard lock(mutex_);
  clear();
  write();
  draw();
}

/// Takes the lines away. False if stderr does not take that now.
bool StatusLines::clear() {
  for (; drawn_ > 0; --drawn_)
    unsent_.append(erase_line).append(drawn_ > 1 ? line_up : "");
  return flush();
}

void StatusLines::draw() {
  if (in_a_line_ || !unsent_.empty())
    return; // Whoever began that line comes again.
  unsent_ = std::exchange(printed_, {});
  if (live_) {
    auto most = columns() - 1; // A line that wraps would be two.
    for (auto& line : lines_)
      unsent_.append(drawn_++ > 0 ? "\n" : "").append(line, 0, most);
  }
  flush();
}

bool StatusLines::flush() {
  unsent_.erase(0, writer_.write(unsent_));
  return unsent_.empty();
}

spdlog::sink_ptr log_above(std::shared_ptr<StatusLines> lines,
                           std::vector<spdlog::sink_ptr> sinks) {
  return std::make_shared<SinkAbove>(std::move(lines), std::move(sinks));
}

} // namespace fiber::backends
