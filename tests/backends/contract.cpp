// SPDX-License-Identifier: Apache-2.0
// Helpers of the contract suite, whose tests are in contract_jobs.cpp and
// contract_processes.cpp.
#include "tests/backends/contract.hpp"

#include <sys/wait.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <thread>

namespace fiber::backends {

void Events::add(const JobEvent& event) {
  if (busy_.exchange(true))
    overlapped_ = true;
  {
    std::lock_guard lock(mutex_);
    if (event.kind == Kind::waits && !of_locked(event.job).empty())
      waited_late_ = true;
    events_.push_back(event);
  }
  changed_.notify_all();
  busy_ = false;
}

std::vector<JobEvent> Events::of_locked(const JobId& job) const {
  std::vector<JobEvent> result;
  std::copy_if(
    events_.begin(), events_.end(), std::back_inserter(result),
    [&](auto& event) { return event.job == job && event.kind != Kind::waits; });
  return result;
}

std::vector<JobEvent> Events::of(const JobId& job) const {
  std::lock_guard lock(mutex_);
  return of_locked(job);
}

std::vector<std::string> Events::waits(const JobId& job) const {
  std::lock_guard lock(mutex_);
  std::vector<std::string> words;
  for (auto& event : events_)
    if (event.job == job && event.kind == Kind::waits)
      words.push_back(event.detail);
  return words;
}

std::size_t Events::count(Kind kind) const {
  std::lock_guard lock(mutex_);
  return static_cast<std::size_t>(std::count_if(
    events_.begin(), events_.end(), [&](auto& event) { return event.kind == kind; }));
}

bool Events::wait(const std::function<bool()>& condition) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, patience, condition);
}

bool Events::wait_for(Kind kind, std::size_t count) {
  return wait([&] {
    return static_cast<std::size_t>(
             std::count_if(events_.begin(), events_.end(),
                           [&](auto& event) { return event.kind == kind; })) >= count;
  });
}

int Events::started(const JobId& job) {
  wait([&] { return !of_locked(job).empty(); });
  auto events = of(job);
  return !events.empty() && events[0].kind == Kind::started ? events[0].pid : -1;
}

JobEvent Events::last(const JobId& job) {
  bool ended = wait([&] {
    auto events = of_locked(job);
    return !events.empty() && events.back().kind != Kind::started;
  });
  EXPECT_TRUE(ended) << "no last event of " << job;
  auto events = of(job);
  return events.empty() ? JobEvent{} : events.back();
}

bool eventually(const std::function<bool()>& condition) {
  auto end = std::chrono::steady_clock::now() + Events::patience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end)
      return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

bool process_gone(int pid) {
  std::string line = first_line("/proc/" + std::to_string(pid) + "/stat");
  auto state = line.rfind(") ");
  return line.empty() ||
         (state != line.npos && (line[state + 2] == 'Z' || line[state + 2] == 'X'));
}

int number_after(const std::string& text, const std::string& word) {
  auto at = text.find(word);
  if (at == text.npos || text.find('\n', at) == text.npos)
    return -1;
  return std::stoi(text.substr(at + word.size()));
}

std::size_t open_descriptors() {
  std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

std::set<std::string> left_files() {
  std::set<std::string> names;
  for (auto* folder : {"/tmp", "/dev/shm"}) {
    std::error_code error;
    for (auto& entry : std::filesystem::directory_iterator(folder, error))
      for (auto* prefix : {"fiber-page", "fiber-start", "fiber-zygote", "fiber-job"})
        if (entry.path().filename().string().starts_with(prefix))
          names.insert(entry.path().string());
  }
  return names;
}

BackendTest::BackendTest(std::unique_ptr<Backend> made, double cpu)
  : backend(std::move(made)), cpu_(cpu) {
  backend->watch([this](const JobEvent& event) { events.add(event); });
}

BackendTest::~BackendTest() {
  backend.reset();
  EXPECT_FALSE(events.overlapped()) << "two events at a time";
  EXPECT_FALSE(events.waited_late()) << "a job waited after its start or its end";
  siginfo_t child{};
  bool left = ::waitid(P_ALL, 0, &child, WEXITED | WNOHANG | WNOWAIT) == 0;
  EXPECT_FALSE(left) << "a child process is left: "
                     << first_line("/proc/" + std::to_string(child.si_pid) + "/stat");
}

JobSpec BackendTest::spec(std::string name, std::string_view script) {
  JobSpec spec;
  spec.name = std::move(name);
  spec.boot = boot(script);
  spec.keys = keys();
  return spec;
}

Bytes BackendTest::keys() {
  Bytes keys(2000);
  for (std::size_t i = 0; i < keys.size(); ++i)
    keys[i] = static_cast<std::byte>(i * 17 + i / 256);
  return keys;
}

std::string BackendTest::logs_with(const JobId& job, const std::string& text) {
  eventually([&] { return backend->logs(job).find(text) != std::string::npos; });
  return backend->logs(job);
}

void ContractTest::SetUp() {
  if (auto reason = GetParam().missing(); !reason.empty())
    GTEST_SKIP() << "SKIPPED: " << reason;
  descriptors_ = open_descriptors();
  files_ = left_files();
  test_ = std::make_unique<BackendTest>(GetParam().make(), GetParam().cpu);
}

void ContractTest::expect_end(const JobId& job, int code) {
  auto last = test_->events.last(job);
  EXPECT_EQ(last.kind, JobEvent::Kind::ended);
  if (last.exit_code || GetParam().exact_ends) {
    EXPECT_EQ(last.exit_code, code);
  }
}

void ContractTest::TearDown() {
  if (!test_)
    return;
  test_.reset();
  EXPECT_EQ(open_descriptors(), descriptors_) << "a descriptor is left";
  for (auto& file : left_files())
    EXPECT_TRUE(files_.contains(file)) << file << " is left";
}

} // namespace fiber::backends
