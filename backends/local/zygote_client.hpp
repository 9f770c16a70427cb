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

/// The driver's side of a zygote, from its exec to its death. Used on the loop's thread
/// only.
class ZygoteClient : public std::enable_shared_from_this<ZygoteClient> {
public:
  struct Handler {
    std::function<void()> ready;
    std::function<void(int threads)> has_threads; ///< It cannot fork; `lost` follows.
    std::function<void(std::uint64_t serial, int pid, UniqueFd pidfd)> started;
    std::function<void(std::uint64_t serial, Exit exit)> ended;
    std::function<void(std::uint64_t serial, int error)> fork_failed;
    /// The zygote is dead, and all its jobs were reported as started. Unless `was_ready`,
    /// `last_output` is the program's output.
    std::function<void(bool was_ready, Exit exit, std::string last_output)> lost;
  };

  /// Starts a zygote, whose output `output` reads as `key`. Throws EngineError.
  static std::shared_ptr<ZygoteClient> start(Loop& loop, Output& output, Output::Key key,
                                             const Program& program, Handler handler);

  bool ready() const { return ready_ && control_ && !dead_; }
  int pid() const { return pid_; }
  /// Requests a job. Returns 0 or errno; EAGAIN and ETOOMANYREFS last until the next
  /// answer.
  int request(const Message& job, std::span<const int> fds);
  /// Continues the zygote if it was stopped.
  void wake() { send_signal(pid_, pidfd_.get(), SIGCONT); }
  /// Ends the zygote and, through it, its jobs; `lost` follows.
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
