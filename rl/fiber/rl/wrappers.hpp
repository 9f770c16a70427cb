// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "fiber/rl/environment.hpp"
#include "fiber/rl/image.hpp"
#include "fiber/rl/normalisation.hpp"

// Wrappers: class templates over an Environment that are an Environment themselves, so
// they compose: NormalizeObservation<FrameStack<ClipAction<Mine>, 4>>. Calls are inlined.
// What a wrapper does not change is that of the environment: its spaces, static where
// they were, its mask() and its render().
//
// A wrapper's constructor takes its own arguments first, then those of the environment:
//
//     VecEnv<TimeLimit<Mine>> envs({.envs = 16}, 200, arguments of Mine...);
//
// They do what Gymnasium's wrappers of the same names do, except where they say so.

namespace fiber::rl {

namespace detail {

/// The actions of an environment whose action space is known at compile time.
template <class E>
struct SameActions {};
template <class E>
  requires requires { E::actions; }
struct SameActions<E> {
  static constexpr auto actions = E::actions; ///< A number, or one for each component.
};
template <class E>
  requires requires { E::action_low; }
struct SameActions<E> {
  static constexpr auto action_low = E::action_low, action_high = E::action_high;
};

/// The observations of an environment whose observation space is known at compile time.
template <class E>
struct SameObservations {};
template <class E>
  requires requires { E::observation_size; }
struct SameObservations<E> {
  static constexpr std::size_t observation_size = E::observation_size;
};
template <class E>
  requires requires { E::observation_shape; }
struct SameObservations<E> {
  static constexpr auto observation_shape = E::observation_shape;
};

template <class E>
concept SpacesAtRunTime = requires(const E& environment) {
  { environment.spaces() } -> std::convertible_to<Spaces>;
};

/// What all wrappers are.
template <Environment E>
class Wrapper {
public:
  using Action = typename E::Action;

  E& environment() { return environment_; }
  const E& environment() const { return environment_; }

  void reset(std::uint64_t seed) { environment_.reset(seed); }
  Step step(Action action) { return environment_.step(action); }
  void observe(std::span<float> out) const { environment_.observe(out); }
  void mask(std::span<std::uint8_t> out) const
    requires Masking<E>
  {
    environment_.mask(out);
  }
  Spaces spaces() const
    requires SpacesAtRunTime<E>
  {
    return environment_.spaces();
  }
  static std::string physics()
    requires requires { std::string(E::physics()); }
  {
    return E::physics();
  }
  auto render() const
    requires requires(const E& environment) { environment.render(); }
  {
    return environment_.render();
  }

protected:
  template <class... Args>
  explicit Wrapper(std::in_place_t, Args&&... args)
    : environment_(std::forward<Args>(args)...) {}

  E environment_;
};

/// The bounds of continuous actions, as they are needed in each step.
template <class E>
struct ActionBounds {
  typename E::Action low, high;

