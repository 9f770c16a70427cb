// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "fiber/callable.hpp"
#include "fiber/results.hpp"
#include "fiber/value.hpp"

namespace fiber {

template <class R>
class Future;

namespace detail {

template <class R>
R open_outcome(const RawOutcome& raw) {
  if (raw.error)
    std::rethrow_exception(raw.error);
  if constexpr (!std::is_void_v<R>) {
    Reader reader(raw.value.bytes());
    return unpack<R>(reader);
  }
}

template <class Duration>
Results::Clock::time_point limit_of(Duration d) {
  auto now = Results::Clock::now();
  // A duration too long for the clock means no limit.
  if (std::chrono::duration<double>(d) >
      std::chrono::duration<double>(Results::forever - now) * 0.5)
    return Results::forever;
  return now + std::chrono::ceil<Results::Clock::duration>(d);
}

} // namespace detail

/// How one task ended: a value or an error.
template <class R>
class Outcome {
public:
  explicit Outcome(R value) : value_(std::move(value)) {}
  explicit Outcome(std::exception_ptr error) : error_(std::move(error)) {}

  bool ok() const { return error_ == nullptr; }
  /// The result; rethrows the failure of a task that has none.
  R& value() {
    if (error_)
      std::rethrow_exception(error_);
    return *value_;
  }
  const R& value() const { return const_cast<Outcome&>(*this).value(); }
  /// The failure: RemoteError, WorkerLost, Cancelled, ...; null if there is a value.
  std::exception_ptr error() const { return error_; }

private:
  std::optional<R> value_;
  std::exception_ptr error_;
};

template <>
class Outcome<void> {
public:
  Outcome() = default;
  explicit Outcome(std::exception_ptr error) : error_(std::move(error)) {}
  bool ok() const { return error_ == nullptr; }
  void value() const {
    if (error_)
      std::rethrow_exception(error_);
  }
  std::exception_ptr error() const { return error_; }

private:
  std::exception_ptr error_;
};

namespace detail {

/// Never throws for a task's failure; a value that can't be unpacked becomes the error.
template <class R>
Outcome<R> outcome_of(const RawOutcome& raw) {
  try {
    if constexpr (std::is_void_v<R>) {
      open_outcome<R>(raw);
      return {};
    } else {
      return Outcome<R>(open_outcome<R>(raw));
    }
  } catch (...) {
    return Outcome<R>(std::current_exception());
  }
}

/// What a continuation gave, packed like a task's result.
struct Continued {
  RawOutcome outcome;
  KeptObjects kept; ///< What handles in it refer to.
};

/// The result of `f`, which is called with the outcome of `before` on a thread of the
/// session; a failure of `before` is handed on without calling it. Throws Closed without
/// a session.
std::shared_ptr<Results> continue_with(const std::shared_ptr<Results>& before,
                                       std::function<Continued(const RawOutcome&)> f);

template <class R, class F>
struct ThenResult {
  using type = std::invoke_result_t<F&, R>;
};
template <class F>
struct ThenResult<void, F> {
  using type = std::invoke_result_t<F&>;
};
/// What `f` returns when Future<R>::then() calls it: f(R), or f() if `R` is void.
template <class R, class F>
using then_result_t = typename ThenResult<R, F>::type;

/// Calls `f` with a task's result and packs what it returns.
template <class R, class F>
Continued call_with(F& f, const RawOutcome& raw) {
  using U = then_result_t<R, F>;
  Continued result;
  try {
    auto call = [&] {
      if constexpr (std::is_void_v<R>) {
        open_outcome<void>(raw);
        return f();
      } else {
        return f(open_outcome<R>(raw));
      }
    };
    if constexpr (std::is_void_v<U>) {
      call();
    } else {
      KeepScope handles;
      Bytes bytes;
      Writer writer(bytes);
      pack<U>(writer, call());
      result = {{Payload(std::move(bytes)), nullptr}, handles.take()};
    }
  } catch (...) {
    result = {{{}, std::current_exception()}, {}};
  }
  return result;
}

template <class R>
std::vector<std::shared_ptr<Results>> results_of(const std::vector<Future<R>>& futures);

} // namespace detail

/// A result that may not be there yet. Copies share one result.
///
/// Thread safety: any thread may call any member function.
template <class R>
class Future {
public:
  Future() = default;
  explicit Future(std::shared_ptr<detail::Results> results)
    : results_(std::move(results)) {}

