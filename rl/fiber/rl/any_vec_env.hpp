// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <boost/serialization/vector.hpp>
#include <boost/serialization/version.hpp>

#include "fiber/callable.hpp"
#include "fiber/rl/batch.hpp"
#include "fiber/rl/detail/env_host.hpp"
#include "fiber/rl/environment.hpp"

namespace fiber::rl {

/// What happens after an episode has ended, with the semantics of Gymnasium 1.x.
enum class Autoreset {
  /// The next episode begins in the same step. Its first observation is in the row, and
  /// Batch::final_observation() has the last one of the episode that ended. No row is
  /// wasted.
  same_step,
  /// The row has the last observation of the episode. The next step ignores the action
  /// and begins the next episode: that row has the first observation, and the reward 0.
  next_step,
  /// The row has the last observation of the episode. Stepping the environment again is
  /// an error until reset(ids) was called.
  disabled
};

/// What follows if an environment throws an exception.
enum class OnError {
  /// The call of the VecEnv throws std::runtime_error: see AnyVecEnv.
  stop,
  /// The episode has ended: its row has valid 0 and truncated 1, and a new episode
  /// begins. A reset() that fails is tried again with the seed of the next episode.
  /// Errors are counted: see AnyVecEnv::errors(). At the 10th error of one environment in
  /// a row, without a step that ended well in between, the call throws as with `stop`. A
  /// call of AnyVecEnv::reset() for the environment begins a new count.
  ///
  /// With VecEnvOptions::replay, the episodes of a job that is lost three times in a row
  /// end in the same way, because an environment may end its process at each try.
  new_episode
};

/// The options of a VecEnv.
struct VecEnvOptions {
  /// The number of environments; at least 1.
  std::size_t envs = 1;
  /// The number of rows that recv() returns; 0: as many as there are environments.
  std::size_t batch = 0;
  /// The number of jobs that the environments are spread over; more than `envs` counts as
  /// `envs`. 0: the environments run in this process, on the caller's thread, and no
  /// session is needed.
  std::size_t jobs = 0;
  /// What happens after an episode has ended.
  Autoreset autoreset = Autoreset::same_step;
  /// The base seed. An episode's seed follows from it, the environment's number and the
  /// episode's number: see episode_seed().
  std::uint64_t seed = 0;
  /// The resources of each job.
  Resources resources = {};
  /// What happens to the environments of a lost job. false: they begin a new episode, and
  /// their rows have valid 0 and truncated 1. true: the replacement job replays the
  /// actions of their episodes, so that no row is lost and none differs. This needs
  /// repeatable environments, as the concept Environment demands.
  bool replay = false;
  /// How long one call of one environment may take: reset(), step(), observe() or mask().
  /// A job
  /// whose environment takes longer is ended and replaced, within about a second, and the
  /// log names the environment. What happens to its environments is what `replay` says.
  /// With `replay` the step is tried again; at the third hang in a row the episode of
  /// that environment alone is given up, with a row that has valid 0 and truncated 1. An
  /// environment that hangs six times without a row in between is an error: TimeoutError.
  ///
  /// The time in which a job waits for orders or steps other environments does not count,
  /// nor does the making of environments, which has no limit. Needs jobs >= 1, and a
  /// backend other than inline. Nothing: no limit.
  std::optional<std::chrono::milliseconds> step_timeout = {};
  /// What follows if an environment throws an exception.
  OnError on_error = OnError::stop;
  /// How many actions of the episode under way are kept for each environment, in 4 *
  /// Spaces::action_size() bytes each: replay and state() need them. An episode with more
  /// actions continues, but can't be retraced: if its job is lost, the row of the
  /// environment has valid 0 even with `replay`, and the log says so; see
  /// VecEnvState::Env::forgotten. 0 keeps none, which is enough without `replay` and
  /// state().
  std::size_t history_limit = 100'000;
};

/// A checkpoint of a VecEnv: enough to bring its environments back to the same states. It
/// is a value (see fiber/value.hpp), and Boost.Serialization writes it to files.
struct VecEnvState {
  /// One environment.
  struct Env {
    std::uint64_t episodes = 0; ///< Episodes begun; the last one is under way.
    std::vector<float> actions; ///< Of the last episode, in rows of action_size().
    bool done = false;          ///< The last episode has ended; never with same_step.
    /// The last episode had more actions than VecEnvOptions::history_limit, and `actions`
    /// is empty: restore() can't bring the episode back, and begins the next one.
    bool forgotten = false;

    friend bool operator==(const Env&, const Env&) = default;

    template <class Archive>
    void serialize(Archive& archive, unsigned version) {
      archive& episodes& actions& done;
      if (version > 0)
        archive& forgotten;
    }
  };

  std::uint64_t seed = 0;
  std::vector<Env> envs;

  friend bool operator==(const VecEnvState&, const VecEnvState&) = default;

