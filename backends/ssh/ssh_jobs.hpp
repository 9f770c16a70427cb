// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backends/engine/loop.hpp"
#include "backends/output/output.hpp"
#include "backends/ssh/host.hpp"

namespace fiber::backends::ssh {

/// The jobs of a session and the hosts that they run on. A job takes one slot of a host
/// for each cpu that it asks for; it waits until a host has room, and goes to the one
/// that is the least full. Used on the loop's thread only.
class SshJobs {
public:
  struct Handler {
    std::function<void(const JobEvent&)> event;
    std::function<void(std::uint64_t serial)> closed; ///< Called before the last event.
  };

  SshJobs(Loop& loop, Output& output, const SshOptions& options,
          const ProgramFile& program, Handler handler);

  void connect();
  void create(std::uint64_t serial, JobSpec spec);
  void terminate(const std::string& job, std::chrono::milliseconds grace);
  /// Starts no more jobs and kills all.
  void end_all();
  /// Ends the connections. Call it after the last job.
  void close();

private:
  struct Member {
    std::unique_ptr<Host> host;
    std::size_t taken = 0; ///< Slots.
    int gpus_taken = 0;
  };
  struct Job {
    std::uint64_t serial = 0;
    JobSpec spec; ///< Until it is sent to a host.
    std::size_t slots = 1;
    int gpus = 0;
    Member* at = nullptr; ///< Null: it waits.
    std::string waits_for;
  };

  Host::Handler handler_of(Member& member);
  void on_up();
  void pump();
  void say_what_is_waited_for();
  Member* place_for(const Job& job);
  std::string lack_for(const Job& job) const;
  std::string down_in_words() const;
  void on_event(const JobEvent& event);
  void on_down(Member& member, const std::string& problem);
  bool write(const std::string& job, std::string_view text);
  void await_room();
  void close(const std::string& job, const JobEvent& event);

  Loop& loop_;
  Output& output_;
  const Handler handler_;
  std::vector<std::unique_ptr<Member>> members_;
  std::map<std::string, Job> jobs_; // Those that are not over.
  std::deque<std::string> queue_;   // Those without a host.
  bool ran_jobs_ = false;           // At least one has started.
  enum class Spread { later, soon, now } spread_ = Spread::later; // May jobs be placed?
  bool ending_ = false;
  bool awaits_room_ = false; // A timer looks whether output can be written.
};

} // namespace fiber::backends::ssh
