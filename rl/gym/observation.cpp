// SPDX-License-Identifier: Apache-2.0
#include "rl/gym/observation.hpp"

#include <algorithm>
#include <utility>

#include "fiber/rl/gym.hpp"
#include "rl/gym/array.hpp"

namespace fiber::rl::python {

namespace py = pybind11;

std::optional<ObservationReader> ObservationReader::of(py::handle space) {
  ObservationReader reader;
  if (!reader.add(space, {}))
    return std::nullopt;
  auto& leaves = reader.leaves_;
  if (leaves.size() == 1 && leaves[0].keys.empty()) {
    reader.shape_ = leaves[0].shape;
    return reader;
  }
  std::size_t size = 0;
  for (const auto& leaf : leaves) {
    std::string name;
    for (const auto& key : leaf.keys)
      name += (name.empty() ? "" : ".") + key;
    reader.parts_.push_back({std::move(name), leaf.size()});
    size += leaf.size();
  }
  reader.shape_ = {size};
  return reader;
}

bool ObservationReader::add(py::handle space, const std::vector<std::string>& keys) {
  const auto kinds = py::module_::import("gymnasium").attr("spaces");
  Leaf leaf{.keys = keys};
  if (py::isinstance(space, kinds.attr("Dict"))) {
    const py::object items =
      space.attr("spaces").attr("items")(); // In Gymnasium's order.
    for (const auto item : items) {
      const auto pair = py::cast<py::tuple>(item);
      auto inner = keys;
      if (!py::isinstance<py::str>(pair[0]))
        return false;
      inner.push_back(pair[0].cast<std::string>());
      if (!add(pair[1], inner))
        return false;
    }
    return true;
  }
  if (py::isinstance(space, kinds.attr("Box"))) {
    for (auto extent : space.attr("shape"))
      leaf.shape.push_back(extent.cast<std::size_t>());
  } else if (py::isinstance(space, kinds.attr("Discrete"))) {
    leaf.one_hot = true;
    leaf.first = space.attr("start").cast<long>();
    leaf.shape = {space.attr("n").cast<std::size_t>()};
  } else {
    return false;
  }
  leaves_.push_back(std::move(leaf));
  return true;
}

void ObservationReader::read(py::handle observation, std::span<float> out,
                             const std::string& owner) const {
  for (const auto& leaf : leaves_) {
    py::object part = py::reinterpret_borrow<py::object>(observation);
    for (const auto& key : leaf.keys)
      part = part[key.c_str()];
    leaf.read(part, out.first(leaf.size()), owner);
    out = out.subspan(leaf.size());
  }
}

std::size_t ObservationReader::Leaf::size() const {
  std::size_t size = 1;
  for (auto extent : shape)
    size *= extent;
  return size;
}

void ObservationReader::Leaf::read(py::handle observation, std::span<float> out,
                                   const std::string& owner) const {
  if (!one_hot)
    return read_array(observation, out);
  const auto number = observation.cast<long>() - first;
  if (number < 0 || number >= static_cast<long>(out.size()))
    throw GymError(owner + " shows " + py::repr(observation).cast<std::string>() +
                   ", which is not in its observation space");
  std::ranges::fill(out, 0.0F);
  out[static_cast<std::size_t>(number)] = 1;
}

} // namespace fiber::rl::python
