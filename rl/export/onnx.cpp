// SPDX-License-Identifier: Apache-2.0
#include <limits>
#include <stdexcept>

#include "fiber/rl/checkpoint_file.hpp"
#include "fiber/rl/export_policy.hpp"
#include "rl/export/exported_policy.hpp"
#include "rl/export/onnx_graph.hpp"

namespace fiber::rl {
namespace {
namespace onnx {

using exporting::ExportedPolicy;
using exporting::OnnxGraph;

/// Protobuf's limit is 2^31 - 1 bytes for a whole file.
constexpr std::size_t max_parameters = (std::size_t{1} << 29) - (1 << 20);

/// The observation as an environment shows it, but for the batch. A single number has one
/// dimension here.
OnnxGraph::Shape observation_shape(const ExportedPolicy& policy) {
  const auto& shape = policy.spaces.observation_shape;
  return shape.empty() ? OnnxGraph::Shape{1} : shape;
}

/// Adds what is done to an observation before the first layer. Returns the result's name.
std::string add_normalisation(OnnxGraph& graph, const ExportedPolicy& policy) {
  const auto shape = observation_shape(policy);
  std::string x = "observation";
  if (const auto& normalisation = policy.normalisation) {
    const auto mean = graph.constant("normaliser.mean", shape, normalisation->mean);
    const auto rest = graph.constant("normaliser.rest", shape, normalisation->rest);
    const auto scale = graph.constant("normaliser.scale", shape, normalisation->scale);
    x = graph.node("Sub", {x, mean}, "less_mean");
    x = graph.node("Sub", {x, rest}, "centred");
    x = graph.node("Mul", {x, scale}, "scaled");
    if (normalisation->clip) {
      const float low = -*normalisation->clip, high = *normalisation->clip;
      x = graph.node("Clip",
                     {x, graph.constant("normaliser.low", {}, {&low, 1}),
                      graph.constant("normaliser.high", {}, {&high, 1})},
                     "normalised");
    }
  }
  if (const auto scale = policy.saved.spec.observation_scale; scale != 1)
    x = graph.node("Mul", {x, graph.constant("observation_scale", {}, {&scale, 1})},
                   "network_input");
  return x;
}

std::string add_convolution(OnnxGraph& graph, const exporting::Layer& layer,
                            const std::vector<std::string>& inputs,
                            const std::string& output) {
  const auto side = [](std::size_t size) { return static_cast<std::int64_t>(size); };
  const auto kernel = side(layer.convolution->kernel);
  const auto stride = side(layer.convolution->stride);
  return graph.node("Conv", inputs, output,
                    {{.name = "kernel_shape", .numbers = {kernel, kernel}, .list = true},
                     {.name = "strides", .numbers = {stride, stride}, .list = true}});
}

/// Adds one gate of an LSTM: the sum of both its inputs, activated.
std::string add_gate(OnnxGraph& graph, const ExportedPolicy& policy, std::size_t number,
                     const std::string& gate, const std::string& x) {
  const auto& [name, place] = *policy.acting_lstm;
  const auto units = place.units;
  const auto sum = [&](const std::string& what, const std::string& input,
                       std::size_t width, std::size_t weights, std::size_t biases) {
    const auto begin = weights + number * units * width;
    const auto bias = biases + number * units;
    const auto whole = name + '.' + gate + '.' + what;
    return graph.node(
      "Gemm",
      {input,
       graph.constant(whole + ".weight", {units, width},
                      policy.numbers(begin, begin + units * width)),
       graph.constant(whole + ".bias", {units}, policy.numbers(bias, bias + units))},
      whole, {{.name = "transB", .numbers = {1}}});
  };
  const auto of_input = sum("input", x, place.inputs, place.offset, place.input_biases());
  const auto of_memory =
    sum("memory", "hidden", units, place.memory_weights(), place.memory_biases());
  const auto both = graph.node("Add", {of_input, of_memory}, name + '.' + gate + ".sum");
  return graph.node(gate == "cell" ? "Tanh" : "Sigmoid", {both}, name + '.' + gate);
}

/// Adds one step of the LSTM from its inputs "hidden" and "cell". Returns the name of its
/// output.
std::string add_lstm(OnnxGraph& graph, const ExportedPolicy& policy,
                     const std::string& x) {
  const OnnxGraph::Shape units{policy.acting_lstm->place.units};
  for (const auto* name : {"hidden", "cell"})
    graph.input(name, OnnxGraph::Type::float32, units);
  const auto input = add_gate(graph, policy, 0, "input", x);
  const auto forget = add_gate(graph, policy, 1, "forget", x);
  const auto cell = add_gate(graph, policy, 2, "cell", x);
  const auto output = add_gate(graph, policy, 3, "output", x);
  const auto kept = graph.node("Mul", {forget, "cell"}, "kept");
  const auto added = graph.node("Mul", {input, cell}, "added");
  const auto next = graph.node("Add", {kept, added}, "next_cell");
  return graph.node("Mul", {output, graph.node("Tanh", {next}, "shown_cell")},
                    "next_hidden");
}

/// Adds the layers. The output of the last one has this name.
void add_network(OnnxGraph& graph, const ExportedPolicy& policy, std::string x,
                 const std::string& last) {
  const auto flatten = [&] {
    x = graph.node("Flatten", {x}, "flat", {{.name = "axis", .numbers = {1}}});
  };
  bool flat = observation_shape(policy).size() == 1;
  for (const auto& layer : policy.acting) {
    if (!layer.convolution && !std::exchange(flat, true))
      flatten();
    if (policy.acting_lstm && &layer == &policy.acting.back())
      x = add_lstm(graph, policy, x);
    const auto weight =
      graph.constant(layer.name + ".weight", layer.shape(), policy.weights(layer));
    const auto bias =
      graph.constant(layer.name + ".bias", {layer.place.outputs}, policy.biases(layer));
    const auto output = layer.activated ? layer.name : last;
    if (layer.convolution)
      x = add_convolution(graph, layer, {x, weight, bias}, output);
    else
      x = graph.node("Gemm", {x, weight, bias}, output,
                     {{.name = "transB", .numbers = {1}}});
    if (layer.activated)
      x = graph.node(policy.tanh() ? "Tanh" : "Relu", {x}, layer.name + ".activated");
  }
}

/// Adds what a mask does to the logits of the network, which are "unmasked".
void add_mask(OnnxGraph& graph, const OnnxGraph::Shape& width) {
  constexpr float none = 0, lowest = -std::numeric_limits<float>::infinity();
  graph.input("mask", OnnxGraph::Type::float32, width);
  const auto possible = graph.node(
    "Greater", {"mask", graph.constant("mask.forbidden", {}, {&none, 1})}, "possible");
  graph.node("Where",
             {possible, "unmasked", graph.constant("mask.logit", {}, {&lowest, 1})},
             "logits");
}

/// Adds the choice of each component from its part of the logits.
void add_choices(OnnxGraph& graph, const Spaces& spaces) {
  std::vector<std::string> choices;
  std::uint64_t begin = 0;
  for (const int count : spaces.choices()) {
    const auto end = begin + static_cast<std::uint64_t>(count);
    const auto name = std::to_string(choices.size());
    const auto part = graph.node("Slice",
                                 {"logits", graph.constant("begin." + name, {begin}),
                                  graph.constant("end." + name, {end}),
                                  graph.constant("axis." + name, {1})},
                                 "logits." + name);
    begin = end;
    choices.push_back(graph.node(
      "ArgMax", {part}, "choice." + name,
      {{.name = "axis", .numbers = {1}}, {.name = "keepdims", .numbers = {1}}}));
  }
  graph.node("Concat", choices, "action", {{.name = "axis", .numbers = {1}}});
  graph.output("action", OnnxGraph::Type::int64, {choices.size()});
}

/// Adds the choice of the action from the outputs of the network.
void add_action(OnnxGraph& graph, const ExportedPolicy& policy) {
  const auto& spaces = policy.spaces;
  const OnnxGraph::Shape width{policy.saved.spec.outputs()};
  if (spaces.masked)
    add_mask(graph, width);
  if (spaces.discrete()) {
    if (spaces.actions > 0) {
      graph.node(
        "ArgMax", {"logits"}, "action",
        {{.name = "axis", .numbers = {1}}, {.name = "keepdims", .numbers = {0}}});
      graph.output("action", OnnxGraph::Type::int64, {});
    } else {
      add_choices(graph, spaces);
    }
    graph.output("logits", OnnxGraph::Type::float32, width);
    return;
  }
  const auto low = graph.constant("action_low", width, spaces.action_low);
  const auto high = graph.constant("action_high", width, spaces.action_high);
  const auto above = graph.node("Max", {"mean", low}, "above_low");
  graph.node("Min", {above, high}, "action");
  graph.output("action", OnnxGraph::Type::float32, width);
  graph.output("mean", OnnxGraph::Type::float32, width);
}

} // namespace onnx
} // namespace

void save_onnx(const std::filesystem::path& path, const SavedPolicy& policy) {
  const exporting::ExportedPolicy exported(policy);
  if (policy.parameters.size() > onnx::max_parameters)
    throw std::invalid_argument(
      "the policy can't be exported: a file of ONNX holds at most 2 GB, and " +
      std::to_string(policy.parameters.size()) + " parameters need more");
  exporting::OnnxGraph graph;
  graph.input("observation", exporting::OnnxGraph::Type::float32,
              onnx::observation_shape(exported));
  onnx::add_network(graph, exported, onnx::add_normalisation(graph, exported),
                    exported.spaces.masked       ? "unmasked"
                    : exported.spaces.discrete() ? "logits"
                                                 : "mean");
  onnx::add_action(graph, exported);
  if (exported.acting_lstm)
    for (const auto* name : {"next_hidden", "next_cell"})
      graph.output(name, exporting::OnnxGraph::Type::float32,
                   {exported.acting_lstm->place.units});
  write_atomically(path, graph.model({{"environment", policy.environment},
                                      {"network", policy.spec.describe()}}));
}

void export_policy(const std::filesystem::path& path, const SavedPolicy& policy) {
  const auto ending = path.extension();
  if (ending == ".onnx")
    save_onnx(path, policy);
  else if (ending == ".safetensors")
    save_safetensors(path, policy);
  else if (ending == ".h")
    save_c_header(path, policy);
  else
    throw std::invalid_argument(
      "the name of an exported policy must end in .onnx, .safetensors or .h, which " +
      path.string() + " does not");
}

} // namespace fiber::rl
