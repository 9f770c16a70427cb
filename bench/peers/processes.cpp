// SPDX-License-Identifier: Apache-2.0
// Processes and nothing else: 256 or more forked, or forked and executed anew; or 1,024
// that share 100,000 sleeps of 1 ms.

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iostream>
#include <string>
#include <system_error>
#include <vector>

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "peers/measurement.hpp"

namespace {

void check(bool good, const char* what) {
  if (!good)
    throw std::system_error(errno, std::generic_category(), what);
}

// Memory of a process that it shares with nobody, in bytes.
double unshared(pid_t pid) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/smaps_rollup");
  double kilobytes = 0;
  for (std::string key; in >> key;)
    if (double number = 0; key == "Private_Clean:" || key == "Private_Dirty:") {
      in >> number;
      kilobytes += number;
    }
  return kilobytes * 1024;
}

[[noreturn]] void be_a_child(int out) {
  const char byte = 1;
  if (::write(out, &byte, 1) == 1)
    for (;;)
      ::pause();
  ::_exit(1);
}

pid_t start(bool exec, int out) {
  pid_t pid = 0;
  if (exec) {
    std::string name = "processes";
    std::string role = "child";
    std::string descriptor = std::to_string(out);
    char* arguments[] = {name.data(), role.data(), descriptor.data(), nullptr};
    errno = ::posix_spawn(&pid, "/proc/self/exe", nullptr, nullptr, arguments, environ);
    check(errno == 0, "posix_spawn");
  } else {
    pid = ::fork();
    check(pid >= 0, "fork");
    if (pid == 0)
      be_a_child(out);
  }
  return pid;
}

void measure(int count, bool exec) {
  const auto row = "start_" + std::to_string(count);
  int ends[2] = {};
  check(::pipe(ends) == 0, "pipe");
  std::vector<pid_t> children;
  const peers::Stopwatch watch;
  for (int i = 0; i < count; ++i)
    children.push_back(start(exec, ends[1]));
  std::vector<char> buffer(static_cast<std::size_t>(count));
  for (ssize_t up = 0; up < count;) {
    const auto got = ::read(ends[0], buffer.data(), buffer.size());
    check(got > 0, "read");
    up += got;
  }
  peers::report(row, watch.seconds(), "s");
  double memory = 0;
  for (pid_t child : children)
    memory += unshared(child);
  peers::report(row + "_memory", memory / count / 1e6, "MB");
  for (pid_t child : children)
    ::kill(child, SIGKILL);
  for (pid_t child : children)
    ::waitpid(child, nullptr, 0);
}

// All wait for the end of a pipe, then sleep, each its share, and end. After each sleep
// they write to `lines` cache lines of their own, four a page.
void sleep_together(std::size_t lines) {
  constexpr int count = 1024, sleeps = 100000;
  int gate[2] = {};
  check(::pipe(gate) == 0, "pipe");
  std::vector<pid_t> children;
  for (int i = 0; i < count; ++i) {
    const pid_t pid = ::fork();
    check(pid >= 0, "fork");
    if (pid == 0) {
      ::close(gate[1]);
      constexpr std::size_t stride = 1024;
      std::vector<char> own(lines * stride, 1);
      volatile char* const written = own.data();
      char nothing = 0;
      if (::read(gate[0], &nothing, 1) != 0)
        ::_exit(1);
      for (int k = i; k < sleeps; k += count) {
        ::usleep(1000);
        for (std::size_t at = 0; at < own.size(); at += stride)
          written[at] = static_cast<char>(written[at] + 1);
      }
      ::_exit(0);
    }
    children.push_back(pid);
  }
  const peers::Stopwatch watch;
  ::close(gate[1]);
  for (pid_t child : children)
    ::waitpid(child, nullptr, 0);
  peers::report("naps_1024", watch.seconds(), "s");
}

} // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  if (argc == 3 && mode == "child")
    be_a_child(std::stoi(argv[2]));
  if (argc <= 3 && mode == "sleepers") {
    sleep_together(argc == 3 ? std::stoul(argv[2]) : 0);
    return 0;
  }
  if (argc > 3 || (mode != "fork" && mode != "exec")) {
    std::cerr << "usage: processes fork|exec [COUNT] | sleepers [LINES]\n";
    return 2;
  }
  measure(argc == 3 ? std::stoi(argv[2]) : 256, mode == "exec");
}
