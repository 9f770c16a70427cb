// SPDX-License-Identifier: Apache-2.0
#include "rl/vec/lanes.hpp"

#include <algorithm>
#include <exception>
#include <stdexcept>
#include <string>

namespace fiber::rl::vec {

using detail::History;
using detail::Op;
using detail::Order;
using detail::RowFacts;

namespace lane_errors {
namespace {

/// The text of the exception that is being handled.
std::string current() {
  try {
    throw;
  } catch (const std::exception& error) {
    return error.what() == nullptr ? "" : error.what();
  } catch (...) {
    return "an exception that is no std::exception";
  }
}

} // namespace
} // namespace lane_errors

Lanes::Lanes(const detail::MakeEnvironment& make, int first, int count,
             Autoreset autoreset)
  : first_(first), autoreset_(autoreset), lanes_(static_cast<std::size_t>(count)) {
  for (auto& lane : lanes_)
    lane.environment = make();
  spaces_ = lanes_.front().environment->spaces();
}

// A call is told to the watch as two bits for the function and the rest for the
// environment: there are at most a million.

void Lanes::tell(detail::EnvCall call, const Lane& lane) const noexcept {
  const auto id = first_ + static_cast<int>(&lane - lanes_.data());
  watch_->begin((static_cast<std::uint32_t>(id) << 2) | static_cast<std::uint32_t>(call));
}

detail::Hang Lanes::watched(int job, std::uint32_t what) {
  return {.job = job,
          .id = static_cast<int>(what >> 2),
          .call = static_cast<detail::EnvCall>(what & 3)};
}

void Lanes::begin(Lane& lane, std::uint64_t seed) const {
  lane.live = false; // Unless all goes well.
  calls(detail::EnvCall::reset, lane);
  lane.environment->reset(seed);
  lane.episode_return = 0;
  lane.episode_length = 0;
  lane.live = true;
  lane.done = false;
}

Step Lanes::act(Lane& lane, std::span<const float> action) const {
  calls(detail::EnvCall::step, lane);
  auto result = lane.environment->step(action);
  lane.episode_return += result.reward;
  ++lane.episode_length;
  return result;
}

void Lanes::observe(const Lane& lane, std::span<float> out) const {
  calls(detail::EnvCall::observe, lane);
  lane.environment->observe(out);
}

/// Writes where the environment is now.
void Lanes::show(const Lane& lane, RowPlace place) const {
  observe(lane, place.observation);
  if (place.mask.empty())
    return;
  if (lane.done) { // The next step ignores the action.
    std::ranges::fill(place.mask, std::uint8_t{1});
    return;
  }
  calls(detail::EnvCall::mask, lane);
  lane.environment->mask(place.mask);
  if (const auto component = impossible_component(spaces_, place.mask))
    throw std::runtime_error("mask() forbids each of the " +
                             std::to_string(spaces_.choices()[*component]) +
                             " choices of component " + std::to_string(*component) +
                             " of the action, although the episode has not ended");
}

void Lanes::replay(const History& history) noexcept {
  auto& target = lane(history.id);
  const AtEnd called(*this);
  target.replay_error.clear();
  try {
    retrace(target, history);
  } catch (...) {
    target.live = false;
    target.replay_error = lane_errors::current();
  }
}

void Lanes::retrace(Lane& lane, const History& history) const {
  const std::span<const float> actions = history.actions;
  const auto width = spaces_.action_size();
  if (!history.begun) {
    lane.live = false;
    lane.episode_return = 0;
    lane.episode_length = 0;
    return;
  }
  begin(lane, history.seed);
  for (std::size_t at = 0; at < actions.size(); at += width) {
    const auto result = act(lane, actions.subspan(at, width));
    const auto ended = result.terminated || result.truncated;
    const auto should_end = history.done && at + width == actions.size();
    if (ended != should_end)
      throw std::runtime_error(
        "can't be brought back to where it was: the same seed and actions led to an "
        "episode of another length. Its reset() must depend on the seed alone");
  }
  lane.done = history.done;
}

RowFacts Lanes::follow(const Order& order, std::span<const float> action,
                       RowPlace place) noexcept {
  auto& target = lane(order.id);
  const AtEnd called(*this);
  try {
    return try_follow(target, order, action, place);
  } catch (...) {
    target.live = false;
    place.error = lane_errors::current();
    return {.failed = 1};
  }
}

RowFacts Lanes::try_follow(Lane& lane, const Order& order, std::span<const float> action,
                           RowPlace place) const {
  if (const auto error = std::exchange(lane.replay_error, {});
      !error.empty() && order.op != Op::reset)
    throw std::runtime_error(error);
  switch (order.op) {
  case Op::step:
    return step(lane, order, action, place);
  case Op::reset:
    begin(lane, order.next_seed);
    show(lane, place);
    return {};
  case Op::show:
    break;
  }
  if (lane.live) {
    show(lane, place);
  } else {
    std::ranges::fill(place.observation, 0.0F);
    std::ranges::fill(place.mask, std::uint8_t{1});
  }
  return {.episode_return = lane.episode_return, .episode_length = lane.episode_length};
}

RowFacts Lanes::step(Lane& lane, const Order& order, std::span<const float> action,
                     RowPlace place) const {
  RowFacts facts;
  if (!lane.live || lane.done) {
    const auto lost = !lane.live;
    begin(lane, order.next_seed);
    // With the other modes this row ends an episode, as any that is truncated.
    lane.done = lost && autoreset_ != Autoreset::same_step;
    facts.lost = facts.truncated = lost;
  } else {
    const auto result = act(lane, action);
    facts = {.reward = result.reward,
             .episode_return = lane.episode_return,
             .episode_length = lane.episode_length,
             .terminated = result.terminated,
             .truncated = result.truncated};
    if (result.terminated || result.truncated) {
      lane.done = true;
      if (autoreset_ == Autoreset::same_step) {
        observe(lane, place.final_observation);
        begin(lane, order.next_seed);
      }
    }
  }
  show(lane, place);
  return facts;
}

} // namespace fiber::rl::vec
