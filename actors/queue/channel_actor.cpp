// SPDX-License-Identifier: Apache-2.0
#include "actors/queue/channel_actor.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include <caf/all.hpp>

#include "base/log.hpp"
#include "fiber/detail/caf/message_type.hpp"

namespace fiber::actors {

/// From open_channel(): the object numbers of the channel's ends.
struct EndsAre {
  std::vector<std::uint64_t> numbers;
};
/// To itself: a request has waited for `patience`.
struct ShortageTick {};

} // namespace fiber::actors

FIBER_ACTOR_MESSAGE(fiber::actors::EndsAre)
FIBER_ACTOR_MESSAGE(fiber::actors::ShortageTick)

namespace fiber::actors {
namespace {

/// How long a request waits before lent room is reclaimed and quick prefetches recalled.
constexpr std::chrono::milliseconds patience{1};
/// Producers, and consumers, that an observer is told by name.
constexpr std::size_t max_named = 8;

struct ChannelState {
  static constexpr const char* name = "fiber.channel";

  struct End {
    std::uint64_t number = 0;
    Channel* in = nullptr;  ///< For gets; null if this end can't receive.
    Channel* out = nullptr; ///< For puts; null if this end can't send.
    bool held = true;
  };

  explicit ChannelState(caf::event_based_actor* self) : self(self) {}
  /// Answers all waiting requests, however the actor ends.
  ~ChannelState() {
    for (auto& channel : channels)
      reply(channel, channel.drop());
  }

  caf::behavior make_behavior(std::shared_ptr<ObjectSpace> of, Channel::Limits limits,
                              ChannelEnds kind) {
    space = std::move(of);
    channels.assign(
      kind == ChannelEnds::both_ways ? 2 : 1,
      Channel(
        limits, [this](auto& who) { return space->taken(who); }, space->self()));
    redelivers = limits.redeliver;
    return {
      [this, kind](const EndsAre& are) { set_ends(kind, are.numbers); },
      [this](ObjectAsk& ask) {
        asked(ask);
        if (std::ranges::any_of(channels, &Channel::is_short))
          schedule_tick();
        watch_quick_prefetches();
      },
      [this](ShortageTick) { relieve_shortage(); },
      [this](const ProcessGone& gone) {
        auto taken = [&](const Asker& who) {
          return gone.ledger ? gone.ledger->taken(who.request) : 0;
        };
        for (auto& channel : channels)
          reply(channel, channel.gone(gone.process, taken, gone.job));
        watch_quick_prefetches();
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
      space->refuse(ask.who, error.what());
    }
  }

  /// Returns the channel that this end puts into; throws Error if it only receives.
  static Channel& out_of(const End& end) {
    if (end.out == nullptr)
      throw Error("this end of the pipe only receives");
    return *end.out;
  }
  /// Returns the channel that this end gets from; throws Error if it only sends.
  static Channel& in_of(const End& end) {
    if (end.in == nullptr)
      throw Error("this end of the pipe only sends");
    return *end.in;
  }

  void obey(End& end, ObjectAsk& ask) {
    switch (ask.what) {
    case AskKind::put:
      return put(out_of(end), ask);
    case AskKind::get:
      return get(in_of(end), ask);
    case AskKind::poll:
      return reply(in_of(end), in_of(end).poll(ask.who));
    case AskKind::join:
      return reply(in_of(end), in_of(end).join(ask.who));
    case AskKind::task_done:
      return task_done(in_of(end), ask);
    case AskKind::size:
      return answer_size(in_of(end), ask.who);
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
    case AskKind::taken:
    case AskKind::give_back:
      if (end.in != nullptr)
        consumer_reports(*end.in, ask);
      return;
    case AskKind::puts:
      if (end.out != nullptr)
        reply(*end.out, end.out->put_all(ask.who.process, items_in(ask.body)));
      return;
    case AskKind::unused:
      if (end.out != nullptr)
        reply(*end.out, end.out->unused(ask.who.process, index_in(ask.body)));
      return;
    case AskKind::recall:
    case AskKind::room:
    case AskKind::reclaim:
    case AskKind::shut:
      return;
    }
  }

  void put(Channel& channel, ObjectAsk& ask) {
    Reader reader(ask.body.bytes());
    Item item{reader.text(), {}, std::move(ask.kept)};
    auto rest = reader.rest().size();
    item.bytes = ask.body.slice(ask.body.size() - rest, rest);
    auto may_lend = ask.who.process != space->self() && space->ledger(ask.who.process);
    reply(channel, channel.put(ask.who, std::move(item), may_lend));
  }

  void get(Channel& channel, const ObjectAsk& ask) {
    Reader reader(ask.body.bytes());
    auto type = reader.empty() ? std::string() : reader.text();
    Prefetch prefetch;
    if (!reader.empty()) {
      prefetch.sole = reader.get<std::uint32_t>();
      prefetch.quick = reader.get<std::uint32_t>();
    }
    reply(channel, channel.get(ask.who, std::move(type), prefetch));
  }

  void task_done(Channel& channel, const ObjectAsk& ask) {
    using What = Channel::TaskDone::What;
    std::optional<TakenKey> key;
    if (Reader reader(ask.body.bytes()); !reader.empty()) {
      key.emplace(reader.get<std::uint64_t>());
      key->index = reader.get<std::uint32_t>();
    }
    auto done = channel.task_done(ask.who.process, key);
    if (done.what == What::too_often)
      return space->refuse(
        ask.who, redelivers
                   ? "task_done() finishes an item that this process has taken and not "
                     "finished, and there is none (with `redeliver` no process finishes "
                     "the items of another one)"
                   : "task_done() was called more often than there were items");
    if (done.what == What::late &&
        std::exchange(last_late, ask.who.process) != ask.who.process)
      log().warn(
        "process {} called task_done() for an item of a queue that counts as lost "
        "or was given to another consumer: the call has no effect",
        ask.who.process);
    reply(channel, std::move(done.replies));
    space->answer(ask.who, {Answer::done});
  }

  void answer_size(Channel& channel, const Asker& who) {
    Bytes bytes;
    Writer writer(bytes);
    writer.size(channel.size());
    writer.size(channel.waiting_puts()); // From here on for observers.
    writer.size(channel.waiting_gets());
    writer.put(channel.puts_so_far());
    for (auto* processes : {&channel.producers(), &channel.consumers()}) {
      writer.size(processes->size());
      auto named = std::min(processes->size(), max_named);
      writer.size(named);
      for (auto at = processes->begin(); named > 0; ++at, --named)
        writer.put(*at);
    }
    space->answer(who, {Answer::value, Payload(std::move(bytes))});
  }

  /// Handles what a consumer reports about the items of an answer.
  void consumer_reports(Channel& channel, const ObjectAsk& ask) {
    auto index = index_in(ask.body);
    if (ask.what == AskKind::took)
      reply(channel, channel.took(ask.who, index));
    else if (ask.what == AskKind::taken)
      reply(channel, channel.took_first(ask.who, index));
    else
      reply(channel, channel.give_back(ask.who, index));
  }

  /// Reads the body of AskKind::puts.
  static std::vector<Item> items_in(const Payload& body) {
    std::vector<Item> items;
    auto whole = body.bytes();
    for (Reader reader(whole); !reader.empty();) {
      Reader item(reader.raw(reader.get<std::uint32_t>()));
      auto type = item.text();
      auto rest = item.rest();
      items.push_back(
        {std::move(type),
         body.slice(static_cast<std::size_t>(rest.data() - whole.data()), rest.size())});
    }
    return items;
  }

  void schedule_tick() {
    if (!std::exchange(tick_scheduled, true))
      self->delayed_send(self, patience, ShortageTick{});
  }

  void watch_quick_prefetches() {
    if (std::ranges::any_of(channels, &Channel::waits_for_quick))
      schedule_tick();
  }

  void relieve_shortage() {
    tick_scheduled = false;
    for (auto& channel : channels) {
      std::vector<Asker> to_tell;
      reply(channel, channel.relieve_shortage(to_tell));
      for (auto& who : to_tell)
        if (auto ledger = space->ledger(who.process))
          ledger->request_report(who.request);
    }
    watch_quick_prefetches();
  }

  /// Closes an end. The items of a queue can still be got; what waits to be received at
  /// the end of a pipe is dropped.
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
      if (each.what >= Answer::recalled || each.to.request == 0) {
        tell(of, each);
        continue;
      }
      ObjectAnswer answer{each.what, std::move(each.item.bytes),
                          std::move(each.item.kept)};
      if (each.lost) {
        Bytes lost;
        Writer writer(lost);
        write(writer, *each.lost);
        answer.body = Payload(std::move(lost));
      }
      if (each.what == Answer::other_type) {
        Bytes type;
        Writer(type).text(each.item.type);
        answer.body = Payload(std::move(type));
      }
      if (!each.prefetched.empty()) {
        answer.what = Answer::values;
        answer.body = together(answer.body, each.prefetched);
      }
      space->answer(each.to, std::move(answer));
    }
  }

