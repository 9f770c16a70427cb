// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include <nlohmann/json.hpp>

namespace fiber::actors {
class Trace;
} // namespace fiber::actors

namespace fiber::observer {

/// A part of a session that a trace can show, for example a pool.
class TraceSubject {
public:
  virtual ~TraceSubject() = default;
  /// Records what it does in this trace from now on; null: no more. Does nothing if it is
  /// told the same again. Must not throw.
  virtual void record(const std::shared_ptr<actors::Trace>& trace) = 0;
};

/// Answers those who ask a running session for a trace of the next seconds. A trace ends
/// by itself, so that a peer who goes away leaves nothing switched on. There is no thread
/// before the first request.
///
/// Thread safety: any thread may call any member function.
class TraceRequests {
public:
  /// Tells all TraceSubjects of the session.
  using Tell = std::function<void(const std::shared_ptr<actors::Trace>&)>;

  /// `own_file`: the file of a trace that the session writes anyway; empty: none.
  TraceRequests(std::string own_file, Tell tell)
    : own_file_(std::move(own_file)), tell_(std::move(tell)) {}
  /// Ends the trace and waits until its file is whole.
  ~TraceRequests();
  TraceRequests(const TraceRequests&) = delete;
  TraceRequests& operator=(const TraceRequests&) = delete;

  /// Starts a trace if the request has a "file" and "seconds", ends it if it has "stop".
  /// The reply says whether one is being written, or has a member "error".
  nlohmann::json answer(const nlohmann::json& request);

private:
  void start(const std::string& file, std::chrono::milliseconds time);
  void run(const std::shared_ptr<actors::Trace>& trace, std::chrono::milliseconds time);

  const std::string own_file_;
  const Tell tell_;
  std::mutex mutex_; ///< Guards what follows.
  std::condition_variable changed_;
  bool running_ = false, stopping_ = false;
  std::thread thread_;
};

} // namespace fiber::observer
