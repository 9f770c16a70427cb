// SPDX-License-Identifier: Apache-2.0
// The promise: messages of the program's actors come back equal, and bytes that are none
// are an Error, however deep they claim to be nested.

#include "actors/caf/actor_message.hpp"

#include <cstdint>
#include <set>
#include <string>

#include <caf/all.hpp>
#include <gtest/gtest.h>

#include "fiber/detail/caf/error.hpp"

namespace fiber::actors {
namespace {

/// Returns the number of the type of a message's first value.
std::uint16_t number_in(const caf::message& message) {
  Bytes bytes;
  Writer writer(bytes);
  pack_message(writer, message);
  Reader reader(bytes);
  reader.size();
  return reader.get<std::uint16_t>();
}

std::string complaint(const Bytes& bytes) {
  Reader reader(bytes);
  try {
    unpack_message(reader);
    return "";
  } catch (const Error& e) {
    return e.what();
  }
}

TEST(ActorMessage, comes_back_equal) {
  auto inner = caf::make_message(std::int32_t{7}, std::string("text"));
  auto message = caf::make_message(inner, std::set<std::string>{"a", "b"}, true,
                                   caf::make_error(caf::sec::invalid_argument, "why"));
  Bytes bytes;
  Writer writer(bytes);
  pack_message(writer, message);
  Reader reader(bytes);
  auto copy = unpack_message(reader);
  EXPECT_TRUE(reader.empty());
  EXPECT_EQ(caf::to_string(copy), caf::to_string(message));
}

TEST(ActorMessage, nested_in_a_hundred_thousand_others_is_refused) {
  const auto message_number = number_in(caf::make_message(caf::message(), true));
  const auto error_number = number_in(caf::make_message(caf::error()));
  Bytes messages, errors;
  Writer message_writer(messages), error_writer(errors);
  for (int i = 0; i < 100'000; ++i) {
    message_writer.size(1);
    message_writer.put(message_number);
    error_writer.size(1);
    error_writer.put(error_number);
    error_writer.put(true); // There is an error,
    error_writer.put(std::uint8_t{1});
    error_writer.put(detail::system_category); // and a message is its context.
  }
  EXPECT_NE(complaint(messages).find("within 64 others"), std::string::npos);
  EXPECT_NE(complaint(errors).find("within 64 others"), std::string::npos);
  // A refused message does not count any more.
  Bytes flat;
  Writer writer(flat);
  pack_message(writer, caf::make_message(std::int32_t{1}));
  EXPECT_EQ(complaint(flat), "");
}

TEST(ActorMessage, an_error_of_a_category_that_cannot_travel_is_refused) {
  const detail::ErrorCategory other{};
  Bytes bytes;
  Writer writer(bytes);
  writer.size(1);
  writer.put(number_in(caf::make_message(caf::error())));
  writer.put(true); // There is an error.
  writer.put(std::uint8_t{1});
  writer.put(other);
  writer.size(0); // Its context is empty.
  EXPECT_EQ(complaint(bytes),
            detail::travels(other) ? "" : "an error of an unknown category");
}

TEST(ActorMessage, of_an_unknown_type_or_length_is_refused) {
  Bytes unknown;
  Writer writer(unknown);
  writer.size(1);
  writer.put(std::uint16_t{60'000});
  EXPECT_NE(complaint(unknown).find("unknown type 60000"), std::string::npos);
  Bytes many;
  Writer(many).size(std::size_t{1} << 40);
  EXPECT_NE(complaint(many).find("1099511627776 elements"), std::string::npos);
}

} // namespace
} // namespace fiber::actors
