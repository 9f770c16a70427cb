// SPDX-License-Identifier: Apache-2.0
#include "rl/export/onnx_graph.hpp"

#include "rl/storage/little_endian.hpp"

namespace fiber::rl::exporting {
namespace {

using storage::ProtobufMessage;

// The numbers of the fields in ONNX's onnx.proto.
namespace field {
namespace model {
constexpr std::uint64_t ir_version = 1, producer = 2, graph = 7, operators = 8,
                        metadata = 14;
} // namespace model
namespace operators {
constexpr std::uint64_t version = 2;
} // namespace operators
namespace entry { // Of the metadata.
constexpr std::uint64_t key = 1, value = 2;
} // namespace entry
namespace graph {
constexpr std::uint64_t node = 1, name = 2, initializer = 5, input = 11, output = 12;
} // namespace graph
namespace node {
constexpr std::uint64_t input = 1, output = 2, name = 3, operation = 4, attribute = 5;
} // namespace node
namespace attribute {
constexpr std::uint64_t name = 1, number = 3, numbers = 8, type = 20;
constexpr std::uint64_t type_int = 2, type_ints = 7; // Values of `type`.
} // namespace attribute
namespace tensor {
constexpr std::uint64_t extent = 1, type = 2, name = 8, raw_data = 9;
} // namespace tensor
namespace value_info {
constexpr std::uint64_t name = 1, type = 2;
} // namespace value_info
namespace type {
constexpr std::uint64_t tensor = 1, element = 1, shape = 2; // The last two: of tensor.
} // namespace type
namespace shape {
constexpr std::uint64_t dimension = 1, value = 1, parameter = 2; // Of dimension.
} // namespace shape
} // namespace field

/// The newest that Debian 12's onnx and the runtimes of 2021 read as well.
constexpr std::uint64_t operators_version = 13, ir_version = 7;

ProtobufMessage value_info(const std::string& name, OnnxGraph::Type type,
                           const OnnxGraph::Shape& shape) {
  ProtobufMessage extents, tensor, whole, info, batch;
  batch.bytes(field::shape::parameter, "batch");
  extents.message(field::shape::dimension, batch);
  for (auto extent : shape) {
    ProtobufMessage dimension;
    dimension.number(field::shape::value, extent);
    extents.message(field::shape::dimension, dimension);
  }
  tensor.number(field::type::element, static_cast<std::uint64_t>(type));
  tensor.message(field::type::shape, extents);
  whole.message(field::type::tensor, tensor);
  info.bytes(field::value_info::name, name);
  info.message(field::value_info::type, whole);
  return info;
}

template <class Number>
ProtobufMessage tensor(const std::string& name, OnnxGraph::Type type,
                       const OnnxGraph::Shape& shape, std::span<const Number> numbers) {
  ProtobufMessage tensor;
  for (auto extent : shape)
    tensor.number(field::tensor::extent, extent);
  tensor.number(field::tensor::type, static_cast<std::uint64_t>(type));
  tensor.bytes(field::tensor::name, name);
  std::string raw;
  storage::put_all(raw, numbers);
  tensor.bytes(field::tensor::raw_data, raw);
  return tensor;
}

} // namespace

void OnnxGraph::input(const std::string& name, Type type, const Shape& shape) {
  graph_.message(field::graph::input, value_info(name, type, shape));
}

void OnnxGraph::output(const std::string& name, Type type, const Shape& shape) {
  graph_.message(field::graph::output, value_info(name, type, shape));
}

std::string OnnxGraph::constant(const std::string& name, const Shape& shape,
                                std::span<const float> numbers) {
  graph_.message(field::graph::initializer, tensor(name, Type::float32, shape, numbers));
  return name;
}

std::string OnnxGraph::constant(const std::string& name,
                                const std::vector<std::uint64_t>& numbers) {
  graph_.message(field::graph::initializer,
                 tensor<std::uint64_t>(name, Type::int64, {numbers.size()}, numbers));
  return name;
}

std::string OnnxGraph::node(const std::string& operation,
                            const std::vector<std::string>& inputs,
                            const std::string& output,
                            std::initializer_list<Attribute> attributes) {
  ProtobufMessage node;
  for (const auto& input : inputs)
    node.bytes(field::node::input, input);
  node.bytes(field::node::output, output);
  node.bytes(field::node::name, operation + " " + output);
  node.bytes(field::node::operation, operation);
  for (const auto& [name, numbers, list] : attributes) {
    ProtobufMessage attribute;
    attribute.bytes(field::attribute::name, name);
    for (auto number : numbers)
      attribute.number(list ? field::attribute::numbers : field::attribute::number,
                       static_cast<std::uint64_t>(number));
    attribute.number(field::attribute::type,
                     list ? field::attribute::type_ints : field::attribute::type_int);
    node.message(field::node::attribute, attribute);
  }
  graph_.message(field::graph::node, node);
  return output;
}

std::string OnnxGraph::model(const std::map<std::string, std::string>& metadata) const {
  ProtobufMessage operators, model, graph = graph_;
  graph.bytes(field::graph::name, "policy");
  operators.number(field::operators::version, operators_version);
  model.number(field::model::ir_version, ir_version);
  model.bytes(field::model::producer, "Fiber for C++");
  model.message(field::model::graph, graph);
  model.message(field::model::operators, operators);
  for (const auto& [key, value] : metadata) {
    ProtobufMessage entry;
    entry.bytes(field::entry::key, key);
    entry.bytes(field::entry::value, value);
    model.message(field::model::metadata, entry);
  }
  return model.text();
}

} // namespace fiber::rl::exporting
