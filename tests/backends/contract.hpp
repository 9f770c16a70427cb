// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <set>

#include "backends/backend.hpp"
#include "tests/backends/job_script.hpp"

namespace fiber::backends {

/// A backend under test. Tests of a backend instantiate Jobs and Processes:
///   INSTANTIATE_TEST_SUITE_P(local, Jobs, testing::Values(local), traits_name);
/// and their main() calls enter_job() first and, in a job, play().
struct BackendTraits {
  std::string name;
  std::function<std::unique_ptr<Backend>()> make;
  /// Why the backend is not available here; empty if it is.
  std::function<std::string()> missing = [] { return ""; };
  bool links = true;      ///< Jobs get a socket pair.
  bool pages = true;      ///< Jobs get shared memory.
  bool same_host = true;  ///< Jobs are processes visible from here.
  bool exact_ends = true; ///< The exit of a terminated job is reported.
  std::size_t max_boot_bytes = 1 << 20;
  int flood_bytes = 5000000; ///< Output larger than what is kept.
  double cpu = 1; ///< Of each job: a cluster refuses more jobs than it has cores for.
};

inline std::string traits_name(const testing::TestParamInfo<BackendTraits>& info) {
  return info.param.name;
}

inline void PrintTo(const BackendTraits& traits, std::ostream* out) {
  *out << traits.name;
}

/// Records the events of a backend and waits for them.
class Events {
public:
  using Kind = JobEvent::Kind;
  static constexpr std::chrono::seconds patience{180};

  void add(const JobEvent& event);
  /// Returns the events of one job, without those that say why it waits.
  std::vector<JobEvent> of(const JobId& job) const;
  /// Returns what was said of why the job waits.
  std::vector<std::string> waits(const JobId& job) const;
  std::size_t count(Kind kind) const;
  /// Waits for `count` events of this kind. Returns false if that takes too long.
  bool wait_for(Kind kind, std::size_t count);
  /// Waits for the job's start. Returns its pid, or -1 if it failed or took too long.
  int started(const JobId& job);
  /// Waits for the job's last event. Fails the test if that takes too long.
  JobEvent last(const JobId& job);
  bool overlapped() const { return overlapped_; }
  /// Returns whether a job waited after its start or its end.
  bool waited_late() const { return waited_late_; }

private:
  bool wait(const std::function<bool()>& condition);
  std::vector<JobEvent> of_locked(const JobId& job) const;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<JobEvent> events_;
  std::atomic<bool> busy_ = false, overlapped_ = false, waited_late_ = false;
};

/// Waits until `condition` holds. Returns false if that takes too long.
bool eventually(const std::function<bool()>& condition);
/// Returns the first line of a file; empty if there is none.
std::string first_line(const std::string& path);
/// Returns whether the process does not exist or is a zombie.
bool process_gone(int pid);
/// Returns the number after `word` in `text`, or -1.
int number_after(const std::string& text, const std::string& word);
std::size_t open_descriptors();
/// Returns the entries of /tmp and /dev/shm with our name.
std::set<std::string> left_files();

/// A backend and its events. Checks at the end that nothing is left behind.
class BackendTest {
public:
  explicit BackendTest(std::unique_ptr<Backend> backend, double cpu = 1);
  ~BackendTest();

  static JobSpec spec(std::string name, std::string_view script);
  /// Resources of every job.
  static Bytes keys();
  Job create(std::string name, std::string_view script) {
    auto made = spec(std::move(name), script);
    made.resources.cpu = cpu_;
    return backend->create(std::move(made));
  }
  /// Waits for `text` in the logs of a job. Returns the logs, found or not.
  std::string logs_with(const JobId& job, const std::string& text);

  Events events;
  std::unique_ptr<Backend> backend;

private:
  double cpu_;
};

class ContractTest : public testing::TestWithParam<BackendTraits> {
protected:
  /// Checks that the terminated job ended with `code`, or with an unknown exit.
  void expect_end(const JobId& job, int code);

  void SetUp() override;
  void TearDown() override;

  std::unique_ptr<BackendTest> test_;
  std::size_t descriptors_ = 0;
  std::set<std::string> files_;
};

/// Promises of every backend, also of inline.
class Jobs : public ContractTest {};
/// Promises of backends whose jobs are processes.
class Processes : public ContractTest {};

} // namespace fiber::backends
