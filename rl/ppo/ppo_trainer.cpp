// SPDX-License-Identifier: Apache-2.0
#include "fiber/rl/ppo_trainer.hpp"

#include <optional>
#include <stdexcept>
#include <utility>

#include "fiber/rl/checkpoint_file.hpp"
#include "rl/ppo/asynchronous.hpp"
#ifdef FIBER_HAS_RING
#include "rl/ppo/learner_group.hpp"
#endif
#include "rl/ppo/overlapped.hpp"
#include "rl/ppo/training.hpp"

namespace fiber::rl {
namespace {

std::unique_ptr<ppo::Trainer> trainer_of(const PpoOptions& options,
                                         std::shared_ptr<PpoNetwork> network) {
  options.check();
  if (network) {
    if (options.actors > 0 || options.learners > 1)
      throw std::invalid_argument("a network of your own learns and acts in this "
                                  "process: actors must be 0, and learners 1");
    if (options.overlap)
      throw std::invalid_argument("a network of your own exists once, and can't play "
                                  "while it learns: overlap must be false");
    if (options.hidden || options.activation || options.lstm > 0)
      throw std::invalid_argument("hidden, activation and lstm describe a network, and "
                                  "you have given one of your own");
    return std::make_unique<ppo::Training>(options, std::move(network));
  }
  if (options.learners > 1)
#ifdef FIBER_HAS_RING
    return std::make_unique<ppo::LearnerGroup>(options);
#else
    throw std::invalid_argument(
      "learners: this build has no Ring; build with FIBER_RING=ON");
#endif
  if (options.actors > 0)
    return std::make_unique<ppo::AsynchronousTraining>(options);
  if (options.overlap)
    return std::make_unique<ppo::OverlappedTraining>(options);
  return std::make_unique<ppo::Training>(options);
}

} // namespace

Evaluation ppo::Trainer::evaluate(const EvaluationOptions& options) const {
  const auto saved = policy();
  Policy player(saved.spec, saved.parameters);
  return rl::evaluate(saved.environment, player, saved.observations, options);
}

std::vector<std::string> PpoUpdate::column_names() {
  return {"update",           "episodes",
          "return",           "loss/policy",
          "loss/value",       "loss/entropy",
          "policy/kl",        "policy/clip_fraction",
          "gradient/norm",    "value/explained_variance",
          "learning_rate",    "time/seconds",
          "time/learner_idle"};
}

std::vector<double> PpoUpdate::columns() const {
  return {static_cast<double>(update),
          static_cast<double>(episodes),
          return_mean,
          policy_loss,
          value_loss,
          entropy,
          kl,
          clip_fraction,
          gradient_norm,
          explained_variance,
          learning_rate,
          seconds,
          learner_idle};
}

class PpoTrainer::Impl {
public:
  Impl(const PpoOptions& of, std::shared_ptr<PpoNetwork> network)
    : options(of), trainer(trainer_of(of, std::move(network))) {}

  void restore(const std::filesystem::path& name,
               const std::optional<std::string_view>& checkpoint) const {
    if (trainer->last_row().update > 0)
      throw std::logic_error("PpoTrainer::load() and restore() come before the first "
                             "update()");
    if (checkpoint)
      trainer->restore(name, *checkpoint);
  }

  const PpoOptions options;
  const std::unique_ptr<ppo::Trainer> trainer;
};

PpoTrainer::PpoTrainer(const PpoOptions& options)
  : impl_(std::make_unique<Impl>(options, nullptr)) {}
PpoTrainer::PpoTrainer(const PpoOptions& options, std::shared_ptr<PpoNetwork> network) {
  if (!network)
    throw std::invalid_argument("PpoTrainer: the network is null");
  impl_ = std::make_unique<Impl>(options, std::move(network));
}
PpoTrainer::~PpoTrainer() = default;
PpoTrainer::PpoTrainer(PpoTrainer&&) noexcept = default;
PpoTrainer& PpoTrainer::operator=(PpoTrainer&&) noexcept = default;

const PpoOptions& PpoTrainer::options() const {
  return impl_->options;
}

std::string PpoTrainer::network() const {
  return impl_->trainer->network();
}

bool PpoTrainer::done() const {
  return impl_->trainer->done();
}

const PpoUpdate& PpoTrainer::update() {
  if (done())
    throw std::logic_error("PpoTrainer::update() after done(): all " +
                           std::to_string(options().steps) +
                           " steps are made; ask for more in PpoOptions::steps");
  return impl_->trainer->update();
}

void PpoTrainer::run(const std::function<bool(const PpoUpdate&)>& go_on) {
  while (!done())
    if (const auto& made = update(); go_on && !go_on(made))
      return;
}

const PpoUpdate& PpoTrainer::last_update() const {
  return impl_->trainer->last_row();
}

Evaluation PpoTrainer::evaluate(const EvaluationOptions& options) const {
  return impl_->trainer->evaluate(options);
}

SavedPolicy PpoTrainer::policy() const {
  return impl_->trainer->policy();
}

FrozenNormaliser PpoTrainer::observations() const {
  return impl_->trainer->observations();
}

std::string PpoTrainer::checkpoint() const {
  return impl_->trainer->checkpoint();
}

void PpoTrainer::restore(std::string_view checkpoint) {
  impl_->restore("the checkpoint", checkpoint);
}

void PpoTrainer::save(const std::filesystem::path& path) const {
  write_atomically(path, checkpoint());
}

bool PpoTrainer::load(const std::filesystem::path& path) {
  const auto file = detail::whole_file(path);
  impl_->restore(path, file);
  return file.has_value();
}

std::string PpoTrainer::summary() const {
  return impl_->trainer->summary();
}

} // namespace fiber::rl
