// SPDX-License-Identifier: Apache-2.0
#include "fiber/detail/channel.hpp"

#include <exception>
#include <string>

#include "fiber/error.hpp"
#include "fiber/pipe.hpp"
#include "fiber/queue.hpp"
#include "libfiber/queue/channel_core.hpp"

namespace fiber {
namespace detail {

void check(const QueueOptions& options, const char* place) {
  if (options.capacity == 0)
    throw ConfigError("capacity", place, "1 or more", "room for 0 items is no queue");
  if (options.max_redeliveries < -1)
    throw ConfigError("max_redeliveries", place, "0 or more, or -1 for no limit",
                      std::to_string(options.max_redeliveries) + " is less than -1");
}

TakenItem::~TakenItem() {
  if (from_)
    from_->took(request_, index_);
}

ChannelEnd ChannelEnd::queue() {
  return ChannelEnd(ChannelCore::open({}, actors::ChannelEnds::one).front());
}

ChannelEnd ChannelEnd::queue(const QueueOptions& options) {
  check(options, "Queue");
  actors::Channel::Limits limits{.items = options.capacity,
                                 .puts_wait = true,
                                 .redeliver = options.redeliver,
                                 .max_redeliveries = options.max_redeliveries};
  return ChannelEnd(ChannelCore::open(limits, actors::ChannelEnds::one).front());
}

std::pair<ChannelEnd, ChannelEnd> ChannelEnd::pipe(bool duplex) {
  auto ends = ChannelCore::open({}, duplex ? actors::ChannelEnds::both_ways
                                           : actors::ChannelEnds::one_way);
  return {ChannelEnd(ends.at(0)), ChannelEnd(ends.at(1))};
}

bool ChannelEnd::put(PackedItem item, TimePoint limit) const {
  return core_->put(std::move(item), limit);
}
std::optional<TakenItem> ChannelEnd::get(std::string_view type, TimePoint limit) const {
  return core_->get(type, limit);
}
bool ChannelEnd::poll(TimePoint limit) const {
  return core_->poll(limit);
}
bool ChannelEnd::join(TimePoint limit) const {
  return core_->join(limit);
}
void ChannelEnd::task_done() const {
  core_->task_done();
}
std::size_t ChannelEnd::size() const {
  return core_->size();
}
void ChannelEnd::close() const {
  core_->close();
}
bool ChannelEnd::operator==(const ChannelEnd& other) const {
  return core_->id() == other.core_->id();
}
void ChannelEnd::fiber_pack(Writer& writer) const {
  core_->pack(writer);
}
ChannelEnd ChannelEnd::fiber_unpack(Reader& reader) {
  return ChannelEnd(ChannelCore::unpack(reader));
}

} // namespace detail

std::pair<Connection, Connection> pipe(bool duplex) {
  auto ends = detail::ChannelEnd::pipe(duplex);
  return {Connection(std::move(ends.first)), Connection(std::move(ends.second))};
}

} // namespace fiber
