// SPDX-License-Identifier: Apache-2.0
#include "backends/engine/message_channel.hpp"

#include <fcntl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "backends/engine/errors.hpp"

namespace fiber::backends::local {

namespace {

constexpr std::size_t max_fds = 4;

union ControlBuffer {
  cmsghdr aligned;
  char bytes[CMSG_SPACE(sizeof(int) * max_fds)];
};

} // namespace

int send_message(int socket, const Message& message, std::span<const int> fds,
                 int flags) {
  Message copy = message;
  iovec part{&copy, sizeof copy};
  ControlBuffer control{};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  if (!fds.empty()) {
    header.msg_control = control.bytes;
    header.msg_controllen = CMSG_SPACE(fds.size_bytes());
    cmsghdr* rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(fds.size_bytes());
    std::memcpy(CMSG_DATA(rights), fds.data(), fds.size_bytes());
  }
  for (;;) {
    if (::sendmsg(socket, &header, flags | MSG_NOSIGNAL) >= 0)
      return 0;
    if (errno != EINTR)
      return errno;
  }
}

Received receive_message(int socket, int flags) {
  Received received;
  iovec part{&received.message, sizeof received.message};
  ControlBuffer control{};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control.bytes;
  header.msg_controllen = sizeof control.bytes;
  ssize_t got = 0;
  do
    got = ::recvmsg(socket, &header, flags | MSG_CMSG_CLOEXEC);
  // A peer that died with unread messages resets the connection. The error comes once,
  // before the messages that the peer had sent.
  while (got < 0 && (errno == EINTR || errno == ECONNRESET));
  if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
    return received;
  if (got >= 0)
    for (cmsghdr* c = CMSG_FIRSTHDR(&header); c; c = CMSG_NXTHDR(&header, c))
      if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
        for (std::size_t at = 0; at + sizeof(int) <= c->cmsg_len - CMSG_LEN(0);
             at += sizeof(int)) {
          int fd = -1;
          std::memcpy(&fd, CMSG_DATA(c) + at, sizeof fd);
          received.fds.emplace_back(fd);
        }
  received.status =
    got == sizeof(Message) ? Received::Status::message : Received::Status::end;
  return received;
}

std::pair<UniqueFd, UniqueFd> make_socket_pair(int type) {
  int ends[2];
  if (::socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends) != 0)
    throw engine_error("make socket pair", errno);
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

std::pair<UniqueFd, UniqueFd> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    throw engine_error("make pipe", errno);
  UniqueFd read_end(ends[0]), write_end(ends[1]);
  if (!read_end || !write_end)
    throw engine_error("make pipe", errno);
  ::fcntl(read_end.get(), F_SETFL, O_NONBLOCK);
  return {std::move(read_end), std::move(write_end)};
}

} // namespace fiber::backends::local
