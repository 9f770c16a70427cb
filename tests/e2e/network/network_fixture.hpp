// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "tests/e2e/network/network.hpp"
#include "tests/e2e/support/fixture.hpp"

namespace fiber::e2e {

/// Where the workers of these tests are. Each program of tests defines it.
struct Place {
  Cable::NearSide near_side = Cable::NearSide::own;
  Config config = {};       ///< With the backend.
  std::string missing = {}; ///< Why the tests can't run; empty if they can.
};
Place place_of_workers();

/// The 5th tells in its first run which connection it came by, and waits; all count
/// themselves.
std::size_t wait_5(std::size_t i);

/// A session whose workers are at the far side of a cable.
class Network : public SessionTest {
protected:
  void SetUp() override;
  ~Network() override { close(); } // Before the cable goes.

  void
  open_over_cable(std::chrono::milliseconds heartbeat_timeout = std::chrono::seconds(2),
                  std::chrono::milliseconds lease = std::chrono::seconds(5));
  Cable& cable() { return *cable_; }

  /// The worker that has the 5th task, which waits.
  struct Victim {
    pid_t pid = 0;
    std::uint16_t port = 0;
  };
  static Victim await_victim();

  /// What a worker that was lost in the 5th of 60 tasks must have cost: that task, and
  /// nothing else that anybody sees.
  void expect_lost_once(Pool& pool, MapResult<std::size_t>& results,
                        const Victim& victim);
  /// Every task ran once, on the workers there were.
  static void expect_nothing_lost(Pool& pool, std::size_t tasks);

private:
  Place place_;
  std::optional<Cable> cable_;
};

} // namespace fiber::e2e
