// SPDX-License-Identifier: Apache-2.0
#include <charconv>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <vector>

#include <unistd.h>

#include "backends/local/local_backend.hpp"
#include "cli/engines/left.hpp"
#include "cli/engines/process_end.hpp"
#include "fiber/detail/classic_locale.hpp"

namespace fiber::cli::local {
namespace {

namespace fs = std::filesystem;

bool has_variable(const fs::path& process, const std::string& word) {
  fiber::detail::Classic<std::ifstream> file(process / "environ", std::ios::binary);
  for (std::string variable; std::getline(file, variable, '\0');)
    if (variable == word)
      return true;
  return false;
}

/// Other users' environments can't be read, so their processes are left out.
std::vector<Process> processes_of(const std::string& session) {
  auto word = std::string(backends::session_variable) + "=" + session;
  std::vector<Process> found;
  std::error_code none;
  for (auto& entry : fs::directory_iterator("/proc", none)) {
    auto name = entry.path().filename().string();
    pid_t pid = 0;
    auto [rest, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (error != std::errc() || *rest != '\0' || pid == ::getpid() ||
        !has_variable(entry.path(), word))
      continue;
    if (auto process = Process::open(pid))
      found.push_back(std::move(*process));
  }
  return found;
}

std::string description(const Process& process) {
  std::string program;
  fiber::detail::Classic<std::ifstream> file("/proc/" + std::to_string(process.pid()) +
                                             "/comm");
  std::getline(file, program);
  return "process " + std::to_string(process.pid()) + " (" + program + ")";
}

} // namespace

Left left_of(const std::string& session) {
  return {.list =
            [=] {
              std::vector<std::string> all;
              for (auto& process : processes_of(session))
                if (!process.has_ended())
                  all.push_back(description(process));
              return all;
            },
          .remove =
            [=](bool) {
              for (auto& process : processes_of(session))
                process.send(SIGKILL);
              return "";
            },
          .end_limit = std::chrono::seconds(5)};
}

} // namespace fiber::cli::local
