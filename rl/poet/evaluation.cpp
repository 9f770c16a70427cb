// SPDX-License-Identifier: Apache-2.0
#include "rl/poet/evaluation.hpp"

#include <memory>
#include <utility>

#include "fiber/rl/bipedal_walker.hpp"
#include "fiber/rl/environment.hpp"

namespace fiber::rl::poet {
namespace {

/// What a walker did, for those who see it as an AnyEnvironment only.
struct Log {
  std::uint64_t steps = 0;
  bool fell = false;
  bool keeps_path = false;
  std::vector<Spot> path;
  Terrain terrain;
  std::function<void(Image)> see;
};

/// A BipedalWalker that writes down what it does.
class LoggedWalker {
public:
  using Action = BipedalWalker::Action;
  static constexpr Action action_low = BipedalWalker::action_low;
  static constexpr Action action_high = BipedalWalker::action_high;
  static constexpr std::size_t observation_size = BipedalWalker::observation_size;

  LoggedWalker(const Job& job, Log& log)
    : walker_(job.terrain, job.max_steps), log_(&log) {}

  void reset(std::uint64_t seed) {
    walker_.reset(seed);
    if (log_->keeps_path) {
      log_->terrain = walker_.terrain();
      look();
    }
  }
  Step step(Action action) {
    const auto step = walker_.step(action);
    ++log_->steps;
    log_->fell = step.terminated && step.reward <= -100;
    if (log_->keeps_path)
      look();
    return step;
  }
  void observe(std::span<float> out) const { walker_.observe(out); }

private:
  void look() {
    const auto [x, y] = walker_.position();
    log_->path.push_back({x, y});
    if (log_->see)
      log_->see(walker_.render());
  }

  BipedalWalker walker_;
  Log* log_;
};

double played(const Job& job, std::uint64_t index, Log& log) {
  return evaluate_policy(*erase<LoggedWalker>(job, log), job.generation,
                         Judgement::evaluation, index);
}

} // namespace

Trial try_direction(const Job& job, std::span<const float> noise, std::uint64_t offset) {
  Log log;
  Trial trial;
  trial.result =
    evaluate_direction(*erase<LoggedWalker>(job, log), job.generation, noise, offset);
  trial.steps = log.steps;
  return trial;
}

Played play_episode(const Job& job, std::uint64_t index) {
  Log log;
  const auto result = played(job, index, log);
  return {.result = result, .steps = log.steps};
}

Trace trace_episode(const Job& job, std::uint64_t index,
                    const std::function<void(Image)>& see) {
  Log log;
  log.keeps_path = true;
  log.see = see;
  Trace trace;
  trace.result = played(job, index, log);
  trace.fell = log.fell;
  trace.path = std::move(log.path);
  trace.terrain = std::move(log.terrain);
  return trace;
}

Later<std::vector<Trial>>
InlineEvaluator::try_directions(Job job, std::vector<std::uint64_t> offsets) {
  return [this, job = std::move(job), offsets = std::move(offsets)] {
    std::vector<Trial> trials;
    for (const auto offset : offsets)
      trials.push_back(try_direction(job, noise_, offset));
    return trials;
  };
}

Later<std::vector<Played>> InlineEvaluator::play(Job job, std::uint64_t count) {
  return [job = std::move(job), count] {
    std::vector<Played> all;
    for (std::uint64_t index = 0; index < count; ++index)
      all.push_back(play_episode(job, index));
    return all;
  };
}

} // namespace fiber::rl::poet
