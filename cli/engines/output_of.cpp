// SPDX-License-Identifier: Apache-2.0
#include "cli/engines/output_of.hpp"

#include <limits>

#include "backends/engine/child_process.hpp"
#include "fiber/error.hpp"

namespace fiber::cli {

std::string output_of(const std::vector<std::string>& command, const std::string& input) {
  backends::ChildCommand child;
  child.program = command.front();
  child.argv = command;
  child.environment = backends::environment_with({});
  child.interactive = true; // It may ask for a password at the terminal.
  child.input = input;
  child.limit = {};
  child.output_limit = std::numeric_limits<std::size_t>::max();
  auto told = backends::run_child(std::move(child));
  if (told.start_error != 0)
    throw Error("can't start " + command.front() + ": " + backends::failure(told, {}));
  if (auto problem = backends::failure(told, {}); !problem.empty()) {
    auto end = told.errors.find_last_not_of('\n');
    auto words = end == told.errors.npos ? "" : ": " + told.errors.substr(0, end + 1);
    throw Error(command.front() + " failed with " + problem + words);
  }
  return std::move(told.output);
}

} // namespace fiber::cli