  template <class Archive>
  void serialize(Archive& archive, unsigned) {
    archive& seed& envs;
  }
};

/// Many environments that step together, whose type is chosen when the program runs.
/// VecEnv<E> is the same with a type. Actions are rows of Spaces::action_size() floats; a
/// discrete action is one float, its number. Batch::masks says which are possible.
///
/// The environments live in this process or are spread over jobs, as VecEnvOptions::jobs
/// says; nothing else differs. An environment's seeds depend on its number, so the rows
/// are the same for any number of jobs. Jobs on this machine write their rows to shared
/// memory, which Batch points to. A job elsewhere sends its rows of a step in one
/// message.
///
/// A job that is lost is replaced: see VecEnvOptions::replay. If it is lost repeatedly
/// and no step of its environments succeeds in between, calls throw Error, which gives
/// the reason. The object can't be used after that: each call throws the same error.
///
/// If an environment throws, step(), recv() or reset() throws std::runtime_error, which
/// names the environment, unless VecEnvOptions::on_error says otherwise. Rows of other
/// environments stay in flight until recv() returns them. The environment can be used
/// again after reset(ids). A mask that forbids each choice of a component of the action,
/// before the end of an episode, counts as an exception of the environment.
///
/// Memory: the actions of each episode under way are kept, for replay and for state(), up
/// to VecEnvOptions::history_limit.
///
/// Thread safety: one thread at a time.
class AnyVecEnv {
public:
  /// Environments of this name: see environment_names() (fiber/rl/environments.hpp).
  /// Blocks until all are made. Throws what their constructor throws, from a job as
  /// RemoteError; ConfigError for options that can't be used; Closed if there are jobs
  /// but no session; what Supervisor::spawn() throws if a job can't be started.
  AnyVecEnv(const VecEnvOptions& options, const std::string& environment);
  /// Environments that `make` returns: a function or the result of fiber::bind(), called
  /// without arguments in the process where the environments live.
  template <class Make>
    requires std::is_invocable_r_v<std::unique_ptr<AnyEnvironment>, Make&>
  AnyVecEnv(const VecEnvOptions& options, Make make)
    : AnyVecEnv(options, detail::hosts_of(std::move(make))) {}
  AnyVecEnv(AnyVecEnv&&) noexcept;
  AnyVecEnv& operator=(AnyVecEnv&&) noexcept;
  /// Ends the jobs.
  ~AnyVecEnv();

  /// The options, with `batch` and `jobs` as they are used.
  const VecEnvOptions& options() const;
  /// The spaces of one environment.
  const Spaces& spaces() const;
  /// The number of environments.
  std::size_t size() const { return options().envs; }

  /// Begins the next episode of each environment. Returns the first observations of all,
  /// in the order of their numbers, whatever VecEnvOptions::batch is. Waits for rows in
  /// flight, and drops them.
  const Batch& reset();
  /// The same for these environments, in the order of `ids`. Throws std::invalid_argument
  /// for unknown or repeated numbers, and std::logic_error for environments in flight.
  /// Both errors name the environments.
  const Batch& reset(std::span<const int> ids);

  /// Steps every environment and waits for all. Row i of `actions`, and row i of the
  /// result, belong to environment i. Throws std::invalid_argument for a wrong number of
  /// actions, for discrete actions that do not exist or that Batch::masks forbids, and
  /// for numbers that are not finite. Throws std::logic_error before reset(), while rows
  /// are in flight, and for environments whose episode has ended (Autoreset::disabled).
  /// These errors name the environments, and no environment has stepped.
  const Batch& step(std::span<const float> actions);

  /// Sends row i of `actions` to environment ids[i] and returns at once. The last Batch
  /// is no longer valid after that. Throws as step() does, and std::logic_error for
  /// environments in flight.
  void send(std::span<const float> actions, std::span<const int> ids);
  /// Waits for VecEnvOptions::batch rows, or for all in flight if these are fewer.
  /// Returns the rows that were ready first. Throws std::logic_error if none is in
  /// flight.
  const Batch& recv();
  /// The number of rows in flight: sent, and not yet returned by recv().
  std::size_t in_flight() const;

  /// A checkpoint of the environments, for restore(). Throws std::logic_error if rows are
  /// in flight.
  VecEnvState state() const;
  /// Restores the states of another VecEnv, which had the same environment, number of
  /// environments and Autoreset. Each environment begins its episode with the same seed
  /// and replays the same actions. Later episodes continue with the state's seed. Returns
  /// a row for each environment with its present observation, the reward 0, and the
  /// return and length of the episode so far. The row of an environment that was never
  /// reset holds zeros. That of an environment whose episode is forgotten
  /// (VecEnvState::Env) has valid 0 and truncated 1, and the first observation of the
  /// next episode. Throws std::invalid_argument for a state that does not fit,
  /// std::logic_error if rows are in flight.
  const Batch& restore(const VecEnvState& state);

  /// The number of jobs that were lost and replaced so far.
  std::size_t jobs_lost() const;
  /// How many exceptions of environments there were so far. Of a session's live page this
  /// is the series "environment errors", and hangs() is "environment hangs".
  std::size_t errors() const;
  /// The first of them, with the environment's number and, of a GymEnv, the traceback;
  /// empty if there was none.
  const std::string& first_error() const;
  /// How often an environment hung: see VecEnvOptions::step_timeout.
  std::size_t hangs() const;
  /// Whether the rows come through memory that the jobs share with this process.
  bool shares_memory() const;

  /// For tests: `hosts` says how the environments are reached.
  AnyVecEnv(const VecEnvOptions& options, std::unique_ptr<detail::EnvHosts> hosts);

private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

} // namespace fiber::rl

BOOST_CLASS_VERSION(fiber::rl::VecEnvState::Env, 1)
