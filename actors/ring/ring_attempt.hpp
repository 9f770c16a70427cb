// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <exception>
#include <optional>
#include <string>
#include <vector>

#include "fiber/detail/results.hpp"
#include "fiber/error.hpp"

namespace fiber::actors {

/// What a member's job leaves instead of a result when it lost contact to the others: as
/// a rule one of them was lost or has failed, which its own job tells.
class RingBroken : public Error {
public:
  using Error::Error;
};

/// What has become of the members in one attempt of a ring, and what follows for all of
/// them. No clock, no message.
class RingAttempt {
public:
  enum class Fate {
    open,    ///< Nothing is decided yet.
    done,    ///< All members have a result.
    lost,    ///< A member was lost: all have to begin again.
    failed,  ///< The function threw at a member: so it would again.
    refused, ///< There is no job for a member, and there will be none.
  };

  explicit RingAttempt(std::size_t members) : outcomes_(members) {}

  /// How the function ended at a member, or why nobody knows. The first one that decides
  /// counts; after that nothing does.
  void ended(std::size_t rank, detail::RawOutcome outcome);
  /// Nobody has said in time why a member lost contact: then that is all there is.
  void give_up_waiting();

  Fate fate() const { return fate_; }
  /// Whether a member lost contact and the cause is not known yet.
  bool wants_cause() const { return fate_ == Fate::open && broken_.has_value(); }
  /// Of the member that decided.
  std::size_t rank() const { return rank_; }
  const std::exception_ptr& error() const { return error_; }
  /// By rank; only if it is done.
  std::vector<detail::RawOutcome> take_results() { return std::move(outcomes_); }

private:
  struct Broken {
    std::size_t rank = 0;
    std::string text;
  };

  void decide(Fate fate, std::size_t rank, std::exception_ptr error);

  Fate fate_ = Fate::open;
  std::size_t rank_ = 0;
  std::exception_ptr error_;
  std::optional<Broken> broken_; ///< The first.
  std::vector<detail::RawOutcome> outcomes_;
  std::size_t results_ = 0;
};

/// What to throw when the ring gives up: the losses of its attempts, each a WorkerLost
/// and the rank that it was of. At least one.
struct RingLoss {
  std::size_t rank = 0;
  std::exception_ptr error;
};
std::exception_ptr ring_lost(const std::string& ring,
                             const std::vector<RingLoss>& losses);

} // namespace fiber::actors
