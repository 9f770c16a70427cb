// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "actors/driver/node_link_actor.hpp"
#include "actors/protocol/messages.hpp"
#include "backends/backend.hpp"

namespace fiber::actors {

/// The job that is to become a node: the job backend is asked for it.
struct NodeJob {
  backends::JobSpec spec;
  std::string dialled; ///< Where it dials: HOST:PORT.
};
NodeJob make_node_job(const NodeServices& services, const NodeTemplate& job_template,
                      const NodeOrder& order, std::uint64_t incarnation);

/// How far a job has come on its way to a node.
struct NodeStartup {
  std::string build;   ///< Which it must be of.
  std::string dialled; ///< As NodeJob has it.
  bool runs = false;   ///< The engine says so.
  bool linked = false;
  bool up = false; ///< It is a node.
};

/// Adds to what is known of a node's loss what the end of its job says. `lost.output` is
/// what the job wrote last; it stays there without crash lines if `keep_output`.
void describe_end(NodeLost& lost, const backends::JobEvent& event,
                  const NodeStartup& start, bool keep_output);

} // namespace fiber::actors
