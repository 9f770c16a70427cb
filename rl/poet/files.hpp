// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>

#include <boost/serialization/string.hpp>

#include "rl/poet/evaluation.hpp"
#include "rl/poet/options.hpp"
#include "rl/poet/state.hpp"

namespace fiber::rl::poet {

/// The files of a run, in its folder.
class Files {
public:
  /// Makes the folder if it is not there. Throws std::filesystem::filesystem_error.
  Files(std::filesystem::path folder, const PoetOptions& options);

  /// Replaces checkpoint, returns.csv and events.csv, each atomically. Throws
  /// std::system_error.
  void save(const PoetState& state) const;
  /// The checkpoint; nothing if there is none. Throws std::runtime_error, saying why, if
  /// it is of another run, of another version of this program, or damaged.
  std::optional<PoetState> load() const;
  /// Replaces the agents of the pairs, agents/E1 and so on, and removes those of retired
  /// environments.
  void save_agents(const PoetState& state) const;

  std::filesystem::path checkpoint() const { return folder_ / "checkpoint"; }
  std::filesystem::path picture() const { return folder_ / "environments.png"; }
  std::filesystem::path agents() const { return folder_ / "agents"; }

private:
  std::filesystem::path folder_;
  const PoetOptions& options_;
};

/// An agent with the environment that it is for, as save_agents() saves it.
struct SavedAgent {
  std::uint64_t environment = 0;
  EnvironmentParameters parameters = {};
  double score = 0;
  Job job;

  template <class Archive>
  void serialize(Archive& archive, unsigned) {
    archive& environment& parameters& score& job;
  }
};

/// Throws std::runtime_error, saying why, if the file is no saved agent.
SavedAgent load_agent(const std::filesystem::path& path);

/// Plays a saved agent in a fresh episode, which follows from the seed, prints how it
/// went, and writes its pictures into a GIF file unless `gif` is empty.
void play_agent(const std::filesystem::path& path, std::uint64_t seed,
                const std::filesystem::path& gif);

} // namespace fiber::rl::poet
