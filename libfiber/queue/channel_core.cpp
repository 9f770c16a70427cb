// SPDX-License-Identifier: Apache-2.0
#include "libfiber/queue/channel_core.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <thread>
#include <utility>

#include "actors/objects/this_job.hpp"
#include "actors/protocol/node_protocol.hpp"
#include "fiber/detail/type_identity.hpp"
#include "fiber/queue.hpp"
#include "libfiber/queue/channel_part.hpp"
#include "libfiber/session/runtime.hpp"

namespace fiber::detail {
namespace {

constexpr std::uint32_t max_prefetch = 1023;
/// Prefetch limits. One of several consumers may be sent ahead what it takes within
/// 200 us. One that needs more than 25 us for an item gets nothing ahead, because the
/// others could work on those items meanwhile.
constexpr std::chrono::microseconds prefetch_time{200};
constexpr std::chrono::microseconds slowest_item{25};
constexpr std::chrono::nanoseconds fastest_item{200};
/// The driver's number as a home. A job's ledger records steps for the driver only.
constexpr std::uint64_t driver = 0;

std::string counted(std::uint64_t n, const char* one, const char* many) {
  return std::to_string(n) + " " + (n == 1 ? one : many);
}

} // namespace
// -- handles --

std::uint8_t ChannelCore::Rights::to_byte() const {
  return static_cast<std::uint8_t>((puts ? 1 : 0) + (gets ? 2 : 0) + (puts_wait ? 4 : 0) +
                                   (redelivers ? 8 : 0));
}

ChannelCore::Rights ChannelCore::Rights::from_byte(std::uint8_t byte) {
  return {(byte & 1) != 0, (byte & 2) != 0, (byte & 4) != 0, (byte & 8) != 0};
}

std::shared_ptr<ChannelCore>
ChannelCore::of(const ObjectPlace& place,
                const std::shared_ptr<actors::ObjectHandle>& held, Rights rights) {
  auto core = held->shared_state<ChannelCore>(
    [&] { return std::shared_ptr<ChannelCore>(new ChannelCore(place, held, rights)); });
  held->on_told([weak = std::weak_ptr(core)](auto what, auto request, auto& body) {
    if (auto known = weak.lock())
      known->on_notice(what, request, body);
  });
  return core;
}

ChannelCore::ChannelCore(const ObjectPlace& place,
                         std::shared_ptr<actors::ObjectHandle> held, Rights rights)
  : ObjectCore(place, std::move(held)), rights_(rights),
    ledger_(place_.runtime || id().home != driver
              ? nullptr
              : place_.objects->ledger(place_.objects->self())) {}

ChannelCore::~ChannelCore() {
  while (!prefetched_.empty())
    give_back(prefetched_.front().request);
  while (!counts_.empty())
    stop_counting(counts_.begin());
  if (lent_room_ > 0)
    return_lent_room();
  if (reported_lines_.empty() || !place_.objects->flush_now())
    return; // The ledger lines stay open: a destructor must not wait for the link.
  for (auto line : reported_lines_)
    ledger_->close(line);
}

std::vector<std::shared_ptr<ChannelCore>>
ChannelCore::open(actors::Channel::Limits limits, actors::ChannelEnds ends) {
  auto place = ObjectPlace::here();
  auto open = [&](caf::actor_system& system) {
    return actors::open_channel(system, place.objects, limits, ends);
  };
  auto handles = place.runtime ? place.runtime->with_system(open)
                               : open(actors::ThisJob::get()->system());
  std::vector<std::shared_ptr<ChannelCore>> cores;
  auto one_way = ends == actors::ChannelEnds::one_way;
  for (auto& handle : handles) {
    auto first = cores.empty();
    Rights rights{.puts = !one_way || !first,
                  .gets = !one_way || first,
                  .puts_wait = limits.puts_wait,
                  .redelivers = limits.redeliver};
    cores.push_back(of(place, handle, rights));
    if (rights.gets && place.runtime)
      place.runtime->view().add(
        std::make_shared<ChannelPart>(place.objects, handle->held_id(),
                                      ends == actors::ChannelEnds::one ? "queue" : "pipe",
                                      place.runtime->next_channel(), limits.items));
  }
  return cores;
}

void ChannelCore::pack(Writer& writer) const {
  place_.pack(writer, held_, "a queue or a pipe");
  writer.put(rights_.to_byte());
}

std::shared_ptr<ChannelCore> ChannelCore::unpack(Reader& reader) {
  auto [place, held] = ObjectPlace::unpack(reader, "a queue or a pipe");
  return of(place, held, Rights::from_byte(reader.get<std::uint8_t>()));
}

// -- requests --

void ChannelCore::fail(const actors::ObjectAnswer& answer) const {
  using actors::Answer;
  Reader reader(answer.body.bytes());
  if (answer.what == Answer::refused)
    throw Error(reader.text());
  if (answer.what == Answer::lost)
    fail_lost(reader);
  fail_closed();
}

void ChannelCore::fail_lost(Reader& reader) {
  auto lost = actors::read_lost_items(reader);
  std::vector<std::string> jobs;
  std::string who;
  std::uint64_t unnamed = lost.items;
  for (auto& [job, items] : lost.jobs) {
    who += (who.empty() ? "" : ", ") + job + " (" + counted(items, "item", "items") + ")";
    jobs.push_back(job);
    unnamed -= std::min(unnamed, items);
  }
  if (unnamed > 0)
    who += " and others";
  auto text = counted(lost.items, "item was", "items were") +
              (lost.redeliveries
                 ? " given up after " +
                     counted(static_cast<std::uint64_t>(*lost.redeliveries), "redelivery",
                             "redeliveries") +
                     ": each consumer ended before task_done(), most recently " + who
                 : " taken and not finished, since the " +
                     std::string(lost.jobs.size() == 1 ? "consumer" : "consumers") +
                     " ended before task_done(): " + who +
                     "; with QueueOptions::redeliver the next consumer gets such items");
  throw ItemsLost(text, static_cast<std::size_t>(lost.items), std::move(jobs));
}

void ChannelCore::fail_closed() const {
  place_.check_open();
  throw Closed("the queue or pipe is closed, or the process that it lived in has ended");
}

bool ChannelCore::put(PackedItem item, Clock::time_point limit) {
  if (!rights_.puts)
    throw Error("this end of the pipe only receives");
  if (take_lent_room(item) && (rights_.puts_wait || enter_window(item, limit))) {
    if (place_.objects->put(id(), item.bytes))
      return true;
    fail_closed();
  }
  if (!rights_.puts_wait)
    return send(actors::AskKind::put, std::move(item), limit);
  auto asked = ask(actors::AskKind::put, std::move(item), limit);
  if (asked && asked->answer.what != actors::Answer::done)
    fail(asked->answer);
  return asked.has_value();
}

std::optional<TakenItem> ChannelCore::get(std::string_view type,
                                          Clock::time_point limit) {
  check_gets();
  place_.check_open();
  if (auto item = take_prefetched(type))
    return item;
  std::vector<std::size_t> reported;
  PackedItem body;
  Writer writer(body.bytes);
  writer.text(type);
  if (id().home != place_.objects->self()) {
    std::lock_guard lock(mutex_);
    reported.swap(reported_lines_);
    pace_.measure();
    writer.put(max_prefetch);
    writer.put(pace_.prefetch_limit());
  }
  auto asked = ask(actors::AskKind::get, std::move(body), limit,
                   [self = std::static_pointer_cast<ChannelCore>(shared_from_this()),
                    type](std::uint64_t request, auto& answer) {
                     self->keep_prefetched(request, type, answer);
                   });
  // The answer shows that the home has read the earlier reports.
  for (auto line : reported)
    ledger_->close(line);
  if (!asked)
    return std::nullopt;
  {
    std::lock_guard lock(mutex_);
    pace_.answered = Clock::now();
    pace_.thread = std::this_thread::get_id();
  }
  auto& answer = asked->answer;
  if (answer.what == actors::Answer::value)
    return TakenItem(std::static_pointer_cast<ChannelCore>(shared_from_this()),
                     asked->request, 0, std::move(answer.body), std::move(answer.kept));
  if (answer.what != actors::Answer::other_type)
    fail(answer);
  fail_type(Reader(answer.body.bytes()).text(), type);
}

void ChannelCore::fail_type(const std::string& is, std::string_view asked) {
  throw Error("the next value is " + two_types(is, ", and ", asked) +
              " was asked for; it is still there");
}

// -- prefetched items --

void ChannelCore::Pace::measure() {
  if (items == 0 || thread != std::this_thread::get_id())
    return;
  auto now = std::max<Clock::duration>((Clock::now() - answered) / items, fastest_item);
  // At most fourfold: the scheduler may have caused the delay.
  per_item = per_item == Clock::duration::max() ? now : std::min(now, 4 * per_item);
  items = 0;
}

std::uint32_t ChannelCore::Pace::prefetch_limit() const {
  if (per_item > slowest_item)
    return 0;
  return static_cast<std::uint32_t>(prefetch_time / per_item);
}

std::optional<TakenItem> ChannelCore::take_prefetched(std::string_view type) {
  std::lock_guard lock(mutex_);
  if (prefetched_.empty())
    return std::nullopt;
  if (type != prefetched_type_)
    fail_type(prefetched_type_, type);
  auto first = std::move(prefetched_.front());
  prefetched_.pop_front();
  return TakenItem(std::static_pointer_cast<ChannelCore>(shared_from_this()),
                   first.request, first.index, std::move(first.bytes), {});
}

void ChannelCore::keep_prefetched(std::uint64_t request, std::string_view type,
                                  actors::ObjectAnswer& answer) {
  if (answer.what == actors::Answer::value) {
    if (answer.kept.empty())
      begin_counting(request, 1);
    std::lock_guard lock(mutex_);
    pace_.items = 1;
  }
  if (answer.what != actors::Answer::values)
    return;
  try {
    Reader reader(answer.body.bytes());
    std::vector<Payload> items;
    for (auto n = reader.size(); n > 0; --n) {
      auto bytes = reader.raw(reader.size());
      items.push_back(answer.body.slice(
        static_cast<std::size_t>(bytes.data() - answer.body.bytes().data()),
        bytes.size()));
    }
    begin_counting(request, items.size());
    std::lock_guard lock(mutex_);
    for (std::uint32_t i = 1; i < items.size(); ++i)
      prefetched_.push_back({request, i, std::move(items[i])});
    pace_.items = items.size();
    prefetched_type_ = type;
    answer.what = actors::Answer::value;
    answer.body = std::move(items.at(0));
  } catch (const std::exception&) { // The home misbehaves.
    answer.what = actors::Answer::closed;
  }
}

void ChannelCore::give_back(std::uint64_t request) {
  auto first = std::numeric_limits<std::uint32_t>::max();
  std::deque<Prefetched> last;
  {
    std::lock_guard lock(mutex_);
    std::erase_if(prefetched_, [&](auto& item) {
      if (item.request != request)
        return false;
      first = std::min(first, item.index);
      last.push_back(std::move(item));
      return true;
    });
    pace_.items -= std::min(pace_.items, last.size());
    if (auto at = counts_.find(request); at != counts_.end()) {
      at->second.items = std::min(at->second.items, first);
      if (at->second.taken >= at->second.items)
        stop_counting(at);
    }
  }
  tell(request, actors::AskKind::give_back, first);
}

void ChannelCore::tell(std::uint64_t request, actors::AskKind what, std::uint32_t index,
                       actors::Haste haste) const {
  Bytes body;
  if (index > 0)
    Writer(body).put(index);
  place_.objects->tell(id(), request, what, Payload(std::move(body)), haste);
}

void ChannelCore::begin_counting(std::uint64_t request, std::size_t items) {
  if (auto line = ledger_ ? ledger_->open(request) : std::nullopt) {
    std::lock_guard lock(mutex_);
    counts_[request] = {.line = *line, .items = static_cast<std::uint32_t>(items)};
  }
}

void ChannelCore::stop_counting(Counts::iterator of) {
  auto& [request, count] = *of;
  reported_lines_.push_back(count.line);
  tell(request, actors::AskKind::taken, count.taken, actors::Haste::soon);
  counts_.erase(of);
}

void ChannelCore::took(std::uint64_t request, std::uint32_t index) {
  std::unique_lock lock(mutex_);
  if (rights_.redelivers)
    unfinished_.push_back({std::this_thread::get_id(), request, index});
  auto at = counts_.find(request);
  if (at == counts_.end() || at->second.taken != index) {
    if (at != counts_.end())
      at->second.early.insert(index);
    lock.unlock();
    tell(request, actors::AskKind::took, index);
    place_.objects->flush(id().home);
    return;
  }
  auto& count = at->second;
  do
    ++count.taken;
  while (count.early.erase(count.taken) > 0);
  auto wanted = ledger_->take(count.line, count.taken);
  if (count.taken >= count.items)
    stop_counting(at);
  else if (wanted)
    tell(request, actors::AskKind::taken, count.taken);
}

// -- lent room: items that may be put without an answer --

bool ChannelCore::take_lent_room(const PackedItem& item) {
  if (!ledger_ || !item.kept.empty() || item.bytes.size() > actors::max_recorded_bytes)
    return false;
  place_.check_open();
  place_.check_may_wait();
  if (!rights_.puts_wait)
    return true;
  std::lock_guard lock(mutex_);
  if (lent_room_ == 0)
    return false;
  --lent_room_;
  return true;
}

void ChannelCore::return_lent_room() {
  std::size_t unused = 0;
  {
    std::lock_guard lock(mutex_);
    unused = std::exchange(lent_room_, 0);
  }
  tell(0, actors::AskKind::unused, static_cast<std::uint32_t>(unused));
}

void ChannelCore::on_notice(actors::AskKind what, std::uint64_t request,
                            const Payload& body) {
  using actors::AskKind;
  if (what == AskKind::recall)
    return give_back(request);
  if (what == AskKind::reclaim)
    return return_lent_room();
  if (what == AskKind::shut)
    return refuse_sends();
  auto more = static_cast<std::size_t>(Reader(body.bytes()).get<std::uint64_t>());
  if (!rights_.puts_wait)
    return leave_window(more);
  std::lock_guard lock(mutex_);
  lent_room_ += more;
}

// -- the rest --

void ChannelCore::check_gets() const {
  if (!rights_.gets)
    throw Error("this end of the pipe only sends");
}

bool ChannelCore::poll(Clock::time_point limit) {
  check_gets();
  place_.check_open();
  {
    std::lock_guard lock(mutex_);
    if (!prefetched_.empty())
      return true;
  }
  return ask(actors::AskKind::poll, {}, limit).has_value();
}

bool ChannelCore::join(Clock::time_point limit) {
  auto asked = ask(actors::AskKind::join, {}, limit);
  if (asked && asked->answer.what != actors::Answer::done)
    fail(asked->answer);
  return asked.has_value();
}

std::optional<ChannelCore::Unfinished> ChannelCore::pop_unfinished() {
  std::lock_guard lock(mutex_);
  if (unfinished_.empty())
    return std::nullopt;
  auto at =
    std::ranges::find(unfinished_, std::this_thread::get_id(), &Unfinished::thread);
  if (at == unfinished_.end())
    at = unfinished_.begin();
  auto item = *at;
  unfinished_.erase(at);
  return item;
}

void ChannelCore::task_done() {
  place_.check_open();
  place_.check_may_wait();
  PackedItem body;
  if (auto item = pop_unfinished()) {
    Writer writer(body.bytes);
    writer.put(item->request);
    writer.put(item->index);
  }
  auto asked = ask(actors::AskKind::task_done, std::move(body), Results::forever);
  if (asked->answer.what != actors::Answer::done)
    fail(asked->answer);
}

std::size_t ChannelCore::size() {
  auto asked = ask(actors::AskKind::size, {}, Results::forever);
  if (asked->answer.what != actors::Answer::value)
    fail(asked->answer);
  return static_cast<std::size_t>(
    Reader(asked->answer.body.bytes()).get<std::uint64_t>());
}

void ChannelCore::close() {
  place_.check_open();
  place_.objects->settle_others(id().home);
  place_.objects->tell(id(), 0, actors::AskKind::close);
  refuse_sends();
  if (ledger_ && rights_.puts_wait)
    return_lent_room();
  std::deque<Prefetched> last;
  std::lock_guard lock(mutex_);
  // Nothing can be received any more, not even prefetched items.
  if (!prefetched_type_.empty())
    last.swap(prefetched_);
}

} // namespace fiber::detail
