// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <optional>
#include <ranges>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "fiber/callable.hpp"
#include "fiber/detail/call_feed.hpp"
#include "fiber/detail/call_name.hpp"
#include "fiber/future.hpp"
#include "fiber/pool_stats.hpp"

namespace fiber {

/// The options of a Pool. The defaults suit this machine.
struct PoolOptions {
  /// Workers to keep up; 0: cpu_count().
  std::size_t workers = 0;
  /// What each job may use.
  Resources resources = {};
  /// Workers in one job, each a thread of it.
  std::size_t workers_per_job = 1;
  /// Tasks after which a worker is replaced; 0: never.
  std::size_t max_tasks_per_worker = 0;
  /// How often a task is retried after it lost its worker; -1: no limit. 0: a task runs
  /// at most once.
  int max_retries = 3;
  /// Whether a task that threw is retried as well, up to max_retries times.
  bool retry_exceptions = false;
  /// Runs once in each worker, before its first task.
  AnyCallable initializer = {};
  /// A task that runs for longer fails with TimeoutError and is not retried.
  /// this_task::stop_token() tells it. Default: no limit.
  std::optional<std::chrono::milliseconds> task_timeout = {};
  /// If a task still runs this long after its task_timeout, or after it was cancelled,
  /// its job is ended and replaced. The other tasks of that job return to the queue,
  /// which does not count against their max_retries.
  std::chrono::milliseconds cancel_grace{2000};
};

/// The options of one call of map(), starmap(), imap() or their other forms.
struct MapOptions {
  /// Tasks handed to a worker at a time; 0: Fiber chooses.
  std::size_t chunksize = 0;
  /// Whether to report progress on stderr: tasks done, their rate, the time left, workers
  /// up, retries, failures. On a terminal a line that changes in place, else a plain line
  /// every 10 s, and after a minute every 60 s.
  bool progress = false;
  /// A file that keeps the results, made if it does not exist; empty: none. The same call
  /// with the same journal, when this program is started again, runs only the tasks that
  /// are missing: see docs/reference/journal.md. The call throws ConfigError if the file
  /// is that of another call, or in use; Error if it can't be read or written, and then
  /// what was written stays.
  std::string journal = {};
  /// A task that runs for longer than this many times the median of its callable's tasks
  /// is a straggler: if a worker of another job is idle, that worker runs a copy of the
  /// task. The first of the two to end counts, and the other is told to stop, as by
  /// cancel(). 1 to 1e6; 0: off. See docs/reference/stragglers.md. The call throws
  /// ConfigError in a pool with max_retries = 0, which means at most once.
  double speculate = 0;
};

namespace detail {

/// Anything to iterate over; it need not be a view.
template <class R>
concept InputRange = std::ranges::input_range<R>;
template <class R>
using item_t = value_t<std::ranges::range_value_t<R>>;

template <class F, class Tuple>
struct SpreadResult;
template <class F, class... T>
struct SpreadResult<F, std::tuple<T...>> : CallResult<F, T...> {};
template <class F, class A, class B>
struct SpreadResult<F, std::pair<A, B>> : CallResult<F, A, B> {};
template <class F, class T, std::size_t N>
struct SpreadResult<F, std::array<T, N>> {
  template <std::size_t... I>
  static auto with(std::index_sequence<I...>)
    -> call_result_t<F, std::tuple_element_t<I, std::array<T, N>>...>;
  using type = decltype(with(std::make_index_sequence<N>{}));
};

template <class F, class Items>
struct TaskResult : CallResult<F, item_t<Items>> {};
template <class F, class Items>
struct StarResult : SpreadResult<F, item_t<Items>> {};

template <class Range, class Item>
class RangeStream;

class PoolCore;

} // namespace detail

/// What f(item) returns for the items of the range `Items`, as a value: the `R` of map()
/// and imap().
template <class F, class Items>
using task_result_t = typename detail::TaskResult<F, Items>::type;
/// What f(parts...) returns for the items of `Items`, which are tuples, pairs or arrays:
/// the `R` of starmap().
template <class F, class Items>
using star_result_t = typename detail::StarResult<F, Items>::type;

/// A group of workers that run tasks, on this machine or on a cluster.
///
/// A worker that dies is replaced, and its unfinished tasks run on another worker. A task
/// may thus run more than once: make it safe to repeat, or set max_retries to 0.
///
/// The callable `f` of each call is a plain function, a lambda without captures, a
/// function object that is a value, or fiber::bind(f, args...). Arguments and results are
/// values (fiber/value.hpp). Items come from any input range, or from a braced list.
///
/// Thread safety: any thread may call any member function. Each call of map() and its
/// kin, and of apply(), throws Closed after close(), terminate() or the end of the
/// session; BackendError, TimeoutError or VersionMismatch if no worker can start;
/// ConfigError for bad options, or if meta() asks for more than a job has; and what
/// packing throws.
class Pool {
public:
  /// A pool of cpu_count() workers, or of so many. Throws as Pool(PoolOptions).
  Pool();
  explicit Pool(std::size_t workers);
  /// Returns at once: the workers start with the first task. Throws ConfigError for
  /// options that can't be used, Closed without a session.
  explicit Pool(PoolOptions options);
  /// Calls of a Pool that was moved from throw Closed. Assigning to a Pool first ends it,
  /// as ~Pool() does.
  Pool(Pool&&) noexcept;
  Pool& operator=(Pool&&) noexcept;
  /// As terminate(), and blocks until the workers are gone.
  ~Pool();

