// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "actors/node_protocol.hpp"
#include "fiber/call_feed.hpp"
#include "libfiber/pool_core.hpp"

namespace fiber::detail {

/// One call's way into its pool.
class CallFeed::Target {
public:
  Target(std::shared_ptr<PoolCore> core, std::shared_ptr<const actors::Call> call,
         std::shared_ptr<CallResults> of, std::size_t most = actors::most_value_bytes)
    : results(std::move(of)), most_bytes(most), core_(std::move(core)),
      call_(std::move(call)) {
    core_->call_begins();
  }

  void send(Bytes bytes, std::vector<std::uint64_t> ends, KeptObjects kept) {
    auto batch = std::make_shared<actors::Batch>();
    batch->call = call_;
    batch->first = results->submitted();
    batch->ends = std::move(ends);
    batch->arguments = Payload(std::move(bytes));
    batch->kept = std::move(kept);
    results->add_submitted(batch->size());
    try {
      core_->tell(actors::Submit{batch});
    } catch (const Closed&) { // Nobody else would ever end them.
      core_->end_submitted(*results);
      throw;
    }
    core_->check_gone(*results);
  }
  /// Says that no more will come; once.
  void end() {
    if (std::exchange(ended_, true))
      return;
    results->all_submitted();
    try {
      core_->tell(actors::EndCall{call_->id});
      core_->call_fed();
    } catch (const Closed&) { // Its results are there already: all have failed.
    }
  }

  bool ended() const { return ended_; }

  std::shared_ptr<CallResults> results;
  const std::size_t most_bytes; ///< That one task's arguments may have.
  std::int64_t oldest = 0;      ///< When the first task that was not handed over came.

private:
  std::shared_ptr<PoolCore> core_;
  std::shared_ptr<const actors::Call> call_;
  bool ended_ = false;
};

} // namespace fiber::detail
