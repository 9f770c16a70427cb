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

/// The failure of a member that has lost contact to the others. Usually one of them was
/// lost or has failed, which its own job reports as the cause.
class RingBroken : public Error {
public:
  using Error::Error;
};

/// The outcomes of the members in one attempt of a ring, and what follows for all of
/// them. No clock, no message.
class RingAttempt {
public:
  enum class Fate {
    open,    ///< Nothing is decided yet.
    done,    ///< All members have a result.
    lost,    ///< A member was lost: all are restarted.
    failed,  ///< The function threw at a member: a restart is useless.
    refused, ///< A member has no job, and there will be none.
  };

  explicit RingAttempt(std::size_t members) : outcomes_(members) {}

  /// Notes how the function ended at a member. The first outcome that decides the fate
  /// counts; later ones are ignored.
  void ended(std::size_t rank, detail::RawOutcome outcome);
  /// The cause of a lost contact was not reported in time: counts it as a loss.
  void give_up_waiting();

  Fate fate() const { return fate_; }
  /// Returns whether a member lost contact and the cause is not known yet.
  bool wants_cause() const { return fate_ == Fate::open && broken_.has_value(); }
  /// Returns the rank of the member that decided the fate.
  std::size_t rank() const { return rank_; }
  const std::exception_ptr& error() const { return error_; }
  /// Returns the results by rank. Requires Fate::done.
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
  std::optional<Broken> broken_; ///< The first member that lost contact.
  std::vector<detail::RawOutcome> outcomes_;
  std::size_t results_ = 0;
};

/// The loss that ended an attempt: a WorkerLost, and the rank of the lost member.
struct RingLoss {
  std::size_t rank = 0;
  std::exception_ptr error;
};
/// Returns the error of a ring that gives up. Requires at least one loss.
std::exception_ptr ring_lost(const std::string& ring,
                             const std::vector<RingLoss>& losses);

} // namespace fiber::actors