  static Payload together(const Payload& first, const std::vector<Item>& prefetched) {
    Bytes bytes;
    Writer writer(bytes);
    auto append = [&](const Payload& item) {
      writer.size(item.size());
      writer.raw(item.bytes().data(), item.size());
    };
    writer.size(1 + prefetched.size());
    append(first);
    for (auto& item : prefetched)
      append(item.bytes);
    return Payload(std::move(bytes));
  }

  /// Sends a reply that no request waits for to the holder of the end that it concerns.
  void tell(const Channel& of, const Channel::Reply& reply) {
    auto recalls = reply.what == Answer::recalled;
    auto end = std::ranges::find_if(
      ends, [&](auto& each) { return (recalls ? each.in : each.out) == &of; });
    if (end == ends.end())
      return;
    Bytes body;
    switch (reply.what) {
    case Answer::recalled:
      return space->tell_holder(end->number, reply.to, AskKind::recall);
    case Answer::reclaimed:
      return space->tell_holder(end->number, reply.to, AskKind::reclaim);
    case Answer::room:
      Writer(body).size(reply.room);
      return space->tell_holder(end->number, reply.to, AskKind::room,
                                Payload(std::move(body)));
    default:
      return space->tell_holder(end->number, reply.to, AskKind::shut);
    }
  }

  caf::event_based_actor* self;
  std::shared_ptr<ObjectSpace> space;
  std::vector<Channel> channels;
  std::vector<End> ends;
  bool redelivers = false;
  std::optional<std::uint64_t> last_late; ///< Whose late task_done() was logged last.
  bool tick_scheduled = false;            ///< Whether a ShortageTick is scheduled.
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
