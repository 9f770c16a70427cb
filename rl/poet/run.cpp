// SPDX-License-Identifier: Apache-2.0
#include "rl/poet/run.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <string>
#include <utility>

#include <unistd.h>

#include "fiber/rl/detail/formatted.hpp"
#include "fiber/rl/live_line.hpp"
#include "rl/poet/files.hpp"
#include "rl/poet/picture.hpp"
#include "rl/poet/poet.hpp"
#include "rl/poet/report.hpp"

namespace fiber::rl::poet {
namespace {

using Clock = std::chrono::steady_clock;

std::string grouped(std::uint64_t number) {
  auto digits = std::to_string(number);
  for (auto at = static_cast<int>(digits.size()) - 3; at > 0; at -= 3)
    digits.insert(static_cast<std::size_t>(at), ",");
  return digits;
}

/// The line that shows how far the run is.
class Progress {
public:
  Progress(const Poet& poet, const fiber::Pool& pool)
    : poet_(poet), pool_(pool), terminal_(::isatty(STDOUT_FILENO) == 1),
      first_steps_(poet.state().steps) {}

  void say(const std::string& line) { line_.say(line); }

  /// After an iteration.
  void show() { line_.show(text()); }

  /// In the middle of one; only on a terminal, whose line changes in place.
  void show_meanwhile() {
    if (!terminal_)
      return;
    const auto stats = pool_.stats();
    const auto left = stats.queued + stats.prefetched + stats.running;
    line_.show(text() + "  (" + grouped(left) + " tasks to do)");
  }

  double seconds() const {
    return std::chrono::duration<double>(Clock::now() - begin_).count();
  }

private:
  std::string text() const {
    const auto& state = poet_.state();
    const auto& options = poet_.options();
    double best = -1e9, total = 0;
    for (const auto& pair : state.pairs) {
      best = std::max(best, pair.score);
      total += pair.score;
    }
    const auto numbers = detail::formatted(
      "%zu/%zu environments  best %.1f  mean %.1f  ", state.pairs.size(),
      options.max_environments, best, total / static_cast<double>(state.pairs.size()));
    const auto steps = static_cast<double>(state.steps - first_steps_);
    return grouped(state.iteration) + "/" + grouped(options.iterations) + "  " + numbers +
           grouped(static_cast<std::uint64_t>(steps / std::max(seconds(), 1e-3))) +
           " steps/s  " + std::to_string(pool_.stats().workers) + " workers  " +
           std::to_string(static_cast<int>(seconds())) + " s";
  }

  const Poet& poet_;
  const fiber::Pool& pool_;
  bool terminal_;
  std::uint64_t first_steps_;
  Clock::time_point begin_ = Clock::now();
  LiveLine line_{stdout};
};

/// Returns, for each pair, the median episode of those that make its score.
std::vector<Trace> median_episodes(const Poet& poet, PoolEvaluator& evaluator) {
  const auto& state = poet.state();
  const auto iteration = state.iteration - std::min<std::uint64_t>(state.iteration, 1);
  std::vector<Job> jobs;
  std::vector<Later<std::vector<Played>>> episodes;
  for (const auto& pair : state.pairs) {
    jobs.push_back(job_of(poet.options(), pair, iteration));
    episodes.push_back(evaluator.play(jobs.back(), poet.options().evaluations));
  }
  std::vector<std::uint64_t> indices;
  for (const auto& each : episodes) {
    const auto played = each();
    std::vector<std::uint64_t> order(played.size());
    for (std::size_t i = 0; i < order.size(); ++i)
      order[i] = i;
    std::ranges::stable_sort(order, {}, [&](auto i) { return played[i].result; });
    indices.push_back(order[order.size() / 2]);
  }
  return evaluator.trace(std::move(jobs), std::move(indices))();
}

void draw(const Poet& poet, const Files& files, PoolEvaluator& evaluator,
          Progress& progress) {
  const auto& state = poet.state();
  const auto pairs = state.pairs.size();
  const auto title = "POET, seed " + std::to_string(poet.options().seed) + ": " +
                     std::to_string(pairs) +
                     (pairs == 1 ? " environment" : " environments") + " after " +
                     grouped(state.iteration) + " iterations";
  if (draw_pairs(files.picture(), state, median_episodes(poet, evaluator), title))
    progress.say("picture saved to " + files.picture().string());
  else
    progress.say("no picture: gnuplot could not draw it. Is it installed?");
}

Poet start(const PoetOptions& options, std::span<const float> noise,
           const RunSettings& settings, const Files& files) {
  if (settings.resume) {
    if (auto state = files.load()) {
      std::printf("resumed after %s iterations\n", grouped(state->iteration).c_str());
      return {options, noise, std::move(*state)};
    }
    std::printf("no checkpoint at %s: starting anew\n", files.checkpoint().c_str());
  }
  return {options, noise};
}

/// Iterates until something ends the run. Returns whether the user did.
bool iterate(Poet& poet, const RunSettings& settings, const std::atomic<int>& stop,
             fiber::Pool& pool, PoolEvaluator& evaluator, const Files& files,
             Progress& progress) {
  const auto& options = poet.options();
  const auto time_is_over = [&] {
    return settings.seconds > 0 && progress.seconds() >= settings.seconds;
  };
  try {
    while (!poet.finished() && !time_is_over() && stop == 0) {
      pool.resize(
        settings.workers.for_pairs(poet.state().pairs.size(), options.max_environments));
      poet.step(evaluator, [&](const std::string& line) { progress.say(line); });
      if (poet.state().iteration % settings.save_every == 0)
        files.save(poet.state());
      progress.show();
    }
  } catch (const Interrupted&) { // The iteration is lost, the state is as before it.
  }
  files.save(poet.state());
  files.save_agents(poet.state());
  return stop != 0;
}

} // namespace

void run(const PoetOptions& options, const RunSettings& settings,
         const std::atomic<int>& stop) {
  options.check();
  const Files files(settings.out, options);
  const auto noise = make_noise_table(options.table_size, options.seed);
  auto poet = start(options, noise, settings, files);
  // No task here kills its worker; whoever is killed was killed by hand, as often as one
  // likes.
  fiber::Pool pool({.workers = settings.workers.least, .max_retries = -1});
  Progress progress(poet, pool);
  PoolEvaluator evaluator(pool, fiber::share(std::span<const float>(noise)), stop,
                          [&] { progress.show_meanwhile(); });
  progress.say("POET on BipedalWalker, seed " + std::to_string(options.seed) + ", " +
               std::to_string(settings.workers.least) +
               (settings.workers.most > settings.workers.least
                  ? " to " + std::to_string(settings.workers.most)
                  : "") +
               " workers; agents: " + policy_of(options).describe());
  if (iterate(poet, settings, stop, pool, evaluator, files, progress)) {
    progress.say("interrupted after " + grouped(poet.state().iteration) +
                 " iterations; --resume goes on from " + files.checkpoint().string());
    return;
  }
  progress.say("\n" + pairs_table(poet.state()) + "\n" + transfers_table(poet.state()));
  try {
    draw(poet, files, evaluator, progress);
  } catch (const Interrupted&) {
    return progress.say("interrupted before the picture was drawn; all else is saved");
  }
  progress.say("agents saved to " + files.agents().string() +
               "; --play FILE plays one of them");
  const auto stats = pool.stats();
  progress.say(grouped(poet.state().episodes) + " episodes, " +
               grouped(poet.state().steps) + " steps; " +
               std::to_string(stats.workers_lost) + " workers lost, " +
               std::to_string(stats.retries) + " retries");
}

} // namespace fiber::rl::poet
