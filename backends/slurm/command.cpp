// SPDX-License-Identifier: Apache-2.0
#include "backends/slurm/command.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <future>
#include <sstream>
#include <string_view>
#include <utility>

#include "backends/driver_variables.hpp"
#include "fiber/detail/classic_locale.hpp"

extern char** environ;

namespace fiber::backends::slurm {

namespace {

constexpr int not_started = 127;
constexpr std::size_t output_limit = 256 << 20; // One line for each job of a user.

/// Returns the environment with variables added or replaced.
std::vector<std::string> with(std::vector<std::string> environment,
                              const std::map<std::string, std::string>& added) {
  for (auto& [name, value] : added) {
    auto begin = name + "=";
    std::erase_if(environment, [&](auto& old) { return old.starts_with(begin); });
    environment.push_back(begin + value);
  }
  return environment;
}

ChildCommand child_command(const std::vector<std::string>& words,
                           std::vector<std::string> environment) {
  ChildCommand command;
  command.program = words.front();
  command.argv = words;
  command.environment = std::move(environment);
  command.limit = Commands::usual_limit;
  command.output_limit = output_limit;
  return command;
}

CommandResult result_of(const std::string& name, ChildResult&& told) {
  if (told.start_error == ENOENT)
    return {.exit_code = not_started, .errors = name + " is not on PATH"};
  if (told.start_error != 0)
    return {.exit_code = not_started,
            .errors = "start " + name + ": " + failure(told, Commands::usual_limit)};
  return {.exit_code = told.too_much_output ? std::nullopt : told.exit_code,
          .timed_out = told.timed_out,
          .output = std::move(told.output),
          .errors = std::move(told.errors)};
}

/// Returns the lines of a text as one line, shortened.
std::string one_line(const std::string& text) {
  constexpr std::size_t longest = 500;
  std::string line;
  fiber::detail::Classic<std::istringstream> lines(text);
  for (std::string part; std::getline(lines, part) && line.size() < longest;)
    if (!part.empty())
      line += (line.empty() ? "" : "; ") + part;
  return line.substr(0, longest);
}

} // namespace

bool CommandResult::unanswered() const {
  if (timed_out || !exit_code || *exit_code < 0)
    return true;
  // Slurm's commands have one exit code for all errors, so only the words tell.
  constexpr std::array words{"Unable to contact slurm controller",
                             "Socket timed out",
                             "Connection refused",
                             "Connection timed out",
                             "Connection reset",
                             "Zero Bytes were transmitted",
                             "Transport endpoint is not connected",
                             "Unexpected message received",
                             "Message receive failure",
                             "Message send failure",
                             "temporarily unable to accept job",
                             "Slurm backup controller in standby mode"};
  return *exit_code != 0 && std::ranges::any_of(words, [&](const char* part) {
    return errors.find(part) != errors.npos;
  });
}

std::string CommandResult::problem() const {
  if (timed_out)
    return "no answer in " +
           std::to_string(
             std::chrono::duration_cast<std::chrono::seconds>(Commands::usual_limit)
               .count()) +
           " s";
  if (auto line = one_line(errors); !line.empty())
    return line;
  if (!exit_code)
    return "its exit code is unknown";
  return *exit_code < 0 ? "killed by signal " + std::to_string(-*exit_code)
                        : "exit code " + std::to_string(*exit_code);
}

Commands::Commands(Loop& loop, std::vector<std::string> environment)
  : loop_(loop), environment_(std::move(environment)) {}

Commands::~Commands() {
  close();
}

void Commands::run(std::vector<std::string> words, Done done,
                   const std::map<std::string, std::string>& added, std::string input) {
  auto command = child_command(words, with(environment_, added));
  command.input = std::move(input);
  auto number = ++count_;
  runs_[number] = ChildProcess::start(
    loop_, std::move(command),
    [this, number, name = words.front(), done = std::move(done)](ChildResult told) {
      auto child = runs_.extract(number); // It is calling us: must survive.
      done(result_of(name, std::move(told)));
    });
}

CommandResult Commands::call(std::vector<std::string> words) {
  std::promise<CommandResult> result;
  loop_.post([&, words = std::move(words)]() mutable {
    run(std::move(words), [&](const CommandResult& told) { result.set_value(told); });
  });
  return result.get_future().get();
}

void Commands::close() {
  runs_.clear();
}

CommandResult run_command(const std::vector<std::string>& words,
                          const std::map<std::string, std::string>& added) {
  return result_of(words.front(),
                   run_child(child_command(words, with(clean_environment(), added))));
}

std::vector<std::string> clean_environment(const std::vector<std::string>& environment) {
  constexpr std::array removed{"SLURM_",  "SLURMD_",  "SBATCH_", "SRUN_", "SALLOC_",
                               "SQUEUE_", "SCANCEL_", "SINFO_",  "SPRIO_"};
  constexpr std::array kept{"SLURM_CONF=", "SLURM_CONF_SERVER=", "SLURM_JWT="};
  auto begins = [](const std::string& variable, auto& with) {
    return std::ranges::any_of(
      with, [&](std::string_view prefix) { return variable.starts_with(prefix); });
  };
  std::vector<std::string> clean;
  for (auto& variable : environment)
    if ((!begins(variable, removed) || begins(variable, kept)) &&
        !sets_driver_only(variable))
      clean.push_back(variable);
  return clean;
}

std::vector<std::string> clean_environment() {
  std::vector<std::string> all;
  for (char** variable = environ; variable && *variable; ++variable)
    all.emplace_back(*variable);
  return clean_environment(all);
}

} // namespace fiber::backends::slurm
