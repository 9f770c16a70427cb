// SPDX-License-Identifier: Apache-2.0
#include "cli/helper_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <exception>
#include <string>
#include <system_error>
#include <utility>

#include "cli/engines/process_end.hpp"
#include "cli/engines/tail.hpp"

namespace fiber::cli {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

std::string text_of(const std::function<json()>& answer) {
  json told;
  try {
    told = answer();
  } catch (const std::exception& error) {
    told = {{"problem", error.what()}};
  }
  return told.dump(-1, ' ', false, json::error_handler_t::replace);
}

} // namespace

HelperProcess::HelperProcess(const std::function<json()>& answer) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    throw std::system_error(errno, std::generic_category(), "pipe2");
  out_.reset(ends[0]);
  UniqueFd in(ends[1]);
  pid_ = ::fork();
  if (pid_ < 0)
    throw std::system_error(errno, std::generic_category(), "fork");
  if (pid_ == 0) {
    write_all(in.get(), text_of(answer));
    ::_exit(0);
  }
}

HelperProcess::HelperProcess(HelperProcess&& other) noexcept
  : pid_(std::exchange(other.pid_, 0)), out_(std::move(other.out_)) {}

HelperProcess::~HelperProcess() {
  if (pid_ <= 0)
    return;
  auto helpers = descendants_of(pid_); // squeue has a process group of its own.
  ::kill(pid_, SIGKILL);
  for (auto& helper : helpers)
    helper.send(SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

json HelperProcess::read(Clock::time_point limit, milliseconds patience) {
  std::string text;
  for (;;) {
    auto left = std::chrono::ceil<milliseconds>(limit - Clock::now()).count();
    pollfd wait{out_.get(), POLLIN, 0};
    auto ready = ::poll(&wait, 1, left > 0 ? static_cast<int>(left) : 0);
    if (ready < 0 && errno == EINTR)
      continue;
    if (ready <= 0)
      return {{"problem", "no answer in " +
                            json(static_cast<double>(patience.count()) / 1000).dump() +
                            " s"}};
    char piece[64 * 1024];
    auto n = ::read(out_.get(), piece, sizeof piece);
    if (n <= 0)
      break;
    text.append(piece, static_cast<std::size_t>(n));
  }
  auto told = json::parse(text, nullptr, false);
  if (!told.is_object())
    return {{"problem", "the process that asked the engine has crashed"}};
  return told;
}

} // namespace fiber::cli
