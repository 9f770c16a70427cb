// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace fiber::backends::kubernetes {

// What a server has said, read without ever throwing: what is missing or of another type
// counts as not said.

/// Null if `text` is no JSON.
nlohmann::json parse_reply(const std::string& text);

/// A member of an object; a null if it has none.
const nlohmann::json& part(const nlohmann::json& object, const char* key);

template <class... Keys>
const nlohmann::json& part(const nlohmann::json& object, const char* key, Keys... more) {
  return part(part(object, key), more...);
}

/// A member that is a string, or ""; the last of `keys` within those before it.
template <class... Keys>
std::string text(const nlohmann::json& object, Keys... keys) {
  auto& found = part(object, keys...);
  return found.is_string() ? found.template get<std::string>() : std::string();
}

} // namespace fiber::backends::kubernetes
