// SPDX-License-Identifier: Apache-2.0
#include "cli/screen.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <string_view>
#include <utility>

#include <poll.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "cli/printable.hpp"
#include "fiber/error.hpp"

namespace fiber::cli {
namespace {

constexpr std::string_view enter_page = "\x1b[?1049h\x1b[?25l";
constexpr std::string_view leave_page = "\x1b[?25h\x1b[?1049l";

sigset_t handled_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (auto signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH, SIGTSTP})
    sigaddset(&set, signal);
  return set;
}

void write_all(std::string_view text) {
  while (!text.empty()) {
    auto n = ::write(STDOUT_FILENO, text.data(), text.size());
    if (n < 0 && errno != EINTR && errno != EAGAIN)
      return; // The terminal has gone; SIGHUP follows.
    text.remove_prefix(n > 0 ? static_cast<std::size_t>(n) : 0);
  }
}

/// Lets the signal do what it does by default.
void raise_default(int signal) {
  std::signal(signal, SIG_DFL);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signal);
  ::raise(signal);
  sigprocmask(SIG_UNBLOCK, &set, nullptr); // It is delivered here.
  sigprocmask(SIG_BLOCK, &set, nullptr);
}

} // namespace

Screen::Screen() {
  if (::isatty(STDIN_FILENO) == 0 || ::isatty(STDOUT_FILENO) == 0 ||
      tcgetattr(STDIN_FILENO, &before_) != 0)
    throw Error("top needs a terminal; --once prints one picture anywhere");
  auto set = handled_signals();
  sigprocmask(SIG_BLOCK, &set, nullptr);
  signals_ = UniqueFd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  enter();
}

Screen::~Screen() {
  leave();
  auto set = handled_signals();
  sigprocmask(SIG_UNBLOCK, &set, nullptr);
}

void Screen::enter() {
  auto raw = before_;
  raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  raw.c_cc[VMIN] = 1;
  raw.c_cc[VTIME] = 0;
  tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
  write_all(enter_page);
}

void Screen::leave() const {
  write_all(leave_page);
  tcsetattr(STDIN_FILENO, TCSADRAIN, &before_);
}

Screen::Size Screen::size() {
  winsize now{};
  Size size;
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &now) == 0 && now.ws_row > 0 && now.ws_col > 0)
    size = {now.ws_row, now.ws_col};
  return size;
}

int Screen::key(std::chrono::milliseconds limit) {
  if (!typed_.empty())
    return read_key();
  pollfd waits[] = {{STDIN_FILENO, POLLIN, 0}, {signals_.get(), POLLIN, 0}};
  if (::poll(waits, 2, static_cast<int>(limit.count())) <= 0)
    return none;
  if (waits[1].revents != 0) {
    handle_signal();
    return resized;
  }
  char piece[64];
  auto n = ::read(STDIN_FILENO, piece, sizeof piece);
  if (n <= 0) {
    leave();
    throw Error("the terminal has gone");
  }
  typed_.append(piece, static_cast<std::size_t>(n));
  return read_key();
}

int Screen::read_key() {
  static constexpr std::pair<std::string_view, int> sequences[] = {
    {"\x1b[A", up},   {"\x1b[B", down},     {"\x1bOA", up},
    {"\x1bOB", down}, {"\x1b[5~", page_up}, {"\x1b[6~", page_down}};
  for (auto& [sequence, key] : sequences)
    if (typed_.starts_with(sequence)) {
      typed_.erase(0, sequence.size());
      return key;
    }
  auto first = static_cast<unsigned char>(typed_.front());
  if (first == 0x1b) { // Alone, or a key that is not known.
    typed_.clear();
    return escape;
  }
  typed_.erase(0, 1);
  return first;
}

void Screen::handle_signal() {
  signalfd_siginfo info{};
  if (::read(signals_.get(), &info, sizeof info) != sizeof info)
    return;
  auto signal = static_cast<int>(info.ssi_signo);
  if (signal == SIGWINCH)
    return;
  leave();
  raise_default(signal);
  enter(); // After SIGTSTP only; the others have ended the program.
}

void Screen::draw(const std::vector<Row>& rows) {
  auto [height, width] = size();
  std::string out = "\x1b[H";
  for (std::size_t i = 0; i < std::min(rows.size(), height); ++i) {
    auto& [text, style] = rows[i];
    if (i > 0)
      out += "\r\n";
    if (style == Row::Style::plain)
      out += cut(text, width);
    else if (style == Row::Style::title)
      out += "\x1b[1m" + cut(text, width) + "\x1b[0m";
    else
      out += "\x1b[7m" + fit(text, width) + "\x1b[0m";
    out += "\x1b[K";
  }
  write_all(out + "\x1b[J");
}

} // namespace fiber::cli
