// SPDX-License-Identifier: Apache-2.0
#include "backends/local/process_limit.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <fstream>

#include "backends/container/control_group.hpp"
#include "base/system_error_text.hpp"
#include "fiber/detail/classic_locale.hpp"

namespace fiber::backends::local {

namespace {

struct ProcessLimit {
  std::uint64_t value = UINT64_MAX;
  std::string name;

  void lower(std::uint64_t other, const std::string& its_name) {
    if (other < value)
      *this = {other, its_name};
  }
  void lower_to_file(const std::string& path, const std::string& its_name) {
    std::uint64_t number = 0; // The file may say "max".
    if (fiber::detail::Classic<std::ifstream>(path) >> number)
      lower(number, its_name);
  }
};

} // namespace

std::string fork_error_text(int error, const std::string& root) {
  auto text = system_error_text(error);
  if (error != EAGAIN)
    return text;
  ProcessLimit lowest;
  rlimit limit{};
  if (::geteuid() != 0 && ::getrlimit(RLIMIT_NPROC, &limit) == 0 &&
      limit.rlim_cur != RLIM_INFINITY) // It does not hold for root.
    lowest.lower(limit.rlim_cur, "processes of this user (ulimit -u)");
  for (auto& group : control_groups("pids", root))
    lowest.lower_to_file(group + "/pids.max", group + "/pids.max");
  for (std::string name : {"pid_max", "threads-max"})
    lowest.lower_to_file(root + "/proc/sys/kernel/" + name, "kernel." + name);
  return lowest.name.empty() ? text
                             : text + ": the limit of " + lowest.name + " is " +
                                 std::to_string(lowest.value);
}

} // namespace fiber::backends::local
