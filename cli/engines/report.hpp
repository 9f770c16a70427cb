// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace fiber::cli {

/// A check has failed. what() says what is wrong, `advice` what to do about it.
struct Trouble : std::runtime_error {
  Trouble(const std::string& problem, std::string advice)
    : std::runtime_error(problem), advice(std::move(advice)) {}
  std::string advice;
};

/// The outcome of one check.
struct Check {
  enum class State { ok, failed, skipped };
  std::string engine, name;
  State state = State::ok;
  double seconds = 0;
  std::string detail; ///< What was found, or what is wrong.
  std::string advice; ///< What to do about it; empty if all is well.
};

/// The checks of `fiber doctor`, in order. Prints each one as it ends, unless they are
/// collected for JSON.
class Report {
public:
  explicit Report(bool quiet) : quiet_(quiet) {}

  /// Runs a check, which returns what it found. Trouble, or another exception, is a
  /// failure. Returns whether all is well.
  bool check(const std::string& engine, const std::string& name,
             const std::function<std::string()>& f);
  /// Adds a check that was made elsewhere.
  void add(Check check);
  /// Adds a check that can't be made, and why.
  void skip(const std::string& engine, const std::string& name, const std::string& why);

  bool failed() const;
  nlohmann::json json() const;
  const std::vector<Check>& checks() const { return checks_; }

private:
  bool quiet_;
  std::vector<Check> checks_;
};

} // namespace fiber::cli
