// SPDX-License-Identifier: Apache-2.0
// An event file holds what TensorBoard reads: records with the right checksums, of events
// with the right fields. The decoder here is written from the formats, apart from the
// writer.

#include "fiber/rl/event_file.hpp"

#include <bit>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include <gtest/gtest.h>

namespace fiber::rl {
namespace {

namespace fs = std::filesystem;

// Bit by bit: the remainder for Castagnoli's polynomial.
std::uint32_t crc32c(std::string_view bytes) {
  std::uint32_t crc = ~0U;
  for (unsigned char byte : bytes)
    for (int bit = 0; bit < 8; ++bit) {
      const bool odd = ((crc ^ (byte >> bit)) & 1) != 0;
      crc = (crc >> 1) ^ (odd ? 0x82f63b78U : 0U);
    }
  return ~crc;
}

std::uint32_t unmasked(std::uint32_t masked) {
  const auto rotated = masked - 0xa282ead8U;
  return std::rotl(rotated, 15);
}

template <class Number>
Number number_at(std::string_view bytes, std::size_t at) {
  Number number;
  std::memcpy(&number, bytes.substr(at, sizeof number).data(), sizeof number);
  return number;
}

std::vector<std::string> records_of(std::string_view file) {
  std::vector<std::string> records;
  while (!file.empty()) {
    const auto length = number_at<std::uint64_t>(file, 0);
    EXPECT_EQ(unmasked(number_at<std::uint32_t>(file, 8)), crc32c(file.substr(0, 8)));
    const auto data = file.substr(12, length);
    EXPECT_EQ(unmasked(number_at<std::uint32_t>(file, 12 + length)), crc32c(data));
    records.emplace_back(data);
    file.remove_prefix(16 + length);
  }
  return records;
}

// A message of protobuf, as its fields: numbers, or bytes.
struct Field {
  std::uint64_t number = 0;
  std::string bytes;
};

std::multimap<int, Field> fields_of(std::string_view message) {
  std::multimap<int, Field> fields;
  auto varint = [&] {
    std::uint64_t number = 0;
    for (int shift = 0;; shift += 7) {
      const auto byte = static_cast<unsigned char>(message.at(0));
      message.remove_prefix(1);
      number |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80)
        return number;
    }
  };
  auto take = [&](std::size_t size) {
    std::string taken(message.substr(0, size));
    EXPECT_EQ(taken.size(), size);
    message.remove_prefix(size);
    return taken;
  };
  while (!message.empty()) {
    const auto key = varint();
    Field field;
    switch (key & 7) {
    case 0:
      field.number = varint();
      break;
    case 1:
      field.bytes = take(8);
      break;
    case 2:
      field.bytes = take(varint());
      break;
    case 5:
      field.bytes = take(4);
      break;
    default:
      throw std::runtime_error("no such wire type");
    }
    fields.emplace(static_cast<int>(key >> 3), std::move(field));
  }
  return fields;
}

const Field& one(const std::multimap<int, Field>& fields, int number) {
  EXPECT_EQ(fields.count(number), 1) << "field " << number;
  return fields.find(number)->second;
}

class EventFileTest : public testing::Test {
protected:
  EventFileTest() {
    auto pattern = (fs::temp_directory_path() / "fiber-rl-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr)
      throw std::system_error(errno, std::generic_category(), "mkdtemp");
    folder_ = pattern;
    file_ = folder_ / "events.out.tfevents.1";
  }
  ~EventFileTest() override { fs::remove_all(folder_); }

  std::string content() const {
    std::ifstream in(file_, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::vector<std::uint64_t> steps() const {
    std::vector<std::uint64_t> steps;
    for (const auto& record : records_of(content()))
      steps.push_back(one(fields_of(record), 2).number);
    return steps;
  }

  fs::path folder_, file_;
};

TEST(Crc32cTest, is_castagnolis) {
  EXPECT_EQ(crc32c("123456789"), 0xe3069283); // The check value of the catalogues.
}

TEST_F(EventFileTest, begins_with_the_version_and_the_start_of_a_session) {
  { const EventFile events(file_, 5, 1700000000.25); }
  const auto records = records_of(content());
  ASSERT_EQ(records.size(), 2);
  const auto version = fields_of(records[0]);
  EXPECT_EQ(number_at<double>(one(version, 1).bytes, 0), 1700000000.25);
  EXPECT_EQ(one(version, 3).bytes, "brain.Event:2");
  const auto session = fields_of(records[1]);
  EXPECT_EQ(one(session, 2).number, 5);
  EXPECT_EQ(one(fields_of(one(session, 7).bytes), 1).number, 1);
}

TEST_F(EventFileTest, holds_steps_tags_and_values) {
  {
    EventFile events(file_, 0, 1);
    events.add(300, 2.5, {{"rollout/return", 12.25}, {"loss", -1e-3}});
  }
  const auto records = records_of(content());
  ASSERT_EQ(records.size(), 3);
  const auto event = fields_of(records[2]);
  EXPECT_EQ(number_at<double>(one(event, 1).bytes, 0), 2.5);
  EXPECT_EQ(one(event, 2).number, 300);
  std::map<std::string, float> values;
  const auto summary = fields_of(one(event, 5).bytes);
  for (auto [value, end] = summary.equal_range(1); value != end; ++value) {
    const auto parts = fields_of(value->second.bytes);
    values[one(parts, 1).bytes] = number_at<float>(one(parts, 2).bytes, 0);
  }
  EXPECT_EQ(values,
            (std::map<std::string, float>{{"rollout/return", 12.25f}, {"loss", -1e-3f}}));
}

TEST_F(EventFileTest, is_cut_before_later_steps) {
  {
    EventFile events(file_, 0, 1);
    for (std::uint64_t step : {1, 200, 201, 70'000})
      events.add(step, 2, {{"x", 1}});
  }
  EventFile::drop_after(file_, 200);
  EXPECT_EQ(steps(), (std::vector<std::uint64_t>{0, 0, 1, 200}));
  EventFile::drop_after(file_, 200);
  EXPECT_EQ(steps(), (std::vector<std::uint64_t>{0, 0, 1, 200}));
}

TEST_F(EventFileTest, loses_a_record_that_is_not_whole) {
  {
    EventFile events(file_, 0, 1);
    events.add(1, 2, {{"x", 1}});
    events.add(2, 2, {{"x", 1}});
  }
  fs::resize_file(file_, fs::file_size(file_) - 3);
  EventFile::drop_after(file_, 100);
  EXPECT_EQ(steps(), (std::vector<std::uint64_t>{0, 0, 1}));
}

TEST_F(EventFileTest, never_writes_into_a_file_that_is_there) {
  std::ofstream(file_) << "mine";
  EXPECT_THROW(EventFile(file_, 0, 1), std::system_error);
  EXPECT_EQ(content(), "mine");
}

} // namespace
} // namespace fiber::rl
