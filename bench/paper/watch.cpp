// SPDX-License-Identifier: Apache-2.0
#include "bench/paper/watch.hpp"

#include <chrono>
#include <fstream>
#include <stdexcept>
#include <utility>

namespace paper {

using Clock = std::chrono::steady_clock;

std::istream& operator>>(std::istream& in, ResizeAt& value) {
  char colon = 0;
  if (!(in >> value.seconds >> colon >> value.workers) || colon != ':')
    in.setstate(std::ios::failbit);
  return in;
}

Watch::Watch(fiber::Pool& pool, std::vector<ResizeAt> resizes)
  : pool_(pool), resizes_(std::move(resizes)),
    thread_([this](const std::stop_token& stop) { run(stop); }) {}

void Watch::run(const std::stop_token& stop) {
  const auto begin = Clock::now();
  std::size_t next = 0, wanted = 0;
  for (auto time = begin; !stop.stop_requested();
       time += std::chrono::milliseconds(250)) {
    std::this_thread::sleep_until(time);
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    for (; next < resizes_.size() && resizes_[next].seconds <= seconds; ++next) {
      wanted = resizes_[next].workers;
      pool_.resize(wanted);
    }
    const auto stats = pool_.stats();
    std::lock_guard lock(mutex_);
    samples_.push_back({seconds, stats.workers, wanted, stats.done});
  }
}

void Watch::save(const std::string& csv) const {
  std::ofstream out(csv);
  out << "seconds,workers,wanted,done\n";
  std::lock_guard lock(mutex_);
  for (const auto& each : samples_)
    out << each.seconds << ',' << each.workers << ',' << each.wanted << ',' << each.done
        << '\n';
  if (!out.flush())
    throw std::runtime_error("can't write " + csv);
}

} // namespace paper
