// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include <sys/epoll.h>
#include <sys/types.h>

namespace peers {

/// Forked processes, each with a socket pair to this one.
class NapWorkers {
public:
  static constexpr std::size_t count = 1024;

  /// Each process calls `work` with its end of the pair and its number, and ends when
  /// `work` returns.
  explicit NapWorkers(const std::function<void(int link, std::size_t worker)>& work);
  /// Closes the links, upon which the processes must end, and waits for them.
  ~NapWorkers();
  NapWorkers(const NapWorkers&) = delete;
  NapWorkers& operator=(const NapWorkers&) = delete;

  int link(std::size_t worker) const { return links_[worker]; }
  /// Waits until links can be read: `data.u64` of each event is the number of a worker.
  std::span<const epoll_event> ready();

private:
  void start(const std::function<void(int link, std::size_t worker)>& work);

  int events_;
  std::vector<epoll_event> ready_;
  std::vector<int> links_;
  std::vector<pid_t> children_;
};

/// Throws std::system_error with errno unless `good`.
void check(bool good, const char* what);

} // namespace peers
