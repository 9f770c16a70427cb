// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <boost/serialization/string.hpp>
#include <boost/serialization/vector.hpp>
#include <boost/serialization/version.hpp>

#include "fiber/rl/detail/number_text.hpp"
#include "fiber/rl/image.hpp"

namespace fiber::rl {

/// The result of one step of an episode.
struct Step {
  double reward = 0;
  bool terminated = false; ///< The task ended the episode: the value after it is 0.
  bool truncated = false;  ///< Something else did, such as a step limit.
};

/// The physics of an environment has diverged: its state is no longer finite, or not to
/// be believed. Evolution strategies end the episode there.
class PhysicsDiverged : public std::domain_error {
public:
  using std::domain_error::domain_error;
};

/// A part of an observation, such as where the goal is.
struct ObservationPart {
  std::string name;
  std::size_t size = 0; ///< In floats.

  template <class Archive>
  void serialize(Archive& archive, unsigned) {
    archive& name& size;
  }
};

/// Where a part lies in an observation.
struct PartPlace {
  std::size_t offset = 0, size = 0; ///< In floats.

  /// The numbers of the part in an observation, such as a row of Batch::observations.
  std::span<const float> in(std::span<const float> observation) const {
    return observation.subspan(offset, size);
  }
};

/// The observation space and the action space of an environment.
struct Spaces {
  /// A discrete action travels as a float, and floats have each whole number up to 2^24.
  static constexpr int max_actions = 1 << 24;

  /// The shape of an observation, which is float32: {4}, or {4, 84, 84} for four stacked
  /// images.
  std::vector<std::size_t> observation_shape;
  /// The number of discrete actions, 0 to actions - 1; at most max_actions. 0: actions
  /// are continuous or multi-discrete.
  int actions = 0;
  /// The bounds of each component of a continuous action; empty for discrete ones.
  std::vector<float> action_low = {}, action_high = {};
  /// Multi-discrete actions: the number of choices of each component. An action is a
  /// float for each component, the number of its choice. Empty for other actions.
  std::vector<int> action_counts = {};
  /// Discrete and multi-discrete actions: the environment says which actions are
  /// possible. See AnyEnvironment::mask().
  bool masked = false;
  /// The parts of an observation, in their order, if they have names. Their sizes add up
  /// to observation_size().
  std::vector<ObservationPart> observation_parts = {};

  /// Whether actions are discrete or multi-discrete.
  bool discrete() const { return actions > 0 || !action_counts.empty(); }
  /// The number of choices of each component of a discrete action, which has one
  /// component, or of a multi-discrete one. Empty for continuous actions.
  std::span<const int> choices() const {
    return actions > 0 ? std::span(&actions, 1) : std::span<const int>(action_counts);
  }
  /// The number of choices of all components together: what a policy has logits for.
  std::size_t logits() const {
    std::size_t sum = 0;
    for (const int count : choices())
      sum += static_cast<std::size_t>(count);
    return sum;
  }
  /// The number of bytes of a mask, one for each logit; 0 if actions are not masked.
  std::size_t mask_size() const { return masked ? logits() : 0; }
  /// Throws std::invalid_argument if there are more than max_actions, if a component of
  /// a multi-discrete action has no choice, and for spaces that have two kinds of actions
  /// or a mask of continuous ones. The text begins with `owner`, what has these spaces.
  void check_actions(const std::string& owner) const;
  /// Throws std::invalid_argument, which names the component, unless `action` is one of
  /// these discrete or multi-discrete actions.
  void check_choices(std::span<const float> action) const;
  /// Returns `count`, which has been checked in the same way.
  static int checked_actions(long long count, const std::string& owner);
  /// The number of floats in an observation.
  std::size_t observation_size() const {
    std::size_t size = 1;
    for (auto extent : observation_shape)
      size *= extent;
    return size;
  }
  /// The number of floats in an action. A discrete action is 1 float: its number.
  std::size_t action_size() const {
    return discrete() ? choices().size() : action_low.size();
  }

  /// Where the part with this name lies. Throws std::invalid_argument, which names the
  /// parts that there are, for another name.
  PartPlace part(std::string_view name) const;
  /// Throws std::invalid_argument, which says what would be right, unless the parts have
  /// different names, and sizes that add up; or if there are no parts.
  void check_parts() const;

