// SPDX-License-Identifier: Apache-2.0
#include "rl/poet/poet.hpp"

#include <stdexcept>
#include <utility>

#include "fiber/rl/bipedal_walker.hpp"
#include "fiber/rl/detail/formatted.hpp"
#include "fiber/rl/random.hpp"
#include "rl/poet/keys.hpp"
#include "rl/poet/search.hpp"
#include "rl/poet/selection.hpp"

namespace fiber::rl::poet {
namespace {

PoetState first_state(const PoetOptions& options) {
  options.check();
  const auto policy = policy_of(options);
  Random first(options.seed, {keys::first_agent});
  Pair pair;
  pair.niche.id = 1;
  pair.niche.seed = Random(options.seed, {keys::first_environment}).next();
  pair.agent.search.parameters = initial_evolved_parameters(policy, first.next());
  pair.agent.observations = RunningMoments(policy.spaces.observation_size());
  pair.agent = renewed(pair.agent);
  PoetState state;
  state.archive = {pair.niche.parameters};
  state.events.push_back({.what = Event::What::start, .environment = 1});
  state.pairs.push_back(std::move(pair));
  return state;
}

bool due(std::uint64_t iteration, std::uint64_t every) {
  return iteration > 0 && iteration % every == 0;
}

std::string count_of(std::size_t number, const std::string& singular,
                     const std::string& plural) {
  return std::to_string(number) + " " + (number == 1 ? singular : plural);
}

std::string one_decimal(double value) {
  return detail::formatted("%.1f", value);
}

/// All agents that may come to one environment: each as it is, and after a step of the
/// search there. Their episodes are played together.
class Contest {
public:
  Contest(const PoetOptions& options, std::span<const float> noise, const Niche& niche,
          std::uint64_t iteration, Evaluator& evaluator)
    : options_(options), noise_(noise), niche_(niche), iteration_(iteration),
      evaluator_(evaluator) {}

  /// Starts the episodes of this pair's agent.
  void enter(const Pair& pair) {
    Entry entry;
    entry.from = pair.niche.id;
    entry.agent = pair.agent;
    entry.direct = play(pair.agent);
    if (options_.proposals) {
      Random seeds(options_.seed, {keys::proposal, niche_.seed, entry.from, iteration_});
      entry.step.emplace(options_, noise_, niche_.parameters, pair.agent, seeds.next(),
                         evaluator_);
    }
    entries_.push_back(std::move(entry));
  }

  /// Waits for the steps of the search, and starts the episodes of what they lead to.
  void propose(Effort& effort) {
    for (auto& entry : entries_)
      if (entry.step) {
        entry.proposed = entry.step->finish(effort);
        entry.proposal = play(entry.proposed);
      }
  }

  /// Waits for the rest.
  std::vector<Candidate> finish(Effort& effort) {
    std::vector<Candidate> candidates;
    for (auto& entry : entries_) {
      candidates.push_back({entry.from, Way::direct, mean_return(entry.direct, effort),
                            std::move(entry.agent)});
      if (entry.step)
        candidates.push_back({entry.from, Way::proposal,
                              mean_return(entry.proposal, effort),
                              std::move(entry.proposed)});
    }
    return candidates;
  }

private:
  struct Entry {
    std::uint64_t from = 0;
    Agent agent, proposed;
    std::optional<SearchStep> step;
    Later<std::vector<Played>> direct, proposal;
  };

  Later<std::vector<Played>> play(const Agent& agent) {
    return evaluator_.play(
      job_for(options_, niche_.parameters, agent, niche_.seed, iteration_),
      options_.evaluations);
  }

  const PoetOptions& options_;
  std::span<const float> noise_;
  Niche niche_;
  std::uint64_t iteration_;
  Evaluator& evaluator_;
  std::vector<Entry> entries_;
};

} // namespace

/// One iteration, on a copy of the state.
class Poet::Step {
public:
  Step(const Poet& poet, Evaluator& evaluator,
       const std::function<void(std::string)>& say)
    : options_(poet.options_), noise_(poet.noise_), next_(poet.state_),
      evaluator_(evaluator), say_(say) {}

