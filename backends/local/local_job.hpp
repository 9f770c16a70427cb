// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backends/backend.hpp"
#include "backends/engine/child_exit.hpp"
#include "backends/engine/message_channel.hpp"
#include "backends/output/output.hpp"

namespace fiber::backends::local {

/// A job, from its acceptance to its last event. Once admitted, it is used on the loop's
/// thread only.
struct LocalJob {
  enum class State {
    queued, ///< Waiting for the zygote or for its turn.
    /// The zygote has the request, or the process exists but has not announced itself.
    requested,
    running,  ///< The process has announced itself.
    finished, ///< Ended; the rest of its output is being read.
  };

  std::uint64_t serial = 0;
  JobSpec spec;
  std::uint64_t descriptors = 0; ///< Soft limit for the job; 0: inherited.
  std::vector<int> cores;        ///< Cores to pin it to; empty: none.
  State state = State::queued;
  bool own_program = false; ///< It must not be forked from the zygote.
  bool plain = false;       ///< Our own child rather than the zygote's.
  std::uint64_t zygote = 0; ///< Number of the zygote that was asked.
  int attempts = 0;
  /// Grace, if requested before it ran.
  std::optional<std::chrono::milliseconds> terminate;
  bool terminated = false;
  int pid = 0;
  UniqueFd pidfd;
  UniqueFd control; ///< Channel on which a plain job announces itself.
  std::shared_ptr<SharedPage> page;

  // Start parameters, kept until the job has announced itself, because the request may
  // be repeated.
  UniqueFd link, start, output;
  bool output_added = false;

  /// Creates the missing start parameters. Throws EngineError.
  void prepare(Output& reader);
  /// Returns the request for this job, and in `fds` the descriptors that go with it.
  Message request(std::vector<int>& fds) const;
  /// Drops the start parameters.
  void started();
};

} // namespace fiber::backends::local
