// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <boost/serialization/vector.hpp>

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
  /// The row has the last observation. The next step ignores the action and begins the
  /// next episode: its row has the first observation and the reward 0.
  next_step,
  /// The row has the last observation. A step is an error until reset(ids) was called.
  disabled
};

/// The options of a VecEnv.
struct VecEnvOptions {
  /// The number of environments; at least 1.
  std::size_t envs = 1;
  /// How many rows recv() returns; 0: as many as there are environments.
  std::size_t batch = 0;
  /// The jobs that the environments are spread over; 0: they run in this process, on the
  /// caller's thread, and no session is needed. There are at most as many as
  /// environments.
  std::size_t jobs = 0;
  /// What happens after an episode has ended.
  Autoreset autoreset = Autoreset::same_step;
  /// Decides, with the number of an environment and of its episode, each episode's seed.
  std::uint64_t seed = 0;
  /// What each job may use.
  Resources resources = {};
  /// What becomes of the environments of a job that was lost. false: they begin a new
  /// episode, and their rows come back with valid 0 and truncated 1. true: the job that
  /// replaces it takes the actions of their episodes again, so that no row is lost and
  /// none differs; for this an environment must be repeatable, as its concept says.
  bool replay = false;
};

/// Where the environments of a VecEnv are: enough to bring them back to the same place. A
/// value: see fiber/value.hpp. Written to files by Boost.Serialization.
struct VecEnvState {
  /// One environment.
  struct Env {
    std::uint64_t episodes = 0; ///< How many it has begun; the last one is under way.
    std::vector<float> actions; ///< Of that episode, in rows of Spaces::action_size().
    bool done = false;          ///< That episode has ended; not with same_step.

    friend bool operator==(const Env&, const Env&) = default;

    template <class Archive>
    void serialize(Archive& archive, unsigned) {
      archive& episodes& actions& done;
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
/// discrete action is one float, its number.
///
/// The environments live in this process or are spread over jobs, as
/// VecEnvOptions::jobs says; nothing else differs. Seeds belong to the numbers of
/// environments, so the rows are the same for any number of jobs. Jobs on this machine
/// write their rows to memory that Batch shows; from elsewhere a job's rows of one step
/// come in one message.
///
/// A job that is lost is replaced: see VecEnvOptions::replay. If it is lost again and
/// again and no step of its environments succeeds in between, calls throw Error, which
/// gives the reason. After that the object can't be used any more: each call throws the
/// same.
///
/// An exception of an environment reaches the caller of step(), recv() or reset() as
/// std::runtime_error, which names the environment. Rows of other environments that were
/// in flight stay there: recv() returns them. The environment can be used again after
/// reset(ids).
///
/// Memory: the actions of each episode under way are kept, for replay and for state().
///
/// Thread safety: one thread at a time.
class AnyVecEnv {
public:
  /// Environments of this name: see environment_names() (fiber/rl/environments.hpp).
  /// Blocks until all are made. Throws what their constructor throws, from a job as
  /// RemoteError; ConfigError for options that can't be used; Closed if there are jobs
  /// but no session; what Supervisor::spawn() throws if a job can't be started.
  AnyVecEnv(const VecEnvOptions& options, const std::string& environment);
  /// Environments made by `make`, a value that is called as
  /// std::unique_ptr<AnyEnvironment> make(), in the process where they live: a function
  /// or what fiber::bind() returns.
  template <class Make>
    requires std::is_invocable_r_v<std::unique_ptr<AnyEnvironment>, Make&>
  AnyVecEnv(const VecEnvOptions& options, Make make)
    : AnyVecEnv(options, detail::hosts_of(std::move(make))) {}
  AnyVecEnv(AnyVecEnv&&) noexcept;
  AnyVecEnv& operator=(AnyVecEnv&&) noexcept;
  /// Ends the jobs.
  ~AnyVecEnv();

  /// The options, with the numbers of rows and jobs that are used.
  const VecEnvOptions& options() const;
  /// What one environment shows and takes.
  const Spaces& spaces() const;
  /// The number of environments.
  std::size_t size() const { return options().envs; }

  /// Begins the next episode of each environment. Returns their first observations, in
  /// order of their numbers, whatever VecEnvOptions::batch is. Rows in flight are waited
  /// for and dropped.
  const Batch& reset();
  /// The same for these environments, in the order of `ids`. Throws std::invalid_argument
  /// for numbers that there are not or that come twice, std::logic_error for environments
  /// in flight; both name them.
  const Batch& reset(std::span<const int> ids);

  /// Steps every environment and waits for all: row i of `actions` is for environment i,
  /// whose row is row i of the result. Throws std::invalid_argument for a wrong number of
  /// actions, for discrete actions that there are not and for numbers that are not
  /// finite; std::logic_error before reset(), while rows are in flight, and for
  /// environments whose episode has ended (Autoreset::disabled). The errors name the
  /// environments; nothing has stepped then.
  const Batch& step(std::span<const float> actions);

  /// Sends row i of `actions` to environment ids[i] and returns at once. Ends the
  /// validity of the last Batch. Throws as step(), and for environments in flight.
  void send(std::span<const float> actions, std::span<const int> ids);
  /// Waits until VecEnvOptions::batch rows are there, or all in flight if these are
  /// fewer. Returns those that were ready first. Throws std::logic_error if none is in
  /// flight.
  const Batch& recv();
  /// How many rows are in flight: sent, and not returned by recv().
  std::size_t in_flight() const;

  /// Where the environments are. Throws std::logic_error if rows are in flight.
  VecEnvState state() const;
  /// Brings the environments to where another VecEnv of the same environment, number of
  /// environments and Autoreset was: their episodes begin with the same seeds and take
  /// the same actions again. Returns a row for each environment with its present
  /// observation, the reward 0, and the return and length of the episode so far; the row
  /// of an environment that was never reset holds zeros. Seeds go on from the state's.
  /// Throws std::invalid_argument for a state that does not fit, std::logic_error if rows
  /// are in flight.
  const Batch& restore(const VecEnvState& state);

  /// How many jobs were lost and replaced so far.
  std::size_t jobs_lost() const;
  /// Whether the rows come through memory that the jobs share with this process.
  bool shares_memory() const;

  /// For tests: `hosts` says how the environments are reached.
  AnyVecEnv(const VecEnvOptions& options, std::unique_ptr<detail::EnvHosts> hosts);

private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

} // namespace fiber::rl