  /// Runs f(item) for every item and returns a std::vector of the results, in the order
  /// of the items; nothing if `f` returns void. Reads the input as it goes, a bounded
  /// window ahead of the results. Blocks until all tasks have ended, then throws the
  /// failure of the lowest index, if any; map_async() with outcomes() keeps the others.
  template <class F, detail::InputRange Items>
  detail::vector_of_t<task_result_t<F, Items>> map(F f, Items&& items,
                                                   MapOptions options = {}) {
    using Item = detail::item_t<Items>;
    return run<task_result_t<F, Items>, Item, false>(f, items, options);
  }
  template <class F, class Item>
  detail::vector_of_t<call_result_t<F, Item>> map(F f, std::initializer_list<Item> items,
                                                  MapOptions options = {}) {
    return run<call_result_t<F, Item>, Item, false>(f, items, options);
  }

  /// The same without waiting for results: reads all input, then returns the results to
  /// come.
  template <class F, detail::InputRange Items>
  MapResult<task_result_t<F, Items>> map_async(F f, Items&& items,
                                               MapOptions options = {}) {
    using Item = detail::item_t<Items>;
    return feed_all<task_result_t<F, Items>, Item, false>(f, items, options);
  }
  template <class F, class Item>
  MapResult<call_result_t<F, Item>> map_async(F f, std::initializer_list<Item> items,
                                              MapOptions options = {}) {
    return feed_all<call_result_t<F, Item>, Item, false>(f, items, options);
  }

  /// As map(), for items that are tuples, pairs or arrays: runs f(parts...).
  template <class F, detail::InputRange Items>
  detail::vector_of_t<star_result_t<F, Items>> starmap(F f, Items&& items,
                                                       MapOptions options = {}) {
    using Item = detail::item_t<Items>;
    return run<star_result_t<F, Items>, Item, true>(f, items, options);
  }
  template <class F, class Item>
  detail::vector_of_t<star_result_t<F, std::initializer_list<Item>>>
  starmap(F f, std::initializer_list<Item> items, MapOptions options = {}) {
    return run<star_result_t<F, std::initializer_list<Item>>, Item, true>(f, items,
                                                                          options);
  }
  /// As map_async(), for the items of starmap().
  template <class F, detail::InputRange Items>
  MapResult<star_result_t<F, Items>> starmap_async(F f, Items&& items,
                                                   MapOptions options = {}) {
    using Item = detail::item_t<Items>;
    return feed_all<star_result_t<F, Items>, Item, true>(f, items, options);
  }
  template <class F, class Item>
  MapResult<star_result_t<F, std::initializer_list<Item>>>
  starmap_async(F f, std::initializer_list<Item> items, MapOptions options = {}) {
    return feed_all<star_result_t<F, std::initializer_list<Item>>, Item, true>(f, items,
                                                                               options);
  }

