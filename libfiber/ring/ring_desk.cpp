// SPDX-License-Identifier: Apache-2.0
#include "libfiber/ring/ring_desk.hpp"

#include <utility>

#include "actors/ring/ring_attempt.hpp"
#include "fiber/error.hpp"

namespace fiber::detail {

std::shared_ptr<RingDesk> RingDesk::of(const RingSeat& seat) {
  auto [place, held] = ObjectPlace::find(seat.session, seat.board, "a ring");
  return std::shared_ptr<RingDesk>(new RingDesk(std::move(place), std::move(held)));
}

void RingDesk::set(const std::string& key, const std::vector<char>& value) {
  call(actors::RingOp::set, key, value);
}

std::vector<char> RingDesk::get(const std::string& key) {
  auto value = call(actors::RingOp::get, key);
  auto* first = reinterpret_cast<const char*>(value.bytes().data());
  return {first, first + value.size()};
}

void RingDesk::leave() {
  call(actors::RingOp::leave, {});
}

void RingDesk::report(std::uint64_t collectives) {
  Bytes count;
  Writer(count).put(collectives);
  PackedItem body;
  Writer writer(body.bytes);
  write(writer,
        actors::RingRequest{actors::RingOp::report, {}, Payload(std::move(count))});
  try {
    post(
      actors::AskKind::call, std::move(body), [](std::uint64_t, const auto&) {},
      actors::Haste::soon);
  } catch (const Closed&) { // Only observers miss it.
  }
}

Payload RingDesk::call(actors::RingOp op, const std::string& key,
                       const std::vector<char>& value) {
  PackedItem body;
  Writer writer(body.bytes);
  auto bytes = std::as_bytes(std::span(value));
  write(writer, actors::RingRequest{op, key, Payload(Bytes(bytes.begin(), bytes.end()))});
  auto asked = ask(actors::AskKind::call, std::move(body), Results::forever);
  switch (asked->answer.what) {
  case actors::Answer::done:
  case actors::Answer::value:
    return std::move(asked->answer.body);
  case actors::Answer::refused:
    throw Error(Reader(asked->answer.body.bytes()).text());
  default:
    fail_closed();
  }
}

void RingDesk::fail_closed() const {
  throw actors::RingBroken("the ring has been ended");
}

} // namespace fiber::detail
