// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <set>

#include "backends/backend.hpp"
#include "tests/backends/job_script.hpp"

namespace fiber::backends {

/// A backend under test. A new one instantiates Jobs and Processes with its own:
///   INSTANTIATE_TEST_SUITE_P(local, Jobs, testing::Values(local), traits_name);
/// and its program's main() calls enter_job() first and, if it is a job, play().
struct BackendTraits {
  std::string name;
  std::function<std::unique_ptr<Backend>()> make;
  /// Why it can't be had here; empty if it can.
  std::function<std::string()> missing = [] { return ""; };
  bool links = true;      ///< Jobs get a socket pair.
  bool pages = true;      ///< Jobs get shared memory.
  bool same_host = true;  ///< Jobs are processes that can be looked at from here.
  bool exact_ends = true; ///< How a job ended that was terminated is told.
  std::size_t most_boot_bytes = 1 << 20;
  int flood_bytes = 5000000; ///< Output that is more than is kept.
  double cpu = 1; ///< Of each job. A cluster refuses more jobs than it has cores for.
};

inline std::string traits_name(const testing::TestParamInfo<BackendTraits>& info) {
  return info.param.name;
}

inline void PrintTo(const BackendTraits& traits, std::ostream* out) {
  *out << traits.name;
}

/// All events of a backend, to be waited for.
class Events {
public:
  using Kind = JobEvent::Kind;
  static constexpr std::chrono::seconds patience{180};

  void add(const JobEvent& event);
  /// Events of one job.
  std::vector<JobEvent> of(const JobId& job) const;
  std::size_t count(Kind kind) const;
  /// Waits for `count` events of this kind; false when that takes too long.
  bool wait_for(Kind kind, std::size_t count);
  /// Waits for the job to have started; its pid, or -1 if it failed or took too long.
  int started(const JobId& job);
  /// Waits for the job's last event. Adds a failure if that takes too long.
  JobEvent last(const JobId& job);
  bool overlapped() const { return overlapped_; }

private:
  bool wait(const std::function<bool()>& condition);
  std::vector<JobEvent> of_locked(const JobId& job) const;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<JobEvent> events_;
  std::atomic<bool> busy_ = false, overlapped_ = false;
};

/// Waits until `condition` holds; false when that takes too long.
bool eventually(const std::function<bool()>& condition);
/// The first line of a file, nothing if there is no such file.
std::string first_line(const std::string& path);
/// No such process, or no more than its entry in the process table.
bool process_gone(int pid);
/// The number after `word` in `text`, -1 if there is none yet.
int number_after(const std::string& text, const std::string& word);
std::size_t open_descriptors();
/// Entries of /tmp and /dev/shm that bear our name.
std::set<std::string> left_files();

/// One backend with its events. Checks at the end that nothing is left of it.
class BackendTest {
public:
  explicit BackendTest(std::unique_ptr<Backend> backend, double cpu = 1);
  ~BackendTest();

  static JobSpec spec(std::string name, std::string_view script);
  /// Of every job here.
  static Bytes keys();
  Job create(std::string name, std::string_view script) {
    auto made = spec(std::move(name), script);
    made.resources.cpu = cpu_;
    return backend->create(std::move(made));
  }
  /// Waits for `text` in the logs of a job, which it returns, found or not.
  std::string logs_with(const JobId& job, const std::string& text);

  Events events;
  std::unique_ptr<Backend> backend;

private:
  double cpu_;
};

class ContractTest : public testing::TestWithParam<BackendTraits> {
protected:
  /// The job, which was terminated, has ended with `code`, or nobody can know how.
  void expect_end(const JobId& job, int code);

  void SetUp() override;
  void TearDown() override;

  std::unique_ptr<BackendTest> test_;
  std::size_t descriptors_ = 0;
  std::set<std::string> files_;
};

/// What every backend promises, inline too.
class Jobs : public ContractTest {};
/// What it promises if its jobs are processes.
class Processes : public ContractTest {};

} // namespace fiber::backends
