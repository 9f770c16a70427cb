// SPDX-License-Identifier: Apache-2.0
#include "backends/ssh/program_copy.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "backends/backend.hpp"

namespace fiber::backends::ssh {

namespace {

constexpr std::chrono::minutes copy_limit(30);

/// Libraries that only work together with the loader that the host has.
bool is_of_c_library(std::string_view library) {
  constexpr std::string_view names[] = {"ld-linux",      "libc.so",  "libm.so",
                                        "libpthread.so", "libdl.so", "librt.so",
                                        "libresolv.so"};
  return std::ranges::any_of(
    names, [&](std::string_view name) { return library.starts_with(name); });
}

void add_lack(Lack& lack, const std::string& library, const std::string& line) {
  if (is_of_c_library(library))
    lack.problem = "its C library is older than the one that this program was built "
                   "with: " +
                   line;
  else
    lack.libraries.insert(library);
}

std::string trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t'))
    text.remove_prefix(1);
  return std::string(text);
}

/// Returns the last part of the path in front of ": version".
std::string library_of_version(const std::string& line) {
  const auto end = line.find(": version `");
  const auto begin = line.rfind('/', end);
  return line.substr(begin + 1, end - begin - 1);
}

std::string value_of(const std::vector<std::string>& lines, std::string_view key) {
  const auto begin = std::string(key) + " ";
  for (auto& line : lines)
    if (line.starts_with(begin))
      return line.substr(begin.size());
  return {};
}

} // namespace

Lack lack_in(const std::vector<std::string>& lines) {
  Lack lack;
  std::string last;
  for (auto& each : lines) {
    if (!each.starts_with("trace "))
      continue;
    const auto line = trimmed(std::string_view(each).substr(6));
    if (line.find(": version `") != line.npos && line.find("not found") != line.npos)
      add_lack(lack, library_of_version(line), line);
    else if (const auto arrow = line.find(" => not found"); arrow != line.npos)
      add_lack(lack, line.substr(0, arrow), line);
    else if (!line.empty())
      last = line;
  }
  const auto code = value_of(lines, "traced");
  if ((code == "126" || code == "127") && lack.problem.empty())
    lack.problem = "it can't run the program: " + last +
                   (last.find("Permission denied") != last.npos
                      ? " (is its file system mounted noexec? Set ssh_directory)"
                      : " (is it a machine of another kind, or without this C library?)");
  return lack;
}

ProgramCopy::ProgramCopy(Loop& loop, SshCommand command, std::string host,
                         const ProgramFile& program, std::string number, Done done)
  : loop_(loop), command_(std::move(command)), host_(std::move(host)),
    number_(std::move(number)), program_(program), done_(std::move(done)) {}

void ProgramCopy::start() {
  run(copy_program_command(program_.remote(), number_), ProgramFile::path(),
      [this](const std::vector<std::string>& lines) {
        if (value_of(lines, "sum") != program_.sha256())
          return finish("the copy of the program differs from the program");
        trace();
      });
}

void ProgramCopy::run(const std::string& command, const std::string& input_file,
                      std::function<void(const std::vector<std::string>&)> then) {
  auto child = command_of(command_.run(host_, command), copy_limit);
  child.input_file = input_file;
  child_ = ChildProcess::start(
    loop_, std::move(child),
    [self = weak_from_this(), then = std::move(then)](const ChildResult& result) {
      auto copy = self.lock();
      if (!copy)
        return;
      const auto lines = lines_for(result.output, copy->number_);
      if (auto problem = value_of(lines, "problem"); !problem.empty())
        return copy->finish(problem);
      if (!failure(result, copy_limit).empty())
        return copy->finish(
          copy->command_.problem(copy->host_, result.errors, result.exit_code));
      try {
        then(lines);
      } catch (const EngineError& error) {
        copy->finish(error.what());
      }
    });
}

void ProgramCopy::trace() {
  run(trace_command(program_.remote(), number_), {},
      [this](const std::vector<std::string>& lines) {
        const auto lack = lack_in(lines);
        if (!lack.problem.empty())
          return finish(lack.problem);
        if (lack.libraries.empty())
          return publish();
        lacking_.assign(lack.libraries.begin(), lack.libraries.end());
        copy_libraries();
      });
}

void ProgramCopy::copy_libraries() {
  if (lacking_.empty())
    return trace(); // The libraries may lack others.
  const auto library = lacking_.back();
  lacking_.pop_back();
  const auto here = loaded_libraries();
  const auto found = here.find(library);
  if (found == here.end() || !copied_.insert(library).second)
    return finish("it lacks the library " + library + ": install it there");
  run(copy_library_command(program_.remote(), number_, library), found->second,
      [this, path = found->second](const std::vector<std::string>& lines) {
        if (value_of(lines, "sum") != sha256_of(path))
          return finish("the copy of " + path + " differs from the file");
        copy_libraries();
      });
}

void ProgramCopy::publish() {
  run(publish_command(program_.remote(), number_), {},
      [this](const std::vector<std::string>&) { finish({}); });
}

void ProgramCopy::finish(const std::string& problem) {
  std::exchange(done_, nullptr)({problem, copied_.size()});
}

} // namespace fiber::backends::ssh