  /// Runs f(item) for every item and returns a range of the results, in the order of the
  /// items, that is read while tasks run. The first window of items is read in this call,
  /// more as results are read: so endless input works, in bounded memory. An lvalue range
  /// must outlive the result; an rvalue is moved into it.
  template <class F, detail::InputRange Items>
  ResultRange<task_result_t<F, Items>> imap(F f, Items&& items, MapOptions options = {}) {
    return stream(f, std::forward<Items>(items), options, true);
  }
  template <class F, class Item>
  ResultRange<call_result_t<F, Item>> imap(F f, std::initializer_list<Item> items,
                                           MapOptions options = {}) {
    return stream(f, std::vector<Item>(items), options, true);
  }
  /// As imap(), with the results in the order in which they arrive.
  template <class F, detail::InputRange Items>
  ResultRange<task_result_t<F, Items>> imap_unordered(F f, Items&& items,
                                                      MapOptions options = {}) {
    return stream(f, std::forward<Items>(items), options, false);
  }
  template <class F, class Item>
  ResultRange<call_result_t<F, Item>>
  imap_unordered(F f, std::initializer_list<Item> items, MapOptions options = {}) {
    return stream(f, std::vector<Item>(items), options, false);
  }

  /// Runs f(args...) in a worker. Blocks, and returns its result or throws its failure.
  template <class F, class... Args>
    requires detail::Takes<F, detail::value_t<Args>...>
  call_result_t<F, Args...> apply(F f, Args&&... args) {
    return apply_async(std::move(f), std::forward<Args>(args)...).get();
  }
  /// The same without waiting: returns at once.
  template <class F, class... Args>
    requires detail::Takes<F, detail::value_t<Args>...>
  Future<call_result_t<F, Args...>> apply_async(F f, Args&&... args) {
    using R = call_result_t<F, Args...>;
    using Tuple = std::tuple<detail::value_t<Args>...>;
    detail::check_result<R>();
    (detail::check_value<detail::value_t<Args>>(), ...);
    auto feed = begin(AnyCallable::of<Tuple, true>(f), {}, detail::Keep::all, true);
    feed.add(Tuple(std::forward<Args>(args)...));
    feed.finish();
    return Future<R>(feed.results());
  }

  /// Starts the workers now instead of with the first task. Does not wait for them.
  void start_workers();
  /// Starts the workers and blocks until all are up, or `limit` has passed; returns
  /// whether they are up. Throws why they can't start (BackendError, ...), or Closed if
  /// the pool was ended.
  template <class Rep, class Period>
  bool wait_until_workers_up(std::chrono::duration<Rep, Period> limit) {
    return wait_workers(detail::limit_of(limit));
  }
  /// Changes the number of workers, 1 to 100,000, and returns at once. Workers that are
  /// ended for it finish what they run and hand the rest back, which is not counted as a
  /// retry. Throws ConfigError for other numbers.
  void resize(std::size_t workers);
  /// Keeps as many workers as there is work for, from `min` to `max`, until resize() is
  /// called: one for each task that waits or runs, fewer for tasks that are known to be
  /// short. Workers that had nothing to do for `idle` are ended, as by resize(). Returns
  /// at once. Throws ConfigError unless min <= max, max is 1 to 100,000, and `idle` is at
  /// least 1 ms.
  void autoscale(std::size_t min, std::size_t max,
                 std::chrono::milliseconds idle = std::chrono::seconds(10));
  /// Takes no more calls: those that were accepted finish, then the workers end. Returns
  /// at once.
  void close();
  /// Cancels every task and ends the workers at once. Does not wait for their end.
  void terminate();
  /// Blocks until the workers are gone. Throws Error unless close() or terminate() was
  /// called before.
  void join();
  /// What the pool is doing and has done: see fiber/pool_stats.hpp. Throws Closed if the
  /// pool has ended.
  PoolStats stats() const;

private:
  detail::CallFeed begin(AnyCallable callable, MapOptions options, detail::Keep keep,
                         bool single, const detail::CallName* name = nullptr);
  bool wait_workers(detail::Results::Clock::time_point limit);

