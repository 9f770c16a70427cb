// SPDX-License-Identifier: Apache-2.0
#include "libfiber/observer/trace_requests.hpp"

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "actors/trace/trace.hpp"

namespace fiber::observer {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;

constexpr double min_seconds = 0.001, max_seconds = 86400;
constexpr milliseconds look_again{100}; ///< For pools that were made meanwhile.

} // namespace

TraceRequests::~TraceRequests() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable())
    thread_.join();
}

json TraceRequests::answer(const json& request) {
  try {
    std::lock_guard lock(mutex_);
    if (request.contains("file"))
      start(request.at("file"),
            milliseconds(static_cast<std::int64_t>(
              std::clamp(request.at("seconds").get<double>(), min_seconds, max_seconds) *
              1e3)));
    if (request.value("stop", false)) {
      stopping_ = true;
      changed_.notify_all();
    }
    return {{"tracing", running_}};
  } catch (const std::exception& error) {
    return {{"error", error.what()}};
  }
}

/// REQUIRES: mutex_ is held.
void TraceRequests::start(const std::string& file, milliseconds time) {
  if (!own_file_.empty())
    throw std::runtime_error(
      "it writes a trace from its start to its end already, as the "
      "setting trace is " +
      own_file_);
  if (running_)
    throw std::runtime_error("another trace of it is being written");
  std::shared_ptr<actors::Trace> trace;
  try {
    trace = std::make_shared<actors::Trace>(file);
  } catch (const std::system_error& error) {
    throw std::runtime_error("can't write " + file + ": " + error.code().message());
  }
  if (thread_.joinable())
    thread_.join(); // It has nothing to do any more, see run().
  running_ = true;
  stopping_ = false;
  thread_ = std::thread([this, trace, time] { run(trace, time); });
}

void TraceRequests::run(const std::shared_ptr<actors::Trace>& trace, milliseconds time) {
  auto end = std::chrono::steady_clock::now() + time;
  std::unique_lock lock(mutex_);
  while (!stopping_ && std::chrono::steady_clock::now() < end) {
    lock.unlock();
    tell_(trace);
    lock.lock();
    auto next = std::min(end, std::chrono::steady_clock::now() + look_again);
    changed_.wait_until(lock, next, [this] { return stopping_; });
  }
  lock.unlock();
  tell_(nullptr);
  trace->close(); // What a pool adds before it has heard of the end is dropped.
  lock.lock();
  running_ = false; // The last step: start() may wait for this thread.
}

} // namespace fiber::observer
