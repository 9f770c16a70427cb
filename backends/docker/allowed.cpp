// SPDX-License-Identifier: Apache-2.0
#include "backends/docker/allowed.hpp"

#include <vector>

#include "backends/container/lack.hpp"

namespace fiber::backends::docker {

std::string advice(std::string_view text, const Allowed& allowed) {
  std::vector<Lack> lacks;
  auto add = [&](const char* word, const Lack& lack) {
    if (!allowed.contains(word))
      lacks.push_back(lack);
  };
  add(writable_root,
      {"read-only file system", "only /tmp, /dev/shm and volumes are writable; "
                                "docker_allow=writable_root makes all of it so"});
  add(capabilities, {"operation not permitted",
                     "workers have no capabilities; docker_allow=capabilities keeps "
                     "those that the engine gives"});
  lacks.push_back({"permission denied", "workers are not root, unless docker_user=root"});
  add(processes,
      {"resource temporarily unavailable",
       "processes and threads are limited; docker_allow=processes lifts that"});
  return advice_for(text, lacks);
}

} // namespace fiber::backends::docker
