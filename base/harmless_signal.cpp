// SPDX-License-Identifier: Apache-2.0
#include "base/harmless_signal.hpp"

#include <csignal>

namespace fiber {

void make_harmless(int signal) {
  struct sigaction now {};
  if (::sigaction(signal, nullptr, &now) != 0 || now.sa_handler != SIG_DFL)
    return;
  struct sigaction nothing {};
  nothing.sa_handler = [](int) {};
  nothing.sa_flags = SA_RESTART;
  ::sigaction(signal, &nothing, nullptr);
}

} // namespace fiber
