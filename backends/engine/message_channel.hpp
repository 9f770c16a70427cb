// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/unique_fd.hpp"

namespace fiber::backends::local {

/// What driver, zygote and jobs say to each other, over a SOCK_SEQPACKET pair.
enum class Kind : std::uint32_t {
  job,     ///< To a zygote: fork. To a plain job: this is your start. With descriptors.
  ready,   ///< From a zygote: waiting for jobs.
  threads, ///< From a would-be zygote: `value` threads run here, so I can't fork.
  started, ///< From a job itself: I am `pid`. With its pidfd, where there is one.
  ended,   ///< From a zygote: its child ended with `value` (0..255, -N for signal N).
  fork_failed, ///< From a zygote: errno `value`.
};

/// Which descriptors come with Kind::job, in this order.
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

/// Receives one message; a broken connection is its end. `flags` as for recvmsg.
Received receive_message(int socket, int flags = 0);

/// Connected sockets of the given type. Like all that follow: close-on-exec, above 2 (so
/// that a program with closed stdio can't mix them up), throws EngineError.
std::pair<UniqueFd, UniqueFd> make_socket_pair(int type);
/// Read end (non-blocking) and write end.
std::pair<UniqueFd, UniqueFd> make_pipe();

} // namespace fiber::backends::local
