// SPDX-License-Identifier: Apache-2.0
// A bare pool of std::thread in one process: what sleeping costs without any
// distribution.

#include <condition_variable>
#include <deque>
#include <iostream>
#include <mutex>
#include <thread>
#include <vector>

#include "peers/measurement.hpp"

namespace {

/// Runs sleep tasks on its threads.
class Threads {
public:
  explicit Threads(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
      threads_.emplace_back([this] { work(); });
  }
  ~Threads() {
    {
      std::lock_guard lock(mutex_);
      closed_ = true;
    }
    more_.notify_all();
  }

  void submit(std::chrono::duration<double> sleep, std::size_t count) {
    {
      std::lock_guard lock(mutex_);
      tasks_.insert(tasks_.end(), count, sleep);
      open_ += count;
    }
    more_.notify_all();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    none_open_.wait(lock, [this] { return open_ == 0; });
  }

private:
  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      more_.wait(lock, [this] { return closed_ || !tasks_.empty(); });
      if (tasks_.empty())
        return;
      const auto sleep = tasks_.front();
      tasks_.pop_front();
      lock.unlock();
      std::this_thread::sleep_for(sleep);
      lock.lock();
      if (--open_ == 0)
        none_open_.notify_one();
    }
  }

  std::mutex mutex_;
  std::condition_variable more_;
  std::condition_variable none_open_;
  std::deque<std::chrono::duration<double>> tasks_;
  std::size_t open_ = 0;
  bool closed_ = false;
  std::vector<std::jthread> threads_;
};

constexpr std::size_t workers = 5;

void overhead(const std::string& row) {
  const std::chrono::duration<double> sleep(peers::duration_of(row));
  const auto rounds = static_cast<std::size_t>(1.0 / sleep.count() + 0.5);
  Threads threads(workers);
  threads.submit(std::chrono::milliseconds(1), workers); // All threads are up.
  threads.wait();
  const peers::Stopwatch watch;
  if (row.starts_with("overhead_batch_")) {
    threads.submit(sleep, rounds * workers);
    threads.wait();
    peers::report(row, watch.seconds(), "s");
    return;
  }
  for (std::size_t round = 0; round < rounds; ++round) {
    threads.submit(sleep, workers);
    threads.wait();
  }
  peers::report(row, watch.seconds() / static_cast<double>(rounds) * 1e6, "us");
}

} // namespace

int main(int argc, char** argv) {
  const std::string row = argc == 2 ? argv[1] : "";
  if (!row.starts_with("overhead_batch_") && !row.starts_with("overhead_lockstep_")) {
    std::cerr << "usage: threads overhead_{batch,lockstep}_{1s,100ms,10ms,1ms,100us}\n";
    return 2;
  }
  overhead(row);
}
