// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <boost/serialization/vector.hpp>
#include <unistd.h>

#include <fiber/callable.hpp>
#include <fiber/checkpoint.hpp>
#include <fiber/future.hpp>
#include <fiber/ref.hpp>
#include <fiber/supervisor.hpp>
#include <fiber/this_object.hpp>

#include "fiber/rl/detail/call_watch.hpp"

// Population-based training (Jaderberg et al. 2017, arXiv 1711.09846).

namespace fiber::rl {

/// A hyper-parameter, and where it may be.
struct HyperparameterRange {
  std::string name;
  double low = 0, high = 1;
  bool logarithmic = false; ///< Draw its logarithm uniformly; `low` must be above 0 then.
};

struct PopulationOptions {
  std::size_t members = 8;
  std::uint64_t seed = 1;
  std::vector<HyperparameterRange> ranges;
  std::size_t interval = 1; ///< Rounds between two times to exploit and explore.
  /// The share of members that exploit, and of those that they copy: at most a half.
  double quantile = 0.25;
  /// Explore multiplies a hyper-parameter by one of these, and limits it to its range.
  double up = 1.2, down = 0.8;
  double resample = 0.25; ///< The probability that it is drawn anew instead.
  bool exploit = true;    ///< Copy the state of better members.
  bool explore = true;    ///< Change the hyper-parameters of those that exploit.
  /// Whether exploit copies hyper-parameters with the state.
  bool copy_hyperparameters = true;
  /// What the job of each member may use.
  Resources resources = {};
  /// How long a member may train in one round; it includes no wait for other members. The
  /// job of one that takes longer is ended and replaced, and the member trains the round
  /// again from its last state. The tenth loss of a member's job in one round is an
  /// error then. Not with the backend inline. Nothing: no limit.
  std::optional<std::chrono::milliseconds> round_timeout = {};

  /// Throws std::invalid_argument, which says what would be right.
  void check() const;
  /// Every option that results depend on, for FileLabel::settings.
  std::map<std::string, std::string> settings() const;
};

using Hyperparameters =
  std::vector<double>; ///< In the order of PopulationOptions::ranges.

/// How a member continues after a round.
struct Succession {
  std::optional<std::size_t> source; ///< The member whose state it copies.
  Hyperparameters hyperparameters;   ///< For the next rounds.
};

/// The hyper-parameters that a member starts with, drawn from their ranges.
Hyperparameters initial_hyperparameters(const PopulationOptions& options,
                                        std::size_t member);

/// Exploit by truncation selection, and explore: each of the worst members copies one of
/// the best, drawn uniformly, if that has a higher score, and changes its
/// hyper-parameters. The others continue as they are. Without exploit, the worst change
/// their own. A score that is NaN is worse than any other. The result depends on the
/// options and the arguments alone.
std::vector<Succession>
exploit_and_explore(const PopulationOptions& options, std::uint64_t round,
                    std::span<const double> scores,
                    const std::vector<Hyperparameters>& hyperparameters);

/// What a member has done, all of it: what outlives its job.
template <class State>
struct MemberState {
  std::uint64_t round = 0;   ///< Rounds that it has trained.
  std::uint64_t adopted = 0; ///< The last round after which it copied another.
  double score = 0;          ///< After its last round.
  State state = {};

  template <class Archive>
  void serialize(Archive& archive, unsigned) {
    archive& round& adopted& score& state;
  }
};

/// A round of a population.
struct PopulationRound {
  std::vector<double> scores;                   ///< After training.
  std::vector<Hyperparameters> hyperparameters; ///< That they trained with.
  std::vector<std::uint64_t> sources; ///< Whom each copied after it; itself: no one.

  template <class Archive>
  void serialize(Archive& archive, unsigned) {
    archive& scores& hyperparameters& sources;
  }
};

/// The checkpoint of a population.
template <class State>
struct PopulationState {
  std::vector<MemberState<State>> members;
  std::vector<Hyperparameters> hyperparameters; ///< For the next round.
  std::vector<PopulationRound> history;

  template <class Archive>
  void serialize(Archive& archive, unsigned) {
    archive& members& hyperparameters& history;
  }
};

namespace detail {

/// Ends this process if the training of a member takes longer than `limit`, and says so
/// on stderr; nothing if `limit` is 0.
std::unique_ptr<CallWatch> watch_training(std::uint64_t member, std::uint64_t round,
                                          std::chrono::milliseconds limit);
/// Throws ConfigError about PopulationOptions::round_timeout if a member lives in this
/// process.
void check_can_end(const ProcessMark& member);
/// Throws TimeoutError if a member has lost so many jobs in this round that it will
/// hardly end.
void check_losses(std::size_t member, std::uint64_t round, int losses,
                  const std::string& reason);

} // namespace detail

/// A member, in a separate job. It saves its state after each step; after a restart it
/// continues from there. So each step may be asked for again: it is done once.
template <class Problem>
class PopulationMember {
public:
  using State = MemberState<typename Problem::State>;

