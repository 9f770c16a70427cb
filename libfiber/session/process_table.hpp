// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace fiber::detail {

/// A process that runs, as the session ends it.
class RunningProcess {
public:
  virtual ~RunningProcess() = default;
  virtual bool daemon() const = 0;
  virtual void await_end() const = 0;
  /// Ends it without waiting for that.
  virtual void end_with_session() const = 0;
};

/// The processes of a session that run: they stay even if nobody holds them. Thread-safe.
class ProcessTable {
public:
  /// Throws Closed after close().
  void add(std::uint64_t number, std::shared_ptr<RunningProcess> process);
  void remove(std::uint64_t number);
  /// In the order of their numbers.
  std::vector<std::shared_ptr<RunningProcess>> running() const;

  /// Waits until there are none but daemons. Nothing starts after that.
  void close();
  /// Tells all to end.
  void end() const;

private:
  mutable std::mutex mutex_;
  bool closed_ = false;
  std::map<std::uint64_t, std::shared_ptr<RunningProcess>> running_;
};

} // namespace fiber::detail
