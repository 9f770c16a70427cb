// SPDX-License-Identifier: Apache-2.0
#include "libfiber/channel_core.hpp"

#include <string>
#include <thread>
#include <utility>

#include "actors/demangle.hpp"
#include "actors/node_protocol.hpp"
#include "actors/this_job.hpp"
#include "libfiber/runtime.hpp"

namespace fiber::detail {
namespace {

constexpr std::size_t window_bytes = std::size_t{1} << 20;

} // namespace

// -- where it is used --

ChannelCore::Place ChannelCore::Place::here() {
  if (auto* job = actors::ThisJob::get())
    return {.runtime = nullptr, .objects = job->objects, .session = job->session};
  auto runtime = Runtime::require();
  return {
    .runtime = runtime, .objects = runtime->objects(), .session = runtime->session_tag()};
}

std::unique_ptr<WaitPoint> ChannelCore::Place::wait_point() const {
  if (!runtime)
    return std::make_unique<WaitPoint>(nullptr, actors::ThisJob::get()->leadership);
  std::function<bool()> run_one;
  if (runtime->is_inline())
    run_one = [runtime = runtime, ran = ran] {
      auto one = runtime->run_one();
      *ran += one ? 1 : 0;
      return one;
    };
  return std::make_unique<WaitPoint>(std::move(run_one), runtime->leadership());
}

bool ChannelCore::Place::wait(WaitPoint& point, const std::function<bool()>& fulfilled,
                              Clock::time_point limit) const {
  if (!runtime || !runtime->is_inline() || limit != Results::forever)
    return point.wait(fulfilled, limit);
  constexpr std::chrono::seconds patience{2}; // For a thread of the program's own.
  for (;;) {
    auto before = ran->load();
    if (point.wait(fulfilled, Clock::now() + patience))
      return true;
    if (ran->load() == before)
      throw Error("inline runs on one thread, and nothing is left to run that could end "
                  "this wait");
  }
}

void ChannelCore::Place::check_open() const {
  if (runtime)
    runtime->check_open();
}

// -- handles --

std::uint8_t ChannelCore::Use::image() const {
  return static_cast<std::uint8_t>((puts ? 1 : 0) + (gets ? 2 : 0) + (puts_wait ? 4 : 0));
}

ChannelCore::Use ChannelCore::Use::of(std::uint8_t image) {
  return {(image & 1) != 0, (image & 2) != 0, (image & 4) != 0};
}

std::shared_ptr<ChannelCore>
ChannelCore::of(const Place& place, const std::shared_ptr<actors::ObjectHandle>& held,
                Use use) {
  return held->users<ChannelCore>(
    [&] { return std::shared_ptr<ChannelCore>(new ChannelCore(place, held, use)); });
}

ChannelCore::ChannelCore(Place place, std::shared_ptr<actors::ObjectHandle> held, Use use)
  : place_(std::move(place)), held_(std::move(held)), use_(use),
    window_(place_.wait_point()) {}

std::vector<std::shared_ptr<ChannelCore>>
ChannelCore::open(actors::Channel::Limits limits, actors::ChannelEnds ends) {
  auto place = Place::here();
  auto handles = place.runtime ? place.runtime->open_channel(limits, ends)
                               : actors::open_channel(*actors::ThisJob::get()->system,
                                                      place.objects, limits, ends);
  std::vector<std::shared_ptr<ChannelCore>> cores;
  auto one_way = ends == actors::ChannelEnds::one_way;
  for (auto& handle : handles) {
    auto first = cores.empty();
    Use use{.puts = !one_way || !first,
            .gets = !one_way || first,
            .puts_wait = limits.puts_wait};
    cores.push_back(of(place, handle, use));
  }
  return cores;
}

void ChannelCore::pack(Writer& writer) const {
  place_.check_open();
  if (writer.compares())
    throw Error("a queue or a pipe is no input that a journal could know again");
  KeepScope::keep(held_);
  writer.put(place_.session);
  writer.put(id());
  writer.put(use_.image());
}

std::shared_ptr<ChannelCore> ChannelCore::unpack(Reader& reader) {
  auto session = reader.get<std::uint64_t>();
  auto id = reader.get<HeldId>();
  auto use = Use::of(reader.get<std::uint8_t>());
  auto place = Place::here();
  if (session != place.session)
    throw Error("a queue or a pipe of another session can't be used in this one");
  auto held = place.objects->handle(id);
  if (!held) {
    place.check_open();
    throw Error("a queue or a pipe that has ended can't be used");
  }
  return of(place, held, use);
}

// -- requests --

std::optional<ChannelCore::Asked>
ChannelCore::ask(actors::ChannelAsk what, PackedItem body, Clock::time_point limit) {
  place_.check_open();
  check_may_wait();
  actors::check_size(body.bytes.size());
  struct Call {
    std::unique_ptr<WaitPoint> point;
    std::optional<actors::ObjectAnswer> answer;
  };
  auto cancelled = false;
  auto call = std::make_shared<Call>();
  call->point = place_.wait_point();
  auto request =
    place_.objects->ask(id(), what, Payload(std::move(body.bytes)), std::move(body.kept),
                        [call](actors::ObjectAnswer answer) {
                          std::lock_guard lock(call->point->mutex());
                          call->answer = std::move(answer);
                          call->point->wake();
                        });
  std::function<bool()> answered = [&] { return call->answer.has_value(); };
  try {
    if (!place_.wait(*call->point, answered, limit)) {
      cancelled = true;
      place_.objects->tell(id(), request, actors::ChannelAsk::cancel);
      call->point->wait(answered, Results::forever);
    }
  } catch (const Error&) { // Of an inline session, where all happens on this thread.
    cancelled = true;
    place_.objects->tell(id(), request, actors::ChannelAsk::cancel);
    for (auto there = false; !there; std::this_thread::yield()) {
      // Another thread may be running the queue's actor.
      std::lock_guard lock(call->point->mutex());
      there = answered();
    }
    if (call->answer->what == actors::Answer::cancelled)
      throw;
  }
  if (call->answer->what == actors::Answer::cancelled) {
    if (cancelled)
      return std::nullopt;
    call->answer->what = actors::Answer::closed; // Its home is out of its mind.
  }
  return Asked{request, std::move(*call->answer)};
}

void ChannelCore::fail(const actors::ObjectAnswer& answer) const {
  using actors::Answer;
  Reader reader(answer.body.bytes());
  if (answer.what == Answer::refused)
    throw Error(reader.text());
  place_.check_open();
  throw Closed("the queue or pipe is closed, or the process that it lived in has ended");
}

bool ChannelCore::put(PackedItem item, Clock::time_point limit) {
  if (!use_.puts)
    throw Error("this end of the pipe only receives");
  if (!use_.puts_wait)
    return send(std::move(item), limit);
  auto asked = ask(actors::ChannelAsk::put, std::move(item), limit);
  if (asked && asked->answer.what != actors::Answer::done)
    fail(asked->answer);
  return asked.has_value();
}

/// Does not wait for an answer, as long as not too much is without one.
bool ChannelCore::send(PackedItem item, Clock::time_point limit) {
  place_.check_open();
  check_may_wait();
  actors::check_size(item.bytes.size());
  auto size = item.bytes.size() + actors::Item::item_overhead;
  auto may_go = [&] {
    return closed_ || in_flight_ == 0 || in_flight_ + size <= window_bytes;
  };
  for (;;) {
    if (!place_.wait(*window_, may_go, limit))
      return false;
    std::lock_guard lock(window_->mutex());
    if (closed_)
      fail({});
    if (!may_go())
      continue; // Another thread was faster.
    in_flight_ += size;
    break;
  }
  place_.objects->ask(
    id(), actors::ChannelAsk::put, Payload(std::move(item.bytes)), std::move(item.kept),
    [known = shared_from_this(), size](const auto& answer) {
      std::lock_guard lock(known->window_->mutex());
      known->in_flight_ -= size;
      known->closed_ = known->closed_ || answer.what != actors::Answer::done;
      known->window_->wake();
    });
  // Then it outlives this process.
  place_.objects->flush();
  std::lock_guard lock(window_->mutex());
  if (closed_)
    fail({});
  return true;
}

std::optional<TakenItem> ChannelCore::get(std::string_view type,
                                          Clock::time_point limit) {
  check_gets();
  PackedItem body;
  if (!type.empty())
    Writer(body.bytes).text(type);
  auto asked = ask(actors::ChannelAsk::get, std::move(body), limit);
  if (!asked)
    return std::nullopt;
  auto& answer = asked->answer;
  if (answer.what == actors::Answer::value)
    return TakenItem(shared_from_this(), asked->request, std::move(answer.body),
                     std::move(answer.kept));
  if (answer.what != actors::Answer::other_type)
    fail(answer);
  throw Error("the next value is a " +
              actors::demangle(Reader(answer.body.bytes()).text().c_str()) + ", and a " +
              actors::demangle(std::string(type).c_str()) +
              " was asked for; it is still there");
}

void ChannelCore::check_gets() const {
  if (!use_.gets)
    throw Error("this end of the pipe only sends");
}

void ChannelCore::took(std::uint64_t request) {
  place_.objects->tell(id(), request, actors::ChannelAsk::took);
  place_.objects->flush();
}

void ChannelCore::check_may_wait() const {
  if (place_.objects->on_lent_thread())
    throw Error("in a stop callback a queue or a pipe can only be closed");
}

bool ChannelCore::poll(Clock::time_point limit) {
  check_gets();
  return ask(actors::ChannelAsk::poll, {}, limit).has_value();
}

bool ChannelCore::join(Clock::time_point limit) {
  auto asked = ask(actors::ChannelAsk::join, {}, limit);
  if (asked && asked->answer.what != actors::Answer::done)
    fail(asked->answer);
  return asked.has_value();
}

void ChannelCore::task_done() {
  auto asked = ask(actors::ChannelAsk::task_done, {}, Results::forever);
  if (asked->answer.what != actors::Answer::done)
    fail(asked->answer);
}

std::size_t ChannelCore::size() {
  auto asked = ask(actors::ChannelAsk::size, {}, Results::forever);
  if (asked->answer.what != actors::Answer::value)
    fail(asked->answer);
  return static_cast<std::size_t>(
    Reader(asked->answer.body.bytes()).get<std::uint64_t>());
}

void ChannelCore::close() {
  place_.check_open();
  place_.objects->tell(id(), 0, actors::ChannelAsk::close);
  std::lock_guard lock(window_->mutex());
  closed_ = true;
  window_->wake();
}

} // namespace fiber::detail
