// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/types.h>

namespace fiber::cli {

/// Waits until `condition` holds. Returns false after a generous time.
bool wait_until(const std::function<bool()>& condition);

/// Returns whether `text` contains `part`.
bool has(const std::string& text, const std::string& part);

/// A driver in a process of its own, which has printed "ready". It is killed, with all
/// that it started, at the end of the test.
class Driver {
public:
  using Variables = std::map<std::string, std::string>;

  Driver(const std::vector<std::string>& arguments, const Variables& variables);
  ~Driver();
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  pid_t pid() const { return pid_; }
  std::string id() const { return std::to_string(pid_); }
  void send(int signal) const;
  /// Waits for its end and returns the signal that ended it, or 0.
  int await_end();

private:
  pid_t pid_ = 0;
  int output_ = -1;
  bool ended_ = false;
};

/// What a run of the command printed.
struct Result {
  int code = -1;
  std::string out, errors;

  nlohmann::json json() const { return nlohmann::json::parse(out); }
};

/// Each test has a folder of its own for sockets.
class World : public testing::Test {
protected:
  void SetUp() override;
  void TearDown() override;

  /// Starts a driver; `name` empty: it has none.
  Driver& start(const std::string& name, const std::vector<std::string>& arguments,
                Driver::Variables variables = {});
  /// Runs `fiber` with these arguments.
  Result fiber(const std::vector<std::string>& arguments) const;
  /// Runs a program where /tmp/fiber-UID is a folder of another user. Needs root.
  Result with_squatted_folder(const std::vector<std::string>& words) const;
  /// Lets the drivers' program relay a request to the session here.
  Result relay(const std::string& request) const;
  /// Returns what `fiber ps` says of the drivers here. It also knows other sessions of
  /// this user, in /tmp.
  nlohmann::json ps() const;
  nlohmann::json status(const std::string& name) const {
    return fiber({"status", name, "--json"}).json();
  }
  /// The files of sockets.
  std::vector<std::string> sockets() const;
  std::string folder() const { return root_ + "/fiber"; }
  const std::string& root() const { return root_; }

private:
  Result execute(const std::vector<std::string>& words) const;

  std::string root_;
  std::vector<std::unique_ptr<Driver>> drivers_;
};

} // namespace fiber::cli
