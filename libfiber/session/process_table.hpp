// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace fiber::detail {

/// A running process, as far as the session needs it in order to end it.
class RunningProcess {
public:
  virtual ~RunningProcess() = default;
  virtual bool daemon() const = 0;
  virtual void await_end() const = 0;
  /// Ends the process without waiting for its end.
  virtual void end_with_session() const = 0;
};

/// The running processes of a session. The table keeps them alive when the program holds
/// no handle. Thread-safe.
class ProcessTable {
public:
  /// Throws Closed after close().
  void add(std::uint64_t number, std::shared_ptr<RunningProcess> process);
  void remove(std::uint64_t number);
  /// Returns them by ascending number.
  std::vector<std::shared_ptr<RunningProcess>> running() const;

  /// Waits until only daemons are left. add() throws after that.
  void close();
  /// Tells all processes to end.
  void end() const;

private:
  mutable std::mutex mutex_;
  bool closed_ = false;
  std::map<std::uint64_t, std::shared_ptr<RunningProcess>> running_;
};

} // namespace fiber::detail
