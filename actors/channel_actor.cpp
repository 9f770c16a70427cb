// SPDX-License-Identifier: Apache-2.0
#include "actors/channel_actor.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <caf/all.hpp>

#include "wire/log.hpp"

namespace fiber::actors {
namespace {

/// To itself: the numbers of its ends.
struct EndsAre {
  std::vector<std::uint64_t> numbers;
};

} // namespace
} // namespace fiber::actors

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fiber::actors::EndsAre)

namespace fiber::actors {
namespace {

struct ChannelState {
  static constexpr const char* name = "fiber.channel";

  struct End {
    std::uint64_t number = 0;
    Channel* in = nullptr;  ///< Null: nothing can be got here.
    Channel* out = nullptr; ///< Null: nothing can be put here.
    bool held = true;
  };

  explicit ChannelState(caf::event_based_actor* self) : self(self) {}
  /// However it ends, nobody waits on.
  ~ChannelState() {
    for (auto& channel : channels)
      reply(channel, channel.drop());
  }

  caf::behavior make_behavior(std::shared_ptr<ObjectSpace> of, Channel::Limits limits,
                              ChannelEnds kind) {
    space = std::move(of);
    channels.assign(kind == ChannelEnds::both_ways ? 2 : 1, Channel(limits));
    return {
      [this, kind](const EndsAre& are) { set_ends(kind, are.numbers); },
      [this](ObjectAsk& ask) { asked(ask); },
      [this](ProcessGone gone) {
        for (auto& channel : channels)
          reply(channel, channel.gone(gone.process));
      },
      [this](ObjectFreed freed) {
        if (auto* end = find(freed.number)) {
          end->held = false;
          close(*end);
        }
        if (std::none_of(ends.begin(), ends.end(), [](auto& end) { return end.held; }))
          self->quit();
      },
    };
  }

  void set_ends(ChannelEnds kind, const std::vector<std::uint64_t>& numbers) {
    auto *first = &channels.front(), *second = &channels.back();
    switch (kind) {
    case ChannelEnds::one:
      ends = {{numbers.at(0), first, first}};
      return;
    case ChannelEnds::one_way:
      ends = {{numbers.at(0), first, nullptr}, {numbers.at(1), nullptr, first}};
      return;
    case ChannelEnds::both_ways:
      ends = {{numbers.at(0), first, second}, {numbers.at(1), second, first}};
    }
  }

  End* find(std::uint64_t number) {
    auto end =
      std::find_if(ends.begin(), ends.end(), [&](auto& e) { return e.number == number; });
    return end == ends.end() ? nullptr : &*end;
  }

  void asked(ObjectAsk& ask) {
    auto* end = find(ask.number);
    if (end == nullptr)
      return space->answer(ask.who, {});
    try {
      obey(*end, ask);
    } catch (const std::exception& error) {
      space->refuse(ask.who, std::string("it can't be read: ") + error.what());
    }
  }

