// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "rl/storage/protobuf_message.hpp"

namespace fiber::rl::exporting {

/// A graph of ONNX while it is made, node after node. Values are named by the node that
/// computes them.
class OnnxGraph {
public:
  enum class Type : std::uint64_t { float32 = 1, int64 = 7 };
  using Shape = std::vector<std::size_t>;

  /// An attribute of a node: a number, or a list of numbers.
  struct Attribute {
    std::string name;
    std::vector<std::int64_t> numbers;
    bool list = false;
  };

  /// An input or an output of the whole graph. The batch comes before `shape`.
  void input(const std::string& name, Type type, const Shape& shape);
  void output(const std::string& name, Type type, const Shape& shape);
  /// Adds a constant and returns its name.
  std::string constant(const std::string& name, const Shape& shape,
                       std::span<const float> numbers);
  /// The same of whole numbers, in one dimension.
  std::string constant(const std::string& name,
                       const std::vector<std::uint64_t>& numbers);
  /// Adds a node with one output and returns the output's name.
  std::string node(const std::string& operation, const std::vector<std::string>& inputs,
                   const std::string& output,
                   std::initializer_list<Attribute> attributes = {});

  /// The whole model.
  std::string model(const std::map<std::string, std::string>& metadata) const;

private:
  storage::ProtobufMessage graph_;
};

} // namespace fiber::rl::exporting
