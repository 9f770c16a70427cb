// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "actors/driver/node_link_actor.hpp"
#include "actors/protocol/messages.hpp"
#include "backends/backend.hpp"
#include "fiber/error.hpp"

namespace fiber::actors {

/// A job that is to become a node, as ordered from the job backend.
struct NodeJob {
  backends::JobSpec spec;
  std::string dialled; ///< The HOST:PORT that it dials.
};
NodeJob make_node_job(const NodeServices& services, const NodeTemplate& job_template,
                      const NodeOrder& order, std::uint64_t incarnation);

/// How far the startup of a node has come, and how its link has ended.
struct NodeStartup {
  std::string build;         ///< The build that the job must be of.
  std::string dialled;       ///< NodeJob::dialled.
  bool runs = false;         ///< The engine has reported that the job runs.
  bool linked = false;       ///< The job has connected.
  bool up = false;           ///< The node is ready for tasks.
  std::string link_end = {}; ///< Why its link has ended.
  bool asked_to_end = false; ///< The driver has asked the engine to end it.
  /// Whether it ran on after that, and was killed for that. Perhaps: it may have ended
  /// before, and its engine reported that late.
  enum class RanOn { no, perhaps, yes } ran_on = RanOn::no;

  /// Notes that no end of `job` was reported when its link had ended. Does nothing if the
  /// job was asked to end.
  void outlived_link(const backends::Job* job);
};

/// Makes the result bytes of a job own the objects whose handles they contain, until they
/// are unpacked. Call it before the job's next message, which may release these objects.
TaskResults attach_handles(TaskResults results, std::uint64_t incarnation,
                           ObjectSpace& objects);

/// Returns the cause if an engine has created no job, by its errno or HTTP status and its
/// words.
LossCause cause_of_refusal(int status, const std::string& words);

/// Says that the initializer of a node has failed.
std::string reason_of_initializer(const Failure& failure);

/// Completes `lost` from the end of the node's job. `lost.output` is the last output of
/// the job; it stays there, without crash lines, if `keep_output`.
void describe_end(NodeLost& lost, const backends::JobEvent& event,
                  const NodeStartup& start, bool keep_output);

} // namespace fiber::actors
