// SPDX-License-Identifier: Apache-2.0
#include "backends/registry.hpp"

namespace fiber::backends {

std::string BackendOptions::value(const std::string& key) const {
  auto found = values.find(key);
  return found == values.end() ? "" : found->second;
}

bool is_word(const std::string& text) {
  return text.find_first_of(" \t,") == text.npos;
}

} // namespace fiber::backends
