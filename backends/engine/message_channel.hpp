// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/unique_fd.hpp"

namespace fiber::backends::local {

/// Kinds of messages between driver, zygote and jobs, over a SOCK_SEQPACKET pair.
enum class Kind : std::uint32_t {
  job,         ///< To a zygote: fork. To a plain job: start. With descriptors.
  ready,       ///< From a zygote: ready for jobs.
  threads,     ///< From a zygote that cannot fork, because `value` threads run in it.
  started,     ///< From a job itself: its `pid`. With its pidfd, if there is one.
  ended,       ///< From a zygote: a job ended with `value` (0..255, -N for signal N).
  fork_failed, ///< From a zygote: fork failed with errno `value`.
};

/// Flags for the descriptors that come with Kind::job, in this order.
enum Carried : std::uint32_t { start = 1, output = 2, link = 4, page = 8 };

struct Message {
  Kind kind = Kind::ready;
  std::int32_t pid = 0;
  std::uint64_t serial = 0;
  std::int32_t value = 0;
  std::uint32_t carried = 0;
};

struct Received {
  enum class Status { message, nothing, end };
  Status status = Status::nothing;
  Message message;
  std::vector<UniqueFd> fds;
};

/// Sends one message. Returns 0 or errno; `flags` as for sendmsg.
int send_message(int socket, const Message& message, std::span<const int> fds,
                 int flags = 0);

/// Receives one message. A broken connection counts as its end. `flags` as for recvmsg.
Received receive_message(int socket, int flags = 0);

/// Returns connected sockets of the given type. They, and the pipe below, are
/// close-on-exec and above 2, so that a program with closed stdio does not write to them.
/// Throw EngineError.
std::pair<UniqueFd, UniqueFd> make_socket_pair(int type);
/// Returns the read end, which is non-blocking, and the write end of a pipe.
std::pair<UniqueFd, UniqueFd> make_pipe();

} // namespace fiber::backends::local
