// SPDX-License-Identifier: Apache-2.0
#include "rl/export/exported_policy.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "fiber/rl/detail/number_text.hpp"

namespace fiber::rl::exporting {
namespace {

[[noreturn]] void refuse(const std::string& why) {
  throw std::invalid_argument("the policy can't be exported: " + why);
}

/// The names of torch.nn.Sequential: an activation stands between two layers.
void name_layers(std::vector<Layer>& to, const std::string& module, std::size_t first,
                 const std::vector<LayerPlace>& places, bool activate_last) {
  for (std::size_t i = 0; i < places.size(); ++i)
    to.push_back({.name = module + '.' + std::to_string(first + 2 * i),
                  .place = places[i],
                  .activated = activate_last || i + 1 < places.size()});
}

/// The layers of a network, of which the last one stands after an LSTM, if there is one.
std::optional<ExportedLstm> name_network(std::vector<Layer>& to,
                                         const std::string& module,
                                         const std::vector<LayerPlace>& places,
                                         const std::optional<LstmPlace>& lstm) {
  if (!lstm) {
    name_layers(to, module, 0, places, false);
    return std::nullopt;
  }
  name_layers(to, module, 0, {places.begin(), places.end() - 1}, true);
  to.push_back({.name = module + "_output", .place = places.back()});
  return ExportedLstm{.name = module + "_lstm", .place = *lstm};
}

void check_numbers(const SavedPolicy& policy, std::size_t begin, std::size_t end,
                   const std::string& name) {
  for (auto i = begin; i < end; ++i)
    if (!std::isfinite(policy.parameters[i]))
      refuse("number " + std::to_string(i - begin) + " of " + name + " is " +
             detail::shown(policy.parameters[i]));
}

void check_layers(const SavedPolicy& policy, const std::vector<Layer>& layers) {
  for (const auto& [name, place, convolution, activated] : layers) {
    check_numbers(policy, place.offset, place.biases(), name + ".weight");
    check_numbers(policy, place.biases(), place.end(), name + ".bias");
  }
}

void check_bounds(const Spaces& spaces) {
  for (std::size_t i = 0; i < spaces.action_low.size(); ++i)
    if (!(spaces.action_low[i] <= spaces.action_high[i]))
      refuse("component " + std::to_string(i) + " of an action has the bounds " +
             detail::shown(spaces.action_low[i]) + " and " +
             detail::shown(spaces.action_high[i]));
}

float single(double number, const char* what, std::size_t component) {
  const auto rounded = static_cast<float>(number);
  if (!std::isfinite(rounded))
    refuse(std::string("the ") + what + " of component " + std::to_string(component) +
           " of observations is " + detail::shown(number) + ", which is no finite float");
  return rounded;
}

Normalisation in_single_precision(const FrozenNormaliser& normaliser, std::size_t size) {
  if (normaliser.mean().size() != size)
    refuse("its normaliser is for observations of " +
           std::to_string(normaliser.mean().size()) + " numbers, not " +
           std::to_string(size));
  if (!(normaliser.clip() >= 0))
    refuse("its normaliser clips to " + detail::shown(normaliser.clip()) +
           "; the limit must be 0 or more");
  Normalisation result;
  for (std::size_t i = 0; i < size; ++i) {
    const double mean = normaliser.mean()[i];
    result.mean.push_back(single(mean, "mean", i));
    result.rest.push_back(static_cast<float>(mean - double{result.mean.back()}));
    result.scale.push_back(single(normaliser.scale()[i], "scale", i));
  }
  if (std::isfinite(static_cast<float>(normaliser.clip())))
    result.clip = static_cast<float>(normaliser.clip());
  return result;
}

} // namespace

std::vector<std::size_t> Layer::shape() const {
  if (!convolution)
    return {place.outputs, place.inputs};
  return {place.outputs, convolution->channels, convolution->kernel, convolution->kernel};
}

ExportedPolicy::ExportedPolicy(const SavedPolicy& policy)
  : saved(policy), spaces(policy.spec.spaces) {
  const auto& spec = policy.spec;
  if (const auto count = spec.parameter_count(); policy.parameters.size() != count)
    refuse("a policy of " + spec.describe() + " has " + std::to_string(count) +
           " parameters, not " + std::to_string(policy.parameters.size()));
  const PolicyLayout layout(spec);
  log_std_size = layout.log_std;
  for (const auto& place : layout.convolutions)
    acting.push_back({.name = "trunk." + std::to_string(2 * acting.size()),
                      .place = place.layer,
                      .convolution = place,
                      .activated = true});
  const auto flattened = 2 * layout.convolutions.size(); // The place of nn.Flatten.
  name_layers(acting, "trunk", flattened + 1, layout.shared, true);
  acting_lstm = name_network(acting, "policy", layout.policy, layout.policy_lstm);
  value_lstm = name_network(value, "value", layout.value, layout.value_lstm);
  check_numbers(policy, 0, log_std_size, "log_std");
  check_layers(policy, acting);
  check_layers(policy, value);
  for (const auto& lstm : {acting_lstm, value_lstm})
    if (lstm)
      check_numbers(policy, lstm->place.offset, lstm->place.end(), lstm->name);
  check_bounds(spaces);
  if (!policy.observations.identity())
    normalisation = in_single_precision(policy.observations, spaces.observation_size());
}

std::span<const float> ExportedPolicy::weights(const Layer& layer) const {
  return std::span(saved.parameters)
    .subspan(layer.place.offset, layer.place.biases() - layer.place.offset);
}

std::span<const float> ExportedPolicy::biases(const Layer& layer) const {
  return std::span(saved.parameters).subspan(layer.place.biases(), layer.place.outputs);
}

std::span<const float> ExportedPolicy::log_std() const {
  return std::span(saved.parameters).first(log_std_size);
}

} // namespace fiber::rl::exporting
