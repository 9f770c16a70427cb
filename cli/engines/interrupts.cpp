// SPDX-License-Identifier: Apache-2.0
#include "cli/engines/interrupts.hpp"

#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace fiber::cli {

Interrupts::Interrupts() {
  sigset_t taken;
  sigemptyset(&taken);
  sigaddset(&taken, SIGINT);
  sigaddset(&taken, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &taken, &before_);
  fd_.reset(::signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd_)
    throw std::system_error(errno, std::generic_category(), "signalfd");
}

Interrupts::~Interrupts() {
  while (take().number != 0) // Otherwise it would end this process now.
    ;
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

Interrupts::Signal Interrupts::take() {
  signalfd_siginfo info{};
  if (::read(fd_.get(), &info, sizeof info) != sizeof info)
    return {};
  return {.number = static_cast<int>(info.ssi_signo),
          .from_terminal = info.ssi_code == SI_KERNEL};
}

} // namespace fiber::cli
