// SPDX-License-Identifier: Apache-2.0
#include "tests/wire/receiver_fuzz.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "wire/greeting.hpp"
#include "wire/receiver.hpp"

namespace fiber::wire {
namespace {

struct CountingSink final : ReceiverSink {
  bool message(StreamId, Bytes bytes) override {
    delivered += bytes.size();
    return true;
  }
  bool credit(StreamId, std::uint32_t) override { return true; }
  bool window(std::uint32_t) override { return true; }
  void goodbye(std::string reason) override { delivered += reason.size(); }
  void grant(StreamId, std::uint32_t) override {}
  std::size_t delivered = 0;
};

void require(bool promise) {
  if (!promise)
    std::abort();
}

} // namespace

bool fuzz_receiver(std::span<const std::uint8_t> input) {
  if (input.empty())
    return false;
  const bool hello = unpack_hello(std::as_bytes(input.subspan(1))).has_value();
  const std::size_t chunk = input[0] == 0 ? input.size() : input[0];
  CountingSink sink;
  LinkOptions options;
  options.message_limit = 1 << 24;
  Receiver receiver(sink, options);
  std::size_t fed = 0;
  for (auto rest = input.subspan(1); !rest.empty();) {
    auto left = std::min(chunk, rest.size());
    std::size_t taken = 0;
    for (const auto space : receiver.space()) {
      const auto count = std::min(left, space.size());
      if (count > 0)
        std::memcpy(space.data(), rest.data() + taken, count);
      taken += count;
      left -= count;
    }
    require(taken > 0);
    rest = rest.subspan(taken);
    fed += taken;
    const bool good = receiver.commit(taken);
    require(sink.delivered <= fed);
    // A stream costs the peer at least a frame header and us at most 1 MiB.
    require(receiver.held_bytes() <= 5 * fed + (fed / 20 + 1) * (1 << 20));
    if (!good) {
      require(!receiver.error().empty());
      return hello;
    }
  }
  return true;
}

} // namespace fiber::wire