  explicit ActionBounds(const E& environment) {
    const auto spaces = spaces_of(environment);
    if (spaces.action_low.size() != low.size() || spaces.action_high.size() != low.size())
      throw std::invalid_argument("the action space has no bounds for each of the " +
                                  std::to_string(low.size()) + " numbers of an action");
    std::ranges::copy(spaces.action_low, low.begin());
    std::ranges::copy(spaces.action_high, high.begin());
  }
};

} // namespace detail

/// An environment whose actions are continuous.
template <class E>
concept ContinuousEnvironment =
  Environment<E> && detail::is_float_array<typename E::Action>;

/// Truncates an episode after so many steps, with the others of its ends unchanged: a
/// step may be terminated and truncated. `limit` 0: the constructor's first argument is
/// the limit.
template <Environment E, int limit = 0>
class TimeLimit : public detail::Wrapper<E>,
                  public detail::SameActions<E>,
                  public detail::SameObservations<E> {
public:
  static_assert(limit >= 0, "a time limit is 1 step or more, or 0: chosen at run time");

  template <class... Args>
    requires(limit > 0 && std::constructible_from<E, Args...>)
  explicit TimeLimit(Args&&... args)
    : detail::Wrapper<E>(std::in_place, std::forward<Args>(args)...), most_(limit) {}
  /// Throws std::invalid_argument for fewer than 1 step.
  template <class... Args>
    requires(limit == 0 && std::constructible_from<E, Args...>)
  explicit TimeLimit(int steps, Args&&... args)
    : detail::Wrapper<E>(std::in_place, std::forward<Args>(args)...), most_(steps) {
    if (steps < 1)
      throw std::invalid_argument("a time limit is 1 step or more, not " +
                                  std::to_string(steps));
  }

  void reset(std::uint64_t seed) {
    steps_ = 0;
    this->environment_.reset(seed);
  }
  Step step(typename E::Action action) {
    auto result = this->environment_.step(action);
    if (++steps_ >= most_)
      result.truncated = true;
    return result;
  }

private:
  int most_;
  int steps_ = 0;
};

namespace detail {

template <class E, std::size_t frames>
struct StackedObservations {};
template <class E, std::size_t frames>
  requires(frames > 0 && requires { E::observation_size; })
struct StackedObservations<E, frames> {
  static constexpr std::array<std::size_t, 2> observation_shape{frames,
                                                                E::observation_size};
};
template <class E, std::size_t frames>
  requires(frames > 0 && requires { E::observation_shape; })
struct StackedObservations<E, frames> {
  static constexpr auto observation_shape = [] {
    std::array<std::size_t, std::size(E::observation_shape) + 1> shape{frames};
    std::ranges::copy(E::observation_shape, shape.begin() + 1);
    return shape;
  }();
};

} // namespace detail

/// Shows the last observations, as Gymnasium's FrameStackObservation: the oldest first,
/// in the shape {frames, shape of one}. Images of the shape {height, width} become the
/// {frames, height, width} that default_policy() has convolutions for. After a reset all
/// are the first observation (Gymnasium's padding "reset"; the others are not offered).
/// `frames` 0: the constructor's first argument is their number.
template <Environment E, std::size_t frames = 0>
class FrameStack : public detail::Wrapper<E>,
                   public detail::SameActions<E>,
                   public detail::StackedObservations<E, frames> {
public:
  template <class... Args>
    requires(frames > 0 && std::constructible_from<E, Args...>)
  explicit FrameStack(Args&&... args)
    : detail::Wrapper<E>(std::in_place, std::forward<Args>(args)...), count_(frames) {
    make_room();
  }
  /// Throws std::invalid_argument for 0 frames.
  template <class... Args>
    requires(frames == 0 && std::constructible_from<E, Args...>)
  explicit FrameStack(std::size_t count, Args&&... args)
    : detail::Wrapper<E>(std::in_place, std::forward<Args>(args)...), count_(count) {
    if (count == 0)
      throw std::invalid_argument("a stack has 1 frame or more, not 0");
    make_room();
  }

  Spaces spaces() const
    requires(frames == 0 || detail::SpacesAtRunTime<E>)
  {
    auto spaces = spaces_of(this->environment_);
    spaces.observation_shape.insert(spaces.observation_shape.begin(), count_);
    spaces.observation_parts.clear(); // Each frame has them.
    return spaces;
  }
  void reset(std::uint64_t seed) {
    this->environment_.reset(seed);
    for (std::size_t i = 0; i < count_; ++i)
      push();
  }
  Step step(typename E::Action action) {
    const auto result = this->environment_.step(action);
    push();
    return result;
  }
  void observe(std::span<float> out) const {
    const auto oldest = ring_.begin() + static_cast<std::ptrdiff_t>(next_ * size_);
    std::copy(ring_.begin(), oldest, std::copy(oldest, ring_.end(), out.begin()));
  }

private:
  void make_room() {
    size_ = spaces_of(this->environment_).observation_size();
    ring_.resize(count_ * size_);
  }
  void push() {
    this->environment_.observe(std::span(ring_).subspan(next_ * size_, size_));
    next_ = (next_ + 1) % count_;
  }

  std::size_t count_, size_ = 0;
  std::size_t next_ = 0;    ///< The place of the oldest frame, which the next one takes.
  std::vector<float> ring_; ///< Frames, the newest of which is before `next_`.
};

/// Shows only some numbers of an observation, by their places in it: what an agent has to
/// remember the rest for. KeepObservations<CartPole, 0, 2> shows the position of the cart
/// and the angle of the pole, without their speeds.
template <Environment E, std::size_t... places>
class KeepObservations : public detail::Wrapper<E>, public detail::SameActions<E> {
public:
  static_assert(sizeof...(places) > 0, "an observation has at least one number");
  static_assert(((places < E::observation_size) && ...),
                "an environment's observation has no such place");
  static constexpr std::size_t observation_size = sizeof...(places);