  template <class R, class Item, bool spread, class F, class Range>
  detail::CallFeed begin_map(F& f, Range& items, const MapOptions& options,
                             detail::Keep keep) {
    detail::check_result<R>();
    std::optional<detail::CallName> name;
    if (!options.journal.empty())
      name = detail::CallName::of<R, Item, spread>(f);
    auto feed = begin(AnyCallable::of<Item, spread>(f), options, keep, false,
                      name ? &*name : nullptr);
    if constexpr (std::ranges::sized_range<Range>)
      feed.expect(std::ranges::size(items));
    return feed;
  }

  template <class R, class Item, bool spread, class F, class Range>
  MapResult<R> feed_all(F& f, Range&& items, const MapOptions& options) {
    auto feed = begin_map<R, Item, spread>(f, items, options, detail::Keep::all);
    for (auto&& item : items)
      feed.template add_as<Item>(item);
    feed.finish();
    return MapResult<R>(feed.results());
  }

  template <class R, class Item, bool spread, class F, class Range>
  detail::vector_of_t<R> run(F& f, Range&& items, const MapOptions& options) {
    auto feed = begin_map<R, Item, spread>(f, items, options, detail::Keep::in_order);
    feed.limit_window();
    detail::Gatherer<R> results(*feed.results());
    if constexpr (std::ranges::sized_range<Range>)
      results.reserve(std::ranges::size(items));
    for (auto&& item : items)
      if (feed.template add_as<Item>(item))
        results.take_ready();
    feed.finish();
    return results.take_all();
  }

  template <class F, class Range>
  ResultRange<task_result_t<F, Range>> stream(F& f, Range&& items,
                                              const MapOptions& options, bool ordered) {
    using Item = detail::item_t<Range>;
    using R = task_result_t<F, Range>;
    auto feed = begin_map<R, Item, false>(
      f, items, options, ordered ? detail::Keep::in_order : detail::Keep::as_they_come);
    using Source = detail::RangeStream<Range, Item>;
    return ResultRange<R>(
      std::make_unique<Source>(std::forward<Range>(items), std::move(feed), ordered));
  }

  std::shared_ptr<detail::PoolCore> core_;
};

namespace detail {

/// Gives a call tasks from a range as its results are read. `Range` is a reference for an
/// lvalue.
template <class Range, class Item>
class RangeStream final : public Stream {
public:
  RangeStream(Range&& items, CallFeed feed, bool ordered)
    : items_(std::forward<Range>(items)), feed_(std::move(feed)), ordered_(ordered),
      next_(std::ranges::begin(items_)) {
    top_up();
  }
  RangeStream(const RangeStream&) = delete;
  RangeStream& operator=(const RangeStream&) = delete;
  ~RangeStream() override {
    if (taken_ < feed_.results()->submitted())
      feed_.results()->cancel();
  }

  std::optional<RawOutcome> next() override {
    top_up();
    auto& results = *feed_.results();
    if (taken_ == results.submitted())
      return std::nullopt;
    auto index = taken_++;
    if (ordered_)
      return results.take(index);
    auto any = results.take_any();
    return any ? std::optional(std::move(any->second)) : std::nullopt;
  }

private:
  void top_up() {
    if (over_ || !feed_.wants(taken_))
      return;
    while (next_ != std::ranges::end(items_)) {
      if (feed_.full(taken_)) {
        feed_.flush();
        return;
      }
      feed_.template add_as<Item>(*next_);
      ++next_;
    }
    over_ = true;
    feed_.finish();
  }

  Range items_;
  CallFeed feed_;
  bool ordered_;
  std::ranges::iterator_t<std::remove_reference_t<Range>> next_;
  std::size_t taken_ = 0;
  bool over_ = false;
};

} // namespace detail
} // namespace fiber
