// SPDX-License-Identifier: Apache-2.0
#include "wire/local_listener.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <mutex>
#include <random>
#include <system_error>
#include <utility>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/log.hpp"
#include "base/unique_fd.hpp"
#include "wire/error.hpp"
#include "wire/reactor.hpp"
#include "wire/stream_link.hpp"

namespace fiber::wire {
namespace {

/// Pause after an accept that failed, since the kernel would say the same at once.
constexpr std::chrono::milliseconds retry_pause{100};
constexpr int backlog = 64;

[[noreturn]] void fail(const std::string& what) {
  throw WireError(what + ": " + std::generic_category().message(errno));
}

/// 128 bits of it are random.
std::string fresh_name() {
  std::random_device random;
  std::string name = "fiber-";
  for (int i = 0; i < 32; ++i)
    name += "0123456789abcdef"[random() % 16];
  return name;
}

struct Address {
  sockaddr_un bytes{};
  socklen_t size = 0;
};

/// In the abstract namespace: it begins with a zero byte.
Address address_of(const std::string& name) {
  Address address;
  if (name.empty() || name.size() >= sizeof address.bytes.sun_path)
    throw WireError("a local socket can't be called '" + name + "'");
  address.bytes.sun_family = AF_UNIX;
  std::copy(name.begin(), name.end(), address.bytes.sun_path + 1);
  address.size =
    static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return address;
}

UniqueFd make_socket() {
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket)
    fail("cannot make a local socket");
  return socket;
}

ucred peer_of(int fd) {
  ucred peer{.pid = 0, .uid = static_cast<uid_t>(-1), .gid = static_cast<gid_t>(-1)};
  socklen_t size = sizeof peer;
  static_cast<void>(::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size));
  return peer;
}

} // namespace

class LocalListener::Door final : public std::enable_shared_from_this<Door>,
                                  public ReactorMember {
public:
  Door(Reactor& reactor, LinkOptions options, Accept accept)
    : name(fresh_name()), reactor_(reactor), options_(options),
      accept_(std::move(accept)), context_(reactor.shared_context()),
      descriptor_(*context_), timer_(*context_), socket_(make_socket()) {
    auto address = address_of(name);
    if (::bind(socket_.get(), reinterpret_cast<sockaddr*>(&address.bytes),
               address.size) != 0 ||
        ::listen(socket_.get(), backlog) != 0)
      fail("cannot listen on a local socket");
    descriptor_.assign(socket_.get());
  }
  ~Door() { descriptor_.release(); }

  void wait() {
    if (!closed_)
      descriptor_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                             [self = shared_from_this()](const auto& error) {
                               if (!error)
                                 self->take();
                             });
  }

  /// No more calls of the user's function.
  void close() {
    std::lock_guard lock(gate_);
    accept_ = nullptr;
  }

  void abandon() override {
    closed_ = true;
    descriptor_.release();
    timer_.cancel();
  }

  const std::string name;

private:
  void take() {
    while (!closed_) {
      UniqueFd socket(
        ::accept4(socket_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
      if (socket) {
        welcome(std::move(socket));
        continue;
      }
      if (errno == EAGAIN || errno == EWOULDBLOCK)
        return wait();
      if (errno == EINTR || errno == ECONNABORTED)
        continue;
      timer_.expires_after(retry_pause); // Out of descriptors or memory.
      timer_.async_wait([self = shared_from_this()](const auto& error) {
        if (!error)
          self->take();
      });
      return;
    }
  }

  void welcome(UniqueFd socket) {
    auto peer = peer_of(socket.get());
    auto who = "process " + std::to_string(peer.pid);
    if (peer.uid != ::geteuid()) {
      log().warn("refused {}: it is of another user", who);
      return;
    }
    std::lock_guard lock(gate_);
    if (!accept_)
      return;
    try {
      accept_(who, adopt(reactor_, std::move(socket), options_));
    } catch (const std::exception& failure) {
      log().error("cannot greet {}: {}", who, failure.what());
    }
  }

  Reactor& reactor_;
  const LinkOptions options_;
  std::recursive_mutex gate_; ///< The function may destroy the listener.
  Accept accept_;
  const std::shared_ptr<boost::asio::io_context> context_;
  boost::asio::posix::stream_descriptor descriptor_;
  boost::asio::steady_timer timer_;
  const UniqueFd socket_;
  bool closed_ = false; ///< Reactor's thread only.
};

LocalListener::LocalListener(Reactor& reactor, LinkOptions options, Accept accept)
  : door_(std::make_shared<Door>(reactor, options, std::move(accept))),
    reactor_(reactor) {
  reactor.enlist(door_);
  reactor.post([door = door_] { door->wait(); });
}

LocalListener::~LocalListener() {
  door_->close();
  reactor_.post([door = door_] { door->abandon(); });
}

const std::string& LocalListener::name() const {
  return door_->name;
}

std::shared_ptr<Link> dial_local(Reactor& reactor, const std::string& name,
                                 LinkOptions options) {
  auto socket = make_socket();
  auto address = address_of(name);
  if (::connect(socket.get(), reinterpret_cast<sockaddr*>(&address.bytes),
                address.size) != 0)
    fail("cannot reach a local socket");
  if (peer_of(socket.get()).uid != ::geteuid())
    throw WireError("a local socket is of another user");
  return adopt(reactor, std::move(socket), options);
}

} // namespace fiber::wire
