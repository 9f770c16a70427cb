// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "actors/protocol/node_protocol.hpp"
#include "fiber/detail/call_feed.hpp"
#include "libfiber/journal/journalled_results.hpp"
#include "libfiber/pool/pool_core.hpp"

namespace fiber::detail {

/// The connection of one call to its pool: sends batches and restores journalled results.
class CallFeed::Target {
public:
  Target(std::shared_ptr<PoolCore> core, std::shared_ptr<const actors::Call> call,
         std::shared_ptr<CallResults> of, std::shared_ptr<JournalledResults> with = {},
         std::size_t most = actors::max_value_bytes)
    : results(std::move(of)), journal(std::move(with)),
      window_tasks(core->window_tasks()), max_argument_bytes(most),
      core_(std::move(core)), call_(std::move(call)) {
    core_->call_begins();
  }

  void send(Bytes bytes, std::vector<std::uint64_t> ends, KeptObjects kept,
            std::size_t to_come) {
    auto batch = std::make_shared<actors::TaskBatch>();
    batch->call = call_;
    batch->first = results->submitted();
    batch->ends = std::move(ends);
    batch->arguments = Payload(std::move(bytes));
    batch->kept = std::move(kept);
    batch->to_come = to_come;
    if (journal)
      journal->expect(batch->first, std::exchange(pending_digests, {}));
    results->add_submitted(batch->size());
    try {
      core_->tell(actors::Submit{batch});
    } catch (const Closed&) { // Nothing else would end these tasks.
      core_->fail_submitted(*results);
      throw;
    }
    core_->fail_if_gone(*results);
  }
  /// Delivers the results that were restored from the journal since the last call.
  void restore() {
    if (restored.empty())
      return;
    restored_tasks += restored.size();
    restored_bytes += std::exchange(pending_bytes, 0);
    journal->restore(std::exchange(restored, {}));
  }
  /// Announces that no more tasks will come. Later calls have no effect.
  void end() {
    if (std::exchange(ended_, true))
      return;
    results->all_submitted();
    if (journal)
      journal->fed();
    try {
      core_->tell(actors::EndCall{call_->id});
      core_->call_fed();
    } catch (const Closed&) { // Its results are complete: all have failed.
    }
  }

  bool ended() const { return ended_; }

  std::shared_ptr<CallResults> results;
  const std::shared_ptr<JournalledResults> journal; ///< Equal to `results`, or null.
  const std::size_t window_tasks; ///< Limit on unfinished tasks of a call with a window.
  const std::size_t max_argument_bytes; ///< Limit on one task's arguments.
  std::int64_t oldest_pending = 0;      ///< When the first pending task came, in ns.
  Digest current_digest{};              ///< Digest of the arguments of the current task.
  std::vector<Digest> pending_digests;  ///< Digests of the pending tasks' arguments.
  std::vector<actors::Completion> restored;           ///< Restored results, pending.
  std::size_t pending_bytes = 0;                      ///< Bytes in `restored`.
  std::size_t restored_tasks = 0, restored_bytes = 0; ///< Totals delivered.

private:
  std::shared_ptr<PoolCore> core_;
  std::shared_ptr<const actors::Call> call_;
  bool ended_ = false;
};

} // namespace fiber::detail
