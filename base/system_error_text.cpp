// SPDX-License-Identifier: Apache-2.0
#include "base/system_error_text.hpp"

#include <sys/resource.h>

#include <cerrno>
#include <fstream>
#include <system_error>

#include "fiber/detail/classic_locale.hpp"

namespace fiber {
namespace {

std::string of_this_process() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  auto most = std::to_string(limit.rlim_cur);
  return limit.rlim_cur < limit.rlim_max
           ? "too many open files: limit " + most + ", raise with ulimit -n"
           : "too many open files: the hard limit is " + most + ", raise with ulimit -Hn";
}

std::string of_this_machine() {
  std::string most = "unknown";
  fiber::detail::Classic<std::ifstream>("/proc/sys/fs/file-max") >> most;
  return "too many open files on this machine: fs.file-max is " + most +
         ", raise as root with sysctl fs.file-max=NUMBER";
}

} // namespace

std::string system_error_text(int error) {
  switch (error) {
  case EMFILE:
    return of_this_process();
  case ENFILE:
    return of_this_machine();
  default:
    return std::generic_category().message(error);
  }
}

} // namespace fiber
