// SPDX-License-Identifier: Apache-2.0
#include "backends/kubernetes/reply_json.hpp"

namespace fiber::backends::kubernetes {

nlohmann::json parse_reply(const std::string& text) {
  auto read = nlohmann::json::parse(text, nullptr, false);
  return read.is_discarded() ? nlohmann::json() : read;
}

const nlohmann::json& part(const nlohmann::json& object, const char* key) {
  static const nlohmann::json nothing;
  auto found = object.is_object() ? object.find(key) : object.end();
  return found != object.end() ? *found : nothing;
}

const nlohmann::json& named(const nlohmann::json& list, std::string_view name) {
  static const nlohmann::json nothing;
  for (auto& each : list)
    if (text(each, "name") == name)
      return each;
  return nothing;
}

} // namespace fiber::backends::kubernetes
