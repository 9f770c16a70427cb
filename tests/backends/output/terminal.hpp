// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pty.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/unique_fd.hpp"

namespace fiber::backends {

/// Returns a terminal's content after `text`. Interprets line ends, "\r", erase line and
/// cursor up; ignores colours.
class Screen {
public:
  void write(std::string_view text) {
    text_ += text;
    for (char c : text)
      put(c);
  }
  const std::vector<std::string>& lines() const { return lines_; }
  const std::string& text() const { return text_; }

private:
  void put(char c) {
    if (!escape_.empty()) {
      escape_ += c;
      if (escape_.size() > 2 && c >= '@')
        obey(std::exchange(escape_, {}));
    } else if (c == '\x1b') {
      escape_ = c;
    } else if (c == '\r') {
      column_ = 0;
    } else if (c == '\n') {
      if (++row_ == lines_.size())
        lines_.emplace_back();
    } else {
      auto& line = lines_[row_];
      line.resize(std::max(line.size(), column_ + 1), ' ');
      line[column_++] = c;
    }
  }
  void obey(const std::string& sequence) {
    if (sequence == "\x1b[2K")
      lines_[row_].clear();
    else if (sequence == "\x1b[1A" && row_ > 0)
      --row_;
  }

  std::string text_;
  std::vector<std::string> lines_{""};
  std::size_t row_ = 0, column_ = 0;
  std::string escape_;
};

/// A terminal that is this process's stderr during its life.
class Terminal {
public:
  explicit Terminal(unsigned short columns = 80) : before_(::dup(STDERR_FILENO)) {
    int ours = -1, theirs = -1;
    winsize size{24, columns, 0, 0};
    EXPECT_EQ(::openpty(&ours, &theirs, nullptr, nullptr, &size), 0);
    ours_ = UniqueFd(ours);
    ::dup2(theirs, STDERR_FILENO);
    ::close(theirs);
    if (auto* kind = std::getenv("TERM"))
      kind_ = kind;
    ::setenv("TERM", "xterm", 1);
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  ~Terminal() {
    close();
    ::setenv("TERM", kind_.c_str(), 1);
  }

  /// Starts to read from the terminal.
  void look() {
    reader_ = std::thread([this] {
      std::array<char, 4096> buffer;
      for (ssize_t got; (got = ::read(ours_.get(), buffer.data(), buffer.size())) > 0;) {
        std::lock_guard lock(mutex_);
        screen_.write({buffer.data(), static_cast<std::size_t>(got)});
      }
    });
  }
  /// Returns its current content.
  std::vector<std::string> lines() {
    std::lock_guard lock(mutex_);
    return screen_.lines();
  }
  /// Returns all bytes received.
  std::string text() {
    std::lock_guard lock(mutex_);
    return screen_.text();
  }
  bool shows(const std::string& text) {
    for (auto& line : lines())
      if (line.find(text) != std::string::npos)
        return true;
    return false;
  }
  /// Restores stderr, after which the terminal's content is final.
  void close() {
    if (!before_)
      return;
    ::dup2(before_.get(), STDERR_FILENO);
    before_.reset();
    if (reader_.joinable())
      reader_.join(); // No other process holds it.
  }

private:
  UniqueFd before_, ours_;
  std::string kind_;
  std::thread reader_;
  std::mutex mutex_;
  Screen screen_;
};

} // namespace fiber::backends
