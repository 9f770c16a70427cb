// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "backends/local/loop.hpp"
#include "backends/local/stderr_writer.hpp"
#include "wire/unique_fd.hpp"

namespace fiber::backends::local {

/// Reads what jobs write, keeps the last of it and forwards it line by line to stderr,
/// all on one thread of its own.
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

  explicit Output(bool forward);
  /// Gives stderr half a second to take what is left.
  ~Output();

  /// Ends the thread.
  void stop() { loop_.stop(); }

  /// Begins to read `pipe` (non-blocking); forwarded lines begin with "[`name`] ".
  void add(Key key, const std::string& name, UniqueFd pipe);
  /// Reads to the end, or for `limit` if somebody still holds the other end, then calls
  /// `done` on the output's thread.
  void finish(Key key, std::chrono::milliseconds limit, std::function<void()> done);
  /// The last of what was written.
  std::string last(Key key);
  void forget(Key key);

private:
  struct Stream {
    std::string prefix;
    UniqueFd pipe;
    std::string kept;    // Guarded by mutex_; at most twice kept_bytes.
    std::string partial; // The line that has no end yet.
    std::function<void()> done;
    Loop::Timer timer;
  };
  using StreamPtr = std::shared_ptr<Stream>;

  StreamPtr find(Key key);
  void attend(const StreamPtr& stream);
  void read(const StreamPtr& stream, std::size_t most);
  void close(const StreamPtr& stream);
  void forward(Stream& stream, std::string_view text);
  void flush();
  void pause(bool on);

  const bool forward_;
  std::mutex mutex_; // Guards streams_ and each stream's kept.
  std::map<Key, StreamPtr> streams_;
  // On the loop's thread only:
  StderrWriter writer_;
  std::string pending_;
  bool waiting_ = false;
  bool paused_ = false;
  Loop loop_;
};

} // namespace fiber::backends::local
