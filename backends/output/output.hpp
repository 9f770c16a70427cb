// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "backends/engine/loop.hpp"
#include "backends/output/crash_line.hpp"
#include "backends/output/status_lines.hpp"
#include "base/unique_fd.hpp"

namespace fiber::backends {

/// Reads what jobs write, keeps the last of it and forwards it line by line to stderr,
/// without crash lines, all on one thread of its own.
///
/// If stderr does not take what is forwarded (a stopped terminal, a pipe nobody reads),
/// up to 1 MiB waits here; then the pipes are left unread, so that jobs that go on
/// writing wait as if they wrote to that terminal themselves. Nothing is lost, and nobody
/// else waits.
///
/// Thread safety: any thread may call any member function.
class Output {
public:
  using Key = std::uint64_t;
  static constexpr std::size_t kept_bytes = 1 << 20;

  explicit Output(bool forward, std::shared_ptr<StatusLines> terminal = nullptr);
  /// Gives stderr half a second to take what is left.
  ~Output();

  /// Ends the thread.
  void stop() { loop_.stop(); }

  /// Begins to read `pipe` (non-blocking); forwarded lines begin with "[`name`] ".
  void add(Key key, const std::string& name, UniqueFd pipe);
  /// Reads to the end, or for `limit` if somebody still holds the other end, then calls
  /// `done` on the output's thread.
  void finish(Key key, std::chrono::milliseconds limit, std::function<void()> done);
  /// The same for output that comes by other ways than a pipe: add(), then write() as it
  /// comes, then close(). write() takes everything; it returns false when so much waits
  /// for stderr that its caller should stop reading until has_room().
  void add(Key key, const std::string& name) { add(key, name, UniqueFd()); }
  bool write(Key key, std::string_view text);
  bool has_room() const { return waiting_bytes_ + pending_bytes_ <= pending_limit; }
  void close(Key key);

  /// The last of what was written.
  std::string last(Key key);
  void forget(Key key);

private:
  static constexpr std::size_t pending_limit = 1 << 20;
  struct Stream {
    std::string prefix;
    UniqueFd pipe;
    std::string kept; // Guarded by mutex_; at most twice kept_bytes.
    CrashLineFilter filter;
    std::string partial; // The line that has no end yet.
    std::function<void()> done;
    Loop::Timer timer;
  };
  using StreamPtr = std::shared_ptr<Stream>;

  StreamPtr find(Key key);
  void attend(const StreamPtr& stream);
  void keep(Stream& stream, std::string_view text);
  void read(const StreamPtr& stream, std::size_t most);
  void close(const StreamPtr& stream);
  void forward(Stream& stream, std::string_view text);
  void forward_end(Stream& stream);
  void queue_lines(Stream& stream, std::string_view text);
  void flush();
  void pause(bool on);

  const bool forward_;
  std::mutex mutex_; // Guards streams_ and each stream's kept.
  std::map<Key, StreamPtr> streams_;
  std::atomic<std::size_t> waiting_bytes_ = 0; // On their way to the loop's thread.
  std::atomic<std::size_t> pending_bytes_ = 0; // Of pending_, for others to see.
  const std::shared_ptr<StatusLines> terminal_;
  // On the loop's thread only:
  StderrWriter writer_;
  std::string pending_;
  bool waiting_ = false;
  bool paused_ = false;
  Loop loop_;
};

} // namespace fiber::backends
