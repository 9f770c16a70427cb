// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/unique_fd.hpp"
#include "tests/e2e/support/own_namespace.hpp"

namespace fiber::e2e {

/// A real network between the driver and its workers, to be broken: two network
/// namespaces, each with an end of a cable, and a thread that carries every IP packet
/// from one to the other, late or never. The kernels' TCP stands on both sides of it.
///
/// The driver has `driver_address` on the near side. Processes started meanwhile that
/// call enter_far_side() are on the far one.
class Cable {
public:
  /// The network of the near side.
  enum class NearSide {
    own,  ///< A new one, which the thread that makes the cable enters for good.
    here, ///< The present one, where an engine's commands reach the engine. Needs root.
  };

  static constexpr const char* driver_address = "10.9.0.1";
  static constexpr const char* worker_address = "10.9.0.2";

  /// Which packets a cut keeps back.
  enum class Cut {
    none,
    both,
    towards_driver,
    towards_worker,
    data_towards_worker, ///< What carries data; bare acknowledgements pass.
  };

  struct Counts {
    std::uint64_t carried = 0, cut = 0, lost = 0, delayed = 0;
  };

  /// Throws NoNamespace. Call it while this process has but one thread.
  explicit Cable(NearSide near_side);
  ~Cable();
  Cable(const Cable&) = delete;
  Cable& operator=(const Cable&) = delete;

  /// From now on every packet takes so long.
  void delay(std::chrono::milliseconds each_way);
  /// From now on each packet is lost with this probability.
  void lose(double probability, std::uint64_t seed);
  /// Keeps packets back until the next call: those of the connections with these ports on
  /// the workers' side, or all of them if there are none.
  void cut(Cut what, std::vector<std::uint16_t> ports = {});
  void mend() { cut(Cut::none); }
  Counts counts() const;

private:
  using Clock = std::chrono::steady_clock;
  struct Packet {
    Clock::time_point due;
    int to = -1;
    std::vector<char> bytes;
  };

  void carry();
  void take(const UniqueFd& from, const UniqueFd& to);
  bool keeps_back(const std::vector<char>& packet, bool to_driver) const;
  void deliver();
  int until_next() const;

  UniqueFd far_side_, driver_end_, worker_end_, stop_;

  mutable std::mutex mutex_; // Guards what follows.
  std::chrono::milliseconds delay_{0};
  std::bernoulli_distribution loss_{0};
  std::mt19937_64 random_;
  Cut cut_ = Cut::none;
  std::vector<std::uint16_t> ports_;
  Counts counts_;

  std::deque<Packet> under_way_; // Of the thread alone.
  std::thread thread_;
};

/// Goes to the far side of the Cable that the environment names, if any. For the first
/// line of main().
void enter_far_side();

/// The port of this process's connection to the driver, when it is on the far side.
std::uint16_t port_to_driver();

} // namespace fiber::e2e
