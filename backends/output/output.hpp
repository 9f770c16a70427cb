// SPDX-License-Identifier: Apache-2.0
// output/ collects what jobs write and shares stderr between their output, the log and
// status lines.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "backends/engine/loop.hpp"
#include "backends/output/crash_line.hpp"
#include "backends/output/status_lines.hpp"
#include "base/unique_fd.hpp"

namespace fiber::backends {

/// Reads the output of jobs on a thread of its own, keeps the end of it, and forwards it
/// to stderr by lines, without crash lines. A terminal only shows them: their control
/// characters, except colours, are made visible.
///
/// Back-pressure: if stderr blocks (a stopped terminal, an unread pipe), up to 1 MiB is
/// buffered; then the pipes are left unread, so that writing jobs block too. Nothing is
/// lost, and nothing else waits.
///
/// Thread safety: any thread may call any member function.
class Output {
public:
  using Key = std::uint64_t;
  static constexpr std::size_t kept_bytes = 1 << 20;

  /// Gets what a job has written, in place of stderr, on the output's thread. While it
  /// blocks, no more output is read.
  using Tap = std::function<void(const std::string& name, std::string_view text)>;

  explicit Output(bool forward, std::shared_ptr<StatusLines> terminal = nullptr,
                  Tap tap = nullptr);
  /// Waits up to half a second for stderr to accept the rest.
  ~Output();

  /// Ends the thread.
  void stop() { loop_.stop(); }

  /// Begins to read `pipe` (non-blocking); forwarded lines begin with "[`name`] ".
  void add(Key key, const std::string& name, UniqueFd pipe);
  /// Reads to the end, for at most `limit` in case a process still holds the other end,
  /// then calls `done` on the output's thread.
  void finish(Key key, std::chrono::milliseconds limit, std::function<void()> done);
  /// For output that does not come by a pipe: add(), then write() as it comes, then
  /// close(). write() accepts everything; it returns false if the caller should stop
  /// reading until has_room().
  void add(Key key, const std::string& name) { add(key, name, UniqueFd()); }
  bool write(Key key, std::string_view text);
  bool has_room() const { return waiting_bytes_ + pending_bytes_ <= pending_limit; }
  void close(Key key);

  /// Returns the end of the output.
  std::string last(Key key);
  void forget(Key key);

private:
  static constexpr std::size_t pending_limit = 1 << 20;
  struct Stream {
    std::string name;
    UniqueFd pipe;
    std::string kept; // Guarded by mutex_; at most twice kept_bytes.
    CrashLineFilter filter;
    std::string partial; // The unfinished line.
    std::function<void()> done;
    Loop::Timer timer;
  };
  using StreamPtr = std::shared_ptr<Stream>;

  StreamPtr find(Key key);
  void watch(const StreamPtr& stream);
  void keep(Stream& stream, std::string_view text);
  void read(const StreamPtr& stream, std::size_t most);
  void close(const StreamPtr& stream);
  void forward(Stream& stream, std::string_view text);
  void forward_end(Stream& stream);
  void queue_lines(Stream& stream, std::string_view text);
  void queue_line(const Stream& stream);
  void flush();
  void pause(bool on);

  const bool forward_;
  const Tap tap_;
  std::mutex mutex_; // Guards streams_ and each stream's kept.
  std::map<Key, StreamPtr> streams_;
  std::atomic<std::size_t> waiting_bytes_ = 0; // Posted to the loop.
  std::atomic<std::size_t> pending_bytes_ = 0; // pending_.size(), for other threads.
  const std::shared_ptr<StatusLines> terminal_;
  // Used on the loop's thread only:
  StderrWriter writer_;
  std::string pending_;
  bool waiting_ = false;
  bool paused_ = false;
  bool to_terminal_ = false; // stderr is a terminal.
  Loop loop_;
};

} // namespace fiber::backends
