// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <utility>

#include "wire/link.hpp"

namespace fiber::actors {

/// A link without another end, which only notes that it was closed.
class ClosingLink final : public wire::Link {
public:
  void start(std::shared_ptr<wire::LinkHandler> to) override { handler = std::move(to); }
  bool send(wire::StreamId, Bytes, Payload) override { return true; }
  std::size_t backlog() const override { return 0; }
  bool flush(std::chrono::milliseconds) override { return true; }
  void close() override { closed = true; }
  wire::LinkStats stats() const override { return {}; }

  std::shared_ptr<wire::LinkHandler> handler;
  bool closed = false;
};

} // namespace fiber::actors
