// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/engine/loop.hpp"
#include "base/unique_fd.hpp"

namespace fiber::backends::ssh {

/// A running ssh: what it prints, what it is told, and its end. Used on the loop's thread
/// only.
class Channel : public std::enable_shared_from_this<Channel> {
public:
  struct Handler {
    std::function<void(std::string_view)> output;
    /// The process has ended, and nothing more follows. `errors` is the end of what it
    /// wrote to stderr. 0..255, -N for signal N.
    std::function<void(const std::string& errors, std::optional<int> exit_code)> ended;
  };

  /// Starts a program. Throws EngineError. Handlers are not called before it returns, nor
  /// once the channel has been closed.
  static std::shared_ptr<Channel> start(Loop& loop, const std::vector<std::string>& words,
                                        Handler handler);
  /// Calls close().
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  /// Writes as fast as ssh reads; keeps the rest. Never blocks.
  void send(std::string_view bytes);
  /// Kills ssh, and calls no handler any more.
  void close();

private:
  Channel(Loop& loop, Handler handler);
  void run(const std::vector<std::string>& words);
  void write();
  /// Returns false at the end.
  bool read(const UniqueFd& fd, const std::function<void(std::string_view)>& take);
  void on_exit();

  Loop& loop_;
  Handler handler_;
  std::string errors_end_; // Of stderr.
  const std::function<void(std::string_view)> keep_errors_;
  pid_t pid_ = 0; // 0: not running.
  UniqueFd input_, output_, errors_, pidfd_;
  std::string unsent_;
  bool writing_ = false; // input_ is watched.
};

} // namespace fiber::backends::ssh
