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

/// One call's way into its pool.
class CallFeed::Target {
public:
  Target(std::shared_ptr<PoolCore> core, std::shared_ptr<const actors::Call> call,
         std::shared_ptr<CallResults> of, std::shared_ptr<JournalledResults> with = {},
         std::size_t most = actors::most_value_bytes)
    : results(std::move(of)), journal(std::move(with)),
      window_tasks(core->window_tasks()), most_bytes(most), core_(std::move(core)),
      call_(std::move(call)) {
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
      journal->expect(batch->first, std::exchange(digests, {}));
    results->add_submitted(batch->size());
    try {
      core_->tell(actors::Submit{batch});
    } catch (const Closed&) { // Nobody else would ever end them.
      core_->end_submitted(*results);
      throw;
    }
    core_->check_gone(*results);
  }
  /// Hands over what was taken from the journal.
  void restore() {
    if (restored.empty())
      return;
    restored_tasks += restored.size();
    restored_bytes += std::exchange(restored_now, 0);
    journal->restore(std::exchange(restored, {}));
  }
  /// Says that no more will come; once.
  void end() {
    if (std::exchange(ended_, true))
      return;
    results->all_submitted();
    if (journal)
      journal->fed();
    try {
      core_->tell(actors::EndCall{call_->id});
      core_->call_fed();
    } catch (const Closed&) { // Its results are there already: all have failed.
    }
  }

  bool ended() const { return ended_; }

  std::shared_ptr<CallResults> results;
  const std::shared_ptr<JournalledResults> journal; ///< These results; null without one.
  const std::size_t window_tasks; ///< Unfinished ones that a call with a window has.
  const std::size_t most_bytes;   ///< That one task's arguments may have.
  std::int64_t oldest = 0;        ///< When the first task that was not handed over came.
  Digest compared{};              ///< Of the arguments of the task that is being added.
  std::vector<Digest> digests;    ///< Of the arguments that were not handed over.
  std::vector<actors::Completion> restored;           ///< Not handed over yet.
  std::size_t restored_now = 0;                       ///< Bytes in it.
  std::size_t restored_tasks = 0, restored_bytes = 0; ///< That were handed over.

private:
  std::shared_ptr<PoolCore> core_;
  std::shared_ptr<const actors::Call> call_;
  bool ended_ = false;
};

} // namespace fiber::detail
