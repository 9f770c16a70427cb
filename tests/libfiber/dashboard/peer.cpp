// SPDX-License-Identifier: Apache-2.0
#include "tests/libfiber/dashboard/peer.hpp"

#include <cerrno>
#include <cstring>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace fiber::dashboard {
namespace {

constexpr int deadline_ms = 30000;

} // namespace

Peer::Peer(std::uint16_t port, int receive_buffer)
  : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  if (receive_buffer > 0)
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVBUF, &receive_buffer,
                 sizeof receive_buffer);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) !=
      0)
    ADD_FAILURE() << std::strerror(errno);
}

void Peer::send(const std::string& text) {
  // The peer may have closed: then its answer says so, or its silence.
  [[maybe_unused]] auto n = ::send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL);
}

bool Peer::receive() {
  pollfd ready{socket_.get(), POLLIN, 0};
  if (::poll(&ready, 1, deadline_ms) != 1)
    return false;
  char bytes[65536];
  auto n = ::recv(socket_.get(), bytes, sizeof bytes, 0);
  ended_ = n <= 0;
  if (n > 0)
    in_.append(bytes, static_cast<std::size_t>(n));
  return n > 0;
}

std::string Peer::read_until(const std::string& text) {
  auto at = in_.find(text);
  while (at == in_.npos && receive())
    at = in_.find(text);
  auto end = at == in_.npos ? in_.size() : at + text.size();
  auto found = in_.substr(0, end);
  in_.erase(0, end);
  return found;
}

bool Peer::closes() {
  while (receive())
    ;
  return ended_;
}

std::string Peer::get(const std::string& target, const std::string& more_headers) {
  send("GET " + target + " HTTP/1.1\r\nHost: localhost\r\n" + more_headers + "\r\n");
  auto head = read_until("\r\n\r\n");
  auto at = head.find("Content-Length: ");
  if (at == head.npos)
    return head;
  auto size = static_cast<std::size_t>(std::stoul(head.substr(at + 16)));
  while (in_.size() < size && receive())
    ;
  auto body = in_.substr(0, size);
  in_.erase(0, body.size());
  return head + body;
}

std::string Peer::next_picture() {
  read_until("event: picture\ndata: ");
  return read_until("\n\n");
}

std::string ask(std::uint16_t port, const std::string& request) {
  Peer peer(port);
  peer.send(request);
  return peer.read_until("\r\n\r\n");
}

std::string get(std::uint16_t port, const std::string& target,
                const std::string& more_headers) {
  return Peer(port).get(target, more_headers);
}

} // namespace fiber::dashboard