  /// `round_timeout` in milliseconds; 0: no limit.
  PopulationMember(Problem problem, std::uint64_t number, State start,
                   std::int64_t round_timeout)
    : problem_(std::move(problem)), number_(number), saved_(std::move(start)),
      round_timeout_(round_timeout) {}

  void on_restart(Checkpoint& checkpoint) {
    if (auto saved = checkpoint.load<State>())
      saved_ = std::move(*saved);
  }

  /// Trains round `round`, counted from 1, and returns the score after it.
  double train(std::uint64_t round, const Hyperparameters& hyperparameters) {
    if (saved_.round >= round)
      return saved_.score; // Done, but the job died before it could say so.
    auto next = saved_;
    const auto watch = detail::watch_training(number_, round, round_timeout_);
    next.score = problem_.train(next.state, hyperparameters, number_, round);
    if (watch)
      watch->end();
    next.round = round;
    save(std::move(next));
    return saved_.score;
  }

  /// Copies the state of `source` after this round, from job to job.
  void adopt(std::uint64_t round, const Ref<PopulationMember>& source);

  State state() const { return saved_; }
  int pid() const { return ::getpid(); }
  detail::ProcessMark process() const { return detail::process_mark(); }

private:
  void save(State next) {
    this_object::checkpoint().save(next);
    saved_ = std::move(next);
  }

  Problem problem_;
  std::uint64_t number_;
  State saved_;
  std::chrono::milliseconds round_timeout_;
};

namespace detail {

// Calls of members that may run again: see fiber::idempotent.
struct TrainMember {
  static constexpr bool idempotent = true;
  template <class Member>
  double operator()(Member& member, std::uint64_t round,
                    const Hyperparameters& hyperparameters) const {
    return member.train(round, hyperparameters);
  }
};
struct AdoptState {
  static constexpr bool idempotent = true;
  template <class Member>
  void operator()(Member& member, std::uint64_t round, const Ref<Member>& source) const {
    member.adopt(round, source);
  }
};
struct StateOfMember {
  static constexpr bool idempotent = true;
  template <class Member>
  typename Member::State operator()(const Member& member) const {
    return member.state();
  }
};
struct ProcessOfMember {
  static constexpr bool idempotent = true;
  template <class Member>
  ProcessMark operator()(const Member& member) const {
    return member.process();
  }
};
struct PidOfMember {
  static constexpr bool idempotent = true;
  template <class Member>
  int operator()(const Member& member) const {
    return member.pid();
  }
};

} // namespace detail

template <class Problem>
void PopulationMember<Problem>::adopt(std::uint64_t round,
                                      const Ref<PopulationMember>& source) {
  if (saved_.adopted >= round)
    return;
  auto next = saved_;
  next.state = source.call(detail::StateOfMember{}).state;
  next.adopted = round;
  save(std::move(next));
}

/// Trains many copies of a model at once, each in a separate job, and tunes their
/// hyper-parameters on the way. `Problem` is a value that travels to the jobs:
///
///     struct Mine {
///       struct State { ...; template <class Archive> void serialize(...) };
///       State start(std::uint64_t member) const;
///       /// Trains for a while and returns the score, which is to be high. Everything
///       /// that it draws follows from the arguments.
///       double train(State& state, const Hyperparameters& values,
///                    std::uint64_t member, std::uint64_t round) const;
///     };
///
/// `State` holds the weights. Members are children of a Supervisor. One whose job dies
/// continues from its checkpoint, and the result is the same as without the loss.
///
/// Thread safety: none; one thread at a time.
template <class Problem>
class Population {
public:
  using State = PopulationState<typename Problem::State>;

  /// Starts the members; blocks until all are up. Continues from `state`, if that is
  /// given. Needs a session. Throws as PopulationOptions::check() and Supervisor::spawn()
  /// do, std::invalid_argument if the state has another number of members, and
  /// ConfigError for a round_timeout with the backend inline.
  Population(Problem problem, PopulationOptions options, std::optional<State> state = {});

  /// All members train a round; then they exploit and explore, if it is time to. Throws
  /// RemoteError if a member's training throws, and TimeoutError if a member with a
  /// round_timeout has lost its job ten times in the round.
  const PopulationRound& step();

  /// Rounds done.
  std::uint64_t round() const { return history_.size(); }
  const std::vector<PopulationRound>& history() const { return history_; }
  /// The member with the highest score of the last round, the first of equal ones.
  std::size_t best() const;

