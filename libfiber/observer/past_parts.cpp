// SPDX-License-Identifier: Apache-2.0
#include "libfiber/observer/past_parts.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <utility>

namespace fiber::observer {

using nlohmann::json;

void PastParts::keep(json& list, const std::function<void(json&)>& end) {
  std::set<std::string> living;
  for (auto& part : list)
    living.insert(part.at("name").get<std::string>());
  std::vector<json> ended;
  for (auto& known : known_)
    if (!living.contains(known.at("name").get<std::string>())) {
      if (!known.contains("ended")) {
        known["ended"] = true;
        end(known);
      }
      ended.push_back(std::move(known));
    }
  if (ended.size() > most) {
    auto more = ended.size() - most;
    forgotten_ += more;
    ended.erase(ended.begin(), ended.begin() + static_cast<std::ptrdiff_t>(more));
  }
  known_ = ended;
  std::ranges::copy(list, std::back_inserter(known_));
  for (auto& part : ended)
    list.push_back(std::move(part));
}

} // namespace fiber::observer
