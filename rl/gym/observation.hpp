// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <pybind11/pybind11.h>

#include "fiber/rl/environment.hpp"

namespace fiber::rl::python {

/// How observations of Python become rows of floats: a Box as it is, a Discrete one-hot,
/// and a Dict as all that it has, one after another, which is what Gymnasium's flatten()
/// does. Python's lock is held.
class ObservationReader {
public:
  ObservationReader() = default; ///< Reads nothing.
  /// Returns nothing for another space, and for keys that are no strings.
  static std::optional<ObservationReader> of(pybind11::handle space);

  const std::vector<std::size_t>& shape() const { return shape_; }
  /// Those of a Dict, by their keys; the names of what is in a Dict of the Dict are
  /// joined by points. Empty for other spaces.
  const std::vector<ObservationPart>& parts() const { return parts_; }
  /// Throws GymError, which begins with `owner`, for what is not in the space.
  void read(pybind11::handle observation, std::span<float> out,
            const std::string& owner) const;

private:
  struct Leaf {
    std::vector<std::string> keys = {}; ///< From the outermost Dict on.
    std::vector<std::size_t> shape = {};
    bool one_hot = false;
    long first = 0; ///< Of Discrete spaces, which need not start with 0.

    std::size_t size() const;
    void read(pybind11::handle observation, std::span<float> out,
              const std::string& owner) const;
  };
  bool add(pybind11::handle space, const std::vector<std::string>& keys);

  std::vector<Leaf> leaves_;
  std::vector<std::size_t> shape_;
  std::vector<ObservationPart> parts_;
};

} // namespace fiber::rl::python