  void obey(End& end, ObjectAsk& ask) {
    auto out = [&]() -> Channel& {
      if (end.out == nullptr)
        throw Error("this end of the pipe only receives");
      return *end.out;
    };
    auto in = [&]() -> Channel& {
      if (end.in == nullptr)
        throw Error("this end of the pipe only sends");
      return *end.in;
    };
    switch (ask.what) {
    case AskKind::put: {
      Reader reader(ask.body.bytes());
      Item item{reader.text(), {}, std::move(ask.kept)};
      auto rest = reader.rest().size();
      item.bytes = ask.body.slice(ask.body.size() - rest, rest);
      return reply(out(), out().put(ask.who, std::move(item)));
    }
    case AskKind::get: {
      Reader reader(ask.body.bytes());
      auto type = reader.empty() ? std::string() : reader.text();
      auto most_ahead = reader.empty() ? 0 : reader.get<std::uint32_t>();
      return reply(in(), in().get(ask.who, std::move(type), most_ahead));
    }
    case AskKind::poll:
      return reply(in(), in().poll(ask.who));
    case AskKind::join:
      return reply(in(), in().join(ask.who));
    case AskKind::task_done:
      if (auto replies = in().task_done()) {
        reply(in(), std::move(*replies));
        return space->answer(ask.who, {Answer::done});
      }
      return space->refuse(ask.who,
                           "task_done() was called more often than there were items");
    case AskKind::size: {
      Bytes bytes;
      Writer writer(bytes);
      writer.size(in().size());
      return space->answer(ask.who, {Answer::value, Payload(std::move(bytes))});
    }
    case AskKind::close:
      close(end);
      return space->answer(ask.who, {Answer::done});
    case AskKind::call:
      throw Error("a queue or a pipe can't be called");
    case AskKind::cancel:
      for (auto& channel : channels)
        reply(channel, channel.cancel(ask.who));
      return;
    case AskKind::took:
      if (end.in != nullptr)
        reply(*end.in, end.in->took(ask.who, index_in(ask.body)));
      return;
    case AskKind::give_back:
      if (end.in != nullptr)
        reply(*end.in, end.in->give_back(ask.who, index_in(ask.body)));
      return;
    case AskKind::recall:
      return;
    }
  }

  /// A queue can still be emptied; the end of a pipe is of no use any more.
  void close(End& end) {
    if (end.out != nullptr)
      reply(*end.out, end.out->close());
    if (end.in != nullptr && end.in != end.out)
      reply(*end.in, end.in->drop());
  }

  static std::size_t index_in(const Payload& body) {
    Reader reader(body.bytes());
    return reader.empty() ? 0 : reader.get<std::uint32_t>();
  }

  void reply(const Channel& of, Channel::Replies replies) {
    for (auto& each : replies) {
      if (each.what == Answer::recalled) {
        recall(of, each.to);
        continue;
      }
      ObjectAnswer answer{each.what, std::move(each.item.bytes),
                          std::move(each.item.kept)};
      if (each.what == Answer::other_type) {
        Bytes type;
        Writer(type).text(each.item.type);
        answer.body = Payload(std::move(type));
      }
      if (!each.ahead.empty()) {
        answer.what = Answer::values;
        answer.body = together(answer.body, each.ahead);
      }
      space->answer(each.to, std::move(answer));
    }
  }

  static Payload together(const Payload& first, const std::vector<Item>& ahead) {
    Bytes bytes;
    Writer writer(bytes);
    auto append = [&](const Payload& item) {
      writer.size(item.size());
      writer.raw(item.bytes().data(), item.size());
    };
    writer.size(1 + ahead.size());
    append(first);
    for (auto& item : ahead)
      append(item.bytes);
    return Payload(std::move(bytes));
  }

  void recall(const Channel& of, const Asker& who) {
    auto end =
      std::find_if(ends.begin(), ends.end(), [&](auto& each) { return each.in == &of; });
    if (end != ends.end())
      space->recall(end->number, who);
  }

  caf::event_based_actor* self;
  std::shared_ptr<ObjectSpace> space;
  std::vector<Channel> channels;
  std::vector<End> ends;
};

} // namespace

std::vector<std::shared_ptr<ObjectHandle>>
open_channel(caf::actor_system& system, const std::shared_ptr<ObjectSpace>& space,
             Channel::Limits limits, ChannelEnds ends) {
  auto actor = system.spawn(
    [](caf::stateful_actor<ChannelState>* self, const std::shared_ptr<ObjectSpace>& of,
       Channel::Limits with,
       ChannelEnds kind) { return self->state.make_behavior(of, with, kind); },
    space, limits, ends);
  std::vector<std::shared_ptr<ObjectHandle>> handles;
  EndsAre are;
  for (auto i = 0; i < (ends == ChannelEnds::one ? 1 : 2); ++i) {
    handles.push_back(space->add(actor));
    are.numbers.push_back(handles.back()->held_id().number);
  }
  caf::anon_send(actor, std::move(are));
  return handles;
}

} // namespace fiber::actors
