// SPDX-License-Identifier: Apache-2.0
#include "actors/job/slot_worker.hpp"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <system_error>
#include <thread>
#include <utility>

#include "actors/crash/crash_handler.hpp"
#include "actors/pool/running_table.hpp"
#include "base/failure.hpp"
#include "base/forked_child.hpp"

namespace fiber::actors {
namespace {

/// Results are gathered until one of these limits is reached, the first result has waited
/// for its hold time, or no task is left.
constexpr std::size_t max_gathered_results = 128;
constexpr std::size_t max_gathered_bytes = 32 * 1024;

thread_local const TaskContext* current_task = nullptr;

} // namespace

const TaskContext* TaskContext::current() {
  return current_task;
}
TaskScope::TaskScope(const TaskContext& context) : outer_(current_task) {
  current_task = &context;
}
TaskScope::~TaskScope() {
  current_task = outer_;
}

SlotWorker::SlotWorker(Settings settings)
  : settings_(std::move(settings)), changed_(settings_.leadership) {
  pending_.slot = settings_.slot;
}

// -- the slot's thread --

void SlotWorker::initialize(const CallCode& initializer) {
  auto body = open(initializer);
  Reader no_arguments({});
  Bytes ignored;
  Writer result(ignored);
  body->run(no_arguments, result);
  end_if_forked_child("an initializer");
}

void SlotWorker::run() {
  while (auto task = wait_for_task())
    run_task(*task);
  flush_results();
}

bool SlotWorker::step() {
  std::unique_lock lock(mutex_);
  auto outer = running_; // The task that waits, and runs this one meanwhile.
  auto outer_stop = std::exchange(stop_, std::stop_source(std::nostopstate));
  auto task = take();
  if (task) {
    lock.unlock();
    run_task(*task);
    flush_results();
    lock.lock();
  }
  running_ = outer;
  stop_ = std::move(outer_stop);
  return task.has_value();
}

std::optional<SlotWorker::Task> SlotWorker::wait_for_task() {
  for (;;) {
    std::vector<std::uint64_t> closed;
    {
      std::lock_guard lock(mutex_);
      if (auto task = take(); task || finishing_)
        return task;
      closed.swap(closed_calls_);
    }
    flush_results();
    drop(closed);
    changed_.wait();
  }
}

std::optional<SlotWorker::Task> SlotWorker::take() {
  running_.reset();
  if (stop_.stop_possible())
    stop_ = std::stop_source(std::nostopstate);
  if (queue_.empty())
    return std::nullopt;
  auto& run = queue_.front();
  auto length = run.tasks.lengths[run.next];
  Task task{run.code,
            run.tasks.first_seq + run.next,
            {static_cast<std::size_t>(run.tasks.first_index + run.next),
             static_cast<int>(run.tasks.attempt), settings_.rank, this},
            std::chrono::microseconds(run.tasks.hold_us),
            run.tasks.arguments.slice(run.begin, length)};
  auto limited = settings_.task_timeout.count() > 0;
  running_ = {run.tasks.call, task.seq, limited ? Clock::now() : Clock::time_point{}};
  run.begin += length;
  if (++run.next == run.tasks.lengths.size())
    queue_.pop_front();
  task.last = queue_.empty();
  task.closed_calls.swap(closed_calls_);
  if (!stopped_early_.empty()) {
    task.stopped_early = std::ranges::count(stopped_early_, task.seq) > 0;
    std::erase_if(stopped_early_, [&](auto seq) { return seq <= task.seq; });
  }
  return task;
}

void SlotWorker::run_task(const Task& task) {
  if (settings_.page)
    SlotProgress::announce(settings_.page->data(), settings_.slot, task.seq);
  CrashTask crash(settings_.slot, task.seq, __builtin_frame_address(0));
  if (settings_.before_task)
    settings_.before_task(task.code->call, task.context);
  auto begin = Clock::now();
  auto status = TaskResult::Status::value;
  // Moved out, since nested tasks of an inline session may reuse the buffer.
  auto value = std::exchange(scratch_, {});
  value.clear();
  Payload tail;
  detail::KeepScope handles;
  try {
    TaskScope scope(task.context);
    if (task.stopped_early)
      throw Cancelled("it was told to stop before it began");
    Reader arguments(task.arguments.bytes());
    Writer result(value, &tail);
    if (task.code->single) {
      open(*task.code)->run(arguments, result);
    } else {
      auto& opened = body(*task.code);
      drop(task.closed_calls, task.code->call); // Only now: a value of both stays here.
      opened.run(arguments, result);
    }
    check_size(value.size() + tail.size(), settings_.max_result_bytes);
  } catch (...) {
    status = TaskResult::Status::failure;
    value.clear();
    tail = {};
    Writer result(value);
    write(result, capture_failure());
  }
  end_if_forked_child("a task");
  if (ends_overdue()) {
    status = TaskResult::Status::overdue;
    value.clear();
    tail = {};
  }
  if (settings_.objects) // Messages that the task has sent arrive before its result.
    settings_.objects->settle_others(settings_.objects->self());
  if (settings_.after_task)
    settings_.after_task(status, value);
  add_result(task, status, value, std::move(tail), handles.take(), begin);
  scratch_ = std::move(value);
  drop(task.closed_calls);
}

void SlotWorker::drop(const std::vector<std::uint64_t>& calls, std::uint64_t but) {
  for (auto call : calls)
    if (call != but)
      bodies_.erase(call);
}

bool SlotWorker::ends_overdue() {
  if (settings_.task_timeout.count() == 0)
    return false;
  std::lock_guard lock(mutex_);
  running_->overdue =
    running_->overdue || Clock::now() - running_->since >= settings_.task_timeout;
  running_->ended = true;
  return running_->overdue;
}

std::unique_ptr<detail::Body> SlotWorker::open(const CallCode& code) {
  if (code.open == nullptr)
    throw Error(code.problem);
  Reader state(code.state.bytes());
  return code.open(state);
}

detail::Body& SlotWorker::body(const CallCode& code) {
  auto& body = bodies_[code.call];
  if (!body)
    body = open(code);
  return *body;
}

void SlotWorker::add_result(const Task& task, TaskResult::Status status, Bytes& value,
                            Payload tail, detail::KeptObjects kept,
                            Clock::time_point begin) {
  using std::chrono::nanoseconds;
  auto end = Clock::now();
  nanoseconds busy = end - begin;
  auto size = value.size() + tail.size();
  std::unique_lock lock(results_mutex_);
  auto& results = pending_.results;
  if (!results.empty() && pending_.first_seq + results.size() != task.seq)
    flush_locked(); // Tasks in between were handed back.
  if (!results.empty() && size >= own_message_bytes)
    flush_locked();
  if (results.empty()) {
    pending_.first_seq = task.seq;
    oldest_ = begin;
  }
  results.push_back({status, size, 0});
  tail_ = std::move(tail);
  auto busy_ns = static_cast<std::uint64_t>(busy.count());
  pending_.busy_ns += busy_ns;
  pending_.longest_ns = std::max(pending_.longest_ns, busy_ns);
  if (settings_.timed)
    pending_.times.push_back(
      {nanoseconds(begin.time_since_epoch()).count(), busy.count()});
  if (values_.empty() && value.size() >= own_message_bytes)
    values_ = std::exchange(value, {});
  else
    values_.insert(values_.end(), value.begin(), value.end());
  std::move(kept.begin(), kept.end(), std::back_inserter(kept_));
  // The last results are sent at once, since a caller may wait for them.
  if (task.last || results.size() >= max_gathered_results || size >= max_gathered_bytes ||
      values_.size() >= max_gathered_bytes || end - oldest_ >= task.hold) {
    flush_locked();
    return;
  }
  if (!std::exchange(flush_requested_, true)) {
    lock.unlock(); // The next task may be a long one.
    settings_.request_flush(std::chrono::ceil<std::chrono::milliseconds>(2 * task.hold));
  }
}

void SlotWorker::flush_results() {
  std::lock_guard lock(results_mutex_);
  flush_requested_ = false;
  flush_locked();
}

void SlotWorker::time_results(bool timed) {
  std::lock_guard lock(results_mutex_);
  flush_locked(); // All results of a frame have times, or none.
  settings_.timed = timed;
}

// Sends while it holds the lock, so that frames leave in the order of their tasks.
void SlotWorker::flush_locked() {
  if (pending_.results.empty())
    return;
  auto tail = std::exchange(tail_, {});
  for (auto& object : kept_)
    pending_.held.push_back(object->held_id());
  pending_.parcel = settings_.objects ? settings_.objects->keep_until_received(kept_) : 0;
  Bytes head;
  Writer writer(head);
  write(writer, pending_);
  if (tail.empty())
    tail = Payload(std::exchange(values_, {}));
  else
    writer.raw(values_.data(), values_.size());
  values_.clear();
  pending_.results.clear();
  pending_.held.clear();
  pending_.times.clear();
  pending_.busy_ns = pending_.longest_ns = 0;
  settings_.link->send(task_stream, std::move(head), std::move(tail));
  kept_.clear(); // Only now: the driver must read the handles before their release.
}

// -- any thread --

void SlotWorker::push(RunTasks tasks, std::shared_ptr<const CallCode> code) {
  if (tasks.lengths.empty())
    return;
  {
    std::lock_guard lock(mutex_);
    next_seq_ = tasks.first_seq + tasks.lengths.size();
    queue_.push_back({std::move(tasks), std::move(code)});
  }
  changed_.wake();
}

HandedBack SlotWorker::recall(std::size_t most) {
  std::lock_guard lock(mutex_);
  HandedBack back{settings_.slot, next_seq_, next_seq_};
  while (most > 0 && !queue_.empty()) {
    auto& last = queue_.back();
    auto n = std::min(most, last.tasks.lengths.size() - last.next);
    last.tasks.lengths.resize(last.tasks.lengths.size() - n);
    back.from_seq = last.tasks.first_seq + last.tasks.lengths.size();
    most -= n;
    if (last.tasks.lengths.size() == last.next)
      queue_.pop_back();
  }
  return back;
}

namespace {

/// Requests a stop on a thread of its own: a callback may want a lock that another thread
/// holds while it waits for messages, which the calling thread reads.
void call_stop_callbacks(std::stop_source stop,
                         const std::shared_ptr<ObjectSpace>& objects) {
  if (!stop.stop_possible())
    return; // The task has not asked for its token.
  auto request = [stop = std::move(stop), objects]() mutable {
    const ObjectSpace::BorrowedThreadScope scope(objects.get());
    stop.request_stop();
  };
  try {
    std::thread(request).detach();
  } catch (const std::system_error&) { // There is no room for one more thread.
    request();
  }
}

} // namespace

void SlotWorker::stop(std::uint64_t call) {
  stop_if([&](const Running& running) { return running.call == call; });
}

void SlotWorker::stop_task(std::uint64_t seq) {
  {
    std::lock_guard lock(mutex_);
    if (!queue_.empty() && seq < next_seq_ &&
        seq >= queue_.front().tasks.first_seq + queue_.front().next) {
      stopped_early_.push_back(seq);
      return;
    }
  }
  stop_if([&](const Running& running) { return running.seq == seq; });
}

template <class Which>
void SlotWorker::stop_if(Which is_meant) {
  std::stop_source stop(std::nostopstate);
  {
    std::lock_guard lock(mutex_);
    if (!running_ || !is_meant(*running_))
      return;
    running_->stopped = true;
    stop = stop_;
  }
  call_stop_callbacks(std::move(stop), settings_.objects);
}

SlotWorker::DeadlineCheck SlotWorker::check_deadline(Clock::time_point now) {
  DeadlineCheck check;
  std::stop_source stop(std::nostopstate);
  {
    std::lock_guard lock(mutex_);
    if (!running_ && queue_.empty())
      return check;
    check.again = now + settings_.task_timeout;
    if (!running_ || running_->overdue || running_->ended)
      return check;
    if (auto limit = running_->since + settings_.task_timeout; limit > now) {
      check.again = limit;
      return check;
    }
    running_->overdue = running_->stopped = true;
    check.overdue = running_->seq;
    stop = stop_;
  }
  call_stop_callbacks(std::move(stop), settings_.objects);
  return check;
}

std::stop_token SlotWorker::stop_token() {
  std::lock_guard lock(mutex_);
  if (!stop_.stop_possible()) {
    stop_ = std::stop_source();
    if (running_ && running_->stopped)
      stop_.request_stop(); // Under the lock, as no callback is registered yet.
  }
  return stop_.get_token();
}

void SlotWorker::close(std::uint64_t call) {
  {
    std::lock_guard lock(mutex_);
    closed_calls_.push_back(call);
  }
  changed_.wake(); // Frees the callable now, not with the next task.
}

void SlotWorker::finish() {
  {
    std::lock_guard lock(mutex_);
    finishing_ = true;
  }
  changed_.wake();
}

bool SlotWorker::finished() {
  std::lock_guard lock(mutex_);
  return finishing_ && queue_.empty();
}

} // namespace fiber::actors
