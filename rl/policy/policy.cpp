// SPDX-License-Identifier: Apache-2.0
#include "fiber/rl/policy.hpp"

#include <optional>
#include <stdexcept>
#include <utility>

#include <Eigen/Core>

#include "rl/policy/draw.hpp"
#include "rl/policy/layout.hpp"
#include "rl/policy/lstm.hpp"
#include "rl/policy/network.hpp"

namespace fiber::rl {
namespace {
namespace finite_rows {

bool all(std::span<const float> numbers) {
  // An infinite number times 0 is not a number, and neither is a sum with it.
  return (Eigen::Map<const Eigen::ArrayXf>(numbers.data(),
                                           static_cast<Eigen::Index>(numbers.size())) *
          0.0f)
           .sum() == 0.0f;
}

// The first row of `width` numbers with one that is not finite.
std::size_t broken(std::span<const float> numbers, std::size_t width) {
  std::size_t row = 0;
  while (all(numbers.subspan(row * width, width)))
    ++row;
  return row;
}

void check_observations(std::span<const float> observations, std::size_t width) {
  if (!all(observations))
    throw std::domain_error("the observation in row " +
                            std::to_string(broken(observations, width)) +
                            " has a number that is not finite");
}

void check_outputs(const char* what, std::span<const float> outputs, std::size_t width) {
  if (!all(outputs))
    throw PolicyOverflow(std::string("the ") + what + " in row " +
                         std::to_string(broken(outputs, width)) +
                         " is not finite, although the observation is: the "
                         "parameters are not, or are too large");
}

} // namespace finite_rows
} // namespace

struct Policy::Impl {
  explicit Impl(PolicySpec policy_spec)
    : spec(std::move(policy_spec)), layout(spec), network(parameters, spec.activation) {
    if (layout.policy_lstm)
      policy_lstm.emplace(parameters, *layout.policy_lstm, 0);
    if (layout.value_lstm)
      value_lstm.emplace(parameters, *layout.value_lstm, 2 * spec.lstm);
  }

  /// Which outputs run() computes, and whether a recurrent policy remembers the
  /// observations: then by both of its networks.
  struct Wanted {
    bool policy = true, values = true, remember = false;
  };

  std::size_t rows_of(std::span<const float> observations) const;
  void check_memory(std::span<const float> memory, std::size_t rows) const;
  std::span<const float> features(std::span<const float> observations, std::size_t rows);
  std::span<const float> through(std::span<const float> input, std::size_t rows,
                                 std::span<const LayerPlace> layers,
                                 std::optional<Lstm>& lstm, const PolicyContext& context,
                                 bool remember);
  void run(std::span<const float> observations, const PolicyContext& context,
           Wanted wanted);

