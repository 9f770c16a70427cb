// SPDX-License-Identifier: Apache-2.0
#include "rl/ppo/run.hpp"

#include <cmath>
#include <cstdio>
#include <exception>
#include <iostream>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include <fiber/fiber.hpp>

#include "fiber/rl/detail/formatted.hpp"
#include "fiber/rl/live_line.hpp"
#include "fiber/rl/ppo_trainer.hpp"
#include "fiber/rl/training_log.hpp"

namespace fiber::rl::ppo {
namespace {

/// The curve's column for --eval-every. Rows without an evaluation leave it empty.
constexpr const char* evaluation_column = "eval/return";

class Run {
public:
  Run(const PpoOptions& options, const RunOptions& more,
      const std::atomic<bool>& interrupted)
    : options_(options), more_(more), interrupted_(interrupted), trainer_(options),
      line_(stdout, 20) {
    std::filesystem::create_directories(more.out);
    line_.say(options.environment + ": " + trainer_.network());
    line_.say(options.describe());
  }

  int train() {
    auto log = begin();
    try {
      learn(log);
    } catch (const std::exception& error) {
      throw std::runtime_error(
        std::string(error.what()) + "; " +
        (saved_ ? checkpoint().string() + " has the last state that was saved"
                : "this run has saved nothing yet"));
    }
    auto path = more_.save.empty() ? more_.out / "policy" : more_.save;
    save_policy(path, trainer_.policy());
    std::optional<double> mean;
    if (!interrupted_ || trainer_.done())
      mean = fresh_mean_return(0);
    draw(log, mean);
    line_.say("policy saved to " + path.string() + ", curve to " + log.csv().string());
    if (auto summary = trainer_.summary(); !summary.empty())
      line_.say(summary);
    if (!mean) {
      line_.say("interrupted; --resume continues from " + checkpoint().string());
      return 130;
    }
    line_.say(detail::formatted("mean return %.2f over %zu fresh episodes", *mean,
                                more_.evaluation_episodes));
    return 0;
  }

private:
  std::filesystem::path checkpoint() const { return more_.out / "checkpoint"; }

  /// Continues from the checkpoint, if that is wanted. Returns the log to write.
  TrainingLog begin() {
    saved_ = more_.resume && trainer_.load(checkpoint());
    if (saved_)
      line_.say("resumed after update " + std::to_string(trainer_.last_update().update));
    else if (more_.resume)
      line_.say("no checkpoint at " + checkpoint().string() + ": starting anew");
    TrainingLogOptions log;
    log.folder = more_.out;
    log.columns = PpoUpdate::column_names();
    if (more_.evaluate_every > 0)
      log.columns.push_back(evaluation_column);
    if (saved_)
      log.resume_after = trainer_.last_update().steps;
    return TrainingLog(log);
  }

  /// Trains until all steps are done, the return is good enough or the program is
  /// interrupted. Whatever ends it, the checkpoint holds the last state that was saved.
  void learn(TrainingLog& log) {
    const auto first = trainer_.last_update();
    auto mean = more_.evaluate_every > 0 ? std::numeric_limits<double>::quiet_NaN()
                                         : first.return_mean;
    while (!trainer_.done() && !interrupted_ && !(more_.until && mean >= *more_.until)) {
      auto steps_before = trainer_.last_update().steps;
      auto& row = trainer_.update();
      auto columns = row.columns();
      mean = row.return_mean;
      if (more_.evaluate_every > 0) {
        mean = mean_return_if_due(steps_before);
        columns.push_back(mean);
      }
      log.add(row.steps, columns);
      if (row.update % more_.save_every == 0)
        save(log);
      show(row,
           static_cast<double>(row.steps - first.steps) / (row.seconds - first.seconds));
    }
    save(log);
  }

  void save(TrainingLog& log) {
    log.sync(); // A checkpoint is never ahead of the log.
    trainer_.save(checkpoint());
    saved_ = true;
  }

  /// In the terminal and on the session's live page.
  void show(const PpoUpdate& row, double steps_per_second) {
    line_.show({.step = row.steps,
                .steps = options_.steps,
                .steps_per_second = steps_per_second,
                .mean_return = row.return_mean,
                .policy_loss = row.policy_loss,
                .value_loss = row.value_loss,
                .learner_idle = row.learner_idle});
    publish("return", row.return_mean);
    publish("policy loss", row.policy_loss);
    publish("value loss", row.value_loss);
    publish("steps/s", steps_per_second);
  }

  /// The mean return of one lot of fresh episodes. Two lots share no episode.
  double fresh_mean_return(std::size_t lot) const {
    return trainer_
      .evaluate({.episodes = more_.evaluation_episodes,
                 .first = lot * more_.evaluation_episodes,
                 .seed = options_.seed})
      .mean_return();
  }

  /// Evaluates the policy, and prints the result, if the training has passed a multiple
  /// of --eval-every since `steps_before`. Returns the mean return, else NaN.
  double mean_return_if_due(std::uint64_t steps_before) {
    auto steps = trainer_.last_update().steps;
    auto lot = steps / more_.evaluate_every;
    if (lot == steps_before / more_.evaluate_every)
      return std::numeric_limits<double>::quiet_NaN();
    auto mean = fresh_mean_return(lot);
    line_.say(detail::formatted("after %llu steps: mean return %.2f",
                                static_cast<unsigned long long>(steps), mean));
    return mean;
  }

  /// `mean`: of the fresh episodes at the end, if they have been played.
  void draw(const TrainingLog& log, std::optional<double> mean) {
    if (std::isnan(trainer_.last_update().return_mean)) {
      line_.say(
        "no episode has ended: does the environment set `truncated` at a step limit?");
      return;
    }
    PlotStyle style;
    style.y_label = "mean return of the last 100 training episodes";
    if (mean)
      style.point = {.x = static_cast<double>(trainer_.last_update().steps),
                     .y = *mean,
                     .title = "the policy at the end: mean of " +
                              std::to_string(more_.evaluation_episodes) +
                              " fresh episodes"};
    style.title =
      "PPO on " + options_.environment + ", seed " + std::to_string(options_.seed);
    using Names = std::vector<std::string>;
    const auto columns = // For push_back(), g++ 14 -O3 warns of a write beyond the array.
      more_.evaluate_every > 0 ? Names{"return", evaluation_column} : Names{"return"};
    if (!log.plot(columns, style))
      std::cerr << "ppo: no curve.png: is gnuplot installed?\n";
  }

  const PpoOptions& options_;
  const RunOptions& more_;
  const std::atomic<bool>& interrupted_;
  PpoTrainer trainer_;
  LiveLine line_;
  bool saved_ = false; ///< The checkpoint is this run's, or the one that it resumed.
};

} // namespace

int run(const PpoOptions& options, const RunOptions& more,
        const std::atomic<bool>& interrupted) {
  return Run(options, more, interrupted).train();
}

} // namespace fiber::rl::ppo
