// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace fiber::cli {

/// Returns the sessions that a user means by `name`: those of that name, or if there is
/// none, those whose names begin so. A pid after a colon chooses among them:
/// "train:4711".
template <class Named>
std::vector<Named> called(const std::string& name, std::vector<Named>& sessions) {
  auto wanted = name.substr(0, name.find(':'));
  auto pid = name.size() > wanted.size() ? name.substr(wanted.size() + 1) : "";
  auto take = [&](auto fits) {
    std::vector<Named> found;
    for (auto& session : sessions)
      if (fits(session) && (pid.empty() || std::to_string(session.pid) == pid))
        found.push_back(std::move(session));
    return found;
  };
  auto found = take([&](auto& session) { return session.name == wanted; });
  if (found.empty())
    found = take([&](auto& session) { return session.name.starts_with(wanted); });
  return found;
}

} // namespace fiber::cli
