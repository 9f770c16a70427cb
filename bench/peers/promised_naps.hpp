// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "peers/nap_workers.hpp"

namespace peers {

/// The least that a pool does that also keeps the promises of Fiber's pool:
///
/// - A task has arguments of its own and a result of its own, which the driver keeps by
///   index. It takes a result only for a task that its table of running tasks lists.
/// - A worker hears the driver also while a task runs, so it has a second thread. The
///   queue between the two has a mutex and a condition.
/// - A worker announces the task that it starts in a page that it shares with the driver.
/// - A worker says how long its tasks ran, and how long the longest of them did.
///
/// No worker is ever lost, and no task is stolen, cancelled or retried.
class PromisedNaps {
public:
  /// The driver deals chunks[0] sleeps in the first message to a worker, chunks[1] in the
  /// second, and so on; the last chunk is for all others, too. After each sleep a worker
  /// writes to `lines` cache lines of its own, four a page.
  PromisedNaps(std::vector<std::uint32_t> chunks, std::size_t lines);

  void map(std::uint32_t naps);

private:
  struct Range {
    std::uint64_t first = 0; ///< Number of the first task among those of its worker.
    std::uint64_t index = 0; ///< Its place in the map.
    std::uint32_t left = 0;
  };
  struct Worker {
    std::uint64_t next = 0;   ///< Number of its next task.
    std::size_t messages = 0; ///< That it was sent in this map.
    std::deque<Range> running;
    std::vector<char> heard;
  };

  void deal(std::size_t worker);
  void hear(std::size_t worker);
  std::size_t take(Worker& worker, std::size_t at);

  const std::vector<std::uint32_t> chunks_;
  const std::unique_ptr<std::byte, void (*)(std::byte*)> pages_;
  NapWorkers workers_;
  std::vector<Worker> table_{NapWorkers::count};
  std::vector<std::vector<char>> results_;
  std::uint32_t dealt_ = 0, ended_ = 0;
};

} // namespace peers
