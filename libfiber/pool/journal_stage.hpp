// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "libfiber/journal/journalled_results.hpp"
#include "libfiber/pool/batch_limits.hpp"

namespace fiber::detail {

/// The journal's part in a feed. A task that ended in an earlier run of the program gets
/// its result from the journal, and is not submitted. The journal is told the arguments
/// of the tasks that are. Not thread-safe.
class JournalStage {
public:
  explicit JournalStage(std::shared_ptr<JournalledResults> journal);

  /// Looks for the result of a task. Nothing if the journal lacks it: the task has to
  /// run. Throws as JournalledResults::find() does.
  std::optional<Payload> find(std::size_t index, const Bytes& arguments);
  /// Keeps a result that was found. Returns whether deliver() is due.
  bool add(std::size_t index, Payload value);
  /// Completes the tasks whose results were kept since the last call.
  void deliver();

  /// The task that find() has last looked for will run.
  void will_run() { to_submit_.push_back(current_); }
  /// Those tasks are about to be submitted; `first` is the index of the first of them.
  void submits(std::size_t first);
  /// They are submitted. Blocks while results come faster than they can be written.
  void submitted() { journal_->wait_room(); }
  /// No more tasks will come.
  void end() { journal_->fed(); }

  // How many tasks were completed from the journal, and the bytes of their results.
  std::size_t tasks() const { return tasks_; }
  std::size_t bytes() const { return bytes_; }

private:
  const std::shared_ptr<JournalledResults> journal_;
  Digest current_{};              ///< Of the arguments that find() was last given.
  std::vector<Digest> to_submit_; ///< Of the tasks that will run.
  std::vector<actors::Completion> found_;
  std::size_t found_bytes_ = 0;
  BatchLimits limits_; ///< Of found_.
  std::size_t tasks_ = 0, bytes_ = 0;
};

} // namespace fiber::detail