  template <class... Args>
    requires std::constructible_from<E, Args...>
  explicit KeepObservations(Args&&... args)
    : detail::Wrapper<E>(std::in_place, std::forward<Args>(args)...) {}

  void observe(std::span<float> out) const {
    std::array<float, E::observation_size> all;
    this->environment_.observe(all);
    std::size_t i = 0;
    ((out[i++] = all[places]), ...);
  }

private:
  using detail::Wrapper<E>::spaces; // Its spaces are those of the static members.
};

/// Clips each number of an action to its bounds. Gymnasium's wrapper makes the bounds of
/// the action space infinite; this one leaves them, since policies here begin with them.
template <ContinuousEnvironment E>
class ClipAction : public detail::Wrapper<E>,
                   public detail::SameActions<E>,
                   public detail::SameObservations<E> {
public:
  template <class... Args>
    requires std::constructible_from<E, Args...>
  explicit ClipAction(Args&&... args)
    : detail::Wrapper<E>(std::in_place, std::forward<Args>(args)...),
      bounds_(this->environment_) {}

  Step step(typename E::Action action) {
    for (std::size_t i = 0; i < action.size(); ++i)
      action[i] = std::clamp(action[i], bounds_.low[i], bounds_.high[i]);
    return this->environment_.step(action);
  }

private:
  detail::ActionBounds<E> bounds_;
};

/// Scales actions from -1 to 1 to the bounds of the environment. Gymnasium's wrapper
/// takes any other two bounds as well. Numbers beyond -1 and 1 lead beyond the bounds, as
/// there: wrap ClipAction in this one if the environment does not limit them itself.
template <ContinuousEnvironment E>
class RescaleAction : public detail::Wrapper<E>, public detail::SameObservations<E> {
  static constexpr typename E::Action filled(float value) {
    typename E::Action action{};
    action.fill(value);
    return action;
  }

public:
  static constexpr typename E::Action action_low = filled(-1), action_high = filled(1);

  /// Throws std::invalid_argument if a bound of the environment is not finite.
  template <class... Args>
    requires std::constructible_from<E, Args...>
  explicit RescaleAction(Args&&... args)
    : detail::Wrapper<E>(std::in_place, std::forward<Args>(args)...),
      bounds_(this->environment_) {
    for (std::size_t i = 0; i < action_low.size(); ++i) {
      if (!std::isfinite(bounds_.low[i]) || !std::isfinite(bounds_.high[i]))
        throw std::invalid_argument("RescaleAction needs finite bounds, and number " +
                                    std::to_string(i) + " of an action has none");
      factor_[i] = (bounds_.high[i] - bounds_.low[i]) / 2;
    }
  }

