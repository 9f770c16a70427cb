// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include <boost/asio/io_context.hpp>

namespace fiber::wire {

class Leadership;

/// What lives on a reactor's thread and must let go of it when it ends.
class ReactorMember {
public:
  /// Called once, when nobody works for the reactor any more.
  virtual void abandon() = 0;

protected:
  ~ReactorMember() = default;
};

/// Moves bytes for every link of this process, sends and judges heartbeats and runs their
/// timers: on a thread of its own, or on one that waits for a link anyway (see
/// Leadership). "The reactor's thread" means the one that does so now. Nothing that
/// blocks may run on it.
class Reactor {
public:
  Reactor();
  /// Stops the work; links that are still open are closed first. Not from the reactor's
  /// thread.
  ~Reactor();

  boost::asio::io_context& context();
  /// Runs `f` on the reactor's thread.
  void post(std::function<void()> f);
  /// The same, `delay` from now.
  void after(std::chrono::milliseconds delay, std::function<void()> f);
  /// Runs `f` on the reactor's thread each time this process gets `signal`, from now on.
  void on_signal(int signal, std::function<void()> f);

  /// Calls member->abandon() when the reactor ends, if the member still lives.
  void enlist(std::weak_ptr<ReactorMember> member);
  /// For those who outlive the reactor but hold timers or descriptors of its context.
  std::shared_ptr<boost::asio::io_context> shared_context();
  /// For those who wait.
  std::shared_ptr<Leadership> leadership();

private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

} // namespace fiber::wire
