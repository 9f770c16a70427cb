// SPDX-License-Identifier: Apache-2.0
#include "backends/output/status_lines.hpp"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <system_error>
#include <utility>

namespace fiber::backends {
namespace {

constexpr std::size_t usual_columns = 80, min_columns = 20;
constexpr std::size_t max_printed = 1 << 20; ///< Limit on unsent bytes.
constexpr std::chrono::milliseconds patience{500}, look_again{50};
/// ECMA-48 control functions: erase the line; move up by one.
constexpr std::string_view erase_line = "\r\x1b[2K", line_up = "\x1b[1A";

bool can_move_the_cursor() {
  const char* kind = std::getenv("TERM");
  return ::isatty(STDERR_FILENO) != 0 && kind != nullptr && *kind != '\0' &&
         std::string_view(kind) != "dumb";
}

} // namespace

StatusLines::StatusLines() : live_(can_move_the_cursor()) {}

StatusLines::~StatusLines() {
  end_line();
  {
    std::lock_guard lock(mutex_);
    lines_.clear();
    refresh();
    ends_ = Clock::now() + patience;
  }
  changed_.notify_one();
  if (thread_.joinable())
    thread_.join();
}

std::size_t StatusLines::columns() const {
  winsize size{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
    return usual_columns;
  return std::max<std::size_t>(size.ws_col, min_columns);
}

void StatusLines::show(std::vector<std::string> lines) {
  std::lock_guard lock(mutex_);
  lines_ = std::move(lines);
  refresh();
}

void StatusLines::print(const std::string& line) {
  std::lock_guard lock(mutex_);
  if (unsent_.size() + printed_.size() > max_printed)
    ++dropped_;
  else
    printed_ += line + "\n";
  refresh();
}

std::optional<std::size_t> StatusLines::write(StderrWriter& writer,
                                              std::string_view text) {
  std::lock_guard lock(mutex_);
  if (hidden_)
    return std::nullopt;
  std::size_t written = 0;
  if (clear()) {
    written = writer.write(text);
    if (written > 0)
      in_a_line_ = text[written - 1] != '\n';
    draw();
  }
  wake_thread();
  return written;
}

void StatusLines::end_line() {
  std::lock_guard lock(mutex_);
  if (std::exchange(in_a_line_, false))
    unsent_ += '\n';
  refresh();
}

void StatusLines::above(const std::function<void()>& write) {
  std::lock_guard turn(above_);
  struct Hidden {
    explicit Hidden(StatusLines& of) : lines(of) {
      std::unique_lock lock(lines.mutex_);
      while (!lines.clear())
        lines.await_terminal(lock);
      lines.hidden_ = true;
    }
    ~Hidden() { // Also if `write` throws.
      std::lock_guard lock(lines.mutex_);
      lines.hidden_ = false;
      lines.refresh();
    }
    StatusLines& lines;
  } hidden(*this);
  write();
}

/// Updates the terminal, now or as soon as stderr accepts it.
void StatusLines::refresh() {
  if (hidden_)
    return;
  if (clear())
    draw();
  wake_thread();
}

/// Leaves unsent text to the thread, if there is any.
void StatusLines::wake_thread() {
  if (!is_behind())
    return;
  try {
    if (!thread_.joinable())
      thread_ = std::thread([this] { run(); });
  } catch (const std::system_error&) { // No thread available: the next call retries.
    return;
  }
  changed_.notify_one();
}

/// Returns whether there is text for the thread to write.
bool StatusLines::is_behind() const {
  return !hidden_ && (!unsent_.empty() || (!printed_.empty() && !in_a_line_));
}

void StatusLines::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    if (ends_ && (!is_behind() || Clock::now() >= *ends_))
      return;
    if (!is_behind()) {
      changed_.wait(lock);
      continue;
    }
    await_terminal(lock);
    auto before = unsent_.size();
    refresh();
    if (is_behind() && unsent_.size() >= before) // poll() was wrong.
      changed_.wait_for(lock, look_again);
  }
}

/// Waits for stderr for at most look_again, without the lock.
void StatusLines::await_terminal(std::unique_lock<std::mutex>& lock) {
  pollfd ready{writer_.fd(), POLLOUT, 0};
  lock.unlock();
  ::poll(&ready, 1, static_cast<int>(look_again.count()));
  lock.lock();
}

/// Erases the lines. Returns false if stderr does not accept that now.
bool StatusLines::clear() {
  for (; drawn_ > 0; --drawn_)
    unsent_.append(erase_line).append(drawn_ > 1 ? line_up : "");
  return flush();
}

void StatusLines::draw() {
  if (in_a_line_ || !unsent_.empty())
    return; // The writer of that line will call again.
  unsent_ = std::exchange(printed_, {});
  if (auto lines = std::exchange(dropped_, 0); lines > 0)
    unsent_.append("(")
      .append(std::to_string(lines))
      .append(" lines were left out here)\n");
  if (live_) {
    auto most = columns() - 1; // Prevents wrapping.
    for (auto& line : lines_)
      unsent_.append(drawn_++ > 0 ? "\n" : "").append(line, 0, most);
  }
  flush();
}

bool StatusLines::flush() {
  unsent_.erase(0, writer_.write(unsent_));
  return unsent_.empty();
}

} // namespace fiber::backends
