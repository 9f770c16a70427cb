// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "fiber/callable.hpp"
#include "fiber/rl/any_vec_env.hpp"
#include "fiber/rl/batch.hpp"
#include "fiber/rl/environment.hpp"

namespace fiber::rl {

namespace detail {

/// Makes an `E` from copies of these arguments, as an AnyEnvironment.
template <class E, class... Args>
std::unique_ptr<AnyEnvironment> make_erased(const Args&... args) {
  return erase<E>(args...);
}

} // namespace detail

/// Many environments of one type that step together, in this process or in jobs:
///
///   VecEnv<CartPole> envs({.envs = 64, .jobs = 8});
///   const auto* batch = &envs.reset();
///   for (;;)
///     batch = &envs.step(policy(batch->observations));
///
/// It is the typed form of AnyVecEnv, which documents its behaviour.
///
/// Thread safety: one thread at a time.
template <Environment E>
class VecEnv {
public:
  using Action = typename E::Action;

  /// Environments E(). Throws as AnyVecEnv's constructor.
  explicit VecEnv(const VecEnvOptions& options = {})
    : envs_(options, fiber::bind(&detail::make_erased<E>)) {}
  /// Environments E(args...). Each is made in the process where it lives, from copies of
  /// the arguments, which must be values (fiber/value.hpp).
  template <class... Args>
    requires(sizeof...(Args) > 0)
  explicit VecEnv(const VecEnvOptions& options, Args&&... args)
    : envs_(options, fiber::bind(&detail::make_erased<E, std::decay_t<Args>...>,
                                 std::forward<Args>(args)...)) {}

  /// See AnyVecEnv, also for all functions below.
  const VecEnvOptions& options() const { return envs_.options(); }
  const Spaces& spaces() const { return envs_.spaces(); }
  std::size_t size() const { return envs_.size(); }

  /// Begins the next episode of each environment, or of those in `ids`. Returns their
  /// first observations.
  const Batch& reset() { return envs_.reset(); }
  const Batch& reset(std::span<const int> ids) { return envs_.reset(ids); }
  /// Steps every environment. actions[i] and row i of the result belong to environment i.
  const Batch& step(std::span<const Action> actions) { return envs_.step(rows(actions)); }
  /// Sends actions[i] to environment ids[i] and returns at once.
  void send(std::span<const Action> actions, std::span<const int> ids) {
    envs_.send(rows(actions), ids);
  }
  /// Waits for VecEnvOptions::batch rows and returns those that were ready first.
  const Batch& recv() { return envs_.recv(); }
  std::size_t in_flight() const { return envs_.in_flight(); }

  /// A checkpoint of the environments, and restoring from it.
  VecEnvState state() const { return envs_.state(); }
  const Batch& restore(const VecEnvState& state) { return envs_.restore(state); }

  std::size_t jobs_lost() const { return envs_.jobs_lost(); }
  std::size_t errors() const { return envs_.errors(); }
  const std::string& first_error() const { return envs_.first_error(); }
  std::size_t hangs() const { return envs_.hangs(); }
  bool shares_memory() const { return envs_.shares_memory(); }

private:
  std::span<const float> rows(std::span<const Action> actions) {
    if constexpr (std::is_same_v<Action, int>) {
      numbers_.resize(actions.size());
      for (std::size_t i = 0; i < actions.size(); ++i)
        numbers_[i] = static_cast<float>(actions[i]);
      return numbers_;
    } else if constexpr (detail::is_int_array<Action>) {
      numbers_.clear();
      for (const auto& action : actions)
        numbers_.insert(numbers_.end(), action.begin(), action.end());
      return numbers_;
    } else {
      constexpr auto width = std::tuple_size_v<Action>;
      return {reinterpret_cast<const float*>(actions.data()), actions.size() * width};
    }
  }

  AnyVecEnv envs_;
  std::vector<float> numbers_;
};

} // namespace fiber::rl
