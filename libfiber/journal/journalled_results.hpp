// SPDX-License-Identifier: Apache-2.0
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

/// Results of a call with a journal: each is written there before anybody sees it. The
/// file is closed, and safe from a loss of power, before the last one is seen.
///
/// Should the disk fail, the call fails: what has not ended ends with that error. Results
/// that are there already are passed on all the same.
class JournalledResults final : public CallResults,
                                public std::enable_shared_from_this<JournalledResults> {
public:
  using Clock = Results::Clock;

  JournalledResults(JournalFile file, std::shared_ptr<WorkThread> thread, Keep keep,
                    std::function<bool()> run_one, std::function<void()> cancel,
                    std::shared_ptr<wire::Leadership> leadership);

  /// The result of a task, if the journal has it. Throws ConfigError if that task had
  /// other arguments, and why the journal can't be used any more.
  std::optional<Payload> find(std::size_t index, const Digest& arguments);
  /// Tasks that end now, as they are in the journal.
  void restore(std::vector<actors::Completion> completions);
  /// Tasks that the pool is about to get.
  void expect(std::size_t first, const std::vector<Digest>& arguments);
  /// Blocks while results come faster than they can be written.
  void wait_room();
  /// No more tasks will come.
  void fed();

  void deliver(std::vector<actors::Completion> completions) override;
  void fail_missing(const std::exception_ptr& error) override;
  /// What ends from now on is not written.
  void cancel() override;

private:
  /// Results, or why there will be no others.
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
  std::mutex turn_; ///< One step at a time.

  std::mutex mutex_; ///< Guards what follows.
  std::condition_variable room_;
  std::vector<Arrival> arrived_;
  std::size_t waiting_bytes_ = 0;                     ///< In arrived_.
  std::unordered_map<std::size_t, Digest> arguments_; ///< Of the pool's tasks.
  std::size_t ended_ = 0;                             ///< Tasks, written or restored.
  bool fed_ = false;
  std::exception_ptr failure_; ///< Of the file.
  bool failed_now_ = false;    ///< The pool does not know of it yet.
  bool sync_due_ = false;      ///< The thread will see to it.

  std::mutex file_mutex_; ///< Guards what follows; taken before mutex_ if both are.
  std::optional<JournalFile> file_; ///< While it is open.
  bool dirty_ = false;              ///< Written to since it was
  Clock::time_point synced_;        ///< last synced.
};

} // namespace fiber::detail