  /// Whether it stands for a task: false after default construction.
  bool valid() const { return results_ != nullptr; }
  /// Blocks until the task has ended; returns a copy of its result or throws its failure:
  /// RemoteError, WorkerLost, TimeoutError, Cancelled, Closed, or why no worker starts.
  R get() const {
    state().wait_index(0, detail::Results::forever);
    return detail::open_outcome<R>(state().at(0));
  }
  /// Blocks until the task has ended or `d` has passed; true if it has ended.
  template <class Rep, class Period>
  bool wait_for(std::chrono::duration<Rep, Period> d) const {
    return state().wait_index(0, detail::limit_of(d));
  }
  /// Whether get() would return at once.
  bool ready() const { return state().done() > 0; }
  /// Ends the task: get() then throws Cancelled, unless it had ended before. If it runs
  /// it is told to stop (this_task::stop_token); if it goes on for longer than the pool's
  /// cancel_grace, its worker is ended and replaced.
  void cancel() { state().cancel(); }
  /// A Future of what `f` makes of the result: f(R), or f() for Future<void>. `f` is
  /// called once, on a thread that all continuations of the session share: it should be
  /// quick, may use pools, and may capture anything that lives long enough. What it
  /// returns must be a value that can be packed. A failure, or what `f` throws, becomes
  /// that of the new Future, whose cancel() is this one's. Throws Closed with no session.
  template <class F>
  Future<detail::then_result_t<R, F>> then(F f) const {
    state();
    return Future<detail::then_result_t<R, F>>(detail::continue_with(
      results_, [f = std::move(f)](const detail::RawOutcome& raw) mutable {
        return detail::call_with<R>(f, raw);
      }));
  }

private:
  template <class T>
  friend std::vector<std::shared_ptr<detail::Results>>
  detail::results_of(const std::vector<Future<T>>& futures);

  detail::Results& state() const {
    if (!results_)
      throw Error("this Future stands for no task");
    return *results_;
  }

  std::shared_ptr<detail::Results> results_;
};

/// The results of a map. Copies share them.
///
/// Thread safety: any thread may call any member function.
template <class R>
class MapResult {
public:
  explicit MapResult(std::shared_ptr<detail::Results> results)
    : results_(std::move(results)) {}

  /// Blocks until all tasks have ended and returns their results in the order of the
  /// input. If any failed, throws the failure of the lowest index; outcomes() has the
  /// others.
  detail::vector_of_t<R> get() const {
    wait_all();
    auto n = size();
    if constexpr (std::is_void_v<R>) {
      for (std::size_t i = 0; i < n; ++i)
        detail::open_outcome<void>(results_->at(i));
    } else {
      std::vector<R> values;
      values.reserve(n);
      for (std::size_t i = 0; i < n; ++i)
        values.push_back(detail::open_outcome<R>(results_->at(i)));
      return values;
    }
  }
  /// Blocks until all tasks have ended; one outcome a task, in the order of the input.
  std::vector<Outcome<R>> outcomes() const {
    wait_all();
    std::vector<Outcome<R>> all;
    all.reserve(size());
    for (std::size_t i = 0; i < size(); ++i)
      all.push_back(detail::outcome_of<R>(results_->at(i)));
    return all;
  }
  /// Blocks until all have ended or `d` has passed; true if all have ended.
  template <class Rep, class Period>
  bool wait_for(std::chrono::duration<Rep, Period> d) const {
    return results_->wait_done(size(), detail::limit_of(d));
  }
  bool ready() const { return done() == size(); }
  /// Ends as Cancelled what has not ended; running tasks as Future::cancel() does.
  void cancel() { results_->cancel(); }
  /// How many tasks have ended, well or badly.
  std::size_t done() const { return results_->done(); }
  std::size_t size() const { return results_->submitted(); }

private:
  void wait_all() const { results_->wait_done(size(), detail::Results::forever); }

