// SPDX-License-Identifier: Apache-2.0
#include "actors/ring/ring_attempt.hpp"

#include <optional>
#include <typeinfo>
#include <utility>

#include "base/demangle.hpp"
#include "base/exit_code_text.hpp"

namespace fiber::actors {
namespace {

/// Returns the text that follows the name of the exception's type.
std::string text_of(const RemoteError& error) {
  std::string text = error.what();
  auto at = text.find(error.type());
  auto from = at + error.type().size() + 2; // ": "
  return at == text.npos || from >= text.size() ? text : text.substr(from);
}

} // namespace

void RingAttempt::ended(std::size_t rank, detail::RawOutcome outcome) {
  if (fate_ != Fate::open || rank >= outcomes_.size())
    return;
  if (!outcome.error) {
    outcomes_[rank] = std::move(outcome);
    if (++results_ == outcomes_.size())
      fate_ = Fate::done;
    return;
  }
  try {
    std::rethrow_exception(outcome.error);
  } catch (const RemoteError& error) {
    if (error.type() != demangle(typeid(RingBroken).name()))
      decide(Fate::failed, rank, outcome.error);
    else if (!broken_)
      broken_ = {rank, text_of(error)};
  } catch (const WorkerLost&) {
    decide(Fate::lost, rank, outcome.error);
  } catch (...) {
    decide(Fate::refused, rank, outcome.error);
  }
}

void RingAttempt::give_up_waiting() {
  if (wants_cause())
    decide(Fate::lost, broken_->rank,
           std::make_exception_ptr(
             WorkerLost("a ring broke", std::nullopt, broken_->text, LastWords{})));
}

void RingAttempt::decide(Fate fate, std::size_t rank, std::exception_ptr error) {
  fate_ = fate;
  rank_ = rank;
  error_ = std::move(error);
}

std::exception_ptr ring_lost(const std::string& ring,
                             const std::vector<RingLoss>& losses) {
  std::string list, reason;
  std::vector<std::optional<int>> exits;
  LastWords last;
  for (auto& loss : losses) {
    try {
      std::rethrow_exception(loss.error);
    } catch (const WorkerLost& error) {
      exits.push_back(error.exits().back());
      reason = error.reason();
      last = error.last_words();
    } catch (...) {
      exits.emplace_back(); // Unknown.
    }
    list += (list.empty() ? "rank " : ", rank ") + std::to_string(loss.rank) + ": " +
            exit_code_text(exits.back());
  }
  auto n = losses.size();
  auto text =
    ring + " lost a member in " +
    (n == 1 ? "its only attempt" : "each of " + std::to_string(n) + " attempts") + " (" +
    list + ")" + (reason.empty() ? "" : "; last: " + reason);
  return std::make_exception_ptr(WorkerLost(text, losses.back().rank, std::move(exits),
                                            std::move(reason), std::move(last)));
}

} // namespace fiber::actors
