// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <stdexcept>

#include "fiber/rl/checkpoint_file.hpp"
#include "fiber/rl/export_policy.hpp"
#include "rl/export/c_function.hpp"
#include "rl/export/exported_policy.hpp"

namespace fiber::rl {
namespace {
namespace c_header {

bool letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool digit(char c) {
  return c >= '0' && c <= '9';
}

bool identifier(const std::string& name) {
  return !name.empty() && letter(name[0]) &&
         std::ranges::all_of(name, [](char c) { return letter(c) || digit(c); });
}

/// The name of the file, as an identifier.
std::string name_of(const std::filesystem::path& path) {
  auto name = path.stem().string();
  std::ranges::replace_if(
    name, [](char c) { return !letter(c) && !digit(c); }, '_');
  if (name.empty() || digit(name[0]))
    name = "policy_" + name;
  return name;
}

/// Text that can't end a comment, or be a trigraph.
std::string comment_text(std::string text) {
  std::ranges::replace_if(
    text,
    [](char c) {
      return !letter(c) && !digit(c) &&
             std::string_view(" .,:>/+-").find(c) == std::string_view::npos;
    },
    '_');
  return text;
}

} // namespace c_header
} // namespace

void save_c_header(const std::filesystem::path& path, const SavedPolicy& policy,
                   const std::string& name) {
  if (!name.empty() && !c_header::identifier(name))
    throw std::invalid_argument("\"" + name +
                                "\" is no identifier of C, so no function can have the "
                                "name " +
                                name + "_act");
  const auto prefix = name.empty() ? c_header::name_of(path) : name;
  const exporting::ExportedPolicy exported(policy);
  const auto function = exporting::c_function(prefix, exported);
  const auto size = [](const char* what, std::size_t count) {
    return "enum { " + std::string(what) + " = " + std::to_string(count) + " };\n";
  };
  std::string text;
  text += "/* A policy for " + c_header::comment_text(policy.environment) + ":\n * " +
          c_header::comment_text(policy.spec.describe()) + ".\n" +
          " * Written by Fiber for C++. Constants take " +
          std::to_string(function.constants * sizeof(float)) + " bytes, buffers " +
          std::to_string(function.buffers * sizeof(float)) +
          " bytes of the stack.\n */\n";
  text += "#ifndef " + prefix + "_policy_h\n#define " + prefix + "_policy_h\n\n";
  text += "#include <math.h>\n#include <stddef.h>\n\n";
  text +=
    size((prefix + "_observation_size").c_str(), exported.spaces.observation_size());
  text += size((prefix + "_action_size").c_str(), exported.spaces.action_size());
  if (exported.spaces.masked)
    text += size((prefix + "_mask_size").c_str(), exported.spaces.mask_size());
  if (exported.acting_lstm)
    text +=
      size((prefix + "_memory_size").c_str(), 2 * exported.acting_lstm->place.units);
  text += '\n' + function.text + "\n#endif\n";
  write_atomically(path, text);
}

} // namespace fiber::rl