  PolicySpec spec;
  PolicyLayout layout;
  std::vector<float> parameters;
  Network network;
  std::optional<Lstm> policy_lstm, value_lstm;
  std::vector<float> scaled, kept, outputs, values, actions, log_probabilities;
};

std::size_t Policy::Impl::rows_of(std::span<const float> observations) const {
  const auto size = spec.spaces.observation_size();
  if (observations.size() % size != 0)
    throw std::invalid_argument(std::to_string(observations.size()) +
                                " numbers are not whole observations of " +
                                std::to_string(size));
  return observations.size() / size;
}

void Policy::Impl::check_memory(std::span<const float> memory, std::size_t rows) const {
  if (const auto size = rows * spec.memory_size(); size > 0 && memory.size() != size)
    throw std::invalid_argument(
      "a policy of " + spec.describe() + " needs a memory of " + std::to_string(size) +
      " floats for " + std::to_string(rows) +
      (rows == 1 ? " observation" : " observations") + ", not " +
      std::to_string(memory.size()) + ": give PolicyContext::memory");
}

// What the policy's layers and the value's begin from.
std::span<const float> Policy::Impl::features(std::span<const float> observations,
                                              std::size_t rows) {
  if (spec.observation_scale != 1) {
    scaled.resize(observations.size());
    for (std::size_t i = 0; i < observations.size(); ++i)
      scaled[i] = observations[i] * spec.observation_scale;
    observations = scaled;
  }
  if (!spec.convolution)
    return observations;
  const auto images = network.convolve(observations, rows, layout.convolutions);
  const auto result = network.dense(images, rows, layout.shared, true);
  kept.assign(result.begin(), result.end()); // The next call would overwrite it.
  return kept;
}

// Runs the layers of the policy or of the value, the last one after its LSTM.
std::span<const float>
Policy::Impl::through(std::span<const float> input, std::size_t rows,
                      std::span<const LayerPlace> layers, std::optional<Lstm>& lstm,
                      const PolicyContext& context, bool remember) {
  if (!lstm)
    return network.dense(input, rows, layers, false);
  const auto hidden = network.dense(input, rows, layers.first(layers.size() - 1), true);
  const auto outputs = lstm->step(hidden, rows, context.memory, remember);
  return network.dense(outputs, rows, layers.last(1), false);
}

void Policy::Impl::run(std::span<const float> observations, const PolicyContext& context,
                       Wanted wanted) {
  const auto rows = rows_of(observations);
  check_memory(context.memory, rows);
  finite_rows::check_observations(observations, spec.spaces.observation_size());
  const auto begin = features(observations, rows);
  const auto of = [&](std::span<const LayerPlace> layers, std::optional<Lstm>& lstm) {
    return through(begin, rows, layers, lstm, context, wanted.remember);
  };
  if (wanted.policy || (policy_lstm && wanted.remember)) {
    const auto result = of(layout.policy, policy_lstm);
    finite_rows::check_outputs("policy's output", result, spec.outputs());
    outputs.assign(result.begin(), result.end());
    apply_masks(spec.spaces, context.masks, outputs);
  }
  if (wanted.values || (value_lstm && wanted.remember)) {
    const auto result = of(layout.value, value_lstm);
    finite_rows::check_outputs("value", result, 1);
    values.assign(result.begin(), result.end());
  }
}

Policy::Policy(PolicySpec spec, std::span<const float> parameters) {
  spec.check();
  impl_ = std::make_unique<Impl>(std::move(spec));
  set_parameters(parameters);
}

Policy::~Policy() = default;
Policy::Policy(Policy&&) noexcept = default;
Policy& Policy::operator=(Policy&&) noexcept = default;

void Policy::set_parameters(std::span<const float> parameters) {
  if (parameters.size() != impl_->layout.size)
    throw std::invalid_argument("a policy of " + impl_->spec.describe() + " has " +
                                std::to_string(impl_->layout.size) + " parameters, not " +
                                std::to_string(parameters.size()));
  impl_->parameters.assign(parameters.begin(), parameters.end());
}

std::span<const float> Policy::parameters() const {
  return impl_->parameters;
}

const PolicySpec& Policy::spec() const {
  return impl_->spec;
}

std::span<const float> Policy::log_std() const {
  return std::span<const float>(impl_->parameters).first(impl_->layout.log_std);
}

Policy::Outputs Policy::evaluate(std::span<const float> observations,
                                 const PolicyContext& context) {
  impl_->run(observations, context, {});
  return {
    .rows = impl_->values.size(), .policy = impl_->outputs, .values = impl_->values};
}

std::span<const float> Policy::evaluate_policy(std::span<const float> observations,
                                               const PolicyContext& context) {
  impl_->run(observations, context, {.values = false});
  return impl_->outputs;
}

std::span<const float> Policy::evaluate_values(std::span<const float> observations,
                                               const PolicyContext& context) {
  impl_->run(observations, context, {.policy = false});
  return impl_->values;
}

Policy::Decisions Policy::sample(std::span<const float> observations,
                                 const SampleKey& key, const PolicyContext& context) {
  impl_->run(observations, context, {.remember = true});
  draw_actions(impl_->spec.spaces, impl_->outputs, log_std(), key, impl_->actions,
               impl_->log_probabilities);
  return {.rows = impl_->values.size(),
          .actions = impl_->actions,
          .log_probabilities = impl_->log_probabilities,
          .values = impl_->values};
}

std::span<const float> Policy::best(std::span<const float> observations,
                                    const PolicyContext& context) {
  impl_->run(observations, context, {.values = false, .remember = true});
  choose_actions(impl_->spec.spaces, impl_->outputs, impl_->actions);
  return impl_->actions;
}

} // namespace fiber::rl
