// SPDX-License-Identifier: Apache-2.0
#include "libfiber/observer/function_name.hpp"

#include <algorithm>
#include <cstddef>
#include <exception>
#include <map>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include "base/demangle.hpp"
#include "base/never_destroyed.hpp"
#include "fiber/detail/call_name.hpp"

namespace fiber::observer {
namespace {

constexpr std::size_t max_known = 1000;
constexpr std::size_t code_bytes = 64; ///< More than a packed function needs.

/// Returns the first template argument after `head`, or nothing.
std::string_view first_argument(std::string_view text, std::string_view head) {
  auto at = text.find(head);
  if (at == text.npos)
    return {};
  text.remove_prefix(at + head.size());
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    auto c = text[i];
    if (c == '<' || c == '(' || c == '{')
      ++depth;
    else if (depth == 0 && (c == ',' || c == '>'))
      return text.substr(0, i);
    else if (c == '>' || c == ')' || c == '}')
      --depth;
  }
  return {};
}

void erase_all(std::string& text, std::string_view what) {
  for (auto at = text.find(what); at != text.npos; at = text.find(what))
    text.erase(at, what.size());
}

/// "sum(int, int)" becomes "sum".
std::string without_parameters(std::string name) {
  erase_all(name, "(anonymous namespace)::");
  return name.substr(0, name.find('('));
}

bool is_code_place(std::string_view name) {
  return name.starts_with("function ");
}

std::string find_made_type(const void* maker) {
  auto symbol = detail::code_name(maker);
  if (is_code_place(symbol))
    return {};
  auto name = demangle(symbol.c_str());
  for (std::string_view head : {"make_object<", "make_supervised<"})
    if (auto type = std::string(first_argument(name, head)); !type.empty()) {
      erase_all(type, "(anonymous namespace)::");
      return type;
    }
  return {};
}

std::string find_name(const AnyCallable& callable) {
  auto open = detail::code_name(reinterpret_cast<const void*>(callable.open()));
  if (is_code_place(open))
    return {};
  auto type = callable_type(demangle(open.c_str()));
  if (!type.empty())
    return type;
  Reader state(callable.state().bytes());
  auto function =
    detail::code_name(detail::unpack_code(state, detail::CodeKind::function));
  return is_code_place(function) ? "" : without_parameters(demangle(function.c_str()));
}

} // namespace

std::string callable_type(const std::string& open_symbol) {
  auto type = first_argument(open_symbol, "CallableBody<");
  for (std::string_view wrapper : {"BoundCallable<", "MeasuredCallable<"})
    while (type.starts_with("fiber::") && type.substr(7).starts_with(wrapper))
      type = first_argument(type, wrapper);
  if (type.find("(*)") != type.npos && type.find('{') == type.npos)
    return {};
  std::string name(type);
  erase_all(name, "(anonymous namespace)::");
  if (auto lambda = name.find("::{lambda("); lambda != name.npos)
    return "lambda in " + name.substr(0, std::min(lambda, name.find('(')));
  return name.substr(0, name.find('<'));
}

std::string function_name(const AnyCallable& callable) {
  static std::mutex mutex;
  using Known = std::map<std::pair<detail::Open, std::vector<std::byte>>, std::string>;
  static auto& known = *never_destroyed<Known>();
  auto state = callable.state().bytes();
  auto head = state.first(std::min(state.size(), code_bytes));
  auto key = std::pair(callable.open(), std::vector(head.begin(), head.end()));
  std::lock_guard lock(mutex);
  if (auto name = known.find(key); name != known.end())
    return name->second;
  if (known.size() >= max_known)
    known.clear();
  std::string name;
  try {
    name = find_name(callable);
  } catch (const std::exception&) { // It has no name, then.
  }
  return known[key] = name;
}

std::string made_type(const void* maker) {
  static std::mutex mutex;
  using Known = std::map<const void*, std::string>; // One for each type in the program.
  static auto& known = *never_destroyed<Known>();
  std::lock_guard lock(mutex);
  auto name = known.find(maker);
  if (name == known.end())
    name = known.emplace(maker, maker == nullptr ? "" : find_made_type(maker)).first;
  return name->second;
}

} // namespace fiber::observer
