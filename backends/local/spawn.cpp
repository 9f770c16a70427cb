// SPDX-License-Identifier: Apache-2.0
#include "backends/local/spawn.hpp"

#include <unistd.h>

#include <fstream>

#include "backends/engine/errors.hpp"
#include "backends/engine/spawn.hpp"
#include "fiber/detail/classic_locale.hpp"

namespace fiber::backends::local {

Program Program::resolve(std::string executable, std::vector<std::string> argv) {
  // Not the resolved path: the file may have been replaced since the driver started.
  Program program{
    executable.empty() ? "/proc/self/exe" : std::move(executable), std::move(argv), {}};
  if (program.argv.empty()) {
    fiber::detail::Classic<std::ifstream> line("/proc/self/cmdline", std::ios::binary);
    for (std::string word; std::getline(line, word, '\0');)
      program.argv.push_back(word);
  }
  if (program.argv.empty())
    throw EngineError("start local backend", 0, "can't read /proc/self/cmdline");
  for (char** variable = ::environ; variable && *variable; ++variable)
    if (std::string word = *variable; !word.starts_with("FIBER_NODE="))
      program.environment.push_back(std::move(word));
  return program;
}

pid_t spawn(const Program& program, const std::string& role, int control, int output) {
  ChildProgram child{.executable = program.executable,
                     .argv = program.argv,
                     .environment = program.environment,
                     .output = output,
                     .errors = output,
                     .inherited = control};
  child.environment.push_back("FIBER_NODE=" + role + ":" + std::to_string(control));
  pid_t pid = 0;
  if (int error = spawn_child(child, pid); error != 0)
    throw engine_error("start " + program.executable, error);
  return pid;
}

} // namespace fiber::backends::local
