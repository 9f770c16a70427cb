// SPDX-License-Identifier: Apache-2.0
#include "cli/engines/image.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include <elfutils/libdwelf.h>
#include <libelf.h>

#include "backends/engine/program.hpp"
#include "backends/engine/spawn.hpp"
#include "base/ascii.hpp"
#include "cli/engines/output_of.hpp"
#include "fiber/detail/classic_locale.hpp"
#include "fiber/error.hpp"

namespace fiber::cli {
namespace {

constexpr std::size_t shown_digits = 12; // Of a build id, in the tag of an image.

std::string make_image_script() {
  auto bin = std::filesystem::path(backends::program_path()).parent_path();
  auto script = bin.parent_path() / "share/fiber/image/make-image";
  if (::access(script.c_str(), X_OK) != 0)
    throw Error("make-image, which packs a program as an image, is not at " +
                script.string() + ", where an installed Fiber has it");
  return script.string();
}

} // namespace

std::string find_program(const std::string& name) {
  if (name.find('/') != name.npos) {
    std::error_code error;
    if (!std::filesystem::exists(name, error))
      throw Error(
        "there is no program " + name +
        (name.starts_with('/') ? "" : " in " + std::filesystem::current_path().string()));
    if (std::filesystem::is_directory(name, error))
      throw Error(name + " is a folder, not a program");
    if (::access(name.c_str(), X_OK) != 0)
      throw Error(name + " may not be run; if it is a program, chmod +x " + name);
    return std::filesystem::absolute(name).string();
  }
  if (auto file = backends::find_in_path(name); !file.empty())
    return file;
  throw Error("there is no program " + name +
              " in $PATH; for one in this folder write ./" + name);
}

std::string program_in_image(const std::string& program) {
  return program.starts_with('/') ? program
                                  : std::filesystem::path(program).filename().string();
}

std::string build_id_of(std::string_view file) {
  ::elf_version(EV_CURRENT);
  std::string image(file); // libelf wants it writable.
  auto* elf = ::elf_memory(image.data(), image.size());
  if (elf == nullptr)
    return {};
  const void* id = nullptr;
  auto size = ::dwelf_elf_gnu_build_id(elf, &id);
  std::string digits;
  for (ssize_t i = 0; i < size; ++i) {
    auto byte = static_cast<const unsigned char*>(id)[i];
    digits += "0123456789abcdef"[byte >> 4];
    digits += "0123456789abcdef"[byte & 15];
  }
  ::elf_end(elf);
  return digits;
}

std::string bytes_of_program(const std::string& path) {
  fiber::detail::Classic<std::ifstream> file(path, std::ios::binary);
  fiber::detail::Classic<std::ostringstream> bytes;
  bytes << file.rdbuf();
  if (!file)
    throw Error(path + " can't be read");
  return std::move(bytes).str();
}

std::string build_id_of_file(const std::string& path) {
  return build_id_of(bytes_of_program(path));
}

std::string image_name_for(const std::string& program) {
  std::string name;
  for (char c : std::filesystem::path(program).filename().string())
    if (ascii::is_letter_or_digit(c))
      name += ascii::lower(c);
    else if (!name.empty() && name.back() != '-')
      name += '-';
  while (!name.empty() && name.back() == '-')
    name.pop_back();
  auto build = build_id_of_file(program);
  if (build.empty())
    throw Error(
      program +
      " has no build id, so it does not use Fiber, or was linked with --build-id=none");
  return (name.empty() ? "program" : name) + ":" + build.substr(0, shown_digits);
}

std::string make_image(const std::string& name, const std::string& program) {
  auto script = make_image_script();
  auto archive = output_of({script, "-", name, program});
  return archive;
}

} // namespace fiber::cli
