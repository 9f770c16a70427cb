// SPDX-License-Identifier: Apache-2.0
#include "rl/poet/pool_evaluator.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <numeric>
#include <tuple>
#include <utility>

namespace fiber::rl::poet {
namespace {

using namespace std::chrono_literals;

Trial direction_task(const Job& job, const fiber::SharedArray<float>& noise,
                     std::uint64_t offset) {
  return try_direction(job, noise, offset);
}

Played episode_task(const Job& job, std::uint64_t index) {
  return play_episode(job, index);
}

Trace trace_task(const Job& job, std::uint64_t index) {
  return trace_episode(job, index);
}

std::size_t number(const std::string& text, const std::string& all) {
  std::size_t value = 0;
  const auto* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, value);
  if (result.ec != std::errc() || result.ptr != end || value == 0 || value > 100'000)
    throw std::invalid_argument("\"" + all +
                                "\" is no number of workers: write 4, or 2..8 for a "
                                "pool that grows with the number of environments");
  return value;
}

} // namespace

std::size_t WorkerRange::for_pairs(std::size_t pairs, std::size_t max_pairs) const {
  if (pairs >= max_pairs)
    return most;
  const auto more = (most - least) * (std::max<std::size_t>(pairs, 1) - 1);
  return least + (more + max_pairs - 2) / (max_pairs - 1); // Rounded up.
}

WorkerRange parse_workers(const std::string& text) {
  const auto dots = text.find("..");
  if (dots == std::string::npos) {
    const auto all = number(text, text);
    return {.least = all, .most = all};
  }
  const WorkerRange range{.least = number(text.substr(0, dots), text),
                          .most = number(text.substr(dots + 2), text)};
  if (range.least > range.most)
    throw std::invalid_argument("\"" + text +
                                "\": the least number of workers is above "
                                "the most");
  return range;
}

PoolEvaluator::PoolEvaluator(fiber::Pool& pool, fiber::SharedArray<float> noise,
                             const std::atomic<int>& stop,
                             std::function<void()> meanwhile)
  : pool_(pool), noise_(std::move(noise)), stop_(stop), meanwhile_(std::move(meanwhile)) {
}

template <class T>
Later<std::vector<T>> PoolEvaluator::later(fiber::MapResult<T> result) {
  return [this, result = std::move(result)] {
    while (!result.wait_for(200ms)) {
      if (stop_ != 0)
        throw Interrupted();
      meanwhile_();
    }
    return result.get();
  };
}

Later<std::vector<Trial>>
PoolEvaluator::try_directions(Job job, std::vector<std::uint64_t> offsets) {
  return later(
    pool_.map_async(fiber::bind(direction_task, std::move(job), noise_), offsets));
}

Later<std::vector<Played>> PoolEvaluator::play(Job job, std::uint64_t count) {
  std::vector<std::uint64_t> indices(count);
  std::iota(indices.begin(), indices.end(), std::uint64_t{0});
  return later(pool_.map_async(fiber::bind(episode_task, std::move(job)), indices));
}

Later<std::vector<Trace>> PoolEvaluator::trace(std::vector<Job> jobs,
                                               std::vector<std::uint64_t> indices) {
  std::vector<std::tuple<Job, std::uint64_t>> items;
  for (std::size_t i = 0; i < jobs.size(); ++i)
    items.emplace_back(std::move(jobs[i]), indices[i]);
  return later(pool_.starmap_async(trace_task, items));
}

} // namespace fiber::rl::poet
