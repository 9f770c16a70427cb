// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace fiber::backends::kubernetes {

// Reads a server's JSON without throwing: a member of another type counts as missing.

/// Returns null if `text` is no JSON.
nlohmann::json parse_reply(const std::string& text);

/// Returns a member of an object, or null.
const nlohmann::json& part(const nlohmann::json& object, const char* key);

/// Returns the item of a list of objects that has this "name", or null.
const nlohmann::json& named(const nlohmann::json& list, std::string_view name);

template <class... Keys>
const nlohmann::json& part(const nlohmann::json& object, const char* key, Keys... more) {
  return part(part(object, key), more...);
}

/// Returns the string at the path `keys`, or "".
template <class... Keys>
std::string text(const nlohmann::json& object, Keys... keys) {
  auto& found = part(object, keys...);
  return found.is_string() ? found.template get<std::string>() : std::string();
}

} // namespace fiber::backends::kubernetes
