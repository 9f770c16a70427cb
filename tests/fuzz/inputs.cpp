// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/inputs.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <utility>

namespace fiber::fuzz {
namespace {

/// What a byte becomes in a systematic change; the first one means the byte's complement.
constexpr unsigned char bytes[] = {0, 0x00, 0xff, 0x7f, '\n', '"', '-', '9'};

/// Lengths, counts and numbers that decoders may believe.
constexpr std::uint64_t numbers[] = {0,
                                     1,
                                     2,
                                     255,
                                     4096,
                                     65535,
                                     (1ULL << 31) - 1,
                                     1ULL << 31,
                                     (1ULL << 32) - 1,
                                     1ULL << 32,
                                     1ULL << 40,
                                     (1ULL << 63) - 1,
                                     1ULL << 63,
                                     ~0ULL};

} // namespace

Inputs::Inputs(std::vector<std::string> seeds, std::uint64_t random_seed)
  : seeds_(std::move(seeds)), random_(random_seed) {}

std::string Inputs::next() {
  if (given_ < seeds_.size())
    return seeds_[given_++];
  std::string input;
  // Every other one, so that long seeds leave room for the other changes.
  if (++given_ % 2 == 0 && change_one_byte(input))
    return input;
  if (draw(50) != 0)
    input = seeds_[draw(seeds_.size())];
  for (auto changes = 1 + draw(6); changes > 0; --changes)
    change(input);
  input.resize(std::min(input.size(), longest));
  return input;
}

/// The next one of all changes of one byte; false if there is none left.
bool Inputs::change_one_byte(std::string& input) {
  while (seed_ < seeds_.size() && at_ >= seeds_[seed_].size()) {
    ++seed_;
    at_ = 0;
  }
  if (seed_ == seeds_.size())
    return false;
  input = seeds_[seed_];
  input[at_] = static_cast<char>(value_ == 0 ? ~input[at_] : bytes[value_]);
  if (++value_ == std::size(bytes)) {
    value_ = 0;
    ++at_;
  }
  return true;
}

void Inputs::change(std::string& input) {
  const auto at = draw(input.size() + 1);
  switch (draw(8)) {
  case 0:
    if (at < input.size())
      input[at] = static_cast<char>(input[at] ^ (1 << draw(8)));
    break;
  case 1:
    input.insert(at, 1 + draw(8), static_cast<char>(draw(256)));
    break;
  case 2:
    input.erase(at, 1 + draw(draw(2) == 0 ? 4 : 64));
    break;
  case 3:
    copy_part(input, input);
    break;
  case 4:
    copy_part(input, seeds_[draw(seeds_.size())]);
    break;
  case 5:
    if (draw(4) == 0)
      input.resize(at);
    break;
  default:
    put_number(input);
  }
}

/// Overwrites 1, 2, 4 or 8 bytes, as they lie in memory.
void Inputs::put_number(std::string& input) {
  auto number = numbers[draw(std::size(numbers))];
  if (draw(4) == 0)
    number = draw(2 * input.size() + 1);
  const auto size = std::size_t{1} << draw(4);
  if (input.size() >= size)
    std::memcpy(input.data() + draw(input.size() - size + 1), &number, size);
}

void Inputs::copy_part(std::string& input, const std::string& from) {
  const auto begin = draw(from.size() + 1);
  const auto part = from.substr(begin, 1 + draw(256));
  const auto at = draw(input.size() + 1);
  if (draw(2) == 0)
    input.insert(at, part);
  else
    input.replace(at, part.size(), part);
}

} // namespace fiber::fuzz
