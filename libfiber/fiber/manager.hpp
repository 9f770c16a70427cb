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

/// Everything a Manager can be told.
struct ManagerOptions {
  Resources resources = {}; ///< Of its job.
  /// So many calls run at the same time, each on another object; those that wait for
  /// something of Fiber's do not count.
  std::size_t threads = 1;
  /// What becomes of a manager whose job is lost. Unless temporary a new job takes its
  /// place, at most 5 within 10 s: there its objects are made again, each from the
  /// arguments of its create(), and the handles go on.
  Restart restart = Restart::temporary;
  /// Runs in each new job after the first, when the objects are there again and before
  /// anybody else's calls: see Manager::set_restore().
  AnyCallable restore = {};
  /// What logs, traces and errors call its job; empty: a name is made up.
  std::string name = {};
};

namespace detail {
class ManagerCore;

/// Starts what Manager::create asks for.
void begin_create(Writer& writer);

/// Makes what lives in a manager's job and is no object.
struct Maker {
  template <class T>
  Queue<T> queue(std::size_t capacity) const {
    return Queue<T>(capacity);
  }
};
} // namespace detail

/// A job that objects live in, as Python's multiprocessing.Manager, and their supervisor.
/// Its objects can be used by any process that has a handle to them.
///
/// The end of a Manager ends its job, and its objects with it: then calls of the handles
/// throw Closed.
///
/// Thread safety: any thread may call any member function. All throw Closed after the end
/// of the session or of the manager, what packing throws, and, if the job could not be
/// started or is lost for good, why: BackendError, TimeoutError, VersionMismatch,
/// WorkerLost.
class Manager {
public:
  /// Asks for the job and returns. Throws Closed without a session, ConfigError on
  /// options that can't be used.
  Manager() : Manager(ManagerOptions{}) {}
  explicit Manager(ManagerOptions options);
  Manager(Manager&&) noexcept;
  Manager& operator=(Manager&&) noexcept;
  ~Manager(); ///< As shutdown().

  /// Makes a C(args...) in the job and waits for it: what the constructor throws is a
  /// RemoteError.
  template <class C, class... Args>
  Ref<C> create(Args&&... args) {
    static_assert(std::is_constructible_v<C, detail::value_t<Args>&&...>,
                  "fiber: the object can't be made from these arguments, as values");
    (detail::check_value<detail::value_t<Args>>(), ...);
    return Ref<C>(create_object(detail::PackedItem::of([&](Writer& writer) {
      detail::begin_create(writer);
      detail::pack_code(
        writer, detail::code_of(&detail::make_object<C, detail::value_t<Args>...>));
      using Tuple = std::tuple<detail::value_t<Args>...>;
      pack<Tuple>(writer, Tuple(std::forward<Args>(args)...));
    })));
  }

  template <class K, class V>
  Dict<K, V> dict() {
    return Dict<K, V>(create<std::map<K, V>>());
  }
  template <class K, class V>
  Dict<K, V> dict(const std::map<K, V>& initial) {
    return Dict<K, V>(create<std::map<K, V>>(initial));
  }
  template <class T>
  List<T> list() {
    return List<T>(create<std::vector<T>>());
  }
  template <class T>
  List<T> list(const std::vector<T>& initial) {
    return List<T>(create<std::vector<T>>(initial));
  }
  template <class T, class V = detail::value_t<T>>
  Value<V> value(T&& initial) {
    return Value<V>(create<detail::ValueCell<V>>(std::forward<T>(initial)));
  }
  /// `n` elements, each T().
  template <class T>
  Array<T> array(std::size_t n) {
    return Array<T>(create<std::vector<T>>(n));
  }
  template <class T>
  Array<T> array(const std::vector<T>& initial) {
    return Array<T>(create<std::vector<T>>(initial));
  }
  template <class T>
  Array<T> array(std::initializer_list<T> initial) {
    return array<T>(std::vector<T>(initial));
  }
  Namespace name_space() { return Namespace(create<detail::NamespaceMap>()); }
  /// A queue whose home is the manager's job. Throws ConfigError if `capacity` is 0.
  template <class T>
  Queue<T> queue(std::size_t capacity) {
    if (capacity == 0)
      throw ConfigError("capacity", "Manager::queue", "1 or more",
                        "room for 0 items is no queue");
    return create<detail::Maker>().template call<&detail::Maker::queue<T>>(capacity);
  }

  // These live in this process, not in the job: see fiber/lock.hpp.
  Lock lock() { return make<Lock>(); }
  RLock rlock() { return make<RLock>(); }
  Semaphore semaphore(std::size_t n) { return make<Semaphore>(n); }
  BoundedSemaphore bounded_semaphore(std::size_t n) { return make<BoundedSemaphore>(n); }
  Event event() { return make<Event>(); }
  Condition condition() { return make<Condition>(); }
  /// Throws ConfigError if `n` is 0.
  Barrier barrier(std::size_t n) { return make<Barrier>(n); }

  /// Instead of ManagerOptions::restore, for what is bound to it is often a handle to
  /// what the manager has: bind(refill, dict, path). It may call the objects; if it
  /// throws the job is given up, as if lost.
  void set_restore(AnyCallable restore);
  /// Ends the job: calls that run end first, for which this waits 5 s, and destructors
  /// run.
  void shutdown();

private:
  template <class S>
  S make(std::size_t n = 0) {
    check_open();
    return detail::open_sync<S>(n, true);
  }
  void check_open() const;
  detail::ObjectRef create_object(detail::PackedItem recipe);

  std::shared_ptr<detail::ManagerCore> core_;
};

} // namespace fiber
