// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "actors/sync/sync_object.hpp"

namespace fiber::actors {
namespace {

class Event final : public SyncObject {
public:
  Replies asked(const Asker& who, const SyncRequest& request) override {
    Replies replies;
    switch (request.op) {
    case SyncOp::wait:
      if (!set_) {
        waiting_.push_back(who);
        return {};
      }
      break;
    case SyncOp::set:
      set_ = true;
      for (auto& each : std::exchange(waiting_, {}))
        replies.push_back({each});
      break;
    case SyncOp::clear:
      set_ = false;
      break;
    case SyncOp::is_set:
      return {value(who, set_ ? 1 : 0)};
    default:
      return refuse_op(who, SyncKind::event, request.op);
    }
    replies.push_back({who});
    return replies;
  }

  Replies cancel(const Asker& who) override {
    if (std::erase(waiting_, who) == 0)
      return {};
    return {{who, Answer::cancelled}};
  }

  Replies gone(std::uint64_t process) override {
    std::erase_if(waiting_, [&](auto& who) { return who.process == process; });
    return {};
  }

  std::vector<Asker> waiting() const override { return waiting_; }

private:
  bool set_ = false;
  std::vector<Asker> waiting_;
};

} // namespace

std::unique_ptr<SyncObject> new_event() {
  return std::make_unique<Event>();
}

} // namespace fiber::actors
