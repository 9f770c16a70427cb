// SPDX-License-Identifier: Apache-2.0
#include "fiber/error.hpp"

#include <utility>

#include "base/exit_code_text.hpp"
#include "base/failure.hpp"
#include "base/never_destroyed.hpp"
#include "base/stack_text.hpp"
#include "base/terminal_text.hpp"

namespace fiber {
namespace {

std::string thrown_text(const Failure& failure) {
  return " threw " + failure.type +
         (failure.type.empty() || failure.what.empty() ? "" : ": ") + failure.what;
}

/// What jobs and engines say becomes part of what(), which programs print.
std::string harmless(const std::string& text) {
  return for_terminal(text, Passing::lines);
}

std::string remote_text(const Failure& failure, std::size_t index, int attempt,
                        const std::string& job, const std::string& what) {
  auto where = what + " " + std::to_string(index) + " (attempt " +
               std::to_string(attempt) + (job.empty() ? "" : ", job " + job) + ")";
  return harmless(where + thrown_text(failure));
}

std::string lost_text(std::size_t index, int attempts,
                      const std::vector<std::optional<int>>& exits,
                      const std::string& reason) {
  auto text = "task " + std::to_string(index) + " lost its worker in each of " +
              std::to_string(attempts) + (attempts == 1 ? " run" : " runs") + " (";
  for (std::size_t i = 0; i < exits.size(); ++i)
    text += (i > 0 ? ", " : "") + exit_code_text(exits[i]);
  return harmless(text + ")" + (reason.empty() ? "" : "; last: " + reason));
}

} // namespace

RemoteError::RemoteError(Failure failure, std::size_t index, int attempt, std::string job,
                         const std::string& what)
  : Error(remote_text(failure, index, attempt, job, what)),
    failure_(std::make_shared<const Failure>(std::move(failure))), index_(index),
    attempt_(attempt), job_(std::move(job)) {}

RemoteError::RemoteError(Failure failure)
  : Error(harmless("the call" + thrown_text(failure))),
    failure_(std::make_shared<const Failure>(std::move(failure))), index_(0),
    attempt_(1) {}

void RemoteError::rethrow_original() const {
  rethrow(*failure_);
  throw *this;
}

WorkerLost::WorkerLost(std::size_t index, int attempts,
                       std::vector<std::optional<int>> exits, std::string reason,
                       LastWords last)
  : Error(lost_text(index, attempts, exits, reason)), index_(index), attempts_(attempts),
    exits_(std::move(exits)), reason_(std::move(reason)), last_(std::move(last)) {}

WorkerLost::WorkerLost(const std::string& text, std::optional<int> exit,
                       std::string reason, LastWords last)
  : Error(harmless(text)), index_(0), attempts_(1), exits_{exit},
    reason_(std::move(reason)), last_(std::move(last)) {}

WorkerLost::WorkerLost(const std::string& text, std::size_t index,
                       std::vector<std::optional<int>> exits, std::string reason,
                       LastWords last)
  : Error(harmless(text)), index_(index), attempts_(static_cast<int>(exits.size())),
    exits_(std::move(exits)), reason_(std::move(reason)), last_(std::move(last)) {}

const char* WorkerLost::what() const noexcept {
  if (last_.stack)
    try {
      return last_.stack->below(Error::what()).c_str();
    } catch (...) { // Falls back to the sentence alone.
    }
  return Error::what();
}

const std::string& WorkerLost::stack() const {
  static const auto& unknown = *never_destroyed<std::string>();
  return last_.stack ? last_.stack->text() : unknown;
}

BackendError::BackendError(std::string operation, int status, std::string detail)
  : Error(harmless(operation + ": " + detail)), operation_(std::move(operation)),
    status_(status), detail_(std::move(detail)) {}

ConfigError::ConfigError(std::string key, std::string place, std::string valid,
                         const std::string& problem)
  : Error(key + " in " + place + ": " + problem + "; valid: " + valid),
    key_(std::move(key)), place_(std::move(place)), valid_(std::move(valid)) {}

} // namespace fiber
