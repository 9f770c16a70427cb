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
// -- handles --

std::uint8_t ChannelCore::Use::image() const {
  return static_cast<std::uint8_t>((puts ? 1 : 0) + (gets ? 2 : 0) + (puts_wait ? 4 : 0));
}

ChannelCore::Use ChannelCore::Use::of(std::uint8_t image) {
  return {(image & 1) != 0, (image & 2) != 0, (image & 4) != 0};
}

std::shared_ptr<ChannelCore>
ChannelCore::of(const ObjectPlace& place,
                const std::shared_ptr<actors::ObjectHandle>& held, Use use) {
  return held->users<ChannelCore>(
    [&] { return std::shared_ptr<ChannelCore>(new ChannelCore(place, held, use)); });
}

std::vector<std::shared_ptr<ChannelCore>>
ChannelCore::open(actors::Channel::Limits limits, actors::ChannelEnds ends) {
  auto place = ObjectPlace::here();
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
  place_.pack(writer, held_, "a queue or a pipe");
  writer.put(use_.image());
}

std::shared_ptr<ChannelCore> ChannelCore::unpack(Reader& reader) {
  auto [place, held] = ObjectPlace::unpack(reader, "a queue or a pipe");
  return of(place, held, Use::of(reader.get<std::uint8_t>()));
}

// -- requests --

void ChannelCore::fail(const actors::ObjectAnswer& answer) const {
  using actors::Answer;
  Reader reader(answer.body.bytes());
  if (answer.what == Answer::refused)
    throw Error(reader.text());
  fail_closed();
}

void ChannelCore::fail_closed() const {
  place_.check_open();
  throw Closed("the queue or pipe is closed, or the process that it lived in has ended");
}

bool ChannelCore::put(PackedItem item, Clock::time_point limit) {
  if (!use_.puts)
    throw Error("this end of the pipe only receives");
  if (!use_.puts_wait)
    return send(actors::AskKind::put, std::move(item), limit);
  auto asked = ask(actors::AskKind::put, std::move(item), limit);
  if (asked && asked->answer.what != actors::Answer::done)
    fail(asked->answer);
  return asked.has_value();
}

std::optional<TakenItem> ChannelCore::get(std::string_view type,
                                          Clock::time_point limit) {
  check_gets();
  PackedItem body;
  if (!type.empty())
    Writer(body.bytes).text(type);
  auto asked = ask(actors::AskKind::get, std::move(body), limit);
  if (!asked)
    return std::nullopt;
  auto& answer = asked->answer;
  if (answer.what == actors::Answer::value)
    return TakenItem(std::static_pointer_cast<ChannelCore>(shared_from_this()),
                     asked->request, std::move(answer.body), std::move(answer.kept));
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
  place_.objects->tell(id(), request, actors::AskKind::took);
  place_.objects->flush();
}

bool ChannelCore::poll(Clock::time_point limit) {
  check_gets();
  return ask(actors::AskKind::poll, {}, limit).has_value();
}

bool ChannelCore::join(Clock::time_point limit) {
  auto asked = ask(actors::AskKind::join, {}, limit);
  if (asked && asked->answer.what != actors::Answer::done)
    fail(asked->answer);
  return asked.has_value();
}

void ChannelCore::task_done() {
  auto asked = ask(actors::AskKind::task_done, {}, Results::forever);
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
  place_.objects->tell(id(), 0, actors::AskKind::close);
  refuse_sends();
}

} // namespace fiber::detail
