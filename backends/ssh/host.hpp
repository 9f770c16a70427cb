// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/engine/child_process.hpp"
#include "backends/engine/loop.hpp"
#include "backends/ssh/agent_message.hpp"
#include "backends/ssh/channel.hpp"
#include "backends/ssh/hosts.hpp"
#include "backends/ssh/program_file.hpp"
#include "backends/ssh/program_start.hpp"
#include "backends/ssh/ssh_backend.hpp"
#include "backends/ssh/ssh_command.hpp"

namespace fiber::backends::ssh {

/// The driver's side of a host: its connection, the copy of the program, the agent, and
/// the way by which its jobs reach the driver. Connects again, with growing pauses, when
/// the connection could not be made or was lost. Used on the loop's thread only.
class Host {
public:
  struct Handler {
    std::function<void()> up; ///< Jobs can be created.
    /// It could not be reached, or has been lost with all its jobs.
    std::function<void(const std::string& problem)> down;
    std::function<void(const JobEvent&)> event;
    /// Returns false if no more output should come until take_more().
    std::function<bool(const std::string& job, std::string_view text)> output;
  };

  Host(Loop& loop, const SshOptions& options, const ProgramFile& program, HostEntry entry,
       std::string control, Handler handler);
  ~Host();
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  void connect();
  /// Ends the connection, and with it the jobs, and does not connect again.
  void close();

  const std::string& name() const { return entry_.name; }
  bool is_up() const { return state_ == State::up; }
  bool is_down() const { return state_ == State::down; }
  /// Whether it could not be reached, or was lost, since it was last up.
  bool has_failed() const { return attempts_ > 0 && !is_up(); }
  const std::string& problem() const { return problem_; } ///< Why.
  std::size_t slots() const { return slots_; }
  std::size_t max_slots() const { return max_slots_; }
  int gpus() const { return gpus_; }

  /// Must be up.
  void create(JobSpec spec);
  void terminate(const std::string& job, std::chrono::milliseconds grace);
  /// The output that came can be written: the agent may send more.
  void take_more();

private:
  enum class State {
    down,       ///< Waiting for the next attempt.
    connecting, ///< ssh runs, but no agent has answered.
    up          ///< Its agent takes jobs.
  };

  void on_output(std::string_view bytes);
  void on_message(const AgentMessage& message);
  void begin(const AgentMessage& agent);
  void ping();
  void stop(std::optional<Loop::Timer>& timer);
  void find_way(const std::string& driver);
  void open_tunnel(const std::string& driver, const std::string& problem);
  void use_way(const std::string& driver, const std::string& address);
  void on_end(const std::string& errors, std::optional<int> exit_code);
  void lose(const std::string& problem);
  void drop_connection();

  Loop& loop_;
  const SshOptions& options_;
  const ProgramFile& program_;
  const HostEntry entry_;
  const SshCommand command_;
  const Handler handler_;

  State state_ = State::down;
  std::string problem_, logged_problem_;
  int attempts_ = 0; // Failed, since it was last up.
  bool closed_ = false;
  std::size_t slots_ = 0, max_slots_ = 0;
  int gpus_ = 0;

  // Of one connection:
  std::shared_ptr<Channel> channel_;
  std::string greeting_; // The line after which the agent speaks.
  PrintedLines lines_;
  std::optional<ProgramStart> start_; // Until the agent has introduced itself.
  bool greeted_ = false;
  MessageReader reader_;
  std::shared_ptr<ChildProcess> forward_;
  std::string way_from_, way_; // The address of the driver, and what jobs dial instead.
  std::vector<JobSpec> without_way_; // Jobs that wait for it.
  std::size_t unread_ = 0; // Bytes of output that came and can't be written yet.
  int unanswered_ = 0;     // Pings.
  std::optional<Loop::Timer> next_ping_, retry_;
};

} // namespace fiber::backends::ssh
