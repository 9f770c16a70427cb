// SPDX-License-Identifier: Apache-2.0
// journal/ writes results of a call to a file and restores them when the same call is
// made again.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <variant>
#include <vector>

#include "libfiber/journal/journal_file.hpp"
#include "libfiber/results/call_results.hpp"
#include "libfiber/session/work_thread.hpp"

namespace fiber::detail {

/// Results of a call with a journal. Each result is written before the program sees it;
/// the file is closed, and safe from a power loss, before the program sees the last one.
///
/// If the disk fails, unfinished tasks fail with that error. Results that have arrived
/// are still delivered.
class JournalledResults final : public CallResults,
                                public std::enable_shared_from_this<JournalledResults> {
public:
  using Clock = Results::Clock;

  JournalledResults(JournalFile file, std::shared_ptr<WorkThread> thread, Keep keep,
                    std::function<bool()> run_one, std::function<void()> cancel,
                    std::shared_ptr<wire::Leadership> leadership);

  /// Returns the result of a task, if the journal has it. Throws ConfigError if the task
  /// had other arguments; rethrows an earlier error of the journal.
  std::optional<Payload> find(std::size_t index, const Digest& arguments);
  /// Completes tasks with results from the journal.
  void restore(std::vector<actors::Completion> completions);
  /// Announces tasks that are about to be submitted to the pool.
  void expect(std::size_t first, const std::vector<Digest>& arguments);
  /// Blocks while results come faster than they can be written.
  void wait_room();
  /// Announces that no more tasks will come.
  void fed();

  void deliver(std::vector<actors::Completion> completions) override;
  void fail_missing(const std::exception_ptr& error) override;
  /// Cancels the call. Later results are not written.
  void cancel() override;

private:
  /// Results, or the error of all missing ones.
  using Arrival = std::variant<std::vector<actors::Completion>, std::exception_ptr>;

  void push(Arrival arrival, std::size_t bytes);
  void step();
  void write(std::vector<actors::Completion>& completions);
  void append(const std::vector<JournalFile::Addition>& additions);
  void sync();
  void sync_soon();
  void close();
  void fail(std::exception_ptr why);

  const std::shared_ptr<WorkThread> thread_;
  std::mutex turn_; ///< Serializes step().

  std::mutex mutex_; ///< Guards the fields up to file_mutex_.
  std::condition_variable room_;
  std::vector<Arrival> arrived_;
  std::size_t waiting_bytes_ = 0;                     ///< Bytes in arrived_.
  std::unordered_map<std::size_t, Digest> arguments_; ///< Digests, by task.
  std::size_t ended_ = 0;                             ///< Tasks, written or restored.
  bool fed_ = false;
  std::exception_ptr failure_; ///< The file's error.
  bool failed_now_ = false;    ///< The pool must still be told to cancel.
  bool sync_due_ = false;      ///< A sync is scheduled.

  std::mutex file_mutex_;           ///< Guards the fields below. Taken before mutex_.
  std::optional<JournalFile> file_; ///< Empty once closed.
  bool dirty_ = false;              ///< Written to since the last sync.
  Clock::time_point synced_;        ///< Time of the last sync.
};

} // namespace fiber::detail
