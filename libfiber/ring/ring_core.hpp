// SPDX-License-Identifier: Apache-2.0
// ring/ implements Ring and RingMember: jobs that exchange arrays through Gloo. It may
// include actors/, wire/ and, of libfiber/, objects and session.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "actors/ring/ring_actor.hpp"
#include "fiber/ring.hpp"
#include "libfiber/session/runtime.hpp"

namespace fiber::detail {

/// The shared state of a Ring in the program that runs it.
class RingCore final {
public:
  /// Same parameters and exceptions as RingHandle.
  RingCore(const RingOptions& options, AnyCallable call);
  std::vector<RawOutcome> run() const;

private:
  using MakeTask = decltype(actors::RingSettings::make_task);
  using StartJob = decltype(actors::RingSettings::start_job);

  actors::RingSettings settings() const;
  MakeTask task_maker() const;
  StartJob job_starter(const std::string& ring_name) const;

  const std::shared_ptr<Runtime> runtime_;
  RingOptions options_;
  const AnyCallable call_;
  PackedItem checkpoint_; ///< The file's checkpoint; empty: each run opens one in memory.
};

} // namespace fiber::detail
