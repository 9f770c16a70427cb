// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>

#include <boost/asio/io_context.hpp>

namespace fiber::wire {

/// One thread that moves bytes for every link of this process, sends and judges heartbeats and
/// runs their timers. Nothing that blocks may run on it.
class Reactor {
public:
  Reactor();
  /// Stops the thread; links that are still open are dropped.
  ~Reactor();

  boost::asio::io_context& context();
  /// Runs `f` on the reactor's thread.
  void post(std::function<void()> f);

private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

} // namespace fiber::wire
