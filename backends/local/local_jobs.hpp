// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>

#include "backends/local/local_job.hpp"
#include "backends/local/zygote_client.hpp"

namespace fiber::backends::local {

/// The jobs of a local backend and the zygote that forks them. Used on the loop's thread
/// only.
///
/// jobs_ holds each job from admission to its last event. Depending on its state, the job
/// is also in queue_; requested from the zygote (counted by requested_) or exec'ed;
/// running; or finished, while its output is read to the end.
class LocalJobs {
public:
  using JobPtr = std::shared_ptr<LocalJob>;
  struct Handler {
    std::function<void(const JobEvent&)> event;
    std::function<void(std::uint64_t serial)> closed; ///< Called before the last event.
    std::function<void(bool there)> zygote;           ///< A zygote started or ended.
  };

  LocalJobs(Loop& loop, Output& output, Program program, bool plain, Handler handler);

  void admit(const JobPtr& job);
  void terminate(std::uint64_t serial, std::chrono::milliseconds grace);
  /// Starts no more jobs and kills all.
  void end_all();
  /// Ends the zygote. Call it after the last job.
  void close_zygote();

private:
  void pump();
  bool request_fork(const JobPtr& job);
  void start_zygote();
  ZygoteClient::Handler zygote_handler();
  void on_zygote_lost(std::uint64_t number, bool was_ready, const Exit& exit,
                      const std::string& output);
  void adopt(const JobPtr& job);
  void retry(const JobPtr& job, const Exit& zygote_exit);
  void spawn_plain(const JobPtr& job);
  void on_plain_message(const JobPtr& job);
  void on_plain_exit(const JobPtr& job);
  void on_started(const JobPtr& job, int pid, UniqueFd pidfd);
  void begin_terminate(const JobPtr& job, std::chrono::milliseconds grace);
  void end(const JobPtr& job, const Exit& exit);
  void fail(const JobPtr& job, const std::string& detail, int status = 0);
  Exit with_reason(const LocalJob& job, Exit exit);
  void fail_queued(const std::string& detail, int status = 0);
  void close(const JobPtr& job, const JobEvent& event);
  JobPtr find(std::uint64_t serial) const;

  Loop& loop_;
  Output& output_;
  const Program program_;
  const Handler handler_;
  std::map<std::uint64_t, JobPtr> jobs_;
  std::deque<JobPtr> queue_;
  std::size_t requested_ = 0; // Unanswered requests to this zygote.
  std::shared_ptr<ZygoteClient> zygote_;
  std::uint64_t zygote_number_ = 0;
  int zygote_failures_ = 0;                          // Consecutive, before ready.
  std::optional<std::uint64_t> out_of_memory_kills_; // Already attributed.
  bool plain_;
  bool ending_ = false;
};

} // namespace fiber::backends::local
