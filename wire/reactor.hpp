// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include <boost/asio/io_context.hpp>

namespace fiber::wire {

class Leadership;

/// An object that uses a reactor and must release it when the reactor ends.
class ReactorMember {
public:
  /// Called once, after the reactor has stopped.
  virtual void abandon() = 0;

protected:
  ~ReactorMember() = default;
};

/// Does the input, output, heartbeats and timers of all links of this process: on a
/// thread of its own, or on a thread that waits for a link anyway (see Leadership). "The
/// reactor's thread" is the one that does so at the moment. Nothing that blocks may run
/// on it.
class Reactor {
public:
  Reactor();
  /// Closes open links and stops. Must not run on the reactor's thread.
  ~Reactor();

  boost::asio::io_context& context();
  /// Runs `f` on the reactor's thread.
  void post(std::function<void()> f);
  /// Runs `f` on the reactor's thread after `delay`.
  void after(std::chrono::milliseconds delay, std::function<void()> f);
  /// Runs `f` on the reactor's thread each time this process gets `signal`, from now on.
  void on_signal(int signal, std::function<void()> f);

  /// Calls member->abandon() when the reactor ends, if the member still lives.
  void enlist(std::weak_ptr<ReactorMember> member);
  /// For objects that may outlive the reactor and hold timers or descriptors of its
  /// context.
  std::shared_ptr<boost::asio::io_context> shared_context();
  /// For threads that wait.
  std::shared_ptr<Leadership> leadership();

private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

} // namespace fiber::wire
