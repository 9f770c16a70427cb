// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "actors/slot_worker.hpp"
#include "fiber/bytes.hpp"

namespace fiber::actors {

/// What a job is told at its start, over the private channel of its backend.
struct NodeBoot {
  std::uint64_t incarnation = 0;
  std::string name;
  std::size_t first_rank = 0;
  std::size_t slots = 1;
  std::chrono::milliseconds heartbeat_interval{2500};
  std::chrono::milliseconds lease{60000};
  std::string log_level = "warn";
  CallCode initializer; ///< open is null: none.
  // Where to dial; an empty host means that the link is inherited.
  std::string host;
  std::uint16_t port = 0;
  std::string session;
  Bytes identity; ///< wire::Identity::pack()

  Bytes pack() const;
  static NodeBoot unpack(const Bytes& bytes); ///< Throws Error on anything else.
};

} // namespace fiber::actors
