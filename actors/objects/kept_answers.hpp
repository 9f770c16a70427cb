// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "actors/protocol/object_protocol.hpp"
#include "fiber/callable.hpp"

namespace fiber::actors {

/// What handles in answers stand for, until who asked says that it has taken them over.
/// What comes out must not be dropped under a lock: the ends of handles send messages.
class KeptAnswers {
public:
  void keep(const Asker& who, detail::KeptObjects kept) {
    if (!kept.empty())
      kept_[who] = std::move(kept);
  }
  detail::KeptObjects took(const Asker& who) {
    auto known = kept_.extract(who);
    return known.empty() ? detail::KeptObjects() : std::move(known.mapped());
  }
  /// Of a process that will say no more.
  std::vector<detail::KeptObjects> gone(std::uint64_t process) {
    std::vector<detail::KeptObjects> all;
    for (auto at = kept_.lower_bound({process, 0});
         at != kept_.end() && at->first.process == process; at = kept_.erase(at))
      all.push_back(std::move(at->second));
    return all;
  }

private:
  std::map<Asker, detail::KeptObjects> kept_;
};

} // namespace fiber::actors
