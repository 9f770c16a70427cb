// SPDX-License-Identifier: Apache-2.0
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "backends/local/local_backend.hpp"
#include "base/unique_fd.hpp"
#include "cli/engines/open_files.hpp"
#include "cli/engines/probe.hpp"
#include "cli/local/local.hpp"
#include "fiber/session.hpp"

namespace fiber::cli::local {
namespace {

constexpr auto engine = "local";

std::string check_memory() {
  constexpr off_t size = 1 << 20;
  UniqueFd file(::memfd_create("fiber-doctor", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file || ::ftruncate(file.get(), size) != 0)
    throw Trouble(std::string("anonymous shared memory (memfd_create): ") +
                    std::strerror(errno),
                  "allow the system call memfd_create: a seccomp profile, gVisor or a "
                  "kernel before 3.17 refuses it");
  if (::access("/dev/shm", R_OK | W_OK | X_OK) != 0)
    throw Trouble(std::string("/dev/shm: ") + std::strerror(errno),
                  "mount -t tmpfs -o mode=1777 tmpfs /dev/shm (as root; docker: "
                  "--shm-size). Fiber itself uses "
                  "anonymous memory, but libraries in your tasks, such as LibTorch's "
                  "data loaders, need it");
  return "anonymous memory and /dev/shm can be used";
}

std::string advice(const std::string& problem) {
  if (problem.find("too many open files") != problem.npos)
    return "raise the hard limit of open files: ulimit -Hn 4096 as root, or nofile in "
           "/etc/security/limits.conf";
  return {};
}

} // namespace

void diagnose(const DoctorRequest& request, Report& report) {
  report.check(engine, "shared memory", check_memory);
  if (!check_open_files(engine, backends::local::descriptors_per_job, cpu_count(),
                        report))
    return report.skip(engine, "session", "the limit of open files is too low for one");
  Config config;
  config.backend = engine;
  config.start_deadline = config.queue_deadline = request.deadline;
  probe(engine, config, report, advice);
}

} // namespace fiber::cli::local
