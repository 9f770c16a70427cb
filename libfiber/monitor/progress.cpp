// SPDX-License-Identifier: Apache-2.0
#include "libfiber/monitor/progress.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "fiber/error.hpp"
#include "libfiber/monitor/stats_source.hpp"

namespace fiber::detail {
namespace {

using namespace std::chrono_literals;

/// Interval of plain lines, where lines cannot be redrawn: in the first minute, and
/// later.
constexpr auto first_interval = 10s, later_interval = 60s;
constexpr double rate_memory_s = 5; ///< Time constant of the rate's average.
constexpr std::size_t bar_width = 20;

/// Formats 1234567 as "1.23M".
std::string short_number(double number) {
  constexpr double thousand = 1e3, million = 1e6;
  if (number >= million)
    return fmt::format("{:.2f}M", number / million);
  if (number >= thousand)
    return fmt::format("{:.2f}k", number / thousand);
  constexpr double whole_from = 10; // Larger numbers are shown without a fraction.
  return number < whole_from ? fmt::format("{:.2f}", number)
                             : fmt::format("{:.0f}", number);
}

/// Formats 3725 as "1:02:05".
std::string clock_text(double seconds) {
  constexpr long minute = 60, hour = 3600, longest = 1000 * hour;
  auto s = std::min(std::lround(seconds), longest);
  if (s >= hour)
    return fmt::format("{}:{:02}:{:02}", s / hour, s % hour / minute, s % minute);
  return fmt::format("{}:{:02}", s / minute, s % minute);
}

std::string count_of(std::size_t n, const char* what) {
  return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
}

} // namespace

std::string live_text(const ProgressView& view, std::size_t columns) {
  auto share = view.total > 0 ? static_cast<double>(view.done) /
                                  static_cast<double>(std::max(view.total, view.done))
                              : 0;
  auto text = fmt::format("{}/{}{}", view.done, view.total, view.total_known ? "" : "+");
  if (view.total_known)
    text += fmt::format(" {:.0f} %", std::floor(100 * share));
  text += fmt::format("  {}/s", short_number(view.per_second));
  if (view.total_known && view.per_second > 0 && view.total > view.done)
    text += "  ETA " +
            clock_text(static_cast<double>(view.total - view.done) / view.per_second);
  if (view.pool) {
    text += "  " + count_of(view.pool->workers, "worker");
    if (view.pool->retries > 0)
      text += fmt::format("  {} retr{}", view.pool->retries,
                          view.pool->retries == 1 ? "y" : "ies");
  }
  if (view.failed > 0)
    text += fmt::format("  {} failed", view.failed);
  if (view.waiting.jobs > 0) {
    std::chrono::duration<double> time = view.waiting.time;
    text += fmt::format("  {} wait{} {} for {}", view.waiting.jobs,
                        view.waiting.jobs == 1 ? "s" : "", clock_text(time.count()),
                        view.waiting.why);
  }
  auto filled = static_cast<std::size_t>(share * bar_width);
  auto bar = fmt::format(" [{:<{}}] ", std::string(filled, '#'), bar_width);
  auto fits = view.name.size() + bar.size() + text.size() <= columns;
  return view.name + (fits && view.total_known ? bar : " ") + text;
}

std::string final_text(const ProgressView& view) {
  auto seconds = view.elapsed.count();
  auto text = fmt::format("{}: {}", view.name, count_of(view.done, "task"));
  if (view.done < view.total)
    text += fmt::format(" of {}", view.total);
  text += fmt::format(" in {:.2f} s", seconds);
  if (seconds > 0)
    text += fmt::format(", {}/s", short_number(static_cast<double>(view.done) / seconds));
  if (view.failed > 0)
    text += fmt::format(", {} failed", view.failed);
  return text;
}

ProgressView Progress::Line::view(Clock::time_point now) const {
  ProgressView view;
  view.name = name_;
  view.done = done_;
  view.failed = failed_;
  view.total = std::max(expected_.load(), submitted_.load());
  view.total_known = all_submitted_ || expected_ > 0;
  view.per_second = rate_;
  view.elapsed = now - begin_;
  view.pool = stats_;
  view.waiting = waiting_;
  return view;
}

Progress::Progress(std::shared_ptr<backends::StatusLines> terminal, ProgressPace pace)
  : terminal_(std::move(terminal)), pace_(std::move(pace)) {}

Progress::~Progress() {
  close();
}

void Progress::close() {
  {
    std::lock_guard lock(mutex_);
    closed_ = true;
    lines_.clear();
  }
  changed_.notify_all();
  if (thread_.joinable())
    thread_.join();
  terminal_->show({});
}

std::shared_ptr<Progress::Line> Progress::add(std::string name,
                                              std::weak_ptr<StatsSource> pool) {
  std::shared_ptr<Line> line(
    new Line(shared_from_this(), std::move(name), std::move(pool)));
  {
    std::lock_guard lock(mutex_);
    if (closed_)
      return line;
    lines_.push_back(line);
    if (!thread_.joinable())
      thread_ = std::thread([this] { run(); });
  }
  changed_.notify_all();
  return line;
}

void Progress::run() {
  std::unique_lock lock(mutex_);
  while (!closed_) {
    changed_.wait(lock, [&] { return closed_ || !lines_.empty(); });
    changed_.wait_for(lock, terminal_->live() ? pace_.live : pace_.plain,
                      [&] { return closed_; });
    if (closed_)
      return;
    // Unlocked: asking a pool may run its actor on this thread, which reports results.
    auto lines = lines_;
    lock.unlock();
    auto now = pace_.now();
    for (auto& line : lines)
      update(*line, now);
    lines.clear();
    lock.lock();
    if (!closed_)
      draw();
  }
}

/// Updates a line without waiting for the pool, whose answer is read at the next call.
void Progress::update(Line& line, Clock::time_point now) {
  std::optional<PoolStats> stats;
  if (line.asked_ && line.asked_->is_set()) {
    stats = line.asked_->value();
    line.asked_ = nullptr;
  }
  std::optional<actors::WaitingJobs> waiting;
  if (auto pool = line.pool_.lock()) {
    try {
      waiting = pool->waiting_jobs();
      if (!line.asked_)
        line.asked_ = pool->ask_stats();
    } catch (const Closed&) { // Keeps the last ones.
    }
  }
  auto columns = terminal_->columns();
  std::unique_lock lock(mutex_);
  if (stats)
    line.stats_ = stats;
  if (waiting)
    line.waiting_ = std::move(*waiting);
  line.update_rate(now);
  line.text_ = live_text(line.view(now), columns - 1);
  auto pause = now - line.begin_ < later_interval ? first_interval : later_interval;
  if (terminal_->live() || now - line.printed_at_ < pause)
    return;
  line.printed_at_ = now;
  auto text = line.text_;
  lock.unlock();
  terminal_->print(text);
}

/// Updates the rate, an exponential moving average.
void Progress::Line::update_rate(Clock::time_point now) {
  auto done = done_.load();
  auto passed = std::chrono::duration<double>(now - seen_at_).count();
  auto lived = std::chrono::duration<double>(now - begin_).count();
  auto fresh = static_cast<double>(done - seen_) / std::max(passed, 1e-9);
  auto weight = 1 - std::exp(-passed / std::min(rate_memory_s, std::max(lived, passed)));
  rate_ = seen_ == 0 ? fresh : rate_ + weight * (fresh - rate_);
  seen_ = done;
  seen_at_ = now;
}

/// REQUIRES: mutex_ is held.
void Progress::draw() {
  std::vector<std::string> texts;
  for (auto& line : lines_)
    if (!line->text_.empty())
      texts.push_back(line->text_);
  terminal_->show(std::move(texts));
}

void Progress::end(Line& line) {
  std::lock_guard lock(mutex_);
  auto known = std::find_if(lines_.begin(), lines_.end(),
                            [&](auto& other) { return other.get() == &line; });
  if (known == lines_.end())
    return;
  auto keep = *known; // It may hold the last reference to `line`.
  lines_.erase(known);
  draw();
  terminal_->print(final_text(line.view(pace_.now())));
}

} // namespace fiber::detail
