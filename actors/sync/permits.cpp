// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <deque>
#include <map>

#include "actors/sync/sync_object.hpp"

namespace fiber::actors {
namespace {

/// A number of permits, whose holders are known by process. Invariant: no request waits
/// while a permit is free.
class Permits final : public SyncObject {
public:
  Permits(SyncKind kind, std::uint64_t n)
    : kind_(kind), limit_(kind == SyncKind::semaphore ? UINT64_MAX : n), free_(n) {}

  Replies asked(const Asker& who, const SyncRequest& request) override {
    switch (request.op) {
    case SyncOp::acquire: {
      Replies replies;
      waiting_.push_back(who);
      serve_waiting(replies);
      return replies;
    }
    case SyncOp::try_acquire:
      if (free_ == 0)
        return {value(who, 0)};
      grant(who.process);
      return {value(who, 1)};
    case SyncOp::release:
      return release(who, kind_ == SyncKind::lock ? 1 : request.n);
    default:
      return refuse_op(who, kind_, request.op);
    }
  }

  Replies cancel(const Asker& who) override {
    if (std::erase(waiting_, who) == 0)
      return {};
    return {{who, Answer::cancelled}};
  }

  Replies gone(std::uint64_t process) override {
    std::erase_if(waiting_, [&](auto& who) { return who.process == process; });
    Replies replies;
    take_back(process, UINT64_MAX);
    serve_waiting(replies);
    return replies;
  }

  std::vector<Asker> waiting() const override {
    return {waiting_.begin(), waiting_.end()};
  }

private:
  Replies release(const Asker& who, std::uint64_t n) {
    if (n == 0)
      return refuse(who, std::string("release() of no permit of ") + name_of(kind_));
    std::uint64_t acquired = 0;
    for (auto& [process, permits] : held_)
      acquired += permits;
    auto added =
      n > acquired ? n - acquired : 0; // New permits, which nobody had acquired.
    if (added > limit_ - free_ - acquired)
      return refuse(who, refusal_text(n, acquired));
    Replies replies{{who}};
    n -= added;
    free_ += added;
    n -= take_back(who.process, n);
    // The rest was acquired by other processes: most likely by those that hold most.
    while (n > 0) {
      auto most = std::max_element(held_.begin(), held_.end(),
                                   [](auto& a, auto& b) { return a.second < b.second; });
      n -= take_back(most->first, n);
    }
    serve_waiting(replies);
    return replies;
  }

  std::string refusal_text(std::uint64_t n, std::uint64_t acquired) const {
    if (kind_ == SyncKind::lock)
      return std::string("unlock() of ") + name_of(kind_) + " that nobody holds";
    return "release() of " + std::to_string(n) + " of " + name_of(kind_) + " that has " +
           std::to_string(limit_) + ", of which " + std::to_string(acquired) +
           (acquired == 1 ? " is acquired" : " are acquired");
  }

  /// Takes up to `n` permits from the process and returns how many.
  std::uint64_t take_back(std::uint64_t process, std::uint64_t n) {
    auto known = held_.find(process);
    if (known == held_.end())
      return 0;
    n = std::min(n, known->second);
    free_ += n;
    known->second -= n;
    if (known->second == 0)
      held_.erase(known);
    return n;
  }

  void grant(std::uint64_t process) {
    --free_;
    ++held_[process];
  }

  void serve_waiting(Replies& replies) {
    for (; free_ > 0 && !waiting_.empty(); waiting_.pop_front()) {
      grant(waiting_.front().process);
      replies.push_back({waiting_.front()});
    }
  }

  const SyncKind kind_;
  const std::uint64_t limit_; ///< Limit of free and held permits together.
  std::uint64_t free_;
  std::map<std::uint64_t, std::uint64_t> held_; ///< By process; never 0.
  std::deque<Asker> waiting_;
};

} // namespace

std::unique_ptr<SyncObject> new_permits(SyncKind kind, std::uint64_t n) {
  return std::make_unique<Permits>(kind, n);
}

} // namespace fiber::actors