  /// Whether a policy for the one acts in the other. The names of parts do not matter.
  friend bool operator==(const Spaces& one, const Spaces& other) {
    // As many names as there are members, so that the compiler finds a forgotten one.
    [[maybe_unused]] const auto& [shape, actions, low, high, counts, masked, parts] = one;
    return shape == other.observation_shape && actions == other.actions &&
           low == other.action_low && high == other.action_high &&
           counts == other.action_counts && masked == other.masked;
  }

  template <class Archive>
  void serialize(Archive& archive, unsigned version) {
    archive& observation_shape& actions& action_low& action_high;
    if (version > 0)
      archive& action_counts& masked& observation_parts;
  }
};

/// The first component of an action of which `mask` forbids each choice; nothing if there
/// is none. `mask` has spaces.mask_size() bytes.
std::optional<std::size_t> impossible_component(const Spaces& spaces,
                                                std::span<const std::uint8_t> mask);

namespace detail {

template <class T>
inline constexpr bool is_float_array = false;
template <std::size_t N>
inline constexpr bool is_float_array<std::array<float, N>> = true;

template <class T>
inline constexpr bool is_int_array = false;
template <std::size_t N>
inline constexpr bool is_int_array<std::array<int, N>> = true;

template <class E>
concept StaticObservation = requires {
  { E::observation_size } -> std::convertible_to<std::size_t>;
} || requires { std::span<const std::size_t>(E::observation_shape); };

template <class E>
concept StaticActions = requires {
  { E::actions } -> std::convertible_to<int>;
} || requires {
  requires is_int_array<typename E::Action>;
  { E::actions } -> std::convertible_to<typename E::Action>;
} || requires {
  { E::action_low } -> std::convertible_to<typename E::Action>;
  { E::action_high } -> std::convertible_to<typename E::Action>;
};

template <class E>
concept Masking =
  requires(const E& environment, std::span<std::uint8_t> out) { environment.mask(out); };

} // namespace detail

/// A world that an agent acts in, one episode after another. A class models it with
///
///   using Action = int;                  // or std::array<float, N>
///   static constexpr int actions = 2;    // or: static constexpr Action action_low{...},
///                                        //     action_high{...};
///                                        // Action = std::array<int, N>: the number of
///                                        // choices of each component,
///                                        // static constexpr Action actions{3, 2};
///   static constexpr std::size_t observation_size = 4;
///                      // or: static constexpr std::array<std::size_t, 3>
///                      //     observation_shape{4, 84, 84};
///   void reset(std::uint64_t seed);      // starts an episode
///   Step step(Action action);            // acts once
///   void observe(std::span<float> out) const;   // writes what the agent sees now
///
/// A class whose spaces are known only when the program runs has `Spaces spaces() const`
/// in place of the static members.
///
/// A class with discrete actions may have `void mask(std::span<std::uint8_t> out) const`,
/// which says what is possible now: it writes a byte for each action, or for each choice
/// of each component, one component after another; 0 forbids it. There must be a
/// possible choice of each component as long as the episode has not ended. A class that
/// also has spaces() sets Spaces::masked itself.
///
/// A class may have `Image render() const`, a picture of the present state for people.
///
/// An episode must depend only on the seed and the actions: the same seed and actions
/// give the same rows in any process. The environment itself counts its steps and sets
/// `truncated` at its step limit.
template <class E>
concept Environment =
  (std::same_as<typename E::Action, int> || detail::is_int_array<typename E::Action> ||
   detail::is_float_array<typename E::Action>)&&requires(E& environment,
                                                         const E& constant,
                                                         typename E::Action action,
                                                         std::uint64_t seed,
                                                         std::span<float> out) {
    environment.reset(seed);
    { environment.step(action) } -> std::same_as<Step>;
    constant.observe(out);
  } &&
  (requires(const E& constant) {
    { constant.spaces() } -> std::convertible_to<Spaces>;
  } || (detail::StaticObservation<E> && detail::StaticActions<E>));

/// The spaces of an environment.
template <Environment E>
Spaces spaces_of(const E& environment) {
  if constexpr (requires { environment.spaces(); }) {
    return environment.spaces();
  } else {
    Spaces spaces;
    if constexpr (requires { E::observation_shape; })
      spaces.observation_shape.assign(std::begin(E::observation_shape),
                                      std::end(E::observation_shape));
    else
      spaces.observation_shape = {E::observation_size};
    if constexpr (detail::is_int_array<typename E::Action>) {
      spaces.action_counts.assign(E::actions.begin(), E::actions.end());
      spaces.masked = detail::Masking<E>;
    } else if constexpr (requires { E::actions; }) {
      spaces.actions = E::actions;
      spaces.masked = detail::Masking<E>;
    } else {
      spaces.action_low.assign(E::action_low.begin(), E::action_low.end());
      spaces.action_high.assign(E::action_high.begin(), E::action_high.end());
    }
    return spaces;
  }
}

/// An environment whose type is chosen when the program runs. Observations and actions
/// are rows of floats; a discrete action is one float, its number, and a multi-discrete
/// one a float for each component.
class AnyEnvironment {
public:
  virtual ~AnyEnvironment() = default;

