// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <fiber/value.hpp>

namespace fiber::rl::ppo {

/// The learners that train together, as one of them sees them. All call the same
/// functions in the same order.
class Peers {
public:
  virtual ~Peers() = default;
  virtual std::size_t rank() const = 0;
  virtual std::size_t size() const = 0;
  /// Replaces the numbers by the means over all learners.
  virtual void average(std::span<float> numbers) = 0;
  /// Returns what each learner has told, by rank.
  virtual std::vector<Bytes> gather(const Bytes& told) = 0;
};

/// A value as gather() takes it, and back.
template <class T>
Bytes packed(const T& value) {
  Bytes bytes;
  Writer writer(bytes);
  pack(writer, value);
  return bytes;
}
template <class T>
T unpacked(const Bytes& bytes) {
  Reader reader(bytes);
  return unpack<T>(reader);
}

} // namespace fiber::rl::ppo
