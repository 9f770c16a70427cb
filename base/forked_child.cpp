// SPDX-License-Identifier: Apache-2.0
#include "base/forked_child.hpp"

#include <cstdlib>
#include <string>

#include <pthread.h>
#include <unistd.h>

#include "fiber/error.hpp"

namespace fiber {

void note_forks() {
  detail::forked_child = false;
  [[maybe_unused]] static const int registered =
    pthread_atfork(nullptr, nullptr, [] { detail::forked_child = true; });
}

void end_if_forked_child(const char* what) {
  if (!is_forked_child())
    return;
  auto text = "fiber: process " + std::to_string(::getpid()) + " was forked in " + what +
              " and has left it; the process ends here, because only its parent may "
              "report. Call _exit() in a child, or an exec function\n";
  [[maybe_unused]] auto written = ::write(STDERR_FILENO, text.data(), text.size());
  ::_exit(EXIT_FAILURE);
}

void check_not_forked() {
  if (is_forked_child())
    throw Closed("this process was forked from one that uses Fiber and can't use the "
                 "session of its parent; fork, or call daemon(), before fiber::init");
}

} // namespace fiber
