// SPDX-License-Identifier: Apache-2.0
#include "cli/engines/open_files.hpp"

#include <sys/resource.h>

namespace fiber::cli {
namespace {

constexpr std::size_t files_of_program = 64;

std::string enough_files(std::size_t files_per_job, std::size_t jobs) {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  auto needed = files_of_program + files_per_job * jobs;
  auto words = "at most " + std::to_string(limit.rlim_max) + " open files";
  if (limit.rlim_max < needed)
    throw Trouble(words + ", and " + std::to_string(jobs) + " jobs need about " +
                    std::to_string(needed),
                  "raise the hard limit: ulimit -Hn 4096 as root in the shell that "
                  "starts the program, nofile in "
                  "/etc/security/limits.conf, LimitNOFILE= in a systemd unit, or "
                  "--ulimit nofile of docker run");
  return words + ", enough for " +
         std::to_string((limit.rlim_max - files_of_program) / files_per_job) + " jobs";
}

} // namespace

bool check_open_files(const std::string& engine, std::size_t files_per_job,
                      std::size_t jobs, Report& report) {
  return report.check(engine, "open files",
                      [&] { return enough_files(files_per_job, jobs); });
}

} // namespace fiber::cli
