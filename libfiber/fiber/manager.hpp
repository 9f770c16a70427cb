// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "fiber/barrier.hpp"
#include "fiber/callable.hpp"
#include "fiber/condition.hpp"
#include "fiber/containers.hpp"
#include "fiber/event.hpp"
#include "fiber/lock.hpp"
#include "fiber/queue.hpp"
#include "fiber/ref.hpp"
#include "fiber/semaphore.hpp"
#include "fiber/supervision.hpp"

namespace fiber {

/// The options of a Manager.
struct ManagerOptions {
  /// What its job may use.
  Resources resources = {};
  /// How many calls run at the same time, each on another object; at least 1. Calls that
  /// wait for a queue, a lock or anything else of Fiber's do not count.
  std::size_t threads = 1;
  /// What happens when the job is lost. With `temporary` the manager has ended. Otherwise
  /// Fiber starts a new job, at most 5 times within 10 s, and makes each object again in
  /// that job, from the arguments of its create(). Handles remain valid.
  Restart restart = Restart::temporary;
  /// Runs in each new job after the first, when the objects have been made and before
  /// other calls: see Manager::set_restore().
  AnyCallable restore = {};
  /// The name of its job in logs, traces and errors; empty: Fiber makes one up.
  std::string name = {};
};

namespace detail {
class ManagerCore;

/// Writes the head of a request of Manager::create().
void begin_create(Writer& writer);

/// Makes in a manager's job what is no object.
struct Maker {
  template <class T>
  Queue<T> queue(std::size_t capacity, bool redeliver, int max_redeliveries) const {
    return Queue<T>({.capacity = capacity,
                     .redeliver = redeliver,
                     .max_redeliveries = max_redeliveries});
  }
};
} // namespace detail

/// A job that holds objects, as Python's multiprocessing.Manager. Any process with a
/// handle can use them. What create(), dict(), list(), value(), array(), name_space() and
/// queue() return lives in the job.
///
/// Locks, semaphores, events, conditions and barriers need no Manager: make them as
/// `fiber::Lock lock;`. The functions lock() to barrier() are there for programs that
/// come from Python. What they return lives in the process that made the Manager, and
/// remains usable when the Manager has ended.
///
/// The end of a Manager ends its job, and the objects with it: calls of the handles then
/// throw Closed.
///
/// Thread safety: any thread may call any member function. All throw Closed after the end
/// of the manager or of the session. Those that make something in the job block until it
/// is made; they throw what packing throws, and BackendError, TimeoutError,
/// VersionMismatch or WorkerLost if the job could not be started or is lost for good.
class Manager {
public:
  /// Asks for the job and returns without waiting for it. Throws Closed without a
  /// session, ConfigError for options that can't be used.
  Manager() : Manager(ManagerOptions{}) {}
  explicit Manager(ManagerOptions options);
  /// Assigning to a Manager first ends it, as shutdown() does.
  Manager(Manager&&) noexcept;
  Manager& operator=(Manager&&) noexcept;
  /// As shutdown().
  ~Manager();

  /// Makes a C(args...) in the job and returns a handle to it. Throws RemoteError if the
  /// constructor throws.
  template <class C, class... Args>
  Ref<C> create(Args&&... args) {
    static_assert(std::is_constructible_v<C, detail::value_t<Args>&&...>,
                  "fiber: the object can't be made from these arguments, as values");
    (detail::check_value<detail::value_t<Args>>(), ...);
    return Ref<C>(create_object(detail::PackedItem::of([&](Writer& writer) {
      detail::begin_create(writer);
      detail::pack_entry<detail::CodeKind::make_object,
                         &detail::make_object<C, detail::value_t<Args>...>>(writer);
      using Tuple = std::tuple<detail::value_t<Args>...>;
      pack<Tuple>(writer, Tuple(std::forward<Args>(args)...));
    })));
  }

  /// An empty map: dict<std::string, int>().
  template <class K, class V>
  Dict<K, V> dict() {
    return Dict<K, V>(create<std::map<K, V>>());
  }
  /// A map with a copy of `initial`.
  template <class K, class V>
  Dict<K, V> dict(const std::map<K, V>& initial) {
    return Dict<K, V>(create<std::map<K, V>>(initial));
  }
  /// An empty sequence: list<double>().
  template <class T>
  List<T> list() {
    return List<T>(create<std::vector<T>>());
  }
  /// A sequence with a copy of `initial`.
  template <class T>
  List<T> list(const std::vector<T>& initial) {
    return List<T>(create<std::vector<T>>(initial));
  }
  /// One value: value(0) is a Value<int>, value("text") a Value<std::string>.
  template <class T, class V = detail::value_t<T>>
  Value<V> value(T&& initial) {
    return Value<V>(create<detail::ValueCell<V>>(std::forward<T>(initial)));
  }
  /// An array of `n` elements, each T().
  template <class T>
  Array<T> array(std::size_t n) {
    return Array<T>(create<std::vector<T>>(n));
  }
  /// An array with a copy of `initial`, whose length it has.
  template <class T>
  Array<T> array(const std::vector<T>& initial) {
    return Array<T>(create<std::vector<T>>(initial));
  }
  /// The same for array<int>({a, b, ...}).
  template <class T>
  Array<T> array(std::initializer_list<T> initial) {
    return array<T>(std::vector<T>(initial));
  }
  /// An empty set of named values.
  Namespace name_space() { return Namespace(create<detail::NamespaceMap>()); }
  /// A queue with room for `capacity` items, whose home is the manager's job. Throws
  /// ConfigError if `capacity` is 0.
  template <class T>
  Queue<T> queue(std::size_t capacity) {
    return queue<T>({.capacity = capacity});
  }
  /// The same with options. Throws ConfigError if an option can't be used.
  template <class T>
  Queue<T> queue(const QueueOptions& options) {
    detail::check(options, "Manager::queue");
    return create<detail::Maker>().template call<&detail::Maker::queue<T>>(
      options.capacity, options.redeliver, options.max_redeliveries);
  }

  /// A lock that no thread holds: fiber/lock.hpp.
  Lock lock() { return make<Lock>(); }
  /// A recursive lock that no thread holds: fiber/lock.hpp.
  RLock rlock() { return make<RLock>(); }
  /// A semaphore with `n` permits: fiber/semaphore.hpp.
  Semaphore semaphore(std::size_t n) { return make<Semaphore>(n); }
  /// A semaphore that never has more than `n` permits: fiber/semaphore.hpp.
  BoundedSemaphore bounded_semaphore(std::size_t n) { return make<BoundedSemaphore>(n); }
  /// An event that is not set: fiber/event.hpp.
  Event event() { return make<Event>(); }
  /// A condition with its lock: fiber/condition.hpp.
  Condition condition() { return make<Condition>(); }
  /// A barrier of `n` parties: fiber/barrier.hpp. Throws ConfigError if `n` is 0.
  Barrier barrier(std::size_t n) { return make<Barrier>(n); }

  /// Replaces ManagerOptions::restore. It is set after construction because it is often
  /// bound to a handle to what the manager holds: bind(refill, dict, path). It may call
  /// the objects. If it throws, the job is given up as if it were lost.
  void set_restore(AnyCallable restore);
  /// Ends the job and blocks until it is gone. Calls that run end first, for which they
  /// have 5 s, and the objects' destructors run.
  void shutdown();

private:
  template <class S>
  S make(std::size_t n = 0) {
    check_open();
    return detail::sync_of_manager<S>(n);
  }
  void check_open() const;
  detail::ObjectRef create_object(detail::PackedItem recipe);

  std::shared_ptr<detail::ManagerCore> core_;
};

} // namespace fiber
