// SPDX-License-Identifier: Apache-2.0
#include "backends/slurm/command.hpp"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <future>
#include <sstream>
#include <string_view>
#include <utility>

#include "backends/engine/child_exit.hpp"
#include "backends/engine/spawn.hpp"

extern char** environ;

namespace fiber::backends::slurm {

namespace {

/// Returns everything that was written to a file in memory.
std::string read_all(int fd) {
  std::string text;
  std::array<char, 64 * 1024> piece;
  for (ssize_t got = 0; (got = ::pread(fd, piece.data(), piece.size(),
                                       static_cast<off_t>(text.size()))) > 0;)
    text.append(piece.data(), static_cast<std::size_t>(got));
  return text;
}

/// Returns the lines of a text as one line, shortened.
std::string one_line(const std::string& text) {
  constexpr std::size_t longest = 500;
  std::string line;
  std::istringstream lines(text);
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

struct Commands::Run {
  pid_t pid = 0;
  UniqueFd pidfd, output, errors;
  Loop::Timer timer{};
  bool timed_out = false;
  Done done;
};

Commands::Commands(Loop& loop, std::vector<std::string> environment)
  : loop_(loop), environment_(std::move(environment)) {}

Commands::~Commands() {
  close();
}

void Commands::fail(Done done, const std::string& why) {
  loop_.post([done = std::move(done), why] {
    done({.exit_code = 127, .output = {}, .errors = why});
  });
}

void Commands::run(std::vector<std::string> words, Done done,
                   const std::map<std::string, std::string>& added) {
  auto path = find_command(words.front());
  if (path.empty())
    return fail(std::move(done), words.front() + " is not on PATH");
  auto run = std::make_shared<Run>();
  run->output.reset(::memfd_create("fiber-slurm-output", MFD_CLOEXEC));
  run->errors.reset(::memfd_create("fiber-slurm-errors", MFD_CLOEXEC));
  auto environment = environment_;
  for (auto& [name, value] : added) {
    auto begin = name + "=";
    std::erase_if(environment, [&](auto& old) { return old.starts_with(begin); });
    environment.push_back(begin + value);
  }
  int error = !run->output || !run->errors ? errno
                                           : spawn_child({.executable = path,
                                                          .argv = words,
                                                          .environment = environment,
                                                          .output = run->output.get(),
                                                          .errors = run->errors.get()},
                                                         run->pid);
  if (error != 0)
    return fail(std::move(done), "start " + path + ": " + std::strerror(error));
  ++count_;
  run->done = std::move(done);
  runs_[run->pid] = run;
  run->pidfd = local::open_pidfd(run->pid);
  run->timer = loop_.after(usual_limit, [run] {
    run->timed_out = true;
    ::kill(-run->pid, SIGKILL);
  });
  local::on_exit(loop_, run->pid, run->pidfd.get(), [this, weak = std::weak_ptr(run)] {
    if (auto ended = weak.lock())
      finish(ended);
  });
}

void Commands::finish(const std::shared_ptr<Run>& run) {
  if (runs_.erase(run->pid) == 0)
    return; // close() has reaped it.
  loop_.cancel(run->timer);
  auto exit = local::reap(run->pid);
  run->done({.exit_code = exit.code,
             .timed_out = run->timed_out,
             .output = read_all(run->output.get()),
             .errors = read_all(run->errors.get())});
}

CommandResult Commands::call(std::vector<std::string> words) {
  std::promise<CommandResult> result;
  loop_.post([&, words = std::move(words)]() mutable {
    run(std::move(words), [&](const CommandResult& told) { result.set_value(told); });
  });
  return result.get_future().get();
}

void Commands::close() {
  for (auto& [pid, run] : std::exchange(runs_, {})) {
    loop_.cancel(run->timer);
    if (run->pidfd)
      loop_.unwatch(run->pidfd.get());
    ::kill(-pid, SIGKILL);
    local::reap(pid);
  }
}

std::string find_command(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path ? path : "/usr/local/bin:/usr/bin:/bin");
  for (std::string folder; std::getline(folders, folder, ':');)
    if (auto file = (folder.empty() ? "." : folder) + "/" + name;
        ::access(file.c_str(), X_OK) == 0)
      return file;
  return {};
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
    if (!begins(variable, removed) || begins(variable, kept))
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
