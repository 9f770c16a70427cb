// SPDX-License-Identifier: Apache-2.0
#include "backends/ssh/channel.hpp"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <tuple>

#include "backends/engine/child_exit.hpp"
#include "backends/engine/child_process.hpp"
#include "backends/engine/errors.hpp"
#include "backends/engine/message_channel.hpp"
#include "backends/engine/spawn.hpp"

namespace fiber::backends::ssh {

namespace {

constexpr std::size_t errors_kept = 4096;

} // namespace

Channel::Channel(Loop& loop, Handler handler)
  : loop_(loop), handler_(std::move(handler)),
    keep_errors_([this](std::string_view text) {
      errors_end_ += text;
      if (errors_end_.size() > errors_kept)
        errors_end_.erase(0, errors_end_.size() - errors_kept);
    }) {}

std::shared_ptr<Channel> Channel::start(Loop& loop, const std::vector<std::string>& words,
                                        Handler handler) {
  std::shared_ptr<Channel> channel(new Channel(loop, std::move(handler)));
  channel->run(words);
  return channel;
}

Channel::~Channel() {
  close();
}

void Channel::run(const std::vector<std::string>& words) {
  // A socket: writing to it raises no SIGPIPE.
  auto [input, theirs] = local::make_socket_pair(SOCK_STREAM);
  ::fcntl(input.get(), F_SETFL, O_NONBLOCK);
  input_ = std::move(input);
  UniqueFd out, err;
  std::tie(output_, out) = local::make_pipe();
  std::tie(errors_, err) = local::make_pipe();
  if (int error = spawn_child({.executable = words.front(),
                               .argv = words,
                               .environment = environment_with({}),
                               .input = theirs.get(),
                               .output = out.get(),
                               .errors = err.get(),
                               .new_session = true}, // It may pass on our terminal.
                              pid_);
      error != 0)
    throw engine_error("start " + words.front(), error);
  auto self = weak_from_this();
  auto watch = [&](const UniqueFd& fd, const auto* take) {
    loop_.watch(fd.get(), EPOLLIN, [self, &fd, take](std::uint32_t) {
      if (auto channel = self.lock(); channel && fd && !channel->read(fd, *take) && fd)
        channel->loop_.unwatch(fd.get());
    });
  };
  watch(output_, &handler_.output);
  watch(errors_, &keep_errors_);
  pidfd_ = local::open_pidfd(pid_);
  local::on_exit(loop_, pid_, pidfd_.get(), [self] {
    if (auto channel = self.lock())
      channel->on_exit();
  });
}

void Channel::send(std::string_view bytes) {
  if (!input_)
    return;
  unsent_ += bytes;
  if (!writing_)
    write();
}

void Channel::write() {
  while (!unsent_.empty()) {
    const auto put = ::send(input_.get(), unsent_.data(), unsent_.size(), MSG_NOSIGNAL);
    if (put < 0 && errno == EINTR)
      continue;
    if (put < 0 && errno != EAGAIN)
      unsent_.clear(); // Its end follows.
    if (put < 0)
      break;
    unsent_.erase(0, static_cast<std::size_t>(put));
  }
  const bool rest = !unsent_.empty();
  if (rest && !writing_)
    loop_.watch(input_.get(), EPOLLOUT, [self = weak_from_this()](std::uint32_t) {
      if (auto channel = self.lock(); channel && channel->input_)
        channel->write();
    });
  if (!rest && writing_)
    loop_.unwatch(input_.get());
  writing_ = rest;
}

bool Channel::read(const UniqueFd& fd,
                   const std::function<void(std::string_view)>& take) {
  char piece[64 * 1024];
  const auto got = ::read(fd.get(), piece, sizeof piece);
  if (got > 0) {
    auto self = shared_from_this(); // The handler may drop this.
    take({piece, static_cast<std::size_t>(got)});
  }
  return got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
}

void Channel::on_exit() {
  auto self = shared_from_this();
  for (auto* fd : {&output_, &errors_}) {
    auto& take = fd == &output_ ? handler_.output : keep_errors_;
    while (*fd && pid_ > 0) { // What is there; another process may hold the other end.
      char piece[64 * 1024];
      const auto got = ::read(fd->get(), piece, sizeof piece);
      if (got > 0)
        take({piece, static_cast<std::size_t>(got)});
      else if (got == 0 || errno != EINTR)
        break;
    }
  }
  if (pid_ <= 0)
    return; // A handler has closed this.
  siginfo_t end{};
  std::optional<int> code;
  if (::waitid(P_PID, static_cast<id_t>(pid_), &end, WEXITED) == 0)
    code = end.si_code == CLD_EXITED ? end.si_status : -end.si_status;
  pid_ = 0;
  auto ended = std::move(handler_.ended);
  close();
  ended(errors_end_, code);
}

void Channel::close() {
  if (writing_ && input_)
    loop_.unwatch(input_.get());
  writing_ = false;
  for (auto* fd : {&output_, &errors_, &pidfd_})
    if (*fd)
      loop_.unwatch(fd->get());
  for (auto* fd : {&input_, &output_, &errors_, &pidfd_})
    fd->reset();
  if (pid_ > 0) {
    ::kill(-pid_, SIGKILL);
    ::waitid(P_PID, static_cast<id_t>(pid_), nullptr, WEXITED); // It is about to die.
  }
  pid_ = 0;
}

} // namespace fiber::backends::ssh
