// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace fiber::detail {

/// Runs what follows on results, one after another, on a thread that starts with the
/// first of it: Future::then().
class Continuations {
public:
  Continuations() = default;
  Continuations(const Continuations&) = delete;
  Continuations& operator=(const Continuations&) = delete;
  ~Continuations() { end(); }

  /// False after end().
  bool add(std::function<void()> f);
  /// Takes no more, and waits until what was added has run.
  void end();

private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> waiting_;
  bool ended_ = false;
  std::thread thread_;
};

} // namespace fiber::detail
