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
#include "fiber/detail/results.hpp"
#include "fiber/value.hpp"

namespace fiber {

template <class R>
class Future;

namespace detail {

/// Unpacks the result, or throws the error.
template <class R>
R open_outcome(const RawOutcome& raw) {
  if (raw.error)
    std::rethrow_exception(raw.error);
  if constexpr (!std::is_void_v<R>) {
    Reader reader(raw.value.bytes());
    return unpack<R>(reader);
  }
}

/// The time at which a wait of `d` from now ends.
template <class Duration>
Results::Clock::time_point limit_of(Duration d) {
  auto now = Results::Clock::now();
  std::chrono::duration<double> seconds(d);
  if (!(seconds.count() > 0)) // NaN as well.
    return now;
  // A duration too long for the clock means no limit.
  if (seconds > std::chrono::duration<double>(Results::forever - now) * 0.5)
    return Results::forever;
  return now + std::chrono::ceil<Results::Clock::duration>(d);
}

} // namespace detail

/// How one task ended: with a value, or with an error.
///
/// Thread safety: as R.
template <class R>
class Outcome {
public:
  /// A value.
  explicit Outcome(R value) : value_(std::move(value)) {}
  /// A failure; not null.
  explicit Outcome(std::exception_ptr error) : error_(std::move(error)) {}

  /// Whether there is a value.
  bool ok() const { return error_ == nullptr; }
  /// The task's result; throws its failure if it has none.
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

/// How one task without a result ended.
template <>
class Outcome<void> {
public:
  /// Success.
  Outcome() = default;
  /// A failure; not null.
  explicit Outcome(std::exception_ptr error) : error_(std::move(error)) {}
  /// Whether the task ended well.
  bool ok() const { return error_ == nullptr; }
  /// Throws the task's failure if there is one.
  void value() const {
    if (error_)
      std::rethrow_exception(error_);
  }
  /// The failure; null if there is none.
  std::exception_ptr error() const { return error_; }

private:
  std::exception_ptr error_;
};

namespace detail {

/// As open_outcome(), but never throws: a failure, and a value that can't be unpacked,
/// becomes the error.
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

/// What a continuation returned, packed like a task's result.
struct Continued {
  RawOutcome outcome;
  /// What the handles in it refer to.
  KeptObjects kept;
};

/// The result of `f`, which is called with the outcome of `before` on a thread of the
/// session. A failure of `before` is passed on, without a call. Throws Closed without a
/// session.
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
/// Thread safety: any thread may call any member function. All but valid() throw Error if
/// the Future stands for no task.
template <class R>
class Future {
public:
  /// Stands for no task.
  Future() = default;
  /// For Fiber's use.
  explicit Future(std::shared_ptr<detail::Results> results)
    : results_(std::move(results)) {}

  /// Whether it stands for a task.
  bool valid() const { return results_ != nullptr; }
  /// Blocks until the task has ended. Returns a copy of its result, or throws its
  /// failure: RemoteError, WorkerLost, TimeoutError, Cancelled, Closed, or why no worker
  /// can start.
  R get() const {
    state().wait_index(0, detail::Results::forever);
    return detail::open_outcome<R>(state().at(0));
  }
  /// Blocks until the task has ended or `d` has passed. Returns whether it has ended.
  template <class Rep, class Period>
  bool wait_for(std::chrono::duration<Rep, Period> d) const {
    return state().wait_index(0, detail::limit_of(d));
  }
  /// Whether the task has ended, so that get() does not block.
  bool ready() const { return state().done() > 0; }
  /// Cancels the task and returns at once: get() throws Cancelled, unless the task had
  /// ended before. A running task is told by this_task::stop_token(); if it still runs
  /// after the pool's cancel_grace, its worker is ended and replaced.
  void cancel() { state().cancel(); }
  /// Returns at once a Future of f(result), or of f() for Future<void>. Throws Closed
  /// without a session.
  ///
  /// `f` is called once, on a thread that all continuations of the session share, so it
  /// should be quick. It may use pools, and may capture anything that lives long enough.
  /// Its result must be a value (fiber/value.hpp). If this task fails, `f` is not called,
  /// and the new Future fails with the same error. If `f` throws, the new Future fails
  /// with that exception. cancel() of the new Future cancels this task.
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
  /// For Fiber's use.
  explicit MapResult(std::shared_ptr<detail::Results> results)
    : results_(std::move(results)) {}

  /// Blocks until all tasks have ended. Returns their results in the order of the input,
  /// or throws the failure of the lowest index; outcomes() has the others.
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
  /// Blocks until all tasks have ended. Returns the outcome of each, in the order of the
  /// input. Throws no task's failure.
  std::vector<Outcome<R>> outcomes() const {
    wait_all();
    std::vector<Outcome<R>> all;
    all.reserve(size());
    for (std::size_t i = 0; i < size(); ++i)
      all.push_back(detail::outcome_of<R>(results_->at(i)));
    return all;
  }
  /// Blocks until all tasks have ended or `d` has passed. Returns whether all have ended.
  template <class Rep, class Period>
  bool wait_for(std::chrono::duration<Rep, Period> d) const {
    return results_->wait_done(size(), detail::limit_of(d));
  }
  /// Whether all tasks have ended.
  bool ready() const { return done() == size(); }
  /// Cancels the tasks that have not ended, as Future::cancel() does.
  void cancel() { results_->cancel(); }
  /// How many tasks have ended, well or badly.
  std::size_t done() const { return results_->done(); }
  /// How many tasks there are.
  std::size_t size() const { return results_->submitted(); }

private:
  void wait_all() const { results_->wait_done(size(), detail::Results::forever); }

  std::shared_ptr<detail::Results> results_;
};

namespace detail {

/// The results of a map in order, as they come. Unpacks each as soon as those before it
/// are there, so that its bytes are freed while others are still missing.
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
  /// Waits for the rest. Throws the failure of the lowest index, if there is one.
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

/// Where a ResultRange gets its results. Gives the pool more tasks on the way.
class Stream {
public:
  virtual ~Stream() = default;
  /// Waits for the next outcome; nothing at the end.
  virtual std::optional<RawOutcome> next() = 0;
};

/// An input iterator over a range that has one element at a time: `current_`, which is
/// empty at the end, current() and advance().
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

/// Results one after another, as imap and imap_unordered return them: an input range, to
/// be read once.
///
/// Reading the element of a failed task (`*it`) throws the task's failure, and the
/// iteration can continue; ResultRange<void> has an Outcome<void> for each task. Memory
/// is bounded: tasks are taken from the input as results are read. The destructor cancels
/// the rest, including running tasks (Future::cancel).
///
/// Thread safety: one thread at a time.
template <class R>
class ResultRange {
public:
  /// For Fiber's use.
  explicit ResultRange(std::unique_ptr<detail::Stream> stream)
    : stream_(std::move(stream)) {}

  /// What an element is: R, or Outcome<void> if R is void.
  using value_type = std::conditional_t<std::is_void_v<R>, Outcome<void>, R>;
  using iterator = detail::StepIterator<ResultRange>;

  /// Blocks until the first result is there. `++it` blocks until the next one is.
  iterator begin() {
    if (!started_)
      advance();
    return iterator(this);
  }
  /// The end, which is reached when all results were read.
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
