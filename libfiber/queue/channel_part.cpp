// SPDX-License-Identifier: Apache-2.0
#include "libfiber/queue/channel_part.hpp"

#include <cstdint>
#include <optional>
#include <string>

#include "actors/core/reply.hpp"

namespace fiber::detail {

using nlohmann::json;

namespace {

/// Reads how many processes use an end of a channel, and the first ones of them.
void add_users(json& entry, const char* count, const char* jobs, Reader& reader) {
  entry[count] = reader.get<std::uint64_t>();
  entry[jobs] = json::array();
  for (auto n = reader.size(); n > 0; --n)
    entry[jobs].push_back(reader.get<std::uint64_t>());
}

} // namespace

bool ChannelPart::gone() const {
  auto objects = objects_.lock();
  return !objects || !objects->handle(id_);
}

observer::Part::Answer ChannelPart::look() {
  auto objects = objects_.lock();
  if (!objects)
    return nullptr;
  auto reply = std::make_shared<actors::Reply<Payload>>();
  objects->ask(id_, actors::AskKind::size, {}, {},
               [reply](std::uint64_t, actors::ObjectAnswer answer) {
                 reply->set(answer.what == actors::Answer::value ? answer.body
                                                                 : Payload());
               });
  return [this, reply](observer::Clock::time_point limit) -> std::optional<json> {
    if (!reply->wait_until(limit))
      return std::nullopt;
    auto body = reply->value();
    if (body.size() == 0) // It has just ended.
      return std::nullopt;
    Reader reader(body.bytes());
    json entry{{"name", kind_ + ("#" + std::to_string(serial_))}, {"kind", kind_}};
    entry["items"] = reader.get<std::uint64_t>();
    entry["waiting_puts"] = reader.get<std::uint64_t>();
    entry["waiting_gets"] = reader.get<std::uint64_t>();
    entry["put"] = reader.get<std::uint64_t>();
    add_users(entry, "producers", "producer_jobs", reader);
    add_users(entry, "consumers", "consumer_jobs", reader);
    if (capacity_ != SIZE_MAX)
      entry["capacity"] = capacity_;
    return entry;
  };
}

} // namespace fiber::detail
