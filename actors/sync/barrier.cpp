// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "actors/sync/sync_object.hpp"

namespace fiber::actors {
namespace {

/// Invariant: no request waits while the barrier is broken, and fewer than `parties`
/// wait.
class Barrier final : public SyncObject {
public:
  explicit Barrier(std::uint64_t parties) : parties_(parties) {}

  Replies asked(const Asker& who, const SyncRequest& request) override {
    switch (request.op) {
    case SyncOp::wait:
      return wait(who, request.thread);
    case SyncOp::abort: {
      auto replies = refuse_waiting("abort() was called");
      if (why_broken_.empty())
        why_broken_ = "abort() was called";
      replies.push_back({who});
      return replies;
    }
    case SyncOp::reset: {
      auto replies = refuse_waiting("reset() was called meanwhile");
      why_broken_.clear();
      replies.push_back({who});
      return replies;
    }
    case SyncOp::is_broken:
      return {value(who, why_broken_.empty() ? 0 : 1)};
    case SyncOp::count_waiting:
      return {value(who, waiting_.size())};
    default:
      return refuse_op(who, SyncKind::barrier, request.op);
    }
  }

  Replies cancel(const Asker& who) override {
    if (std::erase_if(waiting_, [&](auto& each) { return each.who == who; }) == 0)
      return {};
    why_broken_ = "one of its parties has given up waiting";
    auto replies = refuse_waiting(why_broken_);
    replies.push_back({who, Answer::cancelled});
    return replies;
  }

  Replies gone(std::uint64_t process) override {
    auto is_its = [&](auto& each) { return each.who.process == process; };
    auto its = std::find_if(waiting_.begin(), waiting_.end(), is_its);
    if (its == waiting_.end())
      return {};
    why_broken_ =
      "process " + std::to_string(its->thread.pid) + " has ended while it waited";
    std::erase_if(waiting_, is_its);
    return refuse_waiting(why_broken_);
  }

  std::vector<Asker> waiting() const override {
    std::vector<Asker> all;
    for (auto& each : waiting_)
      all.push_back(each.who);
    return all;
  }

private:
  struct Party {
    Asker who;
    SyncThread thread;
  };

  Replies wait(const Asker& who, const SyncThread& thread) {
    if (!why_broken_.empty())
      return refuse(who, text(why_broken_));
    waiting_.push_back({who, thread});
    Replies replies;
    if (waiting_.size() == parties_)
      for (auto& each : std::exchange(waiting_, {}))
        replies.push_back(value(each.who, replies.size()));
    return replies;
  }

  static std::string text(const std::string& why) {
    return "the barrier is broken: " + why;
  }

  Replies refuse_waiting(const std::string& why) {
    Replies replies;
    for (auto& each : std::exchange(waiting_, {}))
      replies.push_back({each.who, Answer::refused, 0, text(why)});
    return replies;
  }

  const std::uint64_t parties_;
  std::vector<Party> waiting_; ///< In order of arrival.
  std::string why_broken_;     ///< Empty if it is not broken.
};

} // namespace

std::unique_ptr<SyncObject> new_barrier(std::uint64_t parties) {
  return std::make_unique<Barrier>(parties);
}

} // namespace fiber::actors
