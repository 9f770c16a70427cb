// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <iterator>
#include <memory>
#include <optional>
#include <ranges>
#include <type_traits>
#include <utility>
#include <vector>

#include "fiber/future.hpp"

namespace fiber {

namespace detail {

/// Tells which of several tasks have ended, in the order in which they do.
class Completions {
public:
  /// Throws Error if one of them stands for no task.
  explicit Completions(const std::vector<std::shared_ptr<Results>>& all);
  ~Completions();
  Completions(Completions&&) noexcept;
  Completions& operator=(Completions&&) noexcept;

  /// Waits for the next task to end and returns its index. Nothing if `limit` passed
  /// first, or when all were told.
  std::optional<std::size_t> next(Results::Clock::time_point limit);

private:
  struct State;
  std::shared_ptr<State> state_;
};

template <class F>
struct FutureResult {
  static_assert(!std::is_same_v<F, F>, "fiber: as_completed() takes a range of Futures");
  using type = void;
};
template <class R>
struct FutureResult<Future<R>> {
  using type = R;
};
/// The `R` of a range of Future<R>.
template <class Range>
using future_result_t = typename FutureResult<std::ranges::range_value_t<Range>>::type;

template <class R>
std::vector<std::shared_ptr<Results>> results_of(const std::vector<Future<R>>& futures) {
  std::vector<std::shared_ptr<Results>> all;
  all.reserve(futures.size());
  for (auto& future : futures)
    all.push_back(future.results_);
  return all;
}

} // namespace detail

/// Futures one after another, each when its task has ended: an input range, to be read
/// once.
///
/// Thread safety: one thread at a time.
template <class R>
class CompletedRange {
public:
  /// See as_completed().
  explicit CompletedRange(std::vector<Future<R>> futures)
    : futures_(std::move(futures)), completions_(detail::results_of(futures_)) {}

  /// The Future of a task that has ended.
  using value_type = Future<R>;
  using iterator = detail::StepIterator<CompletedRange>;

  /// Blocks until the first task has ended. `++it` blocks until the next one has.
  iterator begin() {
    if (!std::exchange(started_, true))
      advance();
    return iterator(this);
  }
  /// The end, which is reached when all Futures were read.
  std::default_sentinel_t end() const { return {}; }

private:
  friend iterator;

  value_type current() const { return futures_[*current_]; }
  void advance() { current_ = completions_.next(detail::Results::forever); }

  std::vector<Future<R>> futures_;
  detail::Completions completions_;
  std::optional<std::size_t> current_;
  bool started_ = false;
};

/// Returns at once a range of these futures in the order in which their tasks end, well
/// or badly; get() of a failed one throws its failure. Futures of several pools may be
/// mixed. Throws Error if one of them stands for no task.
template <std::ranges::input_range Range>
CompletedRange<detail::future_result_t<Range>> as_completed(Range&& range) {
  using R = detail::future_result_t<Range>;
  std::vector<Future<R>> futures;
  for (auto&& future : range)
    futures.push_back(std::forward<decltype(future)>(future));
  return CompletedRange<R>(std::move(futures));
}

/// Blocks until `first_n` of these tasks have ended, or all of them if there are fewer,
/// or `limit` has passed. Returns the indices of all tasks that have ended, in the order
/// in which they did. Throws Error if one of the futures stands for no task.
template <class R, class Rep, class Period>
std::vector<std::size_t> wait(const std::vector<Future<R>>& futures, std::size_t first_n,
                              std::chrono::duration<Rep, Period> limit) {
  auto until = detail::limit_of(limit);
  detail::Completions completions(detail::results_of(futures));
  std::vector<std::size_t> ended;
  for (;;) {
    // After first_n: those that have ended already, without waiting.
    auto next =
      completions.next(ended.size() < first_n ? until : detail::Results::Clock::now());
    if (!next)
      return ended;
    ended.push_back(*next);
  }
}

} // namespace fiber
