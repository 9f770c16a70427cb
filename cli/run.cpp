// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include "backends/registry.hpp"
#include "base/ascii.hpp"
#include "cli/engines/engine.hpp"
#include "cli/verbs.hpp"
#include "fiber/error.hpp"

namespace fiber::cli {
namespace {

struct RunOptions {
  RunRequest request;
  std::vector<std::string> environment;
  std::string memory;
};

/// Returns whether a shell can set a variable of this name, which is not empty.
bool is_shell_name(const std::string& name) {
  auto fits = [](char c) { return ascii::is_letter_or_digit(c) || c == '_'; };
  return std::ranges::all_of(name, fits) && !(name.front() >= '0' && name.front() <= '9');
}

/// Takes NAME=VALUE, or NAME with the value that it has here.
void read_environment(RunOptions& options) {
  for (auto& word : options.environment) {
    auto equals = word.find('=');
    auto name = word.substr(0, equals);
    const char* here = std::getenv(name.c_str());
    if (name.empty())
      throw Error("--env " + word + ": wanted is NAME=VALUE, or NAME");
    if (!options.request.on.empty() && !is_shell_name(name))
      throw Error("--env " + name +
                  ": with --on, wanted is a name of letters, digits and _");
    if (equals != word.npos)
      options.request.environment[name] = word.substr(equals + 1);
    else if (here != nullptr)
      options.request.environment[name] = here;
  }
}

/// Reads 512, 512M, 2G: megabytes unless there is a unit.
std::size_t megabytes(const std::string& text) {
  double number = -1;
  const char* const end = text.data() + text.size();
  const std::string unit(std::from_chars(text.data(), end, number).ptr, end);
  double factor = unit.empty() || unit == "M" || unit == "MB" ? 1
                  : unit == "G" || unit == "GB"               ? 1024
                                                              : 0;
  if (!(number * factor >= 1) || number * factor > 1e9)
    throw Error("--memory " + text +
                ": wanted are megabytes, or a size such as 512M or 2G");
  return static_cast<std::size_t>(number * factor);
}

/// Lets a session be called as its driver is, so that `fiber status NAME` finds it. A
/// name that only an engine takes stays the engine's.
void name_session(RunRequest& request) {
  constexpr std::size_t longest = 40; // As the setting `name` has it.
  auto fits = [](char c) {
    return ascii::is_letter_or_digit(c) || c == '.' || c == '_' || c == '-';
  };
  auto& name = request.name;
  if (!name.empty() && name.size() <= longest && std::ranges::all_of(name, fits) &&
      name.front() != '.' && name.front() != '-')
    request.environment.try_emplace("FIBER_NAME", name);
}

void check_volumes(const std::vector<std::string>& volumes) {
  for (auto& volume : volumes) {
    auto colon = volume.find(":/");
    if (colon == volume.npos || colon == 0)
      throw Error(
        "--volume " + volume +
        ": wanted is SOURCE:TARGET or SOURCE:TARGET:ro, and TARGET begins with /");
  }
}

/// Takes --hosts: the path of a hostfile, or hosts separated by commas.
void name_hosts(RunRequest& request) {
  if (request.backend != "ssh")
    throw Error("--hosts is for the backend ssh, and the backend is " + request.backend +
                "; give --backend ssh");
  std::error_code none;
  const bool is_file = std::filesystem::is_regular_file(request.hosts, none);
  // No host has such a name: "hosts.txt".
  if (!is_file &&
      (request.hosts.find('/') != request.hosts.npos || request.hosts.ends_with(".txt")))
    throw Error("--hosts " + request.hosts + ": there is no such file");
  // The path, as well, so that no ssh_hosts of a settings file comes first.
  request.environment["FIBER_SSH_HOSTS"] =
    is_file ? std::filesystem::absolute(request.hosts).string() : request.hosts;
}

int start(RunOptions& options) {
  auto& request = options.request;
  read_environment(options);
  check_volumes(request.volumes);
  name_session(request);
  if (!options.memory.empty())
    request.memory_mb = megabytes(options.memory);
  if (request.push && !request.build)
    throw Error("--push pushes the image that --build makes; give --build too");
  if (!request.on.empty()) {
    if (request.backend.empty())
      request.backend = backend_setting(); // "auto" means what that machine detects.
    if (!request.hosts.empty())
      name_hosts(request);
    return engine_called("ssh").run(request);
  }
  if (request.backend.empty() || request.backend == "auto")
    request.backend = chosen_backend();
  if (!request.time.empty() && request.backend != "slurm")
    throw Error("--time is a limit of Slurm; " + request.backend + " has none");
  if (!request.hosts.empty())
    name_hosts(request);
  auto host = request.backend == "inline"
                ? "local"
                : request.backend; // Its driver is a process of this machine.
  return engine_called(host).run(request);
}

void add_image_options(CLI::App& verb, RunRequest& request) {
  verb
    .add_option("--image", request.image,
                "The image that has the program; default: the setting image")
    ->type_name("IMAGE");
  verb.add_flag("--build", request.build,
                "Make the image from the program and the libraries that it links");
  verb.add_flag(
    "--push", request.push,
    "Push the image that was made to its registry, by the container engine here");
  verb
    .add_option("--import", request.imports,
                "A shell command that takes the image's archive from its stdin, once for "
                "each node of a cluster without a registry")
    ->type_name("COMMAND")
    ->expected(1)
    ->take_all();
}

void add_options(CLI::App& verb, RunOptions& options) {
  auto& request = options.request;
  std::vector<std::string> names{"auto", "inline"};
  for (auto& engine : engine_tools())
    names.push_back(engine.name);
  verb
    .add_option("--backend", request.backend,
                "Where the program and its jobs run; default: the setting backend")
    ->check(CLI::IsMember(names));
  add_image_options(verb, request);
  verb
    .add_option("--cpu", request.cpu, "The CPUs of the program itself, not of its jobs")
    ->check(CLI::PositiveNumber);
  verb
    .add_option("--memory", options.memory, "The memory of the program itself: 512M, 2G")
    ->type_name("SIZE");
  verb.add_option("--gpu", request.gpu, "The GPUs of the program itself")
    ->check(CLI::PositiveNumber);
  verb
    .add_option("--volume", request.volumes,
                "A volume or folder that the program and its jobs see")
    ->type_name("SOURCE:TARGET[:ro]")
    ->expected(1)
    ->take_all();
  verb
    .add_option("--env", options.environment,
                "A variable of the program; may be repeated")
    ->type_name("NAME=VALUE")
    ->expected(1)
    ->take_all();
  verb.add_option(
    "--name", request.name,
    "The name of the session, for `fiber status NAME`, and of the container, "
    "pod or Slurm job; of a detached process, the name of its log");
  verb
    .add_option("--hosts", request.hosts,
                "The machines of the backend ssh: a hostfile as for mpirun, or HOST or "
                "HOST:SLOTS, separated by commas")
    ->type_name("FILE|HOSTS");
  verb
    .add_option("--on", request.on,
                "Copy the program to this machine by ssh, and run it there with the "
                "backend of --backend; its output is shown here")
    ->type_name("HOST");
  verb
    .add_option("--time", request.time,
                "The time limit of the program itself, on Slurm: minutes, HH:MM:SS, D-HH")
    ->type_name("LIMIT");
  verb.add_flag("--detach,!--attach", request.detach,
                "Return when it has started, instead of showing its output");
  verb.add_flag("--json", request.json,
                "Say in JSON what was started (--detach), or how it ended (on stderr)");
  verb.add_option("program", request.command, "The program and its arguments, behind --")
    ->required();
}

} // namespace

void add_run(CLI::App& app) {
  auto* verb = app.add_subcommand(
    "run", "Start a program, here or on a cluster, and show its output");
  auto options = std::make_shared<RunOptions>();
  add_options(*verb, *options);
  verb->positionals_at_end();
  verb->footer(
    "The exit code is the program's, 128 + N if signal N ended it. Ctrl-C asks the "
    "program to stop; the second\n"
    "one stops everything.\n\n"
    "Examples:\n"
    "  fiber run -- ./pi 100\n"
    "  fiber run --backend docker --build --volume data:/data -- ./train --out /data\n"
    "  fiber run --backend docker --image pi:1 --detach --name pi -- pi 100\n"
    "  fiber run --on a -- ./train");
  verb->callback([options] {
    if (int code = start(*options); code != 0)
      throw CLI::RuntimeError(code);
  });
}

} // namespace fiber::cli
