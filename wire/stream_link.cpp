// SPDX-License-Identifier: Apache-2.0
#include "wire/stream_link.hpp"

#include <fcntl.h>

#include <utility>

#include "wire/connection.hpp"

namespace fiber::wire {

std::shared_ptr<Link> adopt(Reactor& reactor, UniqueFd socket, LinkOptions options) {
  ::fcntl(socket.get(), F_SETFL, ::fcntl(socket.get(), F_GETFL) | O_NONBLOCK);
  return link_over(reactor, make_plain_transport(std::move(socket)), options);
}

} // namespace fiber::wire
