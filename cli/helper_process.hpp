// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>

#include <nlohmann/json.hpp>
#include <sys/types.h>

#include "base/unique_fd.hpp"

namespace fiber::cli {

/// A child of this process that makes one answer, for questions to engines: their
/// environments differ, and a command or a connection may hang. It is killed at the end,
/// with all that it has started.
class HelperProcess {
public:
  /// Starts the child, which calls `answer`. An exception becomes the answer
  /// {"problem": what}.
  explicit HelperProcess(const std::function<nlohmann::json()>& answer);
  HelperProcess(HelperProcess&& other) noexcept;
  HelperProcess& operator=(HelperProcess&&) = delete;
  ~HelperProcess();

  /// Waits for the answer, which is an object. It is {"problem": ...} if there is none at
  /// `limit`, `patience` after the question.
  nlohmann::json read(std::chrono::steady_clock::time_point limit,
                      std::chrono::milliseconds patience);

private:
  pid_t pid_ = 0;
  UniqueFd out_;
};

} // namespace fiber::cli
