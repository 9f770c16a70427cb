// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "actors/protocol/node_protocol.hpp"
#include "fiber/detail/call_feed.hpp"
#include "libfiber/pool/batch_limits.hpp"
#include "libfiber/pool/journal_stage.hpp"
#include "libfiber/pool/pool_core.hpp"

namespace fiber::detail {

/// The connection of one call to its pool.
class CallFeed::Target {
public:
  /// `with`: the same object as `of` if the call has a journal, else null.
  Target(std::shared_ptr<PoolCore> core, std::shared_ptr<const actors::Call> call,
         std::shared_ptr<CallResults> of,
         const std::shared_ptr<JournalledResults>& with = {},
         std::size_t most = actors::max_value_bytes)
    : results(std::move(of)),
      journal(with ? std::optional<JournalStage>(with) : std::nullopt),
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
      journal->submits(batch->first);
    results->add_submitted(batch->size());
    try {
      core_->tell(actors::Submit{batch});
    } catch (const Closed&) { // Nothing else would end these tasks.
      core_->fail_submitted(*results);
      throw;
    }
    core_->fail_if_gone(*results);
  }
  /// Announces that no more tasks will come. Later calls have no effect.
  void end() {
    if (std::exchange(ended_, true))
      return;
    results->all_submitted();
    if (journal)
      journal->end();
    try {
      core_->tell(actors::EndCall{call_->id});
      core_->call_fed();
    } catch (const Closed&) { // Its results are complete: all have failed.
    }
  }

  bool ended() const { return ended_; }

  const std::shared_ptr<CallResults> results;
  std::optional<JournalStage> journal;
  const std::size_t window_tasks; ///< Limit on unfinished tasks of a call with a window.
  const std::size_t max_argument_bytes; ///< Limit on one task's arguments.
  BatchLimits limits;                   ///< Of the tasks that have gathered.

private:
  std::shared_ptr<PoolCore> core_;
  std::shared_ptr<const actors::Call> call_;
  bool ended_ = false;
};

} // namespace fiber::detail
