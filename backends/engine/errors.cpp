// SPDX-License-Identifier: Apache-2.0
#include "backends/engine/errors.hpp"

#include <sys/resource.h>

#include <cerrno>
#include <system_error>

namespace fiber::backends {

EngineError engine_error(std::string operation, int error) {
  if (error == EMFILE) {
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    auto most = std::to_string(limit.rlim_cur);
    return EngineError(std::move(operation), error,
                       limit.rlim_cur < limit.rlim_max
                         ? "too many open files: limit " + most + ", raise with ulimit -n"
                         : "too many open files: the hard limit is " + most +
                             ", raise with ulimit -Hn");
  }
  return EngineError(std::move(operation), error, std::generic_category().message(error));
}

} // namespace fiber::backends
