// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "fiber/bytes.hpp"

namespace fiber::actors {

/// Exit codes of a job that could not become a node: nobody answers where it dials; who
/// answers runs another build.
inline constexpr int exit_unreachable = 74, exit_other_build = 75;

/// What a node is for.
enum class NodeUse : std::uint8_t {
  pool,    ///< Any number of tasks, until the driver has no more.
  process, ///< One task, whose result is the code that the job exits with.
  future   ///< One task, whose result is of use to the driver alone.
};

/// What a job is told at its start. No secrets: a cluster may show it.
struct NodeBoot {
  std::uint64_t incarnation = 0;
  std::string name;
  std::size_t first_rank = 0;
  std::size_t slots = 1;
  std::chrono::milliseconds heartbeat_interval{2500};
  std::chrono::milliseconds lease{60000};
  std::string log_level = "warn";
  std::chrono::nanoseconds task_timeout{0}; ///< 0: no limit.
  std::string chaos;                        ///< Chaos::parse().
  int max_retries = 3;                      ///< As the pool has it.
  bool trace = false;                       ///< Whether it reports when its tasks ran.
  NodeUse use = NodeUse::pool;
  bool initializer = false; ///< Whether its slots wait for one to come over the link.
  // Where to dial; an empty host means that the link is inherited.
  std::string host;
  std::uint16_t port = 0;
  std::string session;
  std::uint64_t session_tag = 0; ///< Tells handles of one session from those of another.

  Bytes pack() const;
  static NodeBoot unpack(const Bytes& bytes); ///< Throws Error on anything else.
};

} // namespace fiber::actors
