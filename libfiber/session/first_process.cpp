// SPDX-License-Identifier: Apache-2.0
#include "libfiber/session/first_process.hpp"

#include <unistd.h>

#include <csignal>
#include <initializer_list>

namespace fiber::detail {

void obey_signals_as_first_process() {
  if (::getpid() != 1)
    return;
  for (int number : {SIGINT, SIGTERM}) {
    struct sigaction action {};
    if (::sigaction(number, nullptr, &action) != 0 || action.sa_handler != SIG_DFL)
      continue;
    action.sa_handler = [](int signal) { ::_exit(128 + signal); };
    ::sigaction(number, &action, nullptr);
  }
}

} // namespace fiber::detail
