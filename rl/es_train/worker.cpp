// SPDX-License-Identifier: Apache-2.0
#include "rl/es_train/worker.hpp"

#include <array>
#include <string>

#include <unistd.h>

namespace fiber::rl::es_train {
namespace {

std::uint64_t this_place() {
  std::array<char, 256> host = {}, space = {};
  ::gethostname(host.data(), host.size() - 1);
  if (::readlink("/proc/self/ns/pid", space.data(), space.size() - 1) < 0)
    space[0] = '\0'; // Without /proc, the computer must do.
  // FNV-1a: the same in all processes.
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : std::string(host.data()) + '/' + space.data())
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

} // namespace

Worker this_worker() {
  static const auto place = this_place();
  return {.pid = ::getpid(), .place = place};
}

} // namespace fiber::rl::es_train
