// SPDX-License-Identifier: Apache-2.0
#include "backends/registry.hpp"

#include <algorithm>
#include <iterator>
#include <sstream>

#include "fiber/detail/classic_locale.hpp"

namespace fiber::backends {

std::string BackendOptions::value(const std::string& key) const {
  auto found = values.find(key);
  return found == values.end() ? "" : found->second;
}

std::vector<std::string> parts_of(const std::string& text) {
  std::vector<std::string> parts;
  fiber::detail::Classic<std::istringstream> stream(text);
  for (std::string part; std::getline(stream, part, ',');)
    parts.push_back(part);
  return parts;
}

std::vector<std::string> words_of(const std::string& text) {
  fiber::detail::Classic<std::istringstream> stream(text);
  return {std::istream_iterator<std::string>(stream), {}};
}

bool are_among(const std::string& text, std::span<const char* const> words) {
  return std::ranges::all_of(parts_of(text), [&](const std::string& part) {
    return std::ranges::find(words, part) != words.end();
  });
}

bool is_word(const std::string& text) {
  return text.find_first_of(" \t,") == text.npos;
}

} // namespace fiber::backends
