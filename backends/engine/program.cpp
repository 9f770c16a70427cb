// SPDX-License-Identifier: Apache-2.0
#include "backends/engine/program.hpp"

#include <filesystem>
#include <fstream>
#include <system_error>

#include "fiber/detail/classic_locale.hpp"

namespace fiber::backends {
namespace {

/// The words of the command line, copied before main() could change them, as strtok() and
/// getopt_long() do. Never destroyed, since exit handlers may use them.
std::vector<std::string>& words_at_start() {
  static auto& words =
    *new std::vector<std::string>; // NOLINT(cppcoreguidelines-owning-memory)
  return words;
}

__attribute__((constructor)) void copy_words(int argc, char** argv) {
#ifdef __GLIBC__
  words_at_start().assign(argv, argv + argc);
#endif
}

} // namespace

std::string program_path() {
  std::error_code error;
  auto path = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? std::string() : path.string();
}

std::string program_directory() {
  std::error_code error;
  return std::filesystem::current_path(error).string();
}

std::vector<std::string> program_words() {
  auto words = words_at_start();
  if (words.empty()) { // A C library that passes none to constructors.
    fiber::detail::Classic<std::ifstream> file("/proc/self/cmdline", std::ios::binary);
    for (std::string word; std::getline(file, word, '\0');)
      words.push_back(word);
  }
  return words;
}

std::vector<std::string> program_arguments() {
  auto words = program_words();
  if (!words.empty())
    words.erase(words.begin());
  return words;
}

} // namespace fiber::backends