  PoetState run() {
    if (due(next_.iteration, options_.mutate_every))
      reproduce();
    improve();
    if (due(next_.iteration, options_.transfer_every) && next_.pairs.size() > 1)
      transfer();
    ++next_.iteration;
    next_.steps += effort_.steps;
    next_.episodes += effort_.episodes;
    return std::move(next_);
  }

private:
  void say(const std::string& line) const {
    if (say_)
      say_("iteration " + std::to_string(next_.iteration) + ": " + line);
  }

  Contest contest(const Niche& niche) const {
    return {options_, noise_, niche, next_.iteration, evaluator_};
  }

  void improve() {
    std::vector<SearchStep> steps;
    for (const auto& pair : next_.pairs) {
      Random seeds(options_.seed, {keys::search, pair.niche.id, pair.search_began});
      steps.emplace_back(options_, noise_, pair.niche.parameters, pair.agent,
                         seeds.next(), evaluator_);
    }
    std::vector<Later<std::vector<Played>>> episodes;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      next_.pairs[i].agent = steps[i].finish(effort_);
      episodes.push_back(evaluator_.play(
        job_of(options_, next_.pairs[i], next_.iteration), options_.evaluations));
    }
    for (std::size_t i = 0; i < steps.size(); ++i) {
      auto& pair = next_.pairs[i];
      pair.score = mean_return(episodes[i], effort_);
      const auto used = search_options(options_, pair.agent.search.iteration - 1);
      next_.curve.push_back({.iteration = next_.iteration,
                             .environment = pair.niche.id,
                             .score = pair.score,
                             .best = steps[i].best(),
                             .sigma = used.sigma,
                             .learning_rate = used.learning_rate});
    }
  }

  /// Agents go to all other environments, all at the same time.
  void transfer() {
    std::vector<Contest> contests;
    for (const auto& target : next_.pairs) {
      contests.push_back(contest(target.niche));
      for (const auto& source : next_.pairs)
        if (source.niche.id != target.niche.id)
          contests.back().enter(source);
    }
    for (auto& each : contests)
      each.propose(effort_);
    std::vector<std::vector<Candidate>> candidates;
    for (auto& each : contests)
      candidates.push_back(each.finish(effort_));
    std::string moves;
    for (std::size_t i = 0; i < candidates.size(); ++i)
      moves += settle(next_.pairs[i], candidates[i]);
    say(moves.empty() ? "transfers: none was better than the agent there"
                      : "transfers:" + moves);
  }

  std::string settle(Pair& pair, const std::vector<Candidate>& candidates) {
    for (const auto& each : candidates)
      ++(each.way == Way::direct ? next_.direct : next_.proposals).tried;
    const auto* winner = best(candidates);
    const auto before = pair.score;
    if (winner == nullptr || !replace_if_better(pair, *winner, next_.iteration + 1))
      return {};
    ++(winner->way == Way::direct ? next_.direct : next_.proposals).succeeded;
    next_.events.push_back({.iteration = next_.iteration,
                            .what = Event::What::transfer,
                            .environment = pair.niche.id,
                            .agent = winner->from,
                            .way = winner->way,
                            .before = before,
                            .after = pair.score,
                            .parameters = pair.niche.parameters});
    return "  E" + std::to_string(winner->from) + " -> E" +
           std::to_string(pair.niche.id) + " (" + one_decimal(before) + " -> " +
           one_decimal(pair.score) + (winner->way == Way::proposal ? ", proposal)" : ")");
  }

  void reproduce() {
    const auto able = parents(options_, next_.pairs);
    if (able.empty())
      return say("no environment is solved well enough to have children");
    auto children = make_children(options_, next_, able);
    const auto made = children.size();
    score_with_parents(children);
    children = ranked(options_, std::move(children), next_.archive);
    std::size_t admitted = 0;
    for (const auto& child : children)
      if (admitted < options_.admitted && admit(child))
        ++admitted;
    say(count_of(able.size(), "parent", "parents") + ", " +
        count_of(made, "child", "children") + ", of which " +
        std::to_string(children.size()) + " neither too hard nor too easy; " +
        std::to_string(admitted) + " admitted");
    for (const auto& pair : retire(next_.pairs, options_.max_environments)) {
      next_.events.push_back({.iteration = next_.iteration,
                              .what = Event::What::retired,
                              .environment = pair.niche.id,
                              .before = pair.score,
                              .after = pair.score,
                              .parameters = pair.niche.parameters});
      say("E" + std::to_string(pair.niche.id) + " is retired");
    }
  }

