// SPDX-License-Identifier: Apache-2.0
#include "rl/ppo/sequences.hpp"

#include <algorithm>
#include <functional>

namespace fiber::rl::ppo {

void SequencePacker::pack(const Sequences& all,
                          std::span<const std::size_t> environments) {
  of_.resize(all.size());
  for (auto& rows : of_)
    rows.clear();
  for (std::size_t row = 0; row < all.environments.size(); ++row)
    of_[all.environments[row]].push_back(row);
  order_.assign(environments.begin(), environments.end());
  std::ranges::stable_sort(order_, std::greater(),
                           [&](std::size_t i) { return of_[i].size(); });
  memory_size_ = all.memory_size;
  memory_.clear();
  for (const auto i : order_) {
    const auto of_one = all.memory.subspan(i * memory_size_, memory_size_);
    memory_.insert(memory_.end(), of_one.begin(), of_one.end());
  }
  steps_.clear();
  rows_.clear();
  begins_.clear();
  const auto longest = order_.empty() ? 0 : of_[order_[0]].size();
  for (std::size_t step = 0; step < longest; ++step) {
    std::size_t count = 0;
    for (; count < order_.size() && of_[order_[count]].size() > step; ++count) {
      rows_.push_back(of_[order_[count]][step]);
      begins_.push_back(all.begins[rows_.back()]);
    }
    steps_.push_back(count);
  }
}

} // namespace fiber::rl::ppo
