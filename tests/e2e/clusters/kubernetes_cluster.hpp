// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fiber/config.hpp>
#include <fiber/session.hpp>
#include <gtest/gtest.h>

#include "tests/clusters/cluster.hpp"

namespace fiber::e2e {

inline constexpr auto test_image = "localhost/fiber-test:kubernetes_e2e_test";
/// Of this test program as a driver: "kubernetes_e2e_test drive PROGRAM".
inline constexpr auto drive_word = "drive";

/// What a command line of the shell has printed on both outputs, and how it ended.
struct Ran {
  int code = 0;
  std::string output;
};
Ran run(const std::string& command);

/// Looks once in 200 ms until `condition` holds; false if it does not within the limit.
bool await(const std::function<bool()>& condition,
           std::chrono::milliseconds limit = std::chrono::seconds(60));

/// Runs a command when a test ends, however it does.
class AtEnd {
public:
  explicit AtEnd(std::string command) : command_(std::move(command)) {}
  AtEnd(const AtEnd&) = delete;
  AtEnd& operator=(const AtEnd&) = delete;
  ~AtEnd() { run(command_); }

private:
  std::string command_;
};

struct Pod {
  std::string name, node;
  std::string phase; ///< "Terminating" if its end was asked for.
};

/// A namespace of the test cluster for one test, and at most one session in it.
class KubernetesTest : public testing::Test {
protected:
  void SetUp() override;
  void TearDown() override;

  /// Of a session in the namespace, with pods of this program.
  Config config() const;
  void open(Config config);
  void close() { session_.reset(); }
  /// The same as config() for another program, as variables of its environment.
  std::vector<std::string> settings(const std::string& image = test_image) const;

  const std::string& name_space() const { return name_space_; }
  const std::string& cluster(const std::string& name) const;
  /// What kubectl prints; a failure of the test if it fails.
  std::string kubectl(const std::string& arguments) const;
  void apply(const std::string& yaml) const;
  void control(const std::string& arguments) const;
  /// "node1"
  static const std::string& victim();

  std::vector<Pod> workers() const;
  /// Waits until so many workers run.
  bool await_running(std::size_t workers) const;
  /// Checks that Pod Security's level "restricted" admits each pod of the namespace. (The
  /// namespace bears its label, which a Kubernetes before 1.22 ignores.)
  void expect_restricted() const;
  /// Returns kind, name and time of deletion of what Fiber has in the namespace. `prefix`
  /// comes before kubectl.
  std::string left(const std::string& prefix = {}) const;
  /// Waits until left() is empty. A busy kubelet may take minutes to remove a pod.
  bool nothing_left(const std::string& prefix = {}) const;
  /// Writes a file that goes with the test, and returns its path.
  std::string file(const std::string& name, const std::string& text) const;
  const std::string& folder() const { return folder_; }

private:
  clusters::Cluster cluster_;
  std::string name_space_, folder_;
  std::optional<Session> session_;
};

/// What a driver of its own runs; its exit code.
int drive(const std::string& program);

} // namespace fiber::e2e
