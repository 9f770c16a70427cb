// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace fiber::fuzz {

/// Makes inputs from valid ones. First come these themselves, then each with one byte
/// changed, then random changes of all kinds. The same arguments give the same inputs.
class Inputs {
public:
  Inputs(std::vector<std::string> seeds, std::uint64_t random_seed);

  std::string next();
  std::size_t seeds() const { return seeds_.size(); }

private:
  static constexpr std::size_t longest = 1 << 14;

  std::size_t draw(std::size_t n) { return n == 0 ? 0 : random_() % n; }
  bool change_one_byte(std::string& input);
  void change(std::string& input);
  void put_number(std::string& input);
  void copy_part(std::string& input, const std::string& from);

  const std::vector<std::string> seeds_;
  std::mt19937_64 random_;
  std::size_t given_ = 0;
  std::size_t seed_ = 0, at_ = 0, value_ = 0; ///< The next change of one byte.
};

} // namespace fiber::fuzz
