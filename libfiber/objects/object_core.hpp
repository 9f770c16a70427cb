// SPDX-License-Identifier: Apache-2.0
// objects/ holds the requests that all remote objects share: queues, locks, Refs,
// checkpoints. An object lives in one process, its home; handles elsewhere send requests
// there.
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

/// The services of this process, driver or job, that handles of objects use.
struct ObjectPlace {
  using Clock = Results::Clock;

  std::shared_ptr<Runtime> runtime; ///< Null in a job.
  std::shared_ptr<actors::ObjectSpace> objects;
  std::uint64_t session = 0;
  /// Tasks that an inline session has run on behalf of waits here.
  std::shared_ptr<std::atomic<std::uint64_t>> tasks_run =
    std::make_shared<std::atomic<std::uint64_t>>(0);

  static ObjectPlace here(); ///< Of this process. Throws Closed.
  static ObjectPlace of(const std::shared_ptr<Runtime>& runtime);
  /// Returns the function that WaitPoint takes; empty unless the session is inline.
  std::function<bool()> run_one() const;
  std::shared_ptr<wire::Leadership> leadership() const;
  std::unique_ptr<WaitPoint> wait_point() const;
  /// Waits as WaitPoint::wait does. Also throws Error if an inline session has had
  /// nothing to run for 2 s in a wait without a limit.
  bool wait(WaitPoint& point, const std::function<bool()>& fulfilled,
            Clock::time_point limit) const;
  void check_open() const;
  /// Throws Error on a thread that delivers messages or runs actors, which must not wait.
  void check_may_wait() const;

  /// Packs a handle. `what` is the object's name in error messages.
  void pack(Writer& writer, const std::shared_ptr<actors::ObjectHandle>& held,
            const char* what) const;
  static std::pair<ObjectPlace, std::shared_ptr<actors::ObjectHandle>>
  unpack(Reader& reader, const char* what);
  /// Returns what unpack() returns, for a handle that was read already.
  static std::pair<ObjectPlace, std::shared_ptr<actors::ObjectHandle>>
  find(std::uint64_t session, const HeldId& id, const char* what);
};

/// The shared state of an object's handles in this process, through which they send
/// requests to its home.
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

  /// Sends a request and waits for the answer. Returns nothing if the limit passed first;
  /// then the request has had no effect. `seen` is called with the answer before any
  /// later message from the home is handled.
  using OnSeen = std::function<void(std::uint64_t request, actors::ObjectAnswer& answer)>;
  std::optional<Asked> ask(actors::AskKind what, PackedItem body, Clock::time_point limit,
                           const OnSeen& seen = nullptr);
  using OnAnswer =
    std::function<void(std::uint64_t request, actors::ObjectAnswer answer)>;
  /// Sends a request without waiting; `then` is called with the answer. Returns the
  /// request's number.
  std::uint64_t post(actors::AskKind what, PackedItem item, OnAnswer then,
                     actors::Haste haste);
  /// Sends a request whose answer nobody waits for and that must outlive this process.
  /// Waits as enter_window() does. Throws Closed if an earlier answer was `closed`.
  bool send(actors::AskKind what, PackedItem item, Clock::time_point limit);
  /// Waits while more than 1 MiB of what was sent is unanswered, then adds `item` to it.
  /// Returns false if the limit passed first. Throws Closed as send() does.
  bool enter_window(const PackedItem& item, Clock::time_point limit);
  /// Credits `cost` bytes, overhead included, as answered.
  void leave_window(std::size_t cost);
  /// Makes send() throw Closed from now on.
  void refuse_sends();
  [[noreturn]] virtual void fail_closed() const = 0;

  const ObjectPlace place_;
  const std::shared_ptr<actors::ObjectHandle> held_;

private:
  const std::unique_ptr<WaitPoint> window_;
  // Guarded by window_'s mutex.
  std::size_t in_flight_ = 0; ///< Cost of the sends without an answer.
  bool closed_ = false;
};

} // namespace fiber::detail
