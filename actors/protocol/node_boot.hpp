// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "fiber/bytes.hpp"

namespace fiber::actors {

/// Exit codes of a job that could not become a node: the driver did not answer, or runs
/// another build, or the machine has no room for the job's threads.
inline constexpr int exit_unreachable = 74, exit_other_build = 75, exit_shortage = 76;

/// What a node is for.
enum class NodeUse : std::uint8_t {
  pool,    ///< Any number of tasks, until the driver has no more.
  process, ///< One task, whose result is the exit code of the job.
  future   ///< One task, whose result only the driver uses.
};

/// What a job needs to start as a node. It holds no secrets, since a cluster may show it.
struct NodeBoot {
  std::uint64_t incarnation = 0;
  std::string name;
  std::size_t first_rank = 0;
  std::size_t slots = 1;
  std::chrono::milliseconds heartbeat_interval{2500};
  std::chrono::milliseconds lease{60000};
  std::string log_level = "warn";
  std::chrono::nanoseconds task_timeout{0}; ///< 0: no limit.
  std::string chaos;                        ///< As Chaos::parse() reads it.
  int max_retries = 3;                      ///< The pool's.
  bool trace = false;                       ///< Whether to report when tasks ran.
  NodeUse use = NodeUse::pool;
  bool initializer = false; ///< Whether slots wait for an initializer from the driver.
  // The address to dial; the link is inherited if the host is empty.
  std::string host;
  std::uint16_t port = 0;
  std::string session;
  std::uint64_t session_tag = 0; ///< Identifies the session in handles.

  /// Returns "HOST:PORT"; empty if the link is inherited.
  std::string address() const;
  void set_address(const std::string& address); ///< Throws Error unless HOST:PORT.

  Bytes pack() const;
  static NodeBoot unpack(const Bytes& bytes); ///< Throws Error on malformed input.
};

} // namespace fiber::actors
