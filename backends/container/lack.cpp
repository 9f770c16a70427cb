// SPDX-License-Identifier: Apache-2.0
#include "backends/container/lack.hpp"

#include <algorithm>

namespace fiber::backends {

std::string advice_for(std::string_view text, std::span<const Lack> lacks) {
  constexpr std::size_t last_words = 4096; // Where a program says why it ended.
  std::string end(text.substr(text.size() - std::min(text.size(), last_words)));
  std::ranges::transform(end, end.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  for (auto& lack : lacks)
    if (end.find(lack.words) != end.npos)
      return std::string(lack.advice);
  return {};
}

} // namespace fiber::backends
