// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "actors/ring/ring_actor.hpp"
#include "fiber/ring.hpp"
#include "libfiber/session/runtime.hpp"

namespace fiber::detail {

/// A ring as its program holds it.
class RingCore final {
public:
  /// As RingHandle.
  RingCore(const RingOptions& options, AnyCallable call);
  std::vector<RawOutcome> run() const;

private:
  actors::RingSettings settings() const;

  const std::shared_ptr<Runtime> runtime_;
  RingOptions options_;
  const AnyCallable call_;
  PackedItem checkpoint_; ///< Of a file; else there is one for each run.
};

} // namespace fiber::detail