  virtual Spaces spaces() const = 0;
  virtual void reset(std::uint64_t seed) = 0;
  /// `action` has spaces().action_size() floats. Throws std::invalid_argument for another
  /// number of floats, and for a discrete action that does not exist.
  virtual Step step(std::span<const float> action) = 0;
  /// `out` has spaces().observation_size() floats.
  virtual void observe(std::span<float> out) const = 0;
  /// Which actions are possible now: 0 forbids a choice. `out` has spaces().mask_size()
  /// bytes. Without a mask() of the environment all are possible.
  virtual void mask(std::span<std::uint8_t> out) const {
    std::ranges::fill(out, std::uint8_t{1});
  }
  /// A picture of the present state; nothing if the environment cannot render.
  virtual std::optional<Image> render() const { return std::nullopt; }
};

namespace detail {

template <Environment E>
class Erased final : public AnyEnvironment {
public:
  template <class... Args>
  explicit Erased(Args&&... args)
    : environment_(std::forward<Args>(args)...), spaces_(spaces_of(environment_)) {
    spaces_.check_actions("the environment");
  }

  Spaces spaces() const override { return spaces_; }
  void reset(std::uint64_t seed) override { environment_.reset(seed); }
  Step step(std::span<const float> action) override {
    using Action = typename E::Action;
    if constexpr (std::same_as<Action, int>) {
      check_discrete(action);
      return environment_.step(static_cast<int>(action[0]));
    } else if constexpr (is_int_array<Action>) {
      spaces_.check_choices(action);
      Action choices;
      std::ranges::transform(action, choices.begin(),
                             [](float number) { return static_cast<int>(number); });
      return environment_.step(choices);
    } else {
      Action values;
      if (action.size() != values.size())
        throw std::invalid_argument("an action has " + std::to_string(values.size()) +
                                    " numbers, not " + std::to_string(action.size()));
      std::ranges::copy(action, values.begin());
      return environment_.step(values);
    }
  }
  void observe(std::span<float> out) const override { environment_.observe(out); }
  void mask(std::span<std::uint8_t> out) const override {
    if (out.empty())
      return; // Actions are not masked, even if there is a mask().
    if constexpr (Masking<E>)
      environment_.mask(out);
    else
      AnyEnvironment::mask(out);
  }
  std::optional<Image> render() const override {
    if constexpr (requires { environment_.render(); })
      return environment_.render();
    else
      return std::nullopt;
  }

private:
  void check_discrete(std::span<const float> action) const {
    const auto count = static_cast<float>(spaces_.actions);
    if (action.size() != 1 || !(action[0] >= 0 && action[0] < count))
      spaces_.check_choices(action); // Throws.
  }

  E environment_;
  Spaces spaces_;
};

} // namespace detail

/// Makes an `E` from these arguments, as an AnyEnvironment. Throws std::invalid_argument
/// if it has more than Spaces::max_actions discrete actions, and for other spaces that
/// Spaces::check_actions() refuses.
template <Environment E, class... Args>
std::unique_ptr<AnyEnvironment> erase(Args&&... args) {
  return std::make_unique<detail::Erased<E>>(std::forward<Args>(args)...);
}

/// The seed of an environment's episode. `id` is the environment's number, and `episode`
/// counts its episodes from 0. So an environment's episodes do not depend on where it
/// runs.
std::uint64_t episode_seed(std::uint64_t seed, std::size_t id, std::uint64_t episode);

} // namespace fiber::rl

BOOST_CLASS_VERSION(fiber::rl::Spaces, 1)
