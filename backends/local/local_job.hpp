// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backends/backend.hpp"
#include "backends/engine/child_exit.hpp"
#include "backends/engine/message_channel.hpp"
#include "backends/output/output.hpp"

namespace fiber::backends::local {

/// One job, from its acceptance to its last event. On the loop's thread only, once
/// admitted.
struct LocalJob {
  enum class State {
    queued, ///< Waits for the zygote, or for its turn.
    asked, ///< The zygote has the request, or the process exists and has not entered yet.
    running,  ///< It has announced itself.
    finished, ///< Gone; its output is being read to the end.
  };

  std::uint64_t serial = 0;
  JobSpec spec;
  std::uint64_t descriptors = 0; ///< Its soft limit; 0: the one it inherits.
  std::vector<int> cores;        ///< That it is kept to; none: the driver's.
  State state = State::queued;
  bool plain = false;       ///< Our own child; the zygote's otherwise.
  std::uint64_t zygote = 0; ///< Which one was asked.
  int attempts = 0;
  std::optional<std::chrono::milliseconds> terminate; ///< Asked for before it ran.
  bool terminated = false;
  int pid = 0;
  UniqueFd pidfd;
  UniqueFd control; ///< A plain job's way to announce itself.
  std::shared_ptr<SharedPage> page;

  // What it is started with; kept until it has announced itself, as it may be asked for
  // again.
  UniqueFd link, start, output;
  bool output_added = false;

  /// Makes what is missing of the above. Throws EngineError.
  void prepare(Output& reader);
  /// The request for it, and the descriptors that go along.
  Message request(std::vector<int>& fds) const;
  /// Drops what only its start needed.
  void started();
};

} // namespace fiber::backends::local
