// SPDX-License-Identifier: Apache-2.0
#include "backends/kubernetes/quota.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "backends/kubernetes/reply_json.hpp"

namespace fiber::backends::kubernetes {

namespace {

/// Reads a quantity: "1", "100m", "1.5Gi".
std::optional<double> quantity(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, double>, 12> units{{{"", 1},
                                                                       {"m", 1e-3},
                                                                       {"k", 1e3},
                                                                       {"M", 1e6},
                                                                       {"G", 1e9},
                                                                       {"T", 1e12},
                                                                       {"P", 1e15},
                                                                       {"Ki", 0x1p10},
                                                                       {"Mi", 0x1p20},
                                                                       {"Gi", 0x1p30},
                                                                       {"Ti", 0x1p40},
                                                                       {"Pi", 0x1p50}}};
  double number = 0;
  auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  text.remove_prefix(static_cast<std::size_t>(rest - text.data()));
  auto unit = std::ranges::find(units, text, &std::pair<std::string_view, double>::first);
  if (error != std::errc() || unit == units.end())
    return {};
  return number * unit->second;
}

/// Reads the list "cpu=1,pods=1" behind `mark`.
std::map<std::string, double> amounts(const std::string& words, std::string_view mark) {
  std::map<std::string, double> found;
  auto at = words.find(mark);
  if (at == words.npos)
    return found;
  at += mark.size();
  auto list = std::string_view(words).substr(at, words.find(", ", at) - at);
  while (!list.empty()) {
    auto item = list.substr(0, list.find(','));
    list.remove_prefix(std::min(item.size() + 1, list.size()));
    if (auto equals = item.find('='); equals != item.npos)
      if (auto amount = quantity(item.substr(equals + 1)))
        found[std::string(item.substr(0, equals))] = *amount;
  }
  return found;
}

} // namespace

// The message is `pods "p" is forbidden: exceeded quota: small, requested:
// cpu=1,pods=1, used: cpu=0,pods=5, limited: cpu=100m,pods=5`, with those resources only
// whose limit is exceeded.
bool is_used_up(const http::Reply& reply) {
  constexpr int forbidden = 403;
  if (reply.status != forbidden)
    return false;
  auto words = text(parse_reply(reply.body), "message");
  if (words.find("exceeded quota: ") == words.npos)
    return false;
  auto limited = amounts(words, "limited: ");
  return std::ranges::none_of(amounts(words, "requested: "), [&](auto& wanted) {
    auto limit = limited.find(wanted.first);
    return limit != limited.end() && wanted.second > limit->second;
  });
}

} // namespace fiber::backends::kubernetes
