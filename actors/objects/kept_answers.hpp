// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "actors/protocol/object_protocol.hpp"
#include "fiber/callable.hpp"

namespace fiber::actors {

/// The objects that answers refer to by handles, kept alive until the asking process says
/// that it holds them itself. The caller must not destroy what these functions return
/// under a lock, since the destructor of a handle sends messages.
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
  /// Returns all that were kept for a process that will send nothing more.
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
