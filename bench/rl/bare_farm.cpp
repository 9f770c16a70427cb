// SPDX-License-Identifier: Apache-2.0
#include "bench/rl/bare_farm.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <climits>
#include <csignal>
#include <cstdint>
#include <stdexcept>
#include <thread>
#include <utility>

#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fiber/rl/cartpole.hpp"

namespace bench {

using fiber::rl::CartPole;
using Word = std::atomic<std::uint32_t>;

struct BareFarm::Shared {
  alignas(64) Word round; ///< Counts steps; workers wait for it.
  alignas(64) Word left;  ///< Processes that have not finished; the driver waits for 0.
  alignas(64) float rows[1]; ///< Actions, then rows.
};

namespace {

void sleep_while(const Word& word, std::uint32_t value) {
  ::syscall(SYS_futex, &word, FUTEX_WAIT, value, nullptr, nullptr, 0);
}
void wake_all(const Word& word) {
  ::syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

constexpr std::size_t width = CartPole::observation_size + 3; // Reward, two ends.

} // namespace

BareFarm::BareFarm(std::size_t envs, std::size_t processes, std::vector<double> pauses)
  : envs_(envs), processes_(processes), pauses_(std::move(pauses)),
    size_(sizeof(Shared) + envs * (1 + width) * sizeof(float)) {
  auto* mapped =
    ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED)
    throw std::runtime_error("no shared memory");
  shared_ = static_cast<Shared*>(mapped);
  for (std::size_t process = 0; process < processes; ++process) {
    const auto pid = ::fork();
    if (pid == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      work(process);
    }
    pids_.push_back(pid);
  }
}

BareFarm::~BareFarm() {
  for (const auto pid : pids_) {
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
  }
  ::munmap(shared_, size_);
}

void BareFarm::work(std::size_t process) {
  const auto first = process * envs_ / processes_;
  const auto end = (process + 1) * envs_ / processes_;
  std::vector<CartPole> envs(envs_);
  for (auto id = first; id < end; ++id)
    envs[id].reset(id);
  for (std::uint32_t seen = 0;; ++seen) {
    while (shared_->round.load() == seen)
      sleep_while(shared_->round, seen);
    for (auto id = first; id < end; ++id) {
      auto& env = envs[id];
      auto* row = shared_->rows + envs_ + id * width;
      if (!pauses_.empty())
        std::this_thread::sleep_for(std::chrono::duration<double>(pause(id, seen)));
      const auto result = env.step(static_cast<int>(shared_->rows[id]));
      if (result.terminated || result.truncated)
        env.reset(seen + id);
      env.observe({row, CartPole::observation_size});
      row[CartPole::observation_size] = static_cast<float>(result.reward);
      row[CartPole::observation_size + 1] = result.terminated;
      row[CartPole::observation_size + 2] = result.truncated;
    }
    if (shared_->left.fetch_sub(1) == 1)
      wake_all(shared_->left);
  }
}

double BareFarm::pause(std::size_t env, std::size_t step) const {
  return pauses_[(env * pauses_.size() / envs_ + step) % pauses_.size()];
}

double BareFarm::ideal_seconds(std::size_t steps) const {
  double sum = 0;
  for (std::size_t step = 0; step < steps; ++step) {
    double longest = 0;
    for (std::size_t env = 0; env < envs_; ++env)
      longest = std::max(longest, pause(env, step));
    sum += longest;
  }
  return sum;
}

std::span<const float> BareFarm::step(std::span<const int> actions) {
  for (std::size_t id = 0; id < envs_; ++id)
    shared_->rows[id] = static_cast<float>(actions[id]);
  shared_->left.store(static_cast<std::uint32_t>(processes_));
  shared_->round.fetch_add(1);
  wake_all(shared_->round);
  while (const auto left = shared_->left.load())
    sleep_while(shared_->left, left);
  return {shared_->rows + envs_, envs_ * width};
}

} // namespace bench
