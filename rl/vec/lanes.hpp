// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "fiber/rl/any_vec_env.hpp"

namespace fiber::rl::vec {

/// Where one row goes. `final_observation` is written only by a step that ends an episode
/// with Autoreset::same_step, `error` only if the environment throws.
struct RowPlace {
  std::span<float> observation;
  std::span<float> final_observation;
  std::span<std::uint8_t> mask; ///< Empty unless Spaces::masked.
  std::string& error;
};

/// The environments of one process, and the episodes that they are in.
class Lanes {
public:
  /// Makes the environments `first` to `first + count - 1`.
  Lanes(const detail::MakeEnvironment& make, int first, int count, Autoreset autoreset);

  /// Has `watch`, which must live as long as this, see each call of an environment.
  void watch(detail::CallWatch& watch) { watch_ = &watch; }
  /// What CallWatch tells of a call, in words of the driver.
  static detail::Hang watched(int job, std::uint32_t what);

  const Spaces& spaces() const { return spaces_; }
  bool has(int id) const { return id >= first_ && id - first_ < count(); }
  int first() const { return first_; }
  int count() const { return static_cast<int>(lanes_.size()); }

  /// Brings an environment to where this history leads. What it throws becomes the answer
  /// to its next order.
  void replay(const detail::History& history) noexcept;
  /// Follows an order. A step of an environment that is in no episode begins one, and
  /// says that it was lost. What the environment throws goes to the row, too.
  detail::RowFacts follow(const detail::Order& order, std::span<const float> action,
                          RowPlace place) noexcept;

private:
  struct Lane {
    std::unique_ptr<AnyEnvironment> environment;
    double episode_return = 0;
    int episode_length = 0;
    bool live = false; ///< In an episode, or at the end of one that is done.
    bool done = false;
    std::string replay_error;
  };

  /// Tells the watch, at the end of its scope, that no call is under way.
  class AtEnd {
  public:
    explicit AtEnd(const Lanes& lanes) : lanes_(lanes) {}
    ~AtEnd() {
      if (lanes_.watch_ != nullptr) [[unlikely]]
        lanes_.watch_->end();
    }
    AtEnd(const AtEnd&) = delete;
    AtEnd& operator=(const AtEnd&) = delete;

  private:
    const Lanes& lanes_;
  };

  Lane& lane(int id) { return lanes_[static_cast<std::size_t>(id - first_)]; }
  /// A call of this environment begins; the one before has ended.
  void calls(detail::EnvCall call, const Lane& lane) const noexcept {
    if (watch_ != nullptr) [[unlikely]]
      tell(call, lane);
  }
  void tell(detail::EnvCall call, const Lane& lane) const noexcept;
  void begin(Lane& lane, std::uint64_t seed) const;
  Step act(Lane& lane, std::span<const float> action) const;
  void observe(const Lane& lane, std::span<float> out) const;
  void show(const Lane& lane, RowPlace place) const;
  void retrace(Lane& lane, const detail::History& history) const;
  detail::RowFacts try_follow(Lane& lane, const detail::Order& order,
                              std::span<const float> action, RowPlace place) const;
  detail::RowFacts step(Lane& lane, const detail::Order& order,
                        std::span<const float> action, RowPlace place) const;

  const int first_;
  const Autoreset autoreset_;
  std::vector<Lane> lanes_;
  Spaces spaces_;
  detail::CallWatch* watch_ = nullptr;
};

} // namespace fiber::rl::vec
