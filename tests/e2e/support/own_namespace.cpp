// SPDX-License-Identifier: Apache-2.0
#include "tests/e2e/support/own_namespace.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>

#include <sched.h>
#include <unistd.h>

namespace fiber::e2e {
namespace {

[[noreturn]] void fail(const std::string& what) {
  throw NoNamespace(what + ": " + std::strerror(errno));
}

/// "0 UID 1" and the like, in which this user is root of the new namespace.
void write_map(const char* path, const std::string& text) {
  std::ofstream file(path);
  file << text << std::flush;
  if (!file)
    fail(std::string("write ") + path);
}

} // namespace

void enter_own_namespace(int which) {
  if (unshare(which) == 0)
    return;
  if (errno != EPERM)
    fail("unshare");
  auto user = std::to_string(getuid()), group = std::to_string(getgid());
  if (unshare(CLONE_NEWUSER | which) != 0)
    fail("unshare(CLONE_NEWUSER)");
  write_map("/proc/self/setgroups", "deny");
  write_map("/proc/self/uid_map", "0 " + user + " 1");
  write_map("/proc/self/gid_map", "0 " + group + " 1");
}

} // namespace fiber::e2e
