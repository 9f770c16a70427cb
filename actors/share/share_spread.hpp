// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "actors/objects/peer_introductions.hpp"
#include "actors/protocol/node_protocol.hpp"
#include "wire/link.hpp"

namespace fiber::actors {

/// Knows whether jobs of a session can pass shared values on to each other. Firewalls may
/// let no job reach another one, and a failed attempt costs its receiver seconds: after
/// several there are none for a while, which grows.
///
/// Thread safety: none.
class SharePassing {
public:
  using Clock = std::chrono::steady_clock;

  bool works(Clock::time_point now) const { return mostly_works() || now >= again_; }
  void succeeded() { ++done_; }
  /// A job could not reach another one.
  void failed(Clock::time_point now) {
    ++failed_;
    if (mostly_works())
      return;
    again_ = now + pause_;
    pause_ = std::min<Clock::duration>(2 * pause_, std::chrono::hours(1));
  }

private:
  bool mostly_works() const { return failed_ < 2 || failed_ <= done_ / 4; }

  std::size_t done_ = 0, failed_ = 0;
  Clock::time_point again_{};
  Clock::duration pause_ = std::chrono::minutes(1);
};

/// Decides, in the driver, how the jobs of all machines come by one shared value. The
/// driver sends it to the first job of each of two machines. The first job of a further
/// machine gets it from a job that has it, over a link of their own, so that the number
/// of holders doubles while the driver sends nothing; only if that fails, or takes too
/// long, from the driver. The other jobs of a machine map the memory of its first job.
///
/// A job that lies can make others wait, but not for ever. It can't make jobs of another
/// machine use another value, since what is passed on has a digest.
///
/// Thread safety: none.
class ShareSpread {
public:
  using Clock = SharePassing::Clock;
  struct Job {
    std::uint64_t incarnation = 0;
    std::weak_ptr<wire::Link> link;
  };
  /// What the driver must do next.
  struct Step {
    enum class Kind {
      send,   ///< Send the value.
      place,  ///< Let the job put the value into memory that others can map.
      map,    ///< Let the job map the value.
      listen, ///< Let the job listen, for `call`.
      dial,   ///< Let the job dial, as `call` says.
      digest  ///< Make the digest, and call digested().
    };
    Kind kind;
    Job to = {};
    MemoryPlace place = {};
    PeerCall call = {};
  };
  using Steps = std::vector<Step>;

  /// Smaller values are always sent by the driver.
  static constexpr std::size_t min_passed = 1024 * 1024;
  /// How many machines the driver sends the value to, if the others can get it from them.
  static constexpr std::size_t max_sent = 2;
  /// How long passing a value on may take: 10 s, and 1 s for each 1 MiB.
  static Clock::duration max_time(std::size_t bytes) {
    return std::chrono::seconds(10 + bytes / (1024 * 1024));
  }

  /// `passing` outlives this.
  ShareSpread(std::uint64_t id, std::size_t bytes, SharePassing& passing)
    : id_(id), bytes_(bytes), passing_(passing) {}

  /// A job of that machine has no copy and wants one. It says so once.
  Steps wanted(const Job& job, std::uint64_t machine, Clock::time_point now);
  /// A job has waited for the value for a while.
  Steps waits(std::uint64_t incarnation, Clock::time_point now);
  /// A job can't get the value in the way that it was told. `unreached`: since it can't
  /// connect to another job.
  Steps failed(const Job& job, bool unreached, Clock::time_point now);
  /// A job has received the value, from the driver or another job.
  Steps arrived(std::uint64_t incarnation, Clock::time_point now);
  /// A job has put the value into memory that others of its machine can map, or could
  /// not: then `fd` is -1.
  Steps placed(const MemoryPlace& place, std::uint64_t incarnation);
  /// A job that shall pass the value on has answered the call to listen. `answer`: the
  /// call to the job that shall dial; none if it can't.
  Steps listens(std::uint64_t incarnation, const PeerCall& call,
                const std::optional<PeerCall>& answer, Clock::time_point now);
  Steps digested(const detail::Digest& digest);
  /// A job is gone, or nothing that it says is believed any more.
  Steps gone(std::uint64_t incarnation, Clock::time_point now);

private:
  /// The copy of a machine.
  struct Copy {
    enum class Way { undecided, sent, passed };
    Job holder; ///< The first job that wanted it.
    Way way = Way::undecided;
    std::uint64_t from = 0;         ///< The job that is passing it on, or 0.
    PeerSecret secret{};            ///< Of that job's call.
    std::optional<PeerCall> answer; ///< The call to dial.
    Clock::time_point until{};      ///< The driver sends the value then.
    bool arrived = false;
    bool passes_on = false; ///< The holder is passing it on to another job.
    bool asked = false;     ///< The holder was asked to put it into memory.
    MemoryPlace place = {}; ///< `fd` is -1 unless the holder has answered with a place.
    std::vector<Job> waiting;
  };

  struct Asked {
    std::uint64_t machine = 0;
    Clock::time_point since{};
  };

  void advance(Steps& steps, Clock::time_point now);
  void send_if_late(std::uint64_t incarnation, Steps& steps, Clock::time_point now);
  static void send(Copy& copy, Steps& steps);
  void introduce(Copy& source, Copy& copy, Steps& steps, Clock::time_point now);
  void let_dial(Copy& copy, Steps& steps);
  static void ask_for_memory(Copy& copy, Steps& steps);
  void send_instead(Copy& copy, Steps& steps);
  Copy* copy_of(std::uint64_t holder);
  void free_source(Copy& copy);

  const std::uint64_t id_;
  const std::size_t bytes_;
  SharePassing& passing_;
  std::optional<detail::Digest> digest_;
  bool digest_wanted_ = false;
  std::map<std::uint64_t, Asked> asked_; ///< By incarnation.
  std::map<std::uint64_t, Copy> copies_; ///< By machine.
};

} // namespace fiber::actors
