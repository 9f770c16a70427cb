// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace fiber::cli {

/// How much of a session's name a user must give. A verb that ends a session asks for the
/// whole: the session that was meant may have ended, and another one may begin like it.
enum class NameMatch { beginning, whole };

/// Returns the sessions that a user means by `name`: those of that name, or if there is
/// none, those whose names begin so. A number after a colon, which number_of() returns
/// for one of them, chooses: "train:4711".
template <class Named>
std::vector<Named> called(const std::string& name, std::vector<Named>& sessions,
                          NameMatch match = NameMatch::beginning) {
  auto wanted = name.substr(0, name.find(':'));
  auto number = name.size() > wanted.size() ? name.substr(wanted.size() + 1) : "";
  auto take = [&](auto fits) {
    std::vector<Named> found;
    for (auto& session : sessions)
      if (fits(session) && (number.empty() || number_of(session) == number))
        found.push_back(std::move(session));
    return found;
  };
  auto found = take([&](auto& session) { return session.name == wanted; });
  if (found.empty() && match == NameMatch::beginning)
    found = take([&](auto& session) { return session.name.starts_with(wanted); });
  return found;
}

/// Returns the names of sessions, with their numbers, for an error.
template <class Named>
std::string numbered(const std::vector<Named>& sessions) {
  std::string list;
  for (auto& session : sessions)
    list += (list.empty() ? "" : ", ") + session.name + ":" + number_of(session);
  return list;
}

} // namespace fiber::cli