  std::shared_ptr<detail::Results> results_;
};

namespace detail {

/// The results of a map as they come, in order. Unpacks each as soon as its turn has
/// come, so that its bytes go while others are still awaited.
template <class R>
class Gatherer {
public:
  explicit Gatherer(Results& results) : results_(results) {}

  void reserve(std::size_t n) {
    if constexpr (!std::is_void_v<R>)
      values_.reserve(n);
  }
  void take_ready() {
    for (auto& outcome : results_.take_ready()) {
      ++taken_;
      if (!error_)
        take(std::move(outcome));
    }
  }
  /// Waits for the rest; throws the failure of the lowest index, if any.
  vector_of_t<R> take_all() {
    for (auto n = results_.submitted(); taken_ < n; take_ready())
      results_.wait_index(taken_, Results::forever);
    if (error_)
      std::rethrow_exception(error_);
    if constexpr (!std::is_void_v<R>)
      return std::move(values_);
  }

private:
  void take(RawOutcome outcome) {
    try {
      if constexpr (std::is_void_v<R>)
        open_outcome<void>(outcome);
      else
        values_.push_back(open_outcome<R>(outcome));
    } catch (...) {
      error_ = std::current_exception();
    }
  }

  Results& results_;
  std::size_t taken_ = 0;
  std::exception_ptr error_; ///< Of the lowest index.
  std::conditional_t<std::is_void_v<R>, std::monostate, std::vector<R>> values_;
};

/// Where a ResultRange gets its results, and more tasks for the pool as it goes.
class Stream {
public:
  virtual ~Stream() = default;
  /// The next outcome; nothing at the end.
  virtual std::optional<RawOutcome> next() = 0;
};

/// Walks over a range that has one element at a time: advance(), current(), and
/// `current_`, which is empty at the end.
template <class Range>
class StepIterator {
public:
  using iterator_concept = std::input_iterator_tag;
  using value_type = typename Range::value_type;
  using difference_type = std::ptrdiff_t;

  StepIterator() = default;
  explicit StepIterator(Range* range) : range_(range) {}
  value_type operator*() const { return range_->current(); }
  StepIterator& operator++() {
    range_->advance();
    return *this;
  }
  void operator++(int) { ++*this; }
  bool operator==(std::default_sentinel_t) const { return !range_ || !range_->current_; }

private:
  Range* range_ = nullptr;
};

} // namespace detail

/// Results one after another, as imap and imap_unordered give them: an input range.
///
/// A failed task throws when its element is read (`*it`), and the iteration can go on;
/// ResultRange<void> yields Outcome<void>.
/// Memory is bounded: tasks are taken from the input as results are read. Destroying it
/// cancels the rest, running tasks too (Future::cancel). Not thread-safe.
template <class R>
class ResultRange {
public:
  explicit ResultRange(std::unique_ptr<detail::Stream> stream)
    : stream_(std::move(stream)) {}

  using value_type = std::conditional_t<std::is_void_v<R>, Outcome<void>, R>;
  using iterator = detail::StepIterator<ResultRange>;

  /// Blocks until the first result is there.
  iterator begin() {
    if (!started_)
      advance();
    return iterator(this);
  }
  std::default_sentinel_t end() const { return {}; }

private:
  friend iterator;

  void advance() {
    started_ = true;
    current_ = stream_->next();
  }
  value_type current() const {
    if constexpr (std::is_void_v<R>)
      return detail::outcome_of<void>(*current_);
    else
      return detail::open_outcome<R>(*current_);
  }

  std::unique_ptr<detail::Stream> stream_;
  std::optional<detail::RawOutcome> current_;
  bool started_ = false;
};

} // namespace fiber
