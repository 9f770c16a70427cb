// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "actors/objects/object_space.hpp"
#include "fiber/detail/packed_item.hpp"
#include "fiber/detail/results.hpp"
#include "libfiber/results/wait_point.hpp"

namespace fiber::detail {

class Runtime;

/// What of this process those need who use objects: the session's driver, or the job.
struct ObjectPlace {
  using Clock = Results::Clock;

  std::shared_ptr<Runtime> runtime; ///< Null in a job.
  std::shared_ptr<actors::ObjectSpace> objects;
  std::uint64_t session = 0;
  /// How many tasks an inline session has run for who waits here.
  std::shared_ptr<std::atomic<std::uint64_t>> ran =
    std::make_shared<std::atomic<std::uint64_t>>(0);

  static ObjectPlace here(); ///< Throws Closed.
  static ObjectPlace of(const std::shared_ptr<Runtime>& runtime);
  /// Empty if there are workers: see WaitPoint.
  std::function<bool()> run_one() const;
  std::shared_ptr<wire::Leadership> leadership() const;
  std::unique_ptr<WaitPoint> wait_point() const;
  /// As the point's own. Throws Error if an inline session could never fulfil it.
  bool wait(WaitPoint& point, const std::function<bool()>& fulfilled,
            Clock::time_point limit) const;
  void check_open() const;
  /// Throws Error on a thread that brings messages or runs actors.
  void check_may_wait() const;

  /// A handle on the wire; `what` is what users call it.
  void pack(Writer& writer, const std::shared_ptr<actors::ObjectHandle>& held,
            const char* what) const;
  static std::pair<ObjectPlace, std::shared_ptr<actors::ObjectHandle>>
  unpack(Reader& reader, const char* what);
  /// The same of a handle that was read already.
  static std::pair<ObjectPlace, std::shared_ptr<actors::ObjectHandle>>
  find(std::uint64_t session, const HeldId& id, const char* what);
};

/// An object as the handles of this process share it, and the way to ask it.
class ObjectCore : public std::enable_shared_from_this<ObjectCore> {
public:
  using Clock = Results::Clock;

  virtual ~ObjectCore() = default;
  HeldId id() const { return held_->held_id(); }

protected:
  struct Asked {
    std::uint64_t request = 0;
    actors::ObjectAnswer answer;
  };

  ObjectCore(ObjectPlace place, std::shared_ptr<actors::ObjectHandle> held);

  /// Waits for the answer. Nothing if the limit passed, and then nothing has been done.
  /// `seen` sees it before what comes after it.
  using Seen = std::function<void(std::uint64_t request, actors::ObjectAnswer& answer)>;
  std::optional<Asked> ask(actors::AskKind what, PackedItem body, Clock::time_point limit,
                           const Seen& seen = nullptr);
  using Then = std::function<void(std::uint64_t request, actors::ObjectAnswer answer)>;
  /// Does not wait for the answer, of which it tells `then`. Returns the request's
  /// number.
  std::uint64_t post(actors::AskKind what, PackedItem item, Then then,
                     actors::Haste haste);
  /// The same for what nobody waits for and what is to outlive this process. Waits while
  /// too much of it has no answer: false if that is so until the limit. Throws Closed if
  /// an earlier answer was `closed`.
  bool send(actors::AskKind what, PackedItem item, Clock::time_point limit);
  /// Waits while too much of what was sent has no answer: false if that is so until the
  /// limit. Throws Closed as send().
  bool enter_window(const PackedItem& item, Clock::time_point limit);
  /// So much of it has one, with what it takes to keep it.
  void leave_window(std::size_t cost);
  /// From now on send() throws.
  void refuse_sends();
  [[noreturn]] virtual void fail_closed() const = 0;

  const ObjectPlace place_;
  const std::shared_ptr<actors::ObjectHandle> held_;

private:
  const std::unique_ptr<WaitPoint> window_;
  // Under its lock: what was sent and is not yet where it belongs.
  std::size_t in_flight_ = 0;
  bool closed_ = false;
};

} // namespace fiber::detail
