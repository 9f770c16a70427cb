// SPDX-License-Identifier: Apache-2.0
#include "wire/stream_link.hpp"

#include <fcntl.h>

#include <utility>

#include "wire/address.hpp"
#include "wire/connection.hpp"

namespace fiber::wire {
namespace {

class StreamLink final : public Link {
public:
  StreamLink(std::shared_ptr<Connection> connection, std::string peer_host)
    : connection_(std::move(connection)), peer_host_(std::move(peer_host)) {}
  ~StreamLink() override { connection_->close(); }
  void start(std::shared_ptr<LinkHandler> handler) override {
    connection_->start(std::move(handler));
  }
  bool send(StreamId stream, Bytes head, Payload body) override {
    return connection_->send(stream, std::move(head), std::move(body));
  }
  bool send_soon(StreamId stream, Bytes head, Payload body) override {
    return connection_->send_soon(stream, std::move(head), std::move(body));
  }
  bool append(StreamId stream, std::span<const std::byte> head,
              std::span<const std::byte> part) override {
    return connection_->append(stream, head, part);
  }
  std::size_t backlog() const override { return connection_->backlog(); }
  bool flush(std::chrono::milliseconds limit) override {
    return connection_->flush(limit);
  }
  void close() override { connection_->close(); }
  LinkStats stats() const override { return connection_->stats(); }
  const std::string& peer_host() const { return peer_host_; }

private:
  std::shared_ptr<Connection> connection_;
  const std::string peer_host_;
};

} // namespace

std::shared_ptr<Link> link_over(Reactor& reactor, std::unique_ptr<Transport> transport,
                                const LinkOptions& options) {
  auto peer = peer_host(transport->fd());
  auto connection = std::make_shared<Connection>(reactor, std::move(transport), options);
  connection->open(reactor);
  return std::make_shared<StreamLink>(std::move(connection), std::move(peer));
}

std::shared_ptr<Link> adopt(Reactor& reactor, UniqueFd socket, LinkOptions options) {
  ::fcntl(socket.get(), F_SETFL, ::fcntl(socket.get(), F_GETFL) | O_NONBLOCK);
  return link_over(reactor, make_plain_transport(std::move(socket)), options);
}

std::string peer_host(const Link& link) {
  const auto* stream = dynamic_cast<const StreamLink*>(&link);
  return stream ? stream->peer_host() : "";
}

} // namespace fiber::wire
