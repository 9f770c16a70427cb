// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <csignal>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "backends/engine/child_exit.hpp"
#include "backends/engine/loop.hpp"
#include "backends/engine/message_channel.hpp"
#include "backends/local/spawn.hpp"
#include "backends/output/output.hpp"

namespace fiber::backends::local {

/// The driver's view of one zygote, from its exec to its death. On the loop's thread
/// only.
class ZygoteClient : public std::enable_shared_from_this<ZygoteClient> {
public:
  struct Handler {
    std::function<void()> ready;
    std::function<void(int threads)> has_threads; ///< It can't fork; `lost` follows.
    std::function<void(std::uint64_t serial, int pid, UniqueFd pidfd)> started;
    std::function<void(std::uint64_t serial, Exit exit)> ended;
    std::function<void(std::uint64_t serial, int error)> fork_failed;
    /// It is dead, and every job it ever forked has been reported as started. If it was
    /// not `was_ready`, `last_output` is what the program had to say.
    std::function<void(bool was_ready, Exit exit, std::string last_output)> lost;
  };

  /// Its output is read by `output` as `key`. Throws EngineError if there can be no
  /// process.
  static std::shared_ptr<ZygoteClient> start(Loop& loop, Output& output, Output::Key key,
                                             const Program& program, Handler handler);

  bool ready() const { return ready_ && control_ && !dead_; }
  int pid() const { return pid_; }
  /// Asks for a job. Returns 0 or errno; EAGAIN and ETOOMANYREFS pass with the next
  /// answer.
  int request(const Message& job, std::span<const int> fds);
  /// Lets it go on if somebody has stopped it.
  void wake() { send_signal(pid_, pidfd_.get(), SIGCONT); }
  /// Ends it and, through it, all of its jobs; `lost` follows.
  void close();

private:
  ZygoteClient(Loop& loop, Output& output, Output::Key key, Handler handler)
    : loop_(loop), output_(output), key_(key), handler_(std::move(handler)) {}
  void listen();
  void take_messages();
  void handle(Received received);
  void on_end();
  void on_dead();
  void give_up();
  void finish(const Exit& exit);

  Loop& loop_;
  Output& output_;
  const Output::Key key_;
  Handler handler_;
  UniqueFd control_, pidfd_;
  int pid_ = 0;
  bool ready_ = false, dead_ = false, ended_ = false;
};

} // namespace fiber::backends::local
