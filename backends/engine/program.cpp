// SPDX-License-Identifier: Apache-2.0
#include "backends/engine/program.hpp"

#include <filesystem>
#include <fstream>
#include <system_error>

#include "fiber/detail/classic_locale.hpp"

namespace fiber::backends {

std::string program_path() {
  std::error_code error;
  auto path = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? std::string() : path.string();
}

std::string program_directory() {
  std::error_code error;
  return std::filesystem::current_path(error).string();
}

std::vector<std::string> program_arguments() {
  std::vector<std::string> words;
  fiber::detail::Classic<std::ifstream> file("/proc/self/cmdline", std::ios::binary);
  for (std::string word; std::getline(file, word, '\0');)
    words.push_back(word);
  if (!words.empty())
    words.erase(words.begin());
  return words;
}

} // namespace fiber::backends
