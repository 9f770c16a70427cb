// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <boost/serialization/string.hpp>
#include <boost/serialization/vector.hpp>

#include "fiber/rl/normalisation.hpp"
#include "fiber/rl/policy.hpp"

namespace fiber::rl {

/// A trained policy with all that is needed to run it.
struct SavedPolicy {
  std::string environment; ///< The name that make_environment() takes.
  PolicySpec spec;
  std::vector<float> parameters = {}; ///< In the order of PolicySpec::parameter_count().
  FrozenNormaliser observations = {}; ///< Normalises observations first.

  friend bool operator==(const SavedPolicy&, const SavedPolicy&) = default;

  template <class Archive>
  void serialize(Archive& archive, unsigned) {
    archive& environment& spec& parameters& observations;
  }
};

/// Saves a policy with save_state(). The file's first lines name the environment,
/// describe the network, and name the physics engine, if physics_engine() knows one.
/// Throws as save_state() does, and std::invalid_argument if the number of parameters is
/// not the spec's.
void save_policy(const std::filesystem::path& path, const SavedPolicy& policy);

/// Loads what save_policy() saved. Throws std::runtime_error, saying what is wrong, if
/// there is no such file or if save_policy() did not write it.
SavedPolicy load_policy(const std::filesystem::path& path);

/// The physics engine that the file of a policy names: "MuJoCo 2.2.2". Empty if it names
/// none, as files of older versions of Fiber. With another version than physics_engine()
/// says, the policy plays a little differently.
std::string physics_of_policy(const std::filesystem::path& path);

/// A saved policy at work: it normalises observations, runs the network, and limits the
/// action to its bounds.
///
/// Thread safety: none; each thread makes its own.
class ActingPolicy {
public:
  /// Throws std::invalid_argument if the number of parameters is not the spec's.
  explicit ActingPolicy(SavedPolicy saved);

  /// The most probable action for each of the observations, which stand one after another
  /// and are as the environment shows them. `masks` says which actions are possible, see
  /// Batch::masks; it is empty unless actions are masked. A discrete action is one
  /// number, its index. Valid until the next call. Throws as Policy::best() does.
  ///
  /// A recurrent policy remembers each observation: row i is always of the same episode,
  /// up to the next begin_episode(). Another number of rows than in the call before
  /// throws std::invalid_argument.
  std::span<const float> act(std::span<const float> observations,
                             std::span<const std::uint8_t> masks = {});

  /// Begins an episode in all rows, or in one: a recurrent policy forgets the last one.
  /// New objects begin at an episode. Throws std::out_of_range for a row that was not in
  /// the last call of act().
  void begin_episode();
  void begin_episode(std::size_t row);

  const SavedPolicy& saved() const { return saved_; }

private:
  SavedPolicy saved_;
  Policy policy_;
  std::vector<float> observations_, actions_;
  std::vector<float> memory_; ///< Of each row's episode; empty: all begin.
};

namespace detail {

/// What load_policy() does with what follows the label of the file `path`.
SavedPolicy policy_in(const std::filesystem::path& path, std::string_view content);

} // namespace detail

} // namespace fiber::rl
