// SPDX-License-Identifier: Apache-2.0
#include "fiber/rl/event_file.hpp"

#include <array>
#include <bit>
#include <fstream>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <utility>

#include <fcntl.h>

#include "fiber/detail/classic_locale.hpp"
#include "rl/storage/file.hpp"
#include "rl/storage/little_endian.hpp"
#include "rl/storage/protobuf_message.hpp"

namespace fiber::rl {
namespace {
namespace events {

using storage::ProtobufMessage, storage::put_fixed;

// Castagnoli's polynomial, bits reversed.
constexpr std::array<std::uint32_t, 256> crc_table = [] {
  std::array<std::uint32_t, 256> table = {};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    auto crc = byte;
    for (int bit = 0; bit < 8; ++bit)
      crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82f63b78 : 0);
    table[byte] = crc;
  }
  return table;
}();

// Masked as TFRecords ask for, so that a record may itself hold a CRC.
std::uint32_t masked_crc(std::string_view bytes) {
  std::uint32_t crc = 0xffffffff;
  for (unsigned char byte : bytes)
    crc = (crc >> 8) ^ crc_table[(crc ^ byte) & 0xff];
  return std::rotr(~crc, 15) + 0xa282ead8;
}

// The numbers of the fields in TensorFlow's event.proto and summary.proto.
namespace field {
constexpr std::uint64_t wall_time = 1, step = 2, file_version = 3, summary = 5,
                        session_log = 7;           // Of Event.
constexpr std::uint64_t value = 1;                 // Of Summary.
constexpr std::uint64_t tag = 1, simple_value = 2; // Of Summary.Value.
constexpr std::uint64_t status = 1;                // Of SessionLog.
} // namespace field

ProtobufMessage begin_event(double wall_time, std::uint64_t step) {
  ProtobufMessage event;
  event.fixed(field::wall_time, wall_time);
  event.number(field::step, step);
  return event;
}

std::string record_of(const ProtobufMessage& message) {
  const auto& event = message.text();
  std::string record;
  put_fixed(record, static_cast<std::uint64_t>(event.size()));
  put_fixed(record, masked_crc(record));
  record += event;
  put_fixed(record, masked_crc(event));
  return record;
}

template <class Unsigned>
Unsigned fixed_at(std::string_view bytes) {
  Unsigned number = 0;
  for (std::size_t i = 0; i < sizeof number; ++i)
    number |= static_cast<Unsigned>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  return number;
}

// The step of an event that begin_event() began, which is where it stands.
std::optional<std::uint64_t> step_of(std::string_view event) {
  constexpr std::size_t time_and_key = 10;
  std::uint64_t step = 0;
  for (std::size_t i = time_and_key, shift = 0; i < event.size() && shift < 64;
       ++i, shift += 7) {
    const auto byte = static_cast<unsigned char>(event[i]);
    step |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80)
      return step;
  }
  return {};
}

// Takes a whole record off the front and returns its event.
std::optional<std::string_view> take_record(std::string_view& file) {
  constexpr std::size_t around = 16; // Length and two checksums.
  if (file.size() < around ||
      fixed_at<std::uint32_t>(file.substr(8)) != masked_crc(file.substr(0, 8)))
    return {};
  const auto length = fixed_at<std::uint64_t>(file);
  if (length > file.size() - around)
    return {};
  const auto event = file.substr(12, length);
  if (fixed_at<std::uint32_t>(file.substr(12 + length)) != masked_crc(event))
    return {};
  file.remove_prefix(around + length);
  return event;
}

} // namespace events
} // namespace

EventFile::EventFile(const std::filesystem::path& path, std::uint64_t first_step,
                     double wall_time)
  : file_(std::make_unique<storage::File>(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND)) {
  using namespace events;
  auto version = begin_event(wall_time, 0);
  version.bytes(field::file_version, "brain.Event:2");
  file_->write(record_of(version));
  ProtobufMessage start;
  start.number(field::status, 1); // START.
  auto session = begin_event(wall_time, first_step);
  session.message(field::session_log, start);
  file_->write(record_of(session));
}

EventFile::~EventFile() = default;

void EventFile::add(std::uint64_t step, double wall_time, const Scalars& scalars) {
  using namespace events;
  ProtobufMessage summary;
  for (const auto& [tag, number] : scalars) {
    ProtobufMessage value;
    value.bytes(field::tag, tag);
    value.fixed(field::simple_value, static_cast<float>(number));
    summary.message(field::value, value);
  }
  auto event = begin_event(wall_time, step);
  event.message(field::summary, summary);
  file_->write(record_of(event));
}

void EventFile::sync() {
  file_->sync();
}

void EventFile::drop_after(const std::filesystem::path& path, std::uint64_t step) {
  fiber::detail::Classic<std::ifstream> in(path, std::ios::binary);
  if (!in)
    throw std::runtime_error("cannot read " + path.string());
  fiber::detail::Classic<std::ostringstream> content;
  content << in.rdbuf();
  const auto file = std::move(content).str();
  std::string_view rest(file);
  auto kept = file.size();
  for (;;) {
    kept = file.size() - rest.size();
    const auto event = events::take_record(rest);
    if (!event || events::step_of(*event).value_or(step + 1) > step)
      break;
  }
  std::filesystem::resize_file(path, kept);
}

} // namespace fiber::rl