  void score_with_parents(std::vector<Child>& children) {
    std::vector<Later<std::vector<Played>>> episodes;
    for (const auto& child : children)
      for (const auto& pair : next_.pairs)
        if (pair.niche.id == child.parent)
          episodes.push_back(evaluator_.play(
            job_for(options_, child.parameters, pair.agent, child.seed, next_.iteration),
            options_.evaluations));
    for (std::size_t i = 0; i < children.size(); ++i)
      children[i].parents_score = mean_return(episodes[i], effort_);
  }

  /// Finds the child the best agent of all. It is admitted unless it has become too easy.
  bool admit(const Child& child) {
    const Niche niche{
      .id = next_.archive.size() + 1, .seed = child.seed, .parameters = child.parameters};
    auto agents = contest(niche);
    for (const auto& pair : next_.pairs)
      agents.enter(pair);
    agents.propose(effort_);
    const auto candidates = agents.finish(effort_);
    const auto* winner = best(candidates);
    if (winner == nullptr || !meets_criterion(options_, winner->score))
      return false;
    next_.pairs.push_back({.niche = niche,
                           .agent = renewed(winner->agent),
                           .search_began = next_.iteration,
                           .score = winner->score});
    next_.archive.push_back(niche.parameters);
    next_.events.push_back({.iteration = next_.iteration,
                            .what = Event::What::admitted,
                            .environment = niche.id,
                            .parent = child.parent,
                            .agent = winner->from,
                            .way = winner->way,
                            .before = child.parents_score,
                            .after = winner->score,
                            .parameters = niche.parameters});
    say("E" + std::to_string(niche.id) + ", a child of E" + std::to_string(child.parent) +
        ": " + describe(niche.parameters));
    return true;
  }

  const PoetOptions& options_;
  std::span<const float> noise_;
  PoetState next_;
  Evaluator& evaluator_;
  const std::function<void(std::string)>& say_;
  Effort effort_;
};

PolicySpec policy_of(const PoetOptions& options) {
  return evolved_policy(spaces_of(BipedalWalker()), options.hidden);
}

Job job_for(const PoetOptions& options, const EnvironmentParameters& parameters,
            const Agent& agent, std::uint64_t seed, std::uint64_t iteration) {
  constexpr double clip = 5, epsilon = 1e-8;
  Job job;
  job.terrain = terrain_options(parameters);
  job.max_steps = options.max_steps;
  job.generation.policy = policy_of(options);
  job.generation.seed = seed;
  job.generation.iteration = iteration;
  job.generation.counted_share = options.counted_share;
  if (agent.observations.count() > 1) // The first step does without.
    job.generation.normaliser = FrozenNormaliser(agent.observations, clip, epsilon);
  job.generation.parameters = agent.search.parameters;
  return job;
}

Job job_of(const PoetOptions& options, const Pair& pair, std::uint64_t iteration) {
  return job_for(options, pair.niche.parameters, pair.agent, pair.niche.seed, iteration);
}

Poet::Poet(PoetOptions options, std::span<const float> noise)
  : Poet(options, noise, first_state(options)) {}

Poet::Poet(PoetOptions options, std::span<const float> noise, PoetState state)
  : options_(std::move(options)), noise_(noise), state_(std::move(state)) {
  options_.check();
  const auto expected = evolved_parameter_count(policy_of(options_));
  for (const auto& pair : state_.pairs)
    if (const auto size = pair.agent.search.parameters.size(); size != expected)
      throw std::invalid_argument("the saved agent of E" + std::to_string(pair.niche.id) +
                                  " has " + std::to_string(size) +
                                  " parameters; the network has " +
                                  std::to_string(expected));
}

void Poet::step(Evaluator& evaluator, const std::function<void(std::string)>& say) {
  state_ = Step(*this, evaluator, say).run();
}

} // namespace fiber::rl::poet
