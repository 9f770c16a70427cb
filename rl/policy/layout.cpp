// SPDX-License-Identifier: Apache-2.0
#include "rl/policy/layout.hpp"

#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>

#include "fiber/rl/detail/formatted.hpp"

namespace fiber::rl {
namespace {
namespace nature {

struct Convolution {
  std::size_t outputs, kernel, stride;
};
constexpr Convolution convolutions[] = {{32, 8, 4}, {64, 4, 2}, {64, 3, 1}};
constexpr std::size_t smallest_image = 36; // Leaves one pixel after the last one.

} // namespace nature

/// More than this machine can have, and far from where the arithmetic overflows.
constexpr std::size_t max_parameters = std::size_t{1} << 40;

[[noreturn]] void refuse_size() {
  throw std::invalid_argument("a policy has more than " + std::to_string(max_parameters) +
                              " parameters");
}

std::string shape_text(const std::vector<std::size_t>& shape) {
  std::string text;
  for (auto extent : shape)
    text.append(text.empty() ? "" : "x").append(std::to_string(extent));
  return text.empty() ? "a single number" : text;
}

} // namespace

PolicyLayout::PolicyLayout(const PolicySpec& spec)
  : log_std(spec.spaces.discrete() ? 0 : spec.spaces.action_size()), size(log_std) {
  if (spec.convolution) {
    auto inputs = append_convolutions(spec.spaces);
    for (auto outputs : spec.hidden) {
      append(shared, inputs, outputs);
      inputs = outputs;
    }
    append(policy, inputs, spec.outputs());
    append(value, inputs, 1);
    return;
  }
  for (auto* network : {&policy, &value}) {
    auto inputs = spec.spaces.observation_size();
    for (auto outputs : spec.hidden) {
      append(*network, inputs, outputs);
      inputs = outputs;
    }
    if (spec.lstm > 0) {
      (network == &policy ? policy_lstm : value_lstm) = append_lstm(inputs, spec.lstm);
      inputs = spec.lstm;
    }
    append(*network, inputs, network == &policy ? spec.outputs() : 1);
  }
}

void PolicyLayout::append(std::vector<LayerPlace>& layers, std::size_t inputs,
                          std::size_t outputs) {
  if (outputs > max_parameters || inputs > max_parameters / outputs ||
      size > max_parameters)
    refuse_size();
  layers.push_back({.inputs = inputs, .outputs = outputs, .offset = size});
  size = layers.back().end();
}

LstmPlace PolicyLayout::append_lstm(std::size_t inputs, std::size_t units) {
  const auto most = max_parameters / 4;
  if (units > most || inputs > most / units || units > most / units ||
      size > max_parameters)
    refuse_size();
  const LstmPlace place{.inputs = inputs, .units = units, .offset = size};
  size = place.end();
  return place;
}

// Returns the number of floats that leave the last one.
std::size_t PolicyLayout::append_convolutions(const Spaces& spaces) {
  auto channels = spaces.observation_shape[0];
  auto height = spaces.observation_shape[1];
  auto width = spaces.observation_shape[2];
  for (const auto& [outputs, kernel, stride] : nature::convolutions) {
    ConvolutionPlace place{
      .layer = {.inputs = channels * kernel * kernel, .outputs = outputs, .offset = size},
      .channels = channels,
      .height = height,
      .width = width,
      .kernel = kernel,
      .stride = stride};
    size = place.layer.end();
    channels = outputs;
    height = place.out_height();
    width = place.out_width();
    convolutions.push_back(place);
  }
  return convolutions.back().outputs();
}

std::size_t PolicySpec::outputs() const {
  return spaces.discrete() ? spaces.logits() : spaces.action_size();
}

std::size_t PolicySpec::parameter_count() const {
  check();
  return PolicyLayout(*this).size;
}

void PolicySpec::check() const {
  for (std::size_t all = 1; auto extent : spaces.observation_shape) {
    if (extent > 0 && all > max_parameters / extent)
      refuse_size();
    all *= extent;
  }
  if (spaces.observation_size() == 0)
    throw std::invalid_argument(
      "a policy needs observations of at least one number, not " +
      shape_text(spaces.observation_shape));
  spaces.check_actions("the environment of a policy");
  if (spaces.actions < 0 || outputs() == 0 ||
      spaces.action_low.size() != spaces.action_high.size())
    throw std::invalid_argument(
      "a policy needs a number of discrete actions, or bounds of continuous ones: there "
      "are " +
      std::to_string(spaces.actions) + " actions, " +
      std::to_string(spaces.action_low.size()) + " lower and " +
      std::to_string(spaces.action_high.size()) + " upper bounds");
  for (auto units : hidden)
    if (units == 0)
      throw std::invalid_argument("a hidden layer of a policy has no units");
  if (!(std::isfinite(observation_scale) && observation_scale != 0))
    throw std::invalid_argument("a policy's scale of observations must be finite and not "
                                "0, not " +
                                detail::formatted("%f", observation_scale));
  if (!convolution)
    return;
  if (lstm > 0)
    throw std::invalid_argument("a policy has convolutions or an LSTM, not both: lstm "
                                "must be 0 for images, not " +
                                std::to_string(lstm));
  const auto& shape = spaces.observation_shape;
  if (shape.size() != 3 || shape[1] < nature::smallest_image ||
      shape[2] < nature::smallest_image)
    throw std::invalid_argument("convolutions need observations of channels x height x "
                                "width, at least 36 x 36, not " +
                                shape_text(shape));
}

std::string PolicySpec::describe() const {
  auto text = shape_text(spaces.observation_shape);
  if (observation_scale != 1)
    text += " * " + detail::formatted("%f", observation_scale);
  if (convolution)
    text += " -> Nature's convolutions";
  for (auto units : hidden)
    text += " -> " + std::to_string(units);
  if (lstm > 0)
    text += " -> LSTM " + std::to_string(lstm);
  if (!spaces.discrete())
    text += " -> " + std::to_string(outputs());
  for (const char* before = " -> "; const int count : spaces.choices())
    text += std::exchange(before, "+") + std::to_string(count);
  return text + (spaces.masked ? " masked" : "") +
         (spaces.discrete() ? " logits, " : " means, ") +
         (activation == Activation::tanh ? "tanh" : "relu");
}

PolicySpec default_policy(const Spaces& spaces) {
  PolicySpec spec{.spaces = spaces};
  if (spaces.observation_shape.size() == 3) {
    spec.hidden = {512};
    spec.activation = Activation::relu;
    spec.convolution = true;
  }
  return spec;
}

} // namespace fiber::rl
