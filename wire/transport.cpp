// SPDX-License-Identifier: Apache-2.0
#include "wire/transport.hpp"

#include <sys/socket.h>

#include <cerrno>
#include <system_error>

namespace fiber::wire {
namespace {

IoResult outcome(ssize_t count) {
  if (count >= 0)
    return {static_cast<std::size_t>(count)};
  if (errno == EAGAIN || errno == EWOULDBLOCK)
    return {0, IoResult::State::blocked};
  return {0, IoResult::State::failed, std::generic_category().message(errno)};
}

template <class Call>
ssize_t uninterrupted(Call call) {
  ssize_t count;
  do
    count = call();
  while (count < 0 && errno == EINTR);
  return count;
}

class PlainTransport final : public Transport {
public:
  explicit PlainTransport(UniqueFd socket) : socket_(std::move(socket)) {}
  IoResult read(std::span<const iovec> into) override {
    return receive_some(socket_.get(), into);
  }
  IoResult write(std::span<const iovec> from) override {
    if (from.empty())
      return {};
    auto result = send_some(socket_.get(), from);
    std::size_t asked = 0;
    for (const auto& part : from)
      asked += part.iov_len;
    if (result.state == IoResult::State::ok && result.bytes < asked)
      result.state = IoResult::State::blocked;
    return result;
  }
  int fd() const override { return socket_.get(); }

private:
  UniqueFd socket_;
};

} // namespace

IoResult send_some(int fd, std::span<const iovec> from) {
  msghdr message{};
  message.msg_iov = const_cast<iovec*>(from.data());
  message.msg_iovlen = from.size();
  return outcome(
    uninterrupted([&] { return ::sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT); }));
}

IoResult receive_some(int fd, std::span<const iovec> into) {
  msghdr message{};
  message.msg_iov = const_cast<iovec*>(into.data());
  message.msg_iovlen = into.size();
  const auto count = uninterrupted([&] { return ::recvmsg(fd, &message, MSG_DONTWAIT); });
  if (count == 0)
    return {0, IoResult::State::end};
  auto result = outcome(count);
  if (result.state == IoResult::State::blocked)
    result.state = IoResult::State::ok;
  return result;
}

std::unique_ptr<Transport> make_plain_transport(UniqueFd socket) {
  return std::make_unique<PlainTransport>(std::move(socket));
}

} // namespace fiber::wire
