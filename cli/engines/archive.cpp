// SPDX-License-Identifier: Apache-2.0
#include "cli/engines/archive.hpp"

#include <filesystem>
#include <string_view>

#include "cli/engines/output_of.hpp"
#include "fiber/error.hpp"

namespace fiber::cli {
namespace {

namespace fs = std::filesystem;

/// Puts a backslash before each of the `special` letters.
std::string escaped(const std::string& text, std::string_view special) {
  std::string out;
  for (char c : text) {
    if (special.find(c) != special.npos)
      out += '\\';
    out += c;
  }
  return out;
}

} // namespace

std::string pack_files(const std::string& path, const std::string& name) {
  auto file = fs::absolute(path).lexically_normal();
  if (!file.has_filename()) // It ends in a slash.
    file = file.parent_path();
  auto base = file.filename().string();
  if (!fs::exists(fs::symlink_status(file)))
    throw Error(path + " is not there");
  // Paths are renamed, and targets of links are not.
  auto rename =
    "--transform=s|^" + escaped(base, "\\.[]*^$|") + "|" + escaped(name, "\\&|") + "|SH";
  return output_of({"tar", "--create", "--file=-", "--numeric-owner", rename,
                    "--directory", file.parent_path().string(), "--", base});
}

std::size_t bytes_in(const std::string& path) {
  auto kind = fs::symlink_status(path); // A link is copied as it is.
  if (!fs::is_directory(kind))
    return fs::is_regular_file(kind) ? fs::file_size(path) : 0;
  std::size_t sum = 0;
  for (auto& entry : fs::recursive_directory_iterator(path))
    if (entry.is_regular_file() && !entry.is_symlink())
      sum += entry.file_size();
  return sum;
}

std::string path_in_volume(const std::string& path) {
  for (auto& part : fs::path(path))
    if (part == "..")
      throw Error("the path " + path + " leaves the volume: .. is not allowed");
  auto plain =
    (fs::path("/") / fs::path(path).relative_path()).lexically_normal().string();
  while (plain.size() > 1 && plain.back() == '/')
    plain.pop_back();
  return plain;
}

} // namespace fiber::cli
