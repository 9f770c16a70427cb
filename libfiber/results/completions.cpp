// SPDX-License-Identifier: Apache-2.0
#include <deque>
#include <mutex>
#include <utility>

#include "fiber/as_completed.hpp"
#include "fiber/error.hpp"
#include "libfiber/results/wait_point.hpp"

namespace fiber::detail {

struct Completions::State {
  std::unique_ptr<WaitPoint> point; ///< Null if there is nothing to wait for.
  std::deque<std::size_t> ended;
  std::size_t left = 0; ///< Results that next() has not returned.
};

Completions::Completions(const std::vector<std::shared_ptr<Results>>& all)
  : state_(std::make_shared<State>()) {
  for (auto& results : all)
    if (!results)
      throw Error("one of these Futures stands for no task");
  state_->left = all.size();
  if (all.empty())
    return;
  state_->point = all.front()->wait_point();
  for (std::size_t i = 0; i < all.size(); ++i)
    all[i]->on_end([weak = std::weak_ptr(state_), i] {
      auto state = weak.lock();
      if (!state)
        return;
      std::lock_guard lock(state->point->mutex());
      state->ended.push_back(i);
      state->point->wake();
    });
}

Completions::~Completions() = default;
Completions::Completions(Completions&&) noexcept = default;
Completions& Completions::operator=(Completions&&) noexcept = default;

std::optional<std::size_t> Completions::next(Results::Clock::time_point limit) {
  if (state_->left == 0 ||
      !state_->point->wait([this] { return !state_->ended.empty(); }, limit))
    return std::nullopt;
  std::lock_guard lock(state_->point->mutex());
  --state_->left;
  auto index = state_->ended.front();
  state_->ended.pop_front();
  return index;
}

} // namespace fiber::detail
