// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include <unistd.h>

#include <mpi.h>

#include "peers/measurement.hpp"

namespace peers {

/// Whether this process was started by mpirun.
inline bool is_rank() {
  return std::getenv("OMPI_COMM_WORLD_RANK") != nullptr;
}

/// Replaces this process by mpirun of `ranks` of it, over "shm" or "tcp".
[[noreturn]] inline void mpirun(const std::string& transport, int ranks, char** argv) {
  // As root OpenMPI asks twice whether it is meant.
  ::setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
  ::setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
  const auto self = std::filesystem::read_symlink("/proc/self/exe").string();
  std::vector<std::string> words = {"mpirun",          "-n",        std::to_string(ranks),
                                    "--oversubscribe", "--bind-to", "none"};
  auto set = [&words](const char* name, const std::string& value) {
    words.insert(words.end(), {"--mca", name, value});
  };
  set("plm", "isolated"); // No ssh.
  set("pml", "ob1");      // The one that heeds btl.
  set("btl", transport == "tcp" ? "self,tcp" : "self,vader");
  set("btl_tcp_if_include", "lo");
  set("mpi_yield_when_idle", "1");
  words.push_back(self);
  std::vector<char*> arguments;
  for (auto& word : words)
    arguments.push_back(word.data());
  for (++argv; *argv != nullptr; ++argv)
    arguments.push_back(*argv);
  arguments.push_back(nullptr);
  ::execvp(arguments[0], arguments.data());
  throw std::system_error(errno, std::generic_category(), "mpirun");
}

/// "Open MPI v4.1.4", for the report.
inline void report_mpi_version() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> version = {};
  int length = 0;
  MPI_Get_library_version(version.data(), &length);
  // "Open MPI v4.1.4, package: ..."
  report_version(
    std::string(version.data()).substr(0, std::strcspn(version.data(), ",")));
}

} // namespace peers
