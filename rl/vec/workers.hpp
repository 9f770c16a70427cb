// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "rl/vec/episode_book.hpp"
#include "rl/vec/incidents.hpp"
#include "rl/vec/rows.hpp"

namespace fiber::rl::vec {

/// What has the environments follow their orders: the seam between a VecEnv and the
/// places where environments live.
class Workers {
public:
  virtual ~Workers() = default;

  /// Has these environments follow the orders that the book has for them. Returns at
  /// once.
  virtual void post(std::span<const int> ids) = 0;
  /// Waits until `need` more rows are there. Has the book accept each row, and appends
  /// its environment to `ready`, in the order in which the rows came. `need` is at most
  /// the number of orders that were not answered.
  virtual void collect(std::size_t need, std::vector<int>& ready) = 0;
  /// Brings all environments to where the book has them. There are no orders now; orders
  /// to show follow.
  virtual void restore() = 0;
  virtual bool shares_memory() const { return false; }
};

/// What all of them work on.
struct Desk {
  const VecEnvOptions& options;
  Rows& rows;
  EpisodeBook& book;
  Incidents& incidents;
};

/// Environments in this process. They follow their orders within collect(), in the order
/// of the posts.
std::unique_ptr<Workers> work_here(Desk desk, const detail::MakeEnvironment& make);
/// Environments in jobs, reached by a message for each job and post.
std::unique_ptr<Workers> work_by_messages(Desk desk, detail::EnvHosts& hosts,
                                          std::vector<detail::HostPlan> plans);
/// Environments in jobs of this machine that have mapped the rows.
std::unique_ptr<Workers> work_in_shared_memory(Desk desk, detail::EnvHosts& hosts,
                                               std::vector<detail::HostPlan> plans);

} // namespace fiber::rl::vec
