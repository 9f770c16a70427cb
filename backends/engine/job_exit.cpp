// SPDX-License-Identifier: Apache-2.0
#include "backends/engine/job_exit.hpp"

#include <cstring>

namespace fiber::backends {

namespace {

std::string signal_name(int signal) {
  const char* name = ::sigabbrev_np(signal);
  return name ? std::string("SIG") + name : "signal " + std::to_string(signal);
}

} // namespace

Exit Exit::known(int code) {
  return {code, code < 0 ? "killed by " + signal_name(-code)
                         : "exit code " + std::to_string(code)};
}

Exit Exit::unknown(const std::string& why) {
  return {{}, "exit unknown (" + why + ")"};
}

} // namespace fiber::backends
