// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include <caf/all.hpp>
#include <gtest/gtest.h>

#include "actors/objects/object_space.hpp"
#include "actors/protocol/node_protocol.hpp"
#include "actors/queue/channel_actor.hpp"
#include "fiber/detail/caf/scheduler.hpp"

namespace fiber::actors {

using detail::HeldId;

/// A link that passes every message on to the space at the other end, when it is told to.
class Wire final : public wire::Link {
public:
  void start(std::shared_ptr<wire::LinkHandler>) override {}
  bool send(wire::StreamId, Bytes head, Payload body) override {
    if (std::exchange(fails, false))
      throw std::bad_alloc();
    auto bytes = body.bytes();
    head.insert(head.end(), bytes.begin(), bytes.end());
    messages.push_back(std::move(head));
    return true;
  }
  std::size_t backlog() const override { return 0; }
  bool flush(std::chrono::milliseconds) override { return true; }
  void close() override { closed = true; }
  wire::LinkStats stats() const override { return {}; }

  std::vector<Bytes> messages;
  bool fails = false; ///< Simulates that there is no memory for the next message.
  bool closed = false;
};

/// A driver and its jobs 1, 2, 3, in one process.
class ObjectSpaces : public testing::Test {
protected:
  ObjectSpaces() {
    detail::set_scheduler(config_, "testing");
    system_ = std::make_unique<caf::actor_system>(config_);
    for (std::uint64_t process = 0; process < 4; ++process) {
      // Numbers that tests can name.
      spaces_.push_back(std::make_shared<ObjectSpace>(
        system_.get(), process, [](std::uint64_t) { return nullptr; },
        [number = std::uint64_t{0}]() mutable { return ++number; }));
      up_.push_back(std::make_shared<Wire>());
      down_.push_back(std::make_shared<Wire>());
      if (process > 0) {
        spaces_[process]->connect(0, up_[process]);
        spaces_[0]->connect(process, down_[process]);
      }
    }
  }
  ~ObjectSpaces() override {
    for (auto& space : spaces_)
      space->close();
    run();
  }

  ObjectSpace& at(std::uint64_t process) { return *spaces_[process]; }
  /// Runs until no message is in flight.
  void run() {
    for (auto busy = true; busy;) {
      run_actors();
      busy = false;
      for (std::uint64_t process = 1; process < spaces_.size(); ++process) {
        busy = pass(*up_[process], *spaces_[0], process) || busy;
        busy = pass(*down_[process], *spaces_[process], 0) || busy;
      }
      for (auto& [ends, way] : direct_)
        if (!held_up_ && !way.wire->messages.empty()) {
          pass_directly(ends.first, ends.second);
          busy = true;
        }
    }
  }
  /// Delivers the messages of that job to the driver, but nothing that follows from them.
  void pass_up(std::uint64_t process) {
    pass(*up_[process], *spaces_[0], process);
    run_actors();
  }
  void pass_down(std::uint64_t process) {
    pass(*down_[process], *spaces_[process], 0);
    run_actors();
  }
  /// Makes the driver declare the job dead.
  void lose(std::uint64_t process) {
    up_[process]->messages.clear();
    spaces_[0]->disconnect(process);
    run();
  }
  /// Makes a direct link between two jobs, as PeerLinks does.
  void link(std::uint64_t a, std::uint64_t b) {
    for (auto [from, to] : {std::pair{a, b}, {b, a}}) {
      auto& way = direct_[{from, to}];
      way = {std::make_shared<Wire>(), ++links_};
      at(from).peers().connected(to, way.number, way.wire, from == a);
    }
    run();
  }
  Wire& wire(std::uint64_t from, std::uint64_t to) {
    return to == 0 ? *up_[from] : *direct_[{from, to}].wire;
  }
  /// Cuts the link: messages in flight are lost, and then both ends notice.
  void cut(std::uint64_t a, std::uint64_t b) {
    for (auto key : {std::pair{a, b}, {b, a}})
      direct_[key].wire->messages.clear();
    for (auto [from, to] : {std::pair{a, b}, {b, a}}) {
      auto number = direct_[{from, to}].number;
      direct_.erase({from, to});
      at(from).closed_peer(to, number);
    }
    run();
  }
  /// Delivers what `from` has sent to `to` directly, but not the end of the link.
  void pass_directly(std::uint64_t from, std::uint64_t to) {
    auto& way = direct_[{from, to}];
    for (auto& message : std::exchange(way.wire->messages, {}))
      at(to).heard_peer(from, direct_[{to, from}].number, Payload(std::move(message)));
    run_actors();
  }
  /// Closes the link after all of it was read.
  void end_of(std::uint64_t from, std::uint64_t to) {
    at(to).closed_peer(from, direct_[{to, from}].number);
    run();
  }

  /// Replaces the process by another one under the same number.
  void reconnect(std::uint64_t process) {
    spaces_[process]->close();
    spaces_[process] = std::make_shared<ObjectSpace>(
      system_.get(), process, [](std::uint64_t) { return nullptr; });
    spaces_[process]->connect(0, up_[process]);
    spaces_[0]->connect(process, down_[process]);
    run();
  }
  std::vector<std::shared_ptr<ObjectHandle>> pipe_at(std::uint64_t process) {
    return open_channel(*system_, spaces_[process], {}, ChannelEnds::both_ways);
  }
  std::shared_ptr<ObjectHandle> queue_at(std::uint64_t process) {
    return open_channel(*system_, spaces_[process], {}, ChannelEnds::one).front();
  }

  /// The answer to a request, once it is there.
  using Outcome = std::shared_ptr<std::optional<ObjectAnswer>>;
  Outcome ask(std::uint64_t process, const HeldId& object, AskKind what,
              detail::KeptObjects kept = {}) {
    Bytes bytes;
    Writer(bytes).text("");
    auto outcome = std::make_shared<std::optional<ObjectAnswer>>();
    last_request = at(process).ask(
      object, what, Payload(std::move(bytes)), std::move(kept),
      [outcome](std::uint64_t, ObjectAnswer answer) { *outcome = std::move(answer); });
    run();
    return outcome;
  }
  /// Whether the object exists: a request to one that does not is answered.
  bool lives(const HeldId& object) {
    return (*ask(0, object, AskKind::size))->what == Answer::value;
  }

  std::uint64_t last_request = 0;
  bool held_up_ = false; ///< Whether messages on direct links wait.

private:
  struct Way {
    std::shared_ptr<Wire> wire = {};
    std::uint64_t number = 0; ///< The number of the sender's end.
  };

  void run_actors() {
    static_cast<caf::scheduler::test_coordinator&>(system_->scheduler()).run();
  }
  static bool pass(Wire& wire, ObjectSpace& to, std::uint64_t from) {
    auto messages = std::exchange(wire.messages, {});
    for (auto& message : messages) {
      Payload whole(std::move(message));
      Reader reader(whole.bytes());
      while (!reader.empty()) {
        auto op = read_op(reader);
        to.heard(from, op, reader, whole);
      }
    }
    return !messages.empty();
  }

  caf::actor_system_config config_;
  std::unique_ptr<caf::actor_system> system_;
  std::vector<std::shared_ptr<ObjectSpace>> spaces_;
  std::vector<std::shared_ptr<Wire>> up_, down_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, Way> direct_;
  std::uint64_t links_ = 0;
};

} // namespace fiber::actors
