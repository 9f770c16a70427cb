// SPDX-License-Identifier: Apache-2.0
#include "tests/e2e/support/notes.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <numeric>
#include <stdexcept>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/unique_fd.hpp"
#include "tests/e2e/support/processes.hpp"

namespace fiber::e2e {
namespace {

constexpr const char* folder_variable = "E2E_FOLDER";

std::string path_of(const std::string& list) {
  auto* folder = std::getenv(folder_variable);
  return (folder == nullptr ? std::string(".") : folder) + "/" + list;
}

} // namespace

std::size_t note(const std::string& list, std::string_view line) {
  UniqueFd file(
    ::open(path_of(list).c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666));
  ::fchmod(file.get(),
           0666); // Jobs in containers are another user. Fails unless it is ours.
  auto text = std::string(line) + "\n";
  if (!file ||
      ::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    std::abort(); // A test that can't count says nothing.
  // Where this line ends, whatever others have added since.
  std::string lines(static_cast<std::size_t>(::lseek(file.get(), 0, SEEK_CUR)), ' ');
  std::ifstream(path_of(list))
    .read(lines.data(), static_cast<std::streamsize>(lines.size()));
  return static_cast<std::size_t>(std::count(lines.begin(), lines.end(), '\n'));
}

std::vector<std::string> notes(const std::string& list) {
  std::vector<std::string> lines;
  std::ifstream file(path_of(list));
  for (std::string line; std::getline(file, line);)
    lines.push_back(line);
  return lines;
}

long noted(const std::string& list, std::size_t n) {
  std::vector<std::string> lines;
  wait_until([&] { return (lines = notes(list)).size() > n; });
  return lines.size() > n ? std::stol(lines[n]) : -1;
}

void await_note(const std::string& list) {
  wait_until([&] { return !notes(list).empty(); });
}

void note_and_wait(const std::string& list) {
  note(list, std::to_string(getpid()));
  await_note("go");
}

std::vector<std::size_t> runs(const std::string& list, std::size_t tasks) {
  std::vector<std::size_t> counts(tasks);
  for (auto& line : notes(list))
    ++counts.at(std::stoul(line));
  return counts;
}

Scratch::Scratch() {
  auto name = (std::filesystem::temp_directory_path() / "e2e-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr)
    throw std::runtime_error("mkdtemp " + name);
  folder_ = name;
  mark_ = folder_.filename().string();
  ::setenv(folder_variable, name.c_str(), 1);
  ::setenv(mark_variable, mark_.c_str(), 1);
}

Scratch::~Scratch() {
  ::unsetenv(folder_variable);
  ::unsetenv(mark_variable);
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

std::vector<std::size_t> indices(std::size_t n) {
  std::vector<std::size_t> all(n);
  std::iota(all.begin(), all.end(), std::size_t{0});
  return all;
}

std::vector<std::size_t> undisturbed(std::size_t n) {
  auto results = indices(n);
  std::transform(results.begin(), results.end(), results.begin(), f);
  return results;
}

} // namespace fiber::e2e
