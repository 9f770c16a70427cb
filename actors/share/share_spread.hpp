// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "actors/objects/peer_introductions.hpp"
#include "actors/protocol/node_protocol.hpp"
#include "wire/link.hpp"

namespace fiber::actors {

/// Counts how often one job has passed a shared value on to another. Firewalls may let no
/// job reach another one; a failed attempt costs its receiver seconds.
struct SharePassing {
  std::size_t done = 0, failed = 0;
  bool works() const { return failed < 2 || failed <= done / 4; }
};

/// Decides, in the driver, how the jobs of all machines come by one shared value. The
/// driver sends it to the first job of each of two machines. The first job of a further
/// machine gets it from a job that has it, over a link of their own, so that the number
/// of holders doubles while the driver sends nothing; only if that fails, from the
/// driver. The other jobs of a machine map the memory of its first job.
///
/// Thread safety: none.
class ShareSpread {
public:
  struct Job {
    std::uint64_t incarnation = 0;
    std::weak_ptr<wire::Link> link;
  };
  /// What the driver must do next.
  struct Step {
    Op op; ///< shared: send the value; share_memory, share_mapped, peer_listen, peer_dial
    Job to;
    MemoryPlace place = {}; ///< For share_mapped.
    PeerCall call = {};     ///< For peer_listen and peer_dial.
  };
  using Steps = std::vector<Step>;

  /// Smaller values are always sent by the driver.
  static constexpr std::size_t min_passed = 1024 * 1024;
  /// How many machines the driver sends the value to, if the others can get it from them.
  static constexpr std::size_t most_sent = 2;

  /// `passing` outlives this.
  ShareSpread(std::uint64_t id, std::size_t bytes, SharePassing& passing)
    : id_(id), passed_on_(bytes >= min_passed), passing_(passing) {}

  /// A job of that machine has no copy and wants one.
  Steps wanted(const Job& job, std::uint64_t machine);
  /// A job can't get the value in the way that it was told.
  Steps failed(const Job& job);
  /// A job has received the value, from the driver or another job.
  Steps arrived(std::uint64_t incarnation);
  /// A job has put the value into memory that others of its machine can map, or could
  /// not: then `fd` is -1.
  Steps placed(const MemoryPlace& place, std::uint64_t incarnation);
  /// A job that shall pass the value on has answered Op::peer_listen. `link_host`: the
  /// address of its own link, empty if that is not by TCP.
  Steps listens(std::uint64_t incarnation, const PeerCall& call,
                const std::string& link_host);
  Steps gone(std::uint64_t incarnation);

private:
  /// The copy of a machine.
  struct Copy {
    enum class Way { undecided, sent, passed };
    Job holder; ///< The first job that wanted it.
    Way way = Way::undecided;
    std::uint64_t from = 0; ///< The job that passes it on.
    PeerSecret secret{};
    bool arrived = false;
    bool passes_on = false; ///< The holder is passing it on to another job.
    bool asked = false;     ///< The holder was asked to put it into memory.
    MemoryPlace place = {}; ///< `fd` is -1 until the holder has answered.
    std::vector<Job> waiting;
  };

  void advance(Steps& steps);
  void send(Copy& copy, Steps& steps);
  void introduce(Copy& source, Copy& copy, Steps& steps);
  void ask_for_memory(Copy& copy, Steps& steps);
  void fail(Copy& copy, Steps& steps);
  Copy* copy_of(std::uint64_t holder);
  void free_source(const Copy& copy);

  const std::uint64_t id_;
  const bool passed_on_;
  SharePassing& passing_;
  std::map<std::uint64_t, Copy> copies_; ///< By machine.
};

} // namespace fiber::actors
