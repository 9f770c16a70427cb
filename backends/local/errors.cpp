// SPDX-License-Identifier: Apache-2.0
#include "backends/local/errors.hpp"

#include <sys/resource.h>

#include <cerrno>
#include <system_error>

namespace fiber::backends::local {

EngineError engine_error(std::string operation, int error) {
  if (error == EMFILE) {
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    return EngineError(std::move(operation), error,
                       "too many open files: limit " + std::to_string(limit.rlim_cur) +
                         ", raise with ulimit -n");
  }
  return EngineError(std::move(operation), error, std::generic_category().message(error));
}

} // namespace fiber::backends::local
