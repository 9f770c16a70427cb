// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include <termios.h>

#include "base/unique_fd.hpp"

namespace fiber::cli {

/// A line on the screen.
struct Row {
  enum class Style { plain, title, selected };
  std::string text; ///< Without control characters.
  Style style = Style::plain;
};

/// The whole terminal, as long as this object lives: an own page, without a cursor. Keys
/// are not shown and need no Enter. The terminal is as before when the object goes, and
/// while the program is stopped by ^Z. Use it in a program with one thread.
class Screen {
public:
  /// Throws Error if input or output is no terminal.
  Screen();
  ~Screen();
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  struct Size {
    std::size_t rows = 24, columns = 80;
  };
  static Size size();

  /// Keys beyond characters.
  enum Key : int { none = -1, resized = 256, up, down, page_up, page_down, escape };
  /// Returns the next key: a character or a Key; none if `limit` passed first. A signal
  /// that ends programs (^C, SIGTERM, SIGHUP) restores the terminal and ends this one.
  int key(std::chrono::milliseconds limit);
  /// Shows the rows, as far as there is room.
  static void draw(const std::vector<Row>& rows);

private:
  void enter();
  void leave() const;
  void handle_signal();
  int read_key();

  termios before_{};
  UniqueFd signals_;
  std::string typed_; ///< Input that was not used yet.
};

} // namespace fiber::cli
