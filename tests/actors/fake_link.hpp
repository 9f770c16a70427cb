// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "actors/protocol/node_protocol.hpp"

namespace fiber::actors {

/// A link without another end: keeps what is sent, and says what it is told to say.
class FakeLink final : public wire::Link {
public:
  struct Message {
    Bytes head;
    Payload body;
  };

  void start(std::shared_ptr<wire::LinkHandler> to) override { handler = std::move(to); }
  bool send(wire::StreamId, Bytes head, Payload body) override {
    std::lock_guard lock(mutex_);
    sent_.push_back({std::move(head), std::move(body)});
    return true;
  }
  std::size_t backlog() const override { return 0; }
  bool flush(std::chrono::milliseconds) override { return true; }
  void close() override {}
  wire::LinkStats stats() const override { return {}; }

  std::vector<Message> sent() {
    std::lock_guard lock(mutex_);
    return sent_;
  }
  /// How many messages began with this operation.
  std::size_t count(Op op) {
    std::size_t n = 0;
    for (auto& message : sent())
      n += message.head.at(0) == static_cast<std::byte>(op) ? 1 : 0;
    return n;
  }
  template <class... Fields>
  void say(const Fields&... fields) {
    Bytes message;
    Writer writer(message);
    write(writer, fields...);
    handler->on_message(task_stream, std::move(message));
  }

  std::shared_ptr<wire::LinkHandler> handler;

private:
  std::mutex mutex_;
  std::vector<Message> sent_;
};

} // namespace fiber::actors