  Spaces spaces() const
    requires detail::SpacesAtRunTime<E>
  {
    auto spaces = this->environment_.spaces();
    spaces.action_low.assign(action_low.begin(), action_low.end());
    spaces.action_high.assign(action_high.begin(), action_high.end());
    return spaces;
  }
  Step step(typename E::Action action) {
    for (std::size_t i = 0; i < action.size(); ++i)
      action[i] = bounds_.low[i] + (action[i] + 1) * factor_[i];
    return this->environment_.step(action);
  }

private:
  detail::ActionBounds<E> bounds_;
  typename E::Action factor_;
};

/// Normalises observations with moments that were taken before, such as those of a saved
/// policy. Gymnasium's wrapper updates its moments in each step; here an episode
/// depends on its seed and its actions alone. To learn moments, use ObservationNormaliser
/// (PPO's option --normalise-observations does).
template <Environment E>
class NormalizeObservation : public detail::Wrapper<E>,
                             public detail::SameActions<E>,
                             public detail::SameObservations<E> {
public:
  /// Throws std::invalid_argument if the normaliser is for another observation size.
  template <class... Args>
    requires std::constructible_from<E, Args...>
  explicit NormalizeObservation(FrozenNormaliser normaliser, Args&&... args)
    : detail::Wrapper<E>(std::in_place, std::forward<Args>(args)...),
      normaliser_(std::move(normaliser)) {
    const auto size = spaces_of(this->environment_).observation_size();
    if (!normaliser_.identity() && normaliser_.mean().size() != size)
      throw std::invalid_argument("the normaliser is for observations of " +
                                  std::to_string(normaliser_.mean().size()) +
                                  " numbers, and those of the environment have " +
                                  std::to_string(size));
  }

  void observe(std::span<float> out) const {
    this->environment_.observe(out);
    normaliser_.apply(out);
  }

private:
  FrozenNormaliser normaliser_;
};

/// The options of RecordEpisode. A value (fiber/value.hpp).
struct RecordOptions {
  /// Where the files are written; it is made if it is not there.
  std::string folder = "videos";
  /// The first part of their names.
  std::string prefix = "episode";
  /// Which episodes: each of so many, from the first. 0: as Gymnasium's RecordVideo, the
  /// episodes 0, 1, 8, 27 and other cubes below 1000, then each thousandth.
  std::uint64_t every = 0;
  /// How many pictures at most; the file has the first of a longer episode.
  std::size_t pictures = 1000;
  /// How long each is shown.
  int milliseconds = 33;

  template <class Archive>
  void serialize(Archive& archive, unsigned) {
    archive& folder& prefix& every& pictures& milliseconds;
  }
};

namespace detail {

/// The pictures of episodes, on their way into files.
class EpisodeRecorder {
public:
  explicit EpisodeRecorder(RecordOptions options);
  EpisodeRecorder(const EpisodeRecorder&) = default;
  EpisodeRecorder& operator=(const EpisodeRecorder&) = default;
  EpisodeRecorder(EpisodeRecorder&&) = default;
  EpisodeRecorder& operator=(EpisodeRecorder&&) = default;
  /// Writes the file of an episode that was under way, if that is possible.
  ~EpisodeRecorder();

  void begin(std::uint64_t seed);
  bool wants_picture() const {
    return recording_ && pictures_.size() < options_.pictures;
  }
  void add(Image picture) { pictures_.push_back(std::move(picture)); }
  /// Writes the file.
  void end();

private:
  RecordOptions options_;
  std::vector<Image> pictures_;
  std::uint64_t episodes_ = 0, seed_ = 0;
  bool recording_ = false;
};

} // namespace detail

/// Writes some episodes as animated GIF files, for an environment with render(). As
/// Gymnasium's RecordVideo, which writes MP4 files; the names have the episode's seed
/// here, FOLDER/PREFIX-episode-N-seed-S.gif, so that the environments of a VecEnv can
/// share a folder. A file is written when its episode ends, at the next reset, or at the
/// end of the object. reset() and step() throw what write_gif() throws.
template <Environment E>
  requires requires(const E& environment) {
    { environment.render() } -> std::convertible_to<Image>;
  }
class RecordEpisode : public detail::Wrapper<E>,
                      public detail::SameActions<E>,
                      public detail::SameObservations<E> {
public:
  template <class... Args>
    requires std::constructible_from<E, Args...>
  explicit RecordEpisode(RecordOptions options, Args&&... args)
    : detail::Wrapper<E>(std::in_place, std::forward<Args>(args)...),
      recorder_(std::move(options)) {}

  void reset(std::uint64_t seed) {
    recorder_.begin(seed);
    this->environment_.reset(seed);
    look();
  }
  Step step(typename E::Action action) {
    const auto result = this->environment_.step(action);
    look();
    if (result.terminated || result.truncated)
      recorder_.end();
    return result;
  }

private:
  void look() {
    if (recorder_.wants_picture())
      recorder_.add(this->environment_.render());
  }

  detail::EpisodeRecorder recorder_;
};

} // namespace fiber::rl
