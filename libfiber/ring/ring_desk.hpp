// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <gloo/rendezvous/store.h>

#include "actors/ring/ring_board.hpp"
#include "fiber/ring_member.hpp"
#include "libfiber/objects/object_core.hpp"

namespace fiber::detail {

/// A member's access to its ring's board (actors/ring/ring_board.hpp), a key-value store
/// in the process that runs the ring. Throws actors::RingBroken once that process has
/// ended the ring.
class RingDesk final : public ObjectCore {
public:
  static std::shared_ptr<RingDesk> of(const RingSeat& seat);

  void set(const std::string& key, const std::vector<char>& value);
  /// Returns the value of `key`; waits until a member has set it.
  std::vector<char> get(const std::string& key);
  /// Waits until all members have called leave().
  void leave();
  /// Tells how many collectives there were. Does not wait.
  void report(std::uint64_t collectives);

private:
  RingDesk(ObjectPlace place, std::shared_ptr<actors::ObjectHandle> held)
    : ObjectCore(std::move(place), std::move(held)) {}
  Payload call(actors::RingOp op, const std::string& key,
               const std::vector<char>& value = {});
  [[noreturn]] void fail_closed() const override;
};

/// Adapts RingDesk to Gloo. Waits end only with the attempt, because a job may have to
/// wait for a free machine.
class RingStore final : public gloo::rendezvous::Store {
public:
  explicit RingStore(std::shared_ptr<RingDesk> desk) : desk_(std::move(desk)) {}

  void set(const std::string& key, const std::vector<char>& data) override {
    desk_->set(key, data);
  }
  std::vector<char> get(const std::string& key) override { return desk_->get(key); }
  void wait(const std::vector<std::string>& keys) override {
    for (auto& key : keys)
      desk_->get(key);
  }
  void wait(const std::vector<std::string>& keys,
            const std::chrono::milliseconds&) override {
    wait(keys);
  }

private:
  const std::shared_ptr<RingDesk> desk_;
};

} // namespace fiber::detail