  /// The states of the members now, which may be copies, fetched from their jobs.
  std::vector<MemberState<typename Problem::State>> members() const;
  /// All that is needed to continue.
  State state() const { return {members(), hyperparameters_, history_}; }
  /// The processes of the members.
  std::vector<int> pids() const;
  /// Restarts of members so far.
  int restarts() const;

private:
  using Member = PopulationMember<Problem>;

  /// The score of a member's round; `before`: all members when the round began.
  double score_of(std::size_t member, const Future<double>& score,
                  const std::vector<ChildInfo>& before) const;

  Supervisor supervisor_{SupervisorOptions{
    .intensity = 1'000'000, .backoff = {.most = std::chrono::milliseconds(1000)}}};
  PopulationOptions options_;
  std::vector<Ref<Member>> members_;
  std::vector<Hyperparameters> hyperparameters_;
  std::vector<PopulationRound> history_;
};

/// The number of the highest value, the first of equal ones; NaN is less than any other.
std::size_t highest(std::span<const double> values);

template <class Problem>
Population<Problem>::Population(Problem problem, PopulationOptions options,
                                std::optional<State> state)
  : options_(std::move(options)) {
  options_.check();
  if (state && (state->members.size() != options_.members ||
                state->hyperparameters.size() != options_.members))
    throw std::invalid_argument("the saved population has " +
                                std::to_string(state->members.size()) + " members, not " +
                                std::to_string(options_.members));
  for (std::size_t i = 0; i < options_.members; ++i) {
    auto start =
      state ? state->members[i] : typename Member::State{.state = problem.start(i)};
    members_.push_back(supervisor_.template spawn<Member>(
      SpawnOptions{.resources = options_.resources}, problem, std::uint64_t{i},
      std::move(start),
      std::int64_t{
        options_.round_timeout.value_or(std::chrono::milliseconds(0)).count()}));
    if (i == 0 && options_.round_timeout)
      detail::check_can_end(members_[0].call(detail::ProcessOfMember{}));
    hyperparameters_.push_back(state ? state->hyperparameters[i]
                                     : initial_hyperparameters(options_, i));
  }
  if (state)
    history_ = std::move(state->history);
}

template <class Problem>
const PopulationRound& Population<Problem>::step() {
  const auto number = round() + 1;
  PopulationRound done{.scores = {}, .hyperparameters = hyperparameters_, .sources = {}};
  std::vector<Future<double>> scores;
  for (std::size_t i = 0; i < members_.size(); ++i)
    scores.push_back(
      members_[i].async(detail::TrainMember{}, number, hyperparameters_[i]));
  const auto before = supervisor_.children();
  for (std::size_t i = 0; i < members_.size(); ++i)
    done.scores.push_back(score_of(i, scores[i], before));

  for (std::size_t i = 0; i < members_.size(); ++i)
    done.sources.push_back(i);
  if (number % options_.interval == 0) {
    const auto successions =
      exploit_and_explore(options_, number, done.scores, hyperparameters_);
    std::vector<Future<void>> copies;
    for (std::size_t i = 0; i < members_.size(); ++i) {
      hyperparameters_[i] = successions[i].hyperparameters;
      if (!successions[i].source)
        continue;
      done.sources[i] = *successions[i].source;
      // Those that are copied copy no one, so no two members wait for each other.
      copies.push_back(members_[i].async(detail::AdoptState{}, number,
                                         members_[*successions[i].source]));
    }
    for (auto& copy : copies)
      copy.get();
  }
  return history_.emplace_back(std::move(done));
}

template <class Problem>
double Population<Problem>::score_of(std::size_t member, const Future<double>& score,
                                     const std::vector<ChildInfo>& before) const {
  if (options_.round_timeout)
    while (!score.wait_for(std::chrono::seconds(1))) {
      const auto now = supervisor_.children().at(member);
      detail::check_losses(member, round() + 1, now.restarts - before.at(member).restarts,
                           now.last_error);
    }
  return score.get();
}

template <class Problem>
std::size_t Population<Problem>::best() const {
  if (history_.empty())
    throw std::logic_error("no member is the best before the first round");
  return highest(history_.back().scores);
}

template <class Problem>
std::vector<MemberState<typename Problem::State>> Population<Problem>::members() const {
  std::vector<Future<typename Member::State>> asked;
  for (const auto& member : members_)
    asked.push_back(member.async(detail::StateOfMember{}));
  std::vector<typename Member::State> states;
  for (auto& each : asked)
    states.push_back(each.get());
  return states;
}

template <class Problem>
std::vector<int> Population<Problem>::pids() const {
  std::vector<int> pids;
  for (const auto& member : members_)
    pids.push_back(member.call(detail::PidOfMember{}));
  return pids;
}

template <class Problem>
int Population<Problem>::restarts() const {
  int restarts = 0;
  for (const auto& child : supervisor_.children())
    restarts += child.restarts;
  return restarts;
}

} // namespace fiber::rl
